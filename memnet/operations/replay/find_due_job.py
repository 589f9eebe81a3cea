"""Ask the records whether a job is still to be done."""

from dataclasses import dataclass
from datetime import datetime

from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.timestamps import from_text
from memnet.domain.replay import conflict as conflicts
from memnet.domain.replay import replay as replays
from memnet.domain.replay.conflict import conflict_key
from memnet.domain.replay.replay import replay_key
from memnet.stores import ItemStore


@dataclass(frozen=True, slots=True)
class DueJob:
    """A job that is not finished: which attempt it waits for, and since when or from when on."""

    attempt: int
    due: datetime | None
    """None: at once."""
    given_up_at: int = 0
    """How many of its attempts were before it was last given up: they do not count against it."""


async def find_due_job(job: Job, *, records: ItemStore) -> DueJob | None:
    """Return what is left of a job; None if it is finished, rests, or nothing is known of it.

    A reindexing has its own record, which its worker looks at. Raises HistoryCorrupt, Unavailable.
    """
    if job.kind is JobKind.REPLAY:
        stored = await records.read(replay_key(job.scope, job.job_id))
        replay = replays.load(stored.data) if stored else None
        if replay is None or replay.finished:
            return None
        return DueJob(replay.attempts, None, replay.begun_before)
    if job.kind is JobKind.CONFLICT:
        stored = await records.read(conflict_key(job.scope, job.job_id))
        conflict = conflicts.load(stored.data) if stored else None
        if conflict is None or conflict.next_attempt_at is None:
            return None
        return DueJob(conflict.scheduled, from_text(conflict.next_attempt_at))
    return DueJob(0, None)
