"""The container, and the right to work in it."""

from contextlib import suppress

from memnet.adapters.azure.access import refusal
from memnet.adapters.azure.blob_container import BlobContainer
from memnet.domain.document import StorageETag
from memnet.domain.errors import Unavailable
from memnet.domain.prerequisite import Finding, Standing
from memnet.ports import StoreConflict

ROLE = "Storage Blob Data Contributor"
PROBE = "bootstrap/probe"
"""A blob that never comes to be."""
NO_TAG = StorageETag('"0x0"')
"""The tag of no blob: a write that asks for it is authorized, and then refused with 412."""


class ContainerPrerequisite:
    """The container of MEMNET_STORAGE_URL."""

    def __init__(self, container: BlobContainer) -> None:
        """Nothing is asked yet."""
        self._container = container
        self._subject = f"storage: container {container.name}"

    async def check(self) -> Finding:
        """Ask whether it is there."""
        try:
            is_there = await self._container.exists()
        except Unavailable as error:
            return refusal(self._subject, error, ROLE)
        return Finding(self._subject, Standing.READY if is_there else Standing.MISSING, creatable=True)

    async def create(self) -> None:
        """Make it. Raises Unavailable."""
        await self._container.create()


class BlobAccess:
    """The right to read, write, delete and list blobs there."""

    def __init__(self, container: BlobContainer) -> None:
        """Nothing is asked yet."""
        self._container = container

    async def check(self) -> Finding:
        """Read, write, delete and list a blob that is not there, none of which does anything."""
        subject = "storage: reading and writing"
        try:
            if not await self._container.exists():
                return Finding(subject, Standing.UNKNOWN, "the container has to be there first")
            await self._container.read(PROBE)
            with suppress(StoreConflict):  # as it should be: it was let in, and found no such blob
                await self._container.write(PROBE, b"", replaces=NO_TAG, metadata={})
            await self._container.delete(PROBE)
            await self._container.list(PROBE, limit=1, cursor=None, metadata=False)
        except Unavailable as error:
            return refusal(subject, error, ROLE)
        return Finding(subject, Standing.READY)
