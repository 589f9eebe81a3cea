"""The file that a user's memory is exported to, or imported from."""

from collections.abc import AsyncIterable, AsyncIterator, Sequence
from typing import Protocol

from memnet.domain.governance.archive import ArchiveMember


class ArchiveWriter(Protocol):
    """An archive that is being written: the same files in the same order, the same bytes."""

    async def write(self, name: str, parts: AsyncIterable[bytes]) -> None:
        """Add a file, part by part: no more than one part is in memory. Raises OSError."""


class ArchiveReader(Protocol):
    """An untrusted archive. No file yields more bytes than its declared size, or than the archive holds."""

    @property
    def members(self) -> Sequence[ArchiveMember]:
        """The entries of its directory; names are untrusted and may be duplicates."""

    def read(self, name: str) -> AsyncIterator[bytes]:
        """Yield a file in chunks of bounded size. Raises ArchiveInvalid if the archive is damaged, OSError."""
