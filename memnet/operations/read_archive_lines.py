"""Read a file of an archive line by line."""

from collections.abc import AsyncIterator
from hashlib import sha256

from memnet.domain.archive import ArchivedFile, refuse
from memnet.domain.archive_entry import Lines
from memnet.ports import ArchiveReader


async def read_archive_lines(archive: ArchiveReader, file: ArchivedFile) -> AsyncIterator[bytes]:
    """Yield the lines without their ends; one is in memory at a time.

    Raises ArchiveRefused for a line that is too long and, at the end, if the file is not what `file` says; OSError.
    """
    lines, hashed, size = Lines(file.name), sha256(), 0
    async for chunk in archive.read(file.name):
        hashed.update(chunk)
        size += len(chunk)
        for line in lines.feed(chunk):
            yield line
    lines.close()
    if (size, hashed.hexdigest()) != (file.bytes, file.sha256):
        refuse("a file does not have the hash that the manifest says", file.name)
