"""The audit records below audit/ and the baselines below baselines/: one blob each, created once, never changed."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import datetime

from memnet.domain.core.errors import DecryptionFailed, HistoryCorrupt, Unavailable
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import UserScope, check_identifier
from memnet.domain.documents import audit_values
from memnet.domain.documents.audit_record import read_record
from memnet.domain.documents.audit_values import AuditRecordLocation
from memnet.domain.documents.envelope import Envelope
from memnet.paging import bounded
from memnet.ports import Page, StoreConflict
from memnet.stores.blobs import Blobs, stem
from memnet.stores.key_ring import KeyRing, Vault


class AuditLog:
    """The audit records and the baselines as bytes. A record is removed only after a baseline replaces it.

    `read_records` below and `memnet.stores.baselines` unseal them. Every method raises InvalidIdentifier for a change
    id that is not an identifier.
    """

    def __init__(self, blobs: Blobs, vault: Vault, *, known_limit: int = 100_000) -> None:
        """`vault` holds the keys that seal records; `known_limit` bounds how many records the process remembers."""
        self.vault = vault
        self._blobs = blobs
        self._known: OrderedDict[str, None] = OrderedDict()
        self._known_limit = known_limit

    async def append(self, scope: UserScope, change_id: str, data: bytes) -> None:
        """Create the record. It succeeds if the record exists with the same bytes.

        Raises ErasureRunning, TenantEnded, Unavailable; HistoryCorrupt: the record exists with other bytes.
        """
        name = _name(scope, change_id)
        await self._append(scope, name, data, change_id)
        self._remember(name)

    def is_flushed(self, scope: UserScope, change_id: str) -> bool:
        """Return whether this process has written or read the record, without a round trip. It may forget."""
        return _name(scope, change_id) in self._known

    async def read(self, scope: UserScope, change_id: str) -> bytes | None:
        """Return one record, or None if it does not exist. Raises Unavailable."""
        name = _name(scope, change_id)
        data = await self._blobs.data(name)
        if data is not None:
            self._remember(name)
        return data

    async def list(self, scope: UserScope, prefix: str, *, limit: int, cursor: str | None) -> Page[str]:
        """List the change ids that start with `prefix`, in name order. Raises InvalidCursor, Unavailable."""
        return await self._list(f"{scope.prefix}audit/", prefix, limit, cursor)

    async def delete(self, scope: UserScope, change_id: str, *, known_at: datetime | None = None) -> None:
        """Delete one record; deleting a missing one succeeds. `known_at` is as in `BlobStorage`. Raises Unavailable."""
        name = _name(scope, change_id)
        self._known.pop(name, None)
        await self._blobs.storage.delete(name, known_at=known_at)

    async def append_baseline(self, scope: UserScope, change_id: str, data: bytes) -> None:
        """Create the baseline of a change, as `append` creates a record."""
        await self._append(scope, _name(scope, change_id, "baselines"), data, change_id)

    async def read_baseline(self, scope: UserScope, change_id: str) -> bytes | None:
        """Return the baseline of a change, or None if it does not exist. Raises Unavailable."""
        return await self._blobs.data(_name(scope, change_id, "baselines"))

    async def list_baselines(self, scope: UserScope, prefix: str, *, limit: int, cursor: str | None) -> Page[str]:
        """List the changes that have a baseline, as `list` lists those that have a record."""
        return await self._list(f"{scope.prefix}baselines/", prefix, limit, cursor)

    async def delete_baseline(self, scope: UserScope, change_id: str, *, known_at: datetime | None = None) -> None:
        """Delete the baseline of a change, as `delete` deletes a record."""
        await self._blobs.storage.delete(_name(scope, change_id, "baselines"), known_at=known_at)

    async def _append(self, scope: UserScope, name: str, data: bytes, change_id: str) -> None:
        try:
            await self._blobs.put_of(scope, name, data, replaces=None, announced=False)
        except StoreConflict:
            stored = await self._blobs.data(name)
            if stored is None:
                raise Unavailable(dependency="blob_storage") from None
            if stored != data:
                raise HistoryCorrupt(change_id=change_id) from None

    async def _list(self, start: str, prefix: str, limit: int, cursor: str | None) -> Page[str]:
        return await self._blobs.rows(start + prefix, lambda blob: stem(blob.name, start), limit=limit, cursor=cursor)

    def _remember(self, name: str) -> None:
        self._known[name] = None
        self._known.move_to_end(name)
        if len(self._known) > self._known_limit:
            self._known.popitem(last=False)


def _name(scope: UserScope, change_id: str, folder: str = "audit") -> str:
    return f"{scope.prefix}{folder}/{check_identifier('change_id', change_id)}.json"


async def read_records(
    scope: UserScope, current: Envelope, first: int, last: int, *, audit: AuditLog
) -> Sequence[Record]:
    """Return the records of changes `first` to `last`, unsealed, including those in the document's outbox.

    Raises VaultUnavailable, Unavailable; HistoryCorrupt: a record is missing, has other bytes than were written, or
    cannot be unsealed.
    """
    stored = await read_stored_records(scope, current, first, last, audit=audit)
    return await unseal_records(scope, stored, vault=audit.vault)


async def read_stored_records(
    scope: UserScope, current: Envelope, first: int, last: int, *, audit: AuditLog
) -> Mapping[str, Record]:
    """Return the records of changes `first` to `last` by change, in order, sealed as stored.

    No key is needed: sealed records are enough to verify the chain. Raises Unavailable; HistoryCorrupt: a record is
    missing or has other bytes than were written.
    """
    waiting = {record["change_id"]: record for record in current.commit.outbox}

    async def read_one(change_id: str) -> Record:
        if change_id in waiting:
            return waiting[change_id]
        data = await audit.read(scope, change_id)
        record = None if data is None else read_record(data)
        if record is None:
            raise HistoryCorrupt(change_id=change_id)
        return record

    changes = [current.change_id(number) for number in range(first, last + 1)]
    return dict(zip(changes, await bounded(read_one, changes), strict=True))


async def unseal_records(scope: UserScope, records: Mapping[str, Record], *, vault: Vault) -> Sequence[Record]:
    """Return stored records, given by change, unsealed; each key is unwrapped once.

    Raises:
        HistoryCorrupt: A record cannot be unsealed; the error names the first.
        VaultUnavailable, Unavailable.
    """
    keys = await KeyRing(vault).find(scope, audit_values.data_key_ids(records.values()))
    unsealed = []
    for change_id, record in records.items():
        try:
            unsealed.append(audit_values.opened(record, AuditRecordLocation(scope, change_id), keys))
        except DecryptionFailed as error:
            raise HistoryCorrupt(change_id=change_id, reason="the values of the record cannot be decrypted") from error
    return unsealed
