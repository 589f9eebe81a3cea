"""Baselines: the state that a segment of the audit log continues from, next to each segment but a document's first.

A baseline is derived from the records before it, and the record after it confirms it. So an earlier version is read
from one baseline and one segment, and the records before a baseline can be removed.
"""

from collections.abc import AsyncIterator

from memnet.domain.core.errors import DecryptionFailed, HistoryCorrupt, Unavailable
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.documents.audit_record import BrokenChain, Fold, check_head
from memnet.domain.documents.audit_values import SALT_BYTES
from memnet.domain.documents.envelope import Envelope
from memnet.domain.history import baseline as baselines
from memnet.domain.history import baseline_values
from memnet.domain.history.baseline import VALUES_DO_NOT_OPEN, Baseline, Deriving
from memnet.domain.history.baseline_values import BaselineLocation
from memnet.domain.history.reconstruction import check_place
from memnet.domain.sealing.sealing import NONCE_BYTES
from memnet.ports import StoreConflict
from memnet.stores.audit_log import AuditLog, StoredHistory
from memnet.stores.audit_records import stream_records
from memnet.stores.key_ring import KeyRing, Vault


async def read_baseline(scope: UserScope, doc_id: str, first: int, *, audit: AuditLog) -> Baseline | None:
    """Return the baseline next to the segment that begins with change `first`, unsealed; None if there is none.

    Only its form is checked: the record after it confirms its content. Raises VaultUnavailable, Unavailable;
    HistoryCorrupt: the baseline cannot be read or unsealed.
    """
    data = await audit.read_baseline(scope, doc_id, first)
    if data is None:
        return None
    found = baselines.load(data)
    if found is None or (found.doc_id, found.sequence, found.key.scope) != (doc_id, first - 1, scope):
        raise HistoryCorrupt("A baseline of the document cannot be read.", change_id=f"{doc_id}-{first - 1:012d}")
    return await unseal_baseline(found, BaselineLocation(scope, found.change_id), vault=audit.vault)


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
    scope, first = baseline.key.scope, baseline.sequence + 1
    location = BaselineLocation(scope, baseline.change_id)
    data_key = await KeyRing(audit.vault).get_or_create(scope)
    salt, nonce = audit.vault.ids.secret(SALT_BYTES), audit.vault.ids.secret(NONCE_BYTES)
    sealed = baseline_values.seal(baseline, location, data_key=data_key, salt=salt, nonce=nonce)
    try:
        await audit.create_baseline(scope, baseline.doc_id, first, baselines.dump(sealed))
    except StoreConflict:
        stored = await read_baseline(scope, baseline.doc_id, first, audit=audit)
        if stored is None:
            raise Unavailable(dependency="blob_storage") from None
        if baselines.dump(stored) != baselines.dump(baseline):
            raise HistoryCorrupt(change_id=baseline.change_id) from None


async def read_history(
    scope: UserScope, current: Envelope, sequence: int, *, history: StoredHistory, audit: AuditLog
) -> tuple[Baseline | None, AsyncIterator[Record]]:
    """Return the newest baseline before change `sequence`, and the records after it, unsealed, up to the current one.

    Without a baseline the records begin with the document's first. If the history begins with the baseline of its first
    record, they begin with that record, which confirms it. Raises, as does the iterator, VaultUnavailable,
    Unavailable; HistoryCorrupt: a record is missing or has other bytes than were written, or a baseline is missing.
    """
    known = (first for first in history.baselines if history.begins <= first <= sequence)
    newest = max(known, default=history.base)
    baseline = await read_baseline(scope, current.doc_id, newest, audit=audit) if newest > 1 else None
    first = 1 if baseline is None else min(newest, sequence)
    return baseline, stream_records(scope, current, first, current.commit.sequence, audit=audit, history=history)


async def derive_baseline(
    key: DocumentKey, current: Envelope, first: int, *, history: StoredHistory, audit: AuditLog
) -> Baseline:
    """Return the baseline of the segment that begins with change `first`, from the baseline before it and the records.

    The record after it confirms the result, or the document if it has no later change. Nothing is written. Raises as
    `read_history`; HistoryCorrupt: the records do not verify.
    """
    before, records = await read_history(key.scope, current, first - 1, history=history, audit=audit)
    try:
        fold = Fold(current.doc_id) if before is None else before.fold()
        deriving = Deriving(key, before)
        if before is not None and before.key != key:
            raise BrokenChain(before.change_id, "the baseline belongs to another document")
        found = before
        async for record in records:
            version = fold.take(record)
            check_place(record, version, key)
            if version.sequence == first:
                break
            deriving.take(version)
            if version.sequence == first - 1:
                found = deriving.baseline()
        if fold.sequence < first:
            check_head(fold, current)
    except BrokenChain as error:
        raise HistoryCorrupt(change_id=error.change_id, reason=error.reason) from error
    except (KeyError, TypeError) as error:
        raise HistoryCorrupt("A record lacks a member or has one of another type.") from error
    if found is None or found.sequence != first - 1:
        raise HistoryCorrupt(change_id=current.change_id(first - 1))
    return found
