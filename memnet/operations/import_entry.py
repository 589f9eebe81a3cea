"""Put an entry of an archive back: an event, a snapshot, or a record."""

from memnet.domain.archive_entry import Entry, is_same
from memnet.domain.archive_import import Fate
from memnet.domain.errors import EventExists, Unavailable, VaultUnavailable
from memnet.domain.event import StoredEvent
from memnet.domain.snapshot import Snapshot
from memnet.operations.open_attachment import open_attachment
from memnet.operations.open_record import open_record
from memnet.operations.seal_record import seal_record
from memnet.operations.store_attachment import store_attachment
from memnet.operations.write_event import write_event
from memnet.ports import Background, IdGenerator, StoreConflict
from memnet.stores import EventStore, RecordStore, Vault


async def import_entry(
    entry: Entry,
    *,
    dry_run: bool,
    events: EventStore,
    records: RecordStore,
    vault: Vault | None,
    ids: IdGenerator,
    background: Background,
) -> Fate:
    """Create it unless something stands in its place; a snapshot is sealed, and so is what an earlier import attached;
    an event is marked for the index.

    What had not ended when it was exported is LEFT_OUT. Raises SealBroken, VaultUnavailable, Unavailable.
    """
    if isinstance(entry, StoredEvent):
        return await _event(entry, dry_run, events, ids, background)
    if isinstance(entry, Snapshot):
        return await _snapshot(entry, dry_run, vault)
    if not entry.closed:
        return Fate.LEFT_OUT
    stored = await records.read(entry.key)
    if stored is not None:
        found = await open_attachment(entry.key, stored.data, vault=vault)
        return Fate.THERE if is_same(entry, found) else Fate.KEPT
    return Fate.CREATED if dry_run else await store_attachment(entry.key, entry.data, records=records, vault=vault)


async def _event(
    entry: StoredEvent, dry_run: bool, events: EventStore, ids: IdGenerator, background: Background
) -> Fate:
    if dry_run:
        stored = await events.get(entry.key)
        return Fate.CREATED if stored is None else Fate.THERE if stored == entry.data else Fate.KEPT
    try:
        # One that is there, too: whoever created it may have ended before it was marked. Without the index, which would
        # hold up every event: the reconciliation finds them by their marks.
        written = await write_event(
            entry.key.scope, entry.event, events=events, search=None, ids=ids, background=background
        )
    except EventExists:
        return Fate.KEPT
    return Fate.THERE if written.replayed else Fate.CREATED


async def _snapshot(entry: Snapshot, dry_run: bool, vault: Vault | None) -> Fate:
    if vault is None:
        raise VaultUnavailable()
    fate = await _stored_snapshot(entry, vault)
    if fate is not None or dry_run:
        return fate or Fate.CREATED
    try:
        sealed = await seal_record(entry.key, entry.dump(), vault=vault)
        await vault.records.write(entry.key, sealed, replaces=None)
    except StoreConflict:
        fate = await _stored_snapshot(entry, vault)
        if fate is None:
            raise Unavailable(dependency="blob_storage") from None
        return fate
    return Fate.CREATED


async def _stored_snapshot(entry: Snapshot, vault: Vault) -> Fate | None:
    """How the one that stands there compares; None if there is none. It is compared, and shown to nobody."""
    stored = await vault.records.read(entry.key)
    if stored is None:
        return None
    opened = await open_record(entry.key, stored.data, vault=vault)
    return Fate.THERE if opened == entry.dump() else Fate.KEPT
