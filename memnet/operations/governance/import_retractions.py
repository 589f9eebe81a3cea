"""Import retractions with their closed sources, and leave out of an import what rests on a closed source."""

from memnet.domain.core.errors import Unavailable
from memnet.domain.core.timestamps import from_text, to_text
from memnet.domain.core.user_item import ItemKind
from memnet.domain.events.event import StoredEvent
from memnet.domain.governance import retraction as retractions
from memnet.domain.governance.archive_entry import ArchivedRetraction, Entry
from memnet.domain.governance.archive_import import ImportOutcome
from memnet.domain.governance.source import Source
from memnet.domain.governance.waiting import WaitingKind
from memnet.domain.governance.withdrawn import ClosedSources, Fate, Withdrawal
from memnet.domain.governance.withdrawn_entries import fate_of_event
from memnet.domain.replay import conflict as conflicts
from memnet.domain.replay import replay as replays
from memnet.domain.replay.replay_plan import event_id_of
from memnet.domain.replay.snapshot import Snapshot
from memnet.operations.replay.closed_sources import close_source
from memnet.operations.replay.retraction_record import load_retraction
from memnet.ports import StoreConflict
from memnet.service import Service
from memnet.stores import KeyRing


async def import_retraction(entry: ArchivedRetraction, service: Service, *, dry_run: bool) -> ImportOutcome:
    """Create a retraction unless another one has its id, with its plan sealed, and close its source if it was closed.

    One that was being applied or undone is stored as failed, and waits. Raises HistoryCorrupt,
    ErasureRunning, DecryptionFailed, VaultUnavailable, Unavailable.
    """
    entry = entry.restored()
    outcome = await _compare(entry, service)
    if dry_run or outcome is ImportOutcome.KEPT:
        return outcome or ImportOutcome.CREATED
    retraction = entry.retraction
    if outcome is None:
        if retraction.waits:
            await service.waiting.mark(retraction.scope, WaitingKind.RETRACTION, retraction.retraction_id)
        data = await _sealed(entry, service)
        try:
            await service.records.write(entry.key, data, replaces=None)
        except StoreConflict:
            # Another call was faster, or an earlier attempt of this write was applied.
            outcome = await _compare(entry, service)
            if outcome is None:
                raise Unavailable(dependency="blob_storage") from None
            if outcome is ImportOutcome.KEPT:
                return outcome
    if entry.is_closed:
        await close_source(retraction.scope, Withdrawal(retraction.retraction_id, retraction.source), service)
    return outcome or ImportOutcome.CREATED


async def _sealed(entry: ArchivedRetraction, service: Service) -> bytes:
    if entry.plan is None:
        return retractions.dump(entry.retraction)
    sealed = await KeyRing(service.vault).seal_member(entry.key, entry.plan)
    plan = retractions.load_plan(entry.plan)
    kept = entry.retraction.with_plan(sealed, plan.counts(), from_text(entry.retraction.updated_at))
    return retractions.dump(kept)


async def _compare(entry: ArchivedRetraction, service: Service) -> ImportOutcome | None:
    """Compare the entry with the retraction stored under its id; return None if there is none."""
    if await service.records.read(entry.key) is None:
        return None
    found = await load_retraction(entry.retraction.job, service)
    plan = None if found.retraction.is_expired else found.plan.dump()
    same = ArchivedRetraction(found.retraction, plan, entry.is_closed).line() == entry.line()
    return ImportOutcome.THERE if same else ImportOutcome.KEPT


def is_withdrawn(entry: Entry, closed: ClosedSources) -> bool:
    """Whether an entry of an archive rests on a source that is closed here: it is not brought back."""
    return any(_rests_on(entry, one.source) for one in closed)


def _rests_on(entry: Entry, source: Source) -> bool:
    if isinstance(entry, ArchivedRetraction):
        return False
    if isinstance(entry, StoredEvent):
        is_digest = source.replay_id is not None and entry.event.event_id == event_id_of(source.replay_id)
        return is_digest or fate_of_event(entry.event, source) is Fate.REMOVE
    if isinstance(entry, Snapshot):
        ids = {entry.snapshot_id: [one.message_id for one in entry.messages]}
        newest = to_text(from_text(entry.messages[-1].timestamp))
        was_said = source.takes_conversations and source.was_said(entry.conversation_id, ids)
        return was_said or source.acted(entry.service_id, newest)
    if entry.key.kind is ItemKind.REPLAYS:
        return source.message_ids is None and source.is_of(replays.load(entry.data))
    return entry.key.kind is ItemKind.CONFLICTS and source.cites(conflicts.load(entry.data).evidence)
