"""Lines of a file in an archive, one at a time, and refused where the file is not what is said of it."""

import tracemalloc
from collections.abc import AsyncIterator, Sequence

import pytest

from memnet.domain.archive import ArchivedFile, ArchiveMember
from memnet.domain.errors import ArchiveRefused
from memnet.domain.json_text import digest
from memnet.operations.read_archive_lines import read_archive_lines


class Chunks:
    """An archive of one file, given in these chunks."""

    def __init__(self, *chunks: bytes) -> None:
        self.chunks = chunks
        self.members: Sequence[ArchiveMember] = []

    async def read(self, name: str) -> AsyncIterator[bytes]:
        for chunk in self.chunks:
            yield chunk


def described(data: bytes) -> ArchivedFile:
    return ArchivedFile(name="events.jsonl", bytes=len(data), sha256=digest(data))


async def lines(archive: Chunks, file: ArchivedFile) -> list[bytes]:
    return [line async for line in read_archive_lines(archive, file)]


@pytest.mark.parametrize("chunks", [[], [b""], [b"a\nb\n"], [b"a", b"\n", b"bc\nd", b"e", b"\n"], [b"\n\n"]])
async def test_lines_are_cut_wherever_the_chunks_end(chunks: list[bytes]) -> None:
    data = b"".join(chunks)
    assert await lines(Chunks(*chunks), described(data)) == data.split(b"\n")[:-1]


async def test_a_last_line_without_an_end_is_refused() -> None:
    with pytest.raises(ArchiveRefused) as caught:
        await lines(Chunks(b"a\nb"), described(b"a\nb"))
    assert caught.value.details == {"reason": "the last line does not end", "member": "events.jsonl"}


async def test_another_hash_or_size_is_refused() -> None:
    for file in (described(b"b\n"), described(b"a\n").model_copy(update={"bytes": 3})):
        with pytest.raises(ArchiveRefused) as caught:
            await lines(Chunks(b"a\n"), file)
        assert caught.value.details["reason"] == "a file does not have the hash that the manifest says"


async def test_a_line_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memnet.domain.archive_entry.MAX_ENTRY_BYTES", 10)
    assert await lines(Chunks(b"0123456789\n"), described(b"0123456789\n")) == [b"0123456789"]
    with pytest.raises(ArchiveRefused) as caught:
        await lines(Chunks(b"01234", b"56789", b"0"), described(b""))
    assert "longer than 10 bytes" in caught.value.details["reason"]


async def test_one_line_is_in_memory_at_a_time() -> None:
    line = b"x" * 100_000 + b"\n"
    archive, file = Chunks(*[line] * 300), described(line * 300)
    tracemalloc.start()
    try:
        count = 0
        async for _ in read_archive_lines(archive, file):
            count += 1
        assert (count, tracemalloc.get_traced_memory()[1] < 2_000_000) == (300, True)
    finally:
        tracemalloc.stop()
