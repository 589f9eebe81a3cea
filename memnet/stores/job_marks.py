"""The marks of jobs that are not finished: one empty blob each, so that no job is lost with a message."""

from dataclasses import dataclass
from datetime import datetime

from memnet.domain.core.errors import InvalidIdentifier
from memnet.domain.core.job import PENDING_MARKERS, Job, JobKind
from memnet.ports import ListedBlob, Page, StoreConflict
from memnet.stores.blobs import Blobs

NO_USER = "-"
"""Stands for the user of a tenant's job; no identifier is a dash."""


@dataclass(frozen=True, slots=True)
class MarkedJob:
    """The mark of a job that is not finished, and when it was created."""

    job: Job
    since: datetime


class JobMarks:
    """The marks of jobs that are not finished."""

    def __init__(self, blobs: Blobs) -> None:
        """Keep them in `blobs`."""
        self._blobs = blobs

    async def mark(self, job: Job) -> None:
        """Mark the job; a mark that exists is kept. Raises ErasureRunning, TenantEnded, Unavailable."""
        name = _name(job)
        try:
            if job.user_id is None:
                await self._blobs.storage.put(name, b"", replaces=None)
            else:
                await self._blobs.put_of(job.scope, name, b"", replaces=None)
        except StoreConflict:
            return

    async def unmark(self, job: Job) -> None:
        """Remove the mark; removing a missing one succeeds. Raises Unavailable."""
        await self._blobs.storage.delete(_name(job))

    async def list(self, *, limit: int, cursor: str | None) -> Page[MarkedJob]:
        """List the marks of all tenants in name order. Raises InvalidCursor, Unavailable."""
        return await self._blobs.rows(PENDING_MARKERS, _marked, limit=limit, cursor=cursor)


def _name(job: Job) -> str:
    return f"{PENDING_MARKERS}{job.kind}/{job.tenant_id}/{job.user_id or NO_USER}/{job.job_id}"


def _marked(blob: ListedBlob) -> MarkedJob | None:
    """The mark of a blob; None for a blob that is no mark of ours."""
    match blob.name.removeprefix(PENDING_MARKERS).split("/"):
        case [kind, tenant_id, user_id, job_id]:
            try:
                job = Job(JobKind(kind), tenant_id, None if user_id == NO_USER else user_id, job_id)
            except (ValueError, InvalidIdentifier):
                return None
            return MarkedJob(job, blob.last_modified)
    return None
