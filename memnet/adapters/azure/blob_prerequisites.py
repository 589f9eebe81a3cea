"""The container, and the right to work in it."""

from contextlib import suppress

from memnet.adapters.azure.access import refusal
from memnet.adapters.azure.blob_storage import AzureBlobStorage
from memnet.domain.core.errors import Unavailable
from memnet.domain.core.prerequisite import Finding, PrerequisiteStatus
from memnet.domain.core.scope import StorageETag
from memnet.ports import StoreConflict

ROLE = "Storage Blob Data Contributor"
PROBE = "bootstrap/probe"
"""A blob that never comes to be."""
DELETED = "bootstrap/deletion"
"""A blob that is made and deleted at once."""
NO_TAG = StorageETag('"0x0"')
"""The tag of no blob: a write that asks for it is authorized, and then refused with 412."""


class ContainerPrerequisite:
    """The container of MEMNET_STORAGE_URL."""

    def __init__(self, container: AzureBlobStorage) -> None:
        """Nothing is asked yet."""
        self._container = container
        self._subject = f"storage: container {container.name}"

    async def check(self) -> Finding:
        """Ask whether it is there."""
        try:
            is_there = await self._container.exists()
        except Unavailable as error:
            return refusal(self._subject, error, ROLE)
        return Finding(
            self._subject, PrerequisiteStatus.READY if is_there else PrerequisiteStatus.MISSING, creatable=True
        )

    async def create(self) -> None:
        """Make it. Raises Unavailable."""
        await self._container.create()


class BlobAccess:
    """The right to read, write, delete and list blobs there."""

    def __init__(self, container: AzureBlobStorage) -> None:
        """Nothing is asked yet."""
        self._container = container

    async def check(self) -> Finding:
        """Read, write, delete and list a blob that is not there, none of which does anything."""
        subject = "storage: reading and writing"
        try:
            if not await self._container.exists():
                return Finding(subject, PrerequisiteStatus.UNKNOWN, "the container has to be there first")
            await self._container.get(PROBE)
            with suppress(StoreConflict):  # as it should be: it was let in, and found no such blob
                await self._container.put(PROBE, b"", replaces=NO_TAG)
            await self._container.delete(PROBE)
            await self._container.list(PROBE, limit=1, cursor=None)
        except Unavailable as error:
            return refusal(subject, error, ROLE)
        return Finding(subject, PrerequisiteStatus.READY)


class DeletionCheck:
    """Whether a deletion deletes: an erasure cannot end as complete while the account keeps versions or deleted blobs.

    Creates one empty blob, deletes it, and lists what is left of it. Only the management interface tells the settings
    themselves (Set Blob Service Properties, "Remarks"); the service has no right there.
    """

    def __init__(self, container: AzureBlobStorage) -> None:
        """Nothing is asked yet."""
        self._container = container

    async def check(self) -> Finding:
        """Report versioning as wrong, and soft delete as what it means for erasures."""
        subject = "storage: deletion"
        try:
            if not await self._container.exists():
                return Finding(subject, PrerequisiteStatus.UNKNOWN, "the container has to be there first")
            with suppress(StoreConflict):  # an earlier check was interrupted before it deleted the blob
                await self._container.put(DELETED, b"", replaces=None)
            await self._container.delete(DELETED)
            left = await self._container.list(DELETED, limit=1000, cursor=None, copies=True)
        except Unavailable as error:
            return refusal(subject, error, ROLE)
        if any(blob.copy.startswith("versionid=") for blob in left.items):
            told = "versioning keeps every deleted blob: turn it off, or no erasure can end as complete"
            return Finding(subject, PrerequisiteStatus.WRONG, told)
        days = max((blob.deleted_days for blob in left.items if blob.deleted_days is not None), default=None)
        if days is None:
            return Finding(subject, PrerequisiteStatus.READY)
        told = f"soft delete keeps deleted blobs for {days + 1} days: until then an erasure is partial"
        return Finding(subject, PrerequisiteStatus.READY, told)
