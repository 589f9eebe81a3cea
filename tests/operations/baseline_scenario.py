"""Segments of the audit log as the tests need them, and histories whose oldest records are removed."""

from dataclasses import replace

from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.documents import envelope
from memnet.domain.documents.audit_segments import line
from memnet.domain.documents.envelope import Envelope, Position
from memnet.domain.history.baseline import Baseline
from memnet.stores import AuditLog, derive_baseline, store_baseline, stream_stored_records
from memnet.stores.audit_log import STARTED, segment_name
from tests.memory_blobs import storage_of
from tests.operations.replay_scenario import World


async def retain(world: World, key: DocumentKey, sequence: int) -> None:
    """Remove the records up to that change: the history begins with the segment after it, and its baseline."""
    baseline = await split(world, key, sequence + 1)
    doc_id = baseline.doc_id
    for first in (await world.audit.history(key.scope, doc_id)).segments:
        if first <= sequence:
            await world.audit.delete(key.scope, doc_id, first)
            await world.audit.delete(key.scope, doc_id, first, baseline=True)


async def retain_newest(world: World, key: DocumentKey) -> Baseline:
    """Remove all records but the newest, and what its change removed: the history begins with its own baseline."""
    last = (await stored_version(world, key)).commit.sequence
    await retain(world, key, last - 1)
    current = await stored_version(world, key)
    history = await world.audit.history(key.scope, current.doc_id)
    baseline = await derive_baseline(key, current, last + 1, history=history, audit=world.audit)
    await store_baseline(baseline, audit=world.audit)
    await world.audit.delete(key.scope, current.doc_id, last, baseline=True)
    return baseline


async def split(world: World, key: DocumentKey, first: int) -> Baseline:
    """Let a segment begin with that change, as with the first of a month, and store its baseline."""
    current = await stored_version(world, key)
    records = await stored_records(world.audit, key, current)
    history = await world.audit.history(key.scope, current.doc_id)
    firsts = sorted({*history.segments, first})
    for begin, end in zip(firsts, [*firsts[1:], current.commit.sequence + 1], strict=True):
        found = [record for number, record in records.items() if begin <= number < end]
        lay_segment(world.audit, key, current.doc_id, begin, found)
    await place(world, key, current, firsts, records)
    current, history = await stored_version(world, key), await world.audit.history(key.scope, current.doc_id)
    baseline = await derive_baseline(key, current, first, history=history, audit=world.audit)
    await store_baseline(baseline, audit=world.audit)
    return baseline


async def stored_version(world: World, key: DocumentKey) -> Envelope:
    """Return the current version of a document."""
    stored = await world.documents.get(key)
    assert stored is not None
    return envelope.load(stored.data)


async def stored_records(audit: AuditLog, key: DocumentKey, current: Envelope) -> dict[int, Record]:
    """Return the records of a document as they are stored, by the numbers of their changes."""
    begins = (await audit.history(key.scope, current.doc_id)).begins
    stream = stream_stored_records(key.scope, current, begins, current.commit.sequence, audit=audit)
    return {record["sequence"]: record async for record in stream}


def lay_segment(audit: AuditLog, key: DocumentKey, doc_id: str, first: int, records: list[Record]) -> None:
    """Store a segment, behind the service's back."""
    name, storage = segment_name(key.scope, doc_id, first), storage_of(audit)
    storage.overwrite(name, b"".join(map(line, records)), metadata={STARTED: records[0]["timestamp"]})


async def place(
    world: World, key: DocumentKey, current: Envelope, firsts: list[int], records: dict[int, Record]
) -> None:
    """Let the document name where the first record of its outbox lies now."""
    oldest = current.commit.outbox[0]["sequence"]
    first = max(one for one in firsts if one <= oldest)
    offset = sum(len(line(records[number])) for number in range(first, oldest))
    moved = replace(current, commit=replace(current.commit, position=Position(first, offset)))
    stored = await world.documents.get(key)
    assert stored is not None
    await world.documents.put(key, envelope.dump(moved), envelope.summarise(moved), replaces=stored.storage_etag)


def line_of(audit: AuditLog, scope: UserScope, change_id: str) -> bytes:
    """Return the stored bytes of a record."""
    storage, number = storage_of(audit), int(change_id[-12:])
    found = {
        int(name.rpartition("/")[2][:12]): name
        for name in storage.names(f"{scope.prefix}audit/{change_id[:-13]}/")
        if name.endswith(".jsonl")
    }
    first = max(one for one in found if one <= number)
    return storage.data(found[first]).split(b"\n")[number - first]


def drop_history(audit: AuditLog, scope: UserScope, doc_id: str) -> None:
    """Delete all records and baselines of a document, behind the service's back."""
    storage = storage_of(audit)
    for name in storage.names(f"{scope.prefix}audit/{doc_id}/"):
        storage.drop(name)
