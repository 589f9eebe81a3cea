"""JobMarks in a dict. Every call yields to the event loop first, so that races show."""

import asyncio
from collections.abc import Mapping

from memnet.adapters.memory.erasures import MemoryErasureStore
from memnet.domain import cursor as cursors
from memnet.domain.job import MARKS, Job
from memnet.ports import Clock, MarkedJob, Page

_LISTING = "jobs"


class MemoryJobMarks:
    """The JobMarks port for tests; errors as the port says, except that it is never unavailable."""

    def __init__(self, clock: Clock, fences: MemoryErasureStore | None = None) -> None:
        """Start empty; marks are dated by `clock`, and none is made for users with a fence."""
        self._fences = fences
        self._clock = clock
        self._marks: dict[str, MarkedJob] = {}

    async def mark(self, job: Job) -> None:
        """Note the job. Raises ErasureRunning."""
        if self._fences is not None and job.user_id is not None:
            await self._fences.check(job.scope)
        await asyncio.sleep(0)
        self._marks.setdefault(_name(job), MarkedJob(job, self._clock.now()))

    async def unmark(self, job: Job) -> None:
        """Take the note away."""
        await asyncio.sleep(0)
        self._marks.pop(_name(job), None)

    def holdings(self) -> Mapping[str, object]:
        """All marks, by name."""
        return {f"{MARKS}{name}": mark for name, mark in self._marks.items()}

    def drop(self, name: str) -> None:
        """Take the mark of this name out; a missing one is fine."""
        self._marks.pop(name.removeprefix(MARKS), None)

    async def list(self, *, limit: int, cursor: str | None) -> Page[MarkedJob]:
        """List the marks in name order. Raises InvalidCursor."""
        after = "" if cursor is None else cursors.decode(_LISTING, cursor)
        await asyncio.sleep(0)
        names = [name for name in sorted(self._marks) if name > after]
        found = [self._marks[name] for name in names[:limit]]
        return Page(found, cursors.encode(_LISTING, names[limit - 1]) if len(names) > limit else None)


def _name(job: Job) -> str:
    return f"{job.kind}/{job.tenant_id}/{job.user_id or '-'}/{job.job_id}"
