"""Baselines: the state that a document's history begins with once retention has deleted its oldest records."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial

from memnet.domain.catalog.retention_policy import RetentionPolicy, count_expired, ruled_by
from memnet.domain.core.errors import DecryptionFailed, HistoryCorrupt, Unavailable
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.documents.audit_record import BrokenChain, Fold, check_head
from memnet.domain.documents.audit_values import SALT_BYTES
from memnet.domain.documents.envelope import Envelope
from memnet.domain.history import baseline as baselines
from memnet.domain.history import baseline_values
from memnet.domain.history.baseline import VALUES_DO_NOT_OPEN, Baseline, baseline_of
from memnet.domain.history.baseline_values import BaselineLocation
from memnet.domain.history.reconstruction import check_place
from memnet.domain.sealing.sealing import NONCE_BYTES
from memnet.paging import rows
from memnet.stores.audit_log import AuditLog, read_records
from memnet.stores.key_ring import KeyRing, Vault

MAX_BATCH = 64
"""The most records that are read at once to find the first one that has not expired."""


async def list_baselines(scope: UserScope, doc_id: str = "", *, audit: AuditLog) -> Mapping[str, list[str]]:
    """Return the change ids of the baselines by document, of one or of all, the newest last. Raises Unavailable.

    A document can have several while an older one is not deleted yet: the newest is valid.
    """
    found: dict[str, list[str]] = {}
    async for change_id in rows(partial(audit.list_baselines, scope, doc_id)):
        owner = change_id.rpartition("-")[0]
        if doc_id in ("", owner):
            found.setdefault(owner, []).append(change_id)
    return found


async def read_baseline(scope: UserScope, doc_id: str, *, audit: AuditLog) -> Baseline | None:
    """Return the document's newest baseline, unsealed; None if its history begins with its first record.

    Only its form is checked: the record after it confirms its content. Raises VaultUnavailable, Unavailable;
    HistoryCorrupt: the baseline cannot be read or unsealed.
    """
    while known := (await list_baselines(scope, doc_id, audit=audit)).get(doc_id):
        data = await audit.read_baseline(scope, known[-1])
        if data is None:
            # A newer one has replaced it.
            continue
        found = baselines.load(data)
        if found is None or found.change_id != known[-1] or found.key.scope != scope:
            raise HistoryCorrupt("The document's baseline cannot be read.", change_id=known[-1])
        return await unseal_baseline(found, BaselineLocation(scope, found.change_id), vault=audit.vault)
    return None


async def unseal_baseline(baseline: Baseline, location: BaselineLocation, *, vault: Vault) -> Baseline:
    """Return the baseline stored at `location`, unsealed.

    Raises VaultUnavailable, Unavailable; HistoryCorrupt: it is not sealed, or cannot be unsealed there.
    """
    keys = await KeyRing(vault).find(location.scope, baseline_values.data_key_ids(baseline))
    try:
        return baseline_values.opened(baseline, location, keys)
    except DecryptionFailed as error:
        raise HistoryCorrupt(change_id=location.change_id, reason=VALUES_DO_NOT_OPEN) from error


async def store_baseline(baseline: Baseline, *, audit: AuditLog) -> None:
    """Seal and create the baseline. It succeeds if one with the same values exists; ciphertexts always differ.

    Raises DecryptionFailed, ErasureRunning, VaultUnavailable, Unavailable; HistoryCorrupt: another baseline is stored
    there, or one that cannot be unsealed.
    """
    location = BaselineLocation(baseline.key.scope, baseline.change_id)
    data_key = await KeyRing(audit.vault).get_or_create(location.scope)
    salt, nonce = audit.vault.ids.secret(SALT_BYTES), audit.vault.ids.secret(NONCE_BYTES)
    sealed = baseline_values.seal(baseline, location, data_key=data_key, salt=salt, nonce=nonce)
    try:
        await audit.append_baseline(location.scope, location.change_id, baselines.dump(sealed))
    except HistoryCorrupt:
        data = await audit.read_baseline(location.scope, location.change_id)
        if data is None:
            # A newer one has replaced it.
            raise Unavailable(dependency="blob_storage") from None
        stored = baselines.load(data)
        if stored is None:
            raise
        stored = await unseal_baseline(stored, location, vault=audit.vault)
        if baselines.dump(stored) != baselines.dump(baseline):
            raise


async def read_history(
    scope: UserScope, current: Envelope, last: int, *, audit: AuditLog
) -> tuple[Baseline | None, Sequence[Record]]:
    """Return the baseline and the records after it, up to change `last`; without a baseline from the first record.

    If no record follows the baseline, its own record is returned, the document's newest. When retention deletes records
    meanwhile, the read starts again from the newer baseline. Raises VaultUnavailable, Unavailable; HistoryCorrupt: a
    record is missing or has other bytes than were written.
    """
    baseline = await read_baseline(scope, current.doc_id, audit=audit)
    while True:
        first = 1 if baseline is None else min(baseline.sequence + 1, current.commit.sequence)
        try:
            return baseline, await read_records(scope, current, first, last, audit=audit)
        except HistoryCorrupt:
            newer = await read_baseline(scope, current.doc_id, audit=audit)
            if newer is None or (baseline is not None and newer.sequence <= baseline.sequence):
                raise
            baseline = newer


async def next_baseline(
    key: DocumentKey,
    current: Envelope,
    before: Baseline | None,
    *,
    policy: RetentionPolicy,
    as_of: datetime,
    audit: AuditLog,
) -> Baseline | None:
    """Return the baseline for all records that have expired: `before` itself if none has; None if there is none.

    Every record that it replaces is folded, and the next record, or the document, confirms the result. Nothing is
    written. Raises VaultUnavailable, Unavailable; HistoryCorrupt: the history does not verify.
    """
    try:
        return await _next(key, current, before, policy, as_of, audit)
    except BrokenChain as error:
        raise HistoryCorrupt(change_id=error.change_id, reason=error.reason) from error
    except (KeyError, TypeError) as error:
        raise HistoryCorrupt("A record lacks a member or has one of another type.") from error


async def _next(
    key: DocumentKey,
    current: Envelope,
    before: Baseline | None,
    policy: RetentionPolicy,
    as_of: datetime,
    audit: AuditLog,
) -> Baseline | None:
    fold = Fold(current.doc_id) if before is None else before.fold()
    if before is not None and before.key != key:
        raise BrokenChain(before.change_id, "the baseline belongs to another document")
    found, profile_id, size = before, before.profile_id if before else None, 1
    following: Record | None = None
    while following is None and (fold.sequence < current.commit.sequence or not fold.is_vouched):
        first = min(fold.sequence + 1, current.commit.sequence)
        records = await read_records(
            key.scope, current, first, min(first + size - 1, current.commit.sequence), audit=audit
        )
        due = count_expired(records, profile_id, policy, as_of)
        for record in records[:due]:
            version = fold.take(record)
            check_place(record, version, key)
            profile_id = ruled_by(record, profile_id)
            found = baseline_of(key, record, version, profile_id)
        following = records[due] if due < len(records) else None
        # Usually nothing has expired, and the first record shows it.
        size = min(2 * size, MAX_BATCH)
    if found is None:
        return None
    if following is None:
        check_head(fold, current)
    else:
        fold.take(following)
    return found
