"""Count what is kept of histories that have no document."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memnet.domain.envelope import Record
from memnet.domain.errors import InvalidIdentifier
from memnet.domain.leftover import read_leftover
from memnet.domain.retention import count_due, ruled_by
from memnet.operations.remove_due import RetentionRun
from memnet.stores import AuditLog

READ = 64
AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a record or a baseline stands; in the order of the changes, a baseline before the record of its own."""

    change_id: str
    is_record: bool


async def count_orphans(
    records: Mapping[str, Sequence[str]], baselines: Mapping[str, Sequence[str]], *, run: RetentionRun, audit: AuditLog
) -> None:
    """Count what is over by its own time and rule as waiting, and what comes after it as kept; nothing is removed.

    `records` and `baselines` are the changes by document for which no document was found. An erasure that a hold has
    stopped leaves such, and so does an import that is under way, or a document that somebody has taken away: of that
    one they are all that it can be made of again. So a person has to say which it is, and erases the user once more, or
    brings the document back. What cannot be read is counted as broken. Raises Unavailable.
    """
    for doc_id in sorted(records.keys() | baselines.keys()):
        places = [_Place(change, True) for change in records.get(doc_id, ())]
        places += [_Place(change, False) for change in baselines.get(doc_id, ())]
        await _count(sorted(places, key=lambda one: (one.change_id, one.is_record)), run, audit)


async def _count(places: Sequence[_Place], run: RetentionRun, audit: AuditLog) -> None:
    """As in a chain, what has to stay keeps all after it."""
    tally = run.report.tallies["audit"]
    profile_id: str | None = None
    for start in range(0, len(places), READ):
        left = await _read(places[start : start + READ], run, audit)
        over = count_due(left, profile_id, run.policy, run.as_of)
        tally.waiting += over
        if over < len(left):
            tally.kept += len(left) - over + len(places[start + READ :])
            return
        for one in left:
            profile_id = ruled_by(one, profile_id)


async def _read(places: Sequence[_Place], run: RetentionRun, audit: AuditLog) -> list[Record]:
    """What stands there; what is none of the user's changes is counted as broken."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(place: _Place) -> bytes | None:
        async with gate:
            read = audit.read if place.is_record else audit.read_baseline
            try:
                return await read(run.scope, place.change_id)
            except InvalidIdentifier:
                # Somebody else's blob: no change of ours has such a name.
                return b""

    found: list[Record] = []
    for place, data in zip(places, await asyncio.gather(*map(one, places)), strict=True):
        if data is None:
            continue
        left = read_leftover(run.scope, place.change_id, data)
        if left is None:
            run.report.broken["audit"] += 1
        else:
            found.append(left)
    return found
