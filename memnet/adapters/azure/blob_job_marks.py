"""JobMarks on Azure Blob Storage: one empty blob per job that is not finished."""

from azure.storage.blob import BlobProperties

from memnet.adapters.azure.blob_container import BlobContainer
from memnet.domain.errors import InvalidIdentifier
from memnet.domain.job import MARKS, Job, JobKind
from memnet.ports import MarkedJob, Page, StoreConflict

NO_USER = "-"
"""Stands for the user of a tenant's job; no identifier is a dash."""


class BlobJobMarks:
    """The JobMarks port; errors as the port says."""

    def __init__(self, container: BlobContainer) -> None:
        """Use the container of the documents."""
        self._container = container

    async def mark(self, job: Job) -> None:
        """Create the mark. Raises ErasureRunning, Unavailable."""
        try:
            await self._container.write(
                _name(job), b"", replaces=None, metadata={}, of=None if job.user_id is None else job.scope
            )
        except StoreConflict:
            return

    async def unmark(self, job: Job) -> None:
        """Delete the mark. Raises Unavailable."""
        await self._container.delete(_name(job))

    async def list(self, *, limit: int, cursor: str | None) -> Page[MarkedJob]:
        """List the marks in name order. Raises InvalidCursor, Unavailable."""
        blobs, following = await self._container.list(MARKS, limit=limit, cursor=cursor, metadata=False)
        found = [_marked(blob) for blob in blobs]
        return Page([marked for marked in found if marked is not None], following)


def _name(job: Job) -> str:
    return f"{MARKS}{job.kind}/{job.tenant_id}/{job.user_id or NO_USER}/{job.job_id}"


def _marked(blob: BlobProperties) -> MarkedJob | None:
    """The mark of a blob; None for a blob that is no mark of ours."""
    match str(blob.name).removeprefix(MARKS).split("/"):
        case [kind, tenant_id, user_id, job_id] if blob.last_modified is not None:
            try:
                job = Job(JobKind(kind), tenant_id, None if user_id == NO_USER else user_id, job_id)
            except (ValueError, InvalidIdentifier):
                return None
            return MarkedJob(job, blob.last_modified)
    return None
