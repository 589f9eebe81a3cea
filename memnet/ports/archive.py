"""The file that a user's memory is exported to, or imported from."""

from collections.abc import AsyncIterable, AsyncIterator, Sequence
from typing import Protocol

from memnet.domain.governance.archive import ArchiveMember


class ArchiveWriter(Protocol):
    """An archive that is being written: the same files in the same order, the same bytes."""

    async def write(self, name: str, parts: AsyncIterable[bytes]) -> None:
        """Add a file, part by part: no more than one part is in memory. Raises OSError."""
        ...


class ArchiveReader(Protocol):
    """An archive that somebody gives us. None of its files is larger than it says, nor larger than the archive."""

    @property
    def members(self) -> Sequence[ArchiveMember]:
        """What its own directory lists: names are as they stand there, perhaps twice, perhaps hostile."""
        ...

    def read(self, name: str) -> AsyncIterator[bytes]:
        """Yield a file in chunks of bounded size. Raises ArchiveInvalid if the archive is damaged, OSError."""
        ...
