"""Baselines: what a document's history begins with once retention has removed its oldest records."""

from collections.abc import Mapping, Sequence

from memnet.domain.catalog.retention_policy import count_expired, ruled_by
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
from memnet.operations.governance.retention_run import RetentionRun
from memnet.operations.history.audit_records import read_records
from memnet.operations.sealing.key_ring import KeyRing
from memnet.stores import AuditLog, Vault

PAGE = 1000
READ = 64
"""The most records that are read at once to find the first one that is not due."""


async def list_baselines(scope: UserScope, doc_id: str = "", *, audit: AuditLog) -> Mapping[str, list[str]]:
    """Return the change ids of the baselines by document, of one or of all, the newest last. Raises Unavailable.

    There is more than one where an older one has not been removed yet: the newest is the one that counts.
    """
    found: dict[str, list[str]] = {}
    cursor: str | None = None
    while True:
        page = await audit.list_baselines(scope, doc_id, limit=PAGE, cursor=cursor)
        for change_id in page.items:
            of = change_id.rpartition("-")[0]
            if doc_id in ("", of):
                found.setdefault(of, []).append(change_id)
        cursor = page.next_cursor
        if cursor is None:
            return found


async def read_baseline(scope: UserScope, doc_id: str, *, audit: AuditLog) -> Baseline | None:
    """Return the document's newest baseline, opened; None if its history begins with its first record.

    Nothing vouches for it yet but its own form. Raises HistoryCorrupt for any other bytes, or if it does not open,
    VaultUnavailable, Unavailable.
    """
    while True:
        known = (await list_baselines(scope, doc_id, audit=audit)).get(doc_id)
        if not known:
            return None
        data = await audit.read_baseline(scope, known[-1])
        if data is None:
            # A newer one has taken its place.
            continue
        found = baselines.load(data)
        if found is None or found.change_id != known[-1] or found.key.scope != scope:
            raise HistoryCorrupt("The document's baseline cannot be read.", change_id=known[-1])
        return await open_baseline(found, BaselineLocation(scope, found.change_id), vault=audit.vault)


async def open_baseline(baseline: Baseline, place: BaselineLocation, *, vault: Vault) -> Baseline:
    """Return the open form of a baseline that is stored at `place`.

    Raises HistoryCorrupt with its change if it is not sealed or does not open there, VaultUnavailable, Unavailable.
    """
    keys = await KeyRing(vault).find(place.scope, baseline_values.data_key_ids(baseline))
    try:
        return baseline_values.opened(baseline, place, keys)
    except DecryptionFailed as error:
        raise HistoryCorrupt(change_id=place.change_id, reason=VALUES_DO_NOT_OPEN) from error


async def store_baseline(baseline: Baseline, *, audit: AuditLog) -> None:
    """Create the baseline, which is given open; if the same one stands there already, that is success.

    No two ciphertexts are alike: the same is what says the same once it is opened. Raises HistoryCorrupt if another one
    stands there, or one that does not open; DecryptionFailed if the user's keys do not open, ErasureRunning,
    VaultUnavailable, and Unavailable when the outcome is unknown.
    """
    place = BaselineLocation(baseline.key.scope, baseline.change_id)
    stored = await _sealed(baseline, place, audit.vault)
    try:
        await audit.append_baseline(place.scope, place.change_id, baselines.dump(stored))
    except HistoryCorrupt:
        data = await audit.read_baseline(place.scope, place.change_id)
        if data is None:
            # A newer one has just taken its place.
            raise Unavailable(dependency="blob_storage") from None
        there = baselines.load(data)
        if there is None:
            raise
        there = await open_baseline(there, place, vault=audit.vault)
        if baselines.dump(there) != baselines.dump(baseline):
            raise


async def _sealed(baseline: Baseline, place: BaselineLocation, vault: Vault) -> Baseline:
    data_key = await KeyRing(vault).get_or_create(place.scope)
    salt, nonce = vault.ids.secret(SALT_BYTES), vault.ids.secret(NONCE_BYTES)
    return baseline_values.seal(baseline, place, data_key=data_key, salt=salt, nonce=nonce)


async def read_history(
    scope: UserScope, head: Envelope, last: int, *, audit: AuditLog
) -> tuple[Baseline | None, Sequence[Record]]:
    """Return the baseline and the records after it, up to change `last`; without a baseline from the first on.

    If there is none after it, the baseline's own record is returned, which is the document's newest. Records may be
    removed meanwhile: then a newer baseline stands for them, and the reading begins with that one. Raises
    HistoryCorrupt with a record that is missing or not what was written, VaultUnavailable, Unavailable.
    """
    baseline = await read_baseline(scope, head.doc_id, audit=audit)
    while True:
        first = 1 if baseline is None else min(baseline.sequence + 1, head.commit.sequence)
        try:
            return baseline, await read_records(scope, head, first, last, audit=audit)
        except HistoryCorrupt:
            newer = await read_baseline(scope, head.doc_id, audit=audit)
            if newer is None or (baseline is not None and newer.sequence <= baseline.sequence):
                raise
            baseline = newer


async def next_baseline(
    key: DocumentKey, head: Envelope, before: Baseline | None, *, run: RetentionRun, audit: AuditLog
) -> Baseline | None:
    """Return the baseline for all records that are over: `before` itself if none is, None if there is none at all.

    Every record it stands for is folded, and the next record, or the document, vouches for the outcome. Nothing is
    written. Raises HistoryCorrupt if the history does not hold, VaultUnavailable,
    Unavailable.
    """
    try:
        return await _next(key, head, before, run, audit)
    except BrokenChain as error:
        raise HistoryCorrupt(change_id=error.change_id, reason=error.reason) from error
    except (KeyError, TypeError) as error:
        raise HistoryCorrupt("A record lacks a member or has one of another type.") from error


async def _next(
    key: DocumentKey, head: Envelope, before: Baseline | None, run: RetentionRun, audit: AuditLog
) -> Baseline | None:
    fold = Fold(head.doc_id) if before is None else before.fold()
    if before is not None and before.key != key:
        raise BrokenChain(before.change_id, "the baseline speaks of another document")
    found, profile_id, size = before, before.profile_id if before else None, 1
    following: Record | None = None
    while following is None and (fold.sequence < head.commit.sequence or not fold.is_vouched):
        first = min(fold.sequence + 1, head.commit.sequence)
        records = await read_records(key.scope, head, first, min(first + size - 1, head.commit.sequence), audit=audit)
        due = count_expired(records, profile_id, run.policy, run.as_of)
        for record in records[:due]:
            version = fold.take(record)
            check_place(record, version, key)
            profile_id = ruled_by(record, profile_id)
            found = baseline_of(key, record, version, profile_id)
        following = records[due] if due < len(records) else None
        # Mostly nothing is over, and the first record says so.
        size = min(2 * size, READ)
    if found is None:
        return None
    if following is None:
        check_head(fold, head)
    else:
        fold.take(following)
    return found
