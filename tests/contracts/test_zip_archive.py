"""Archives on disk: the same bytes every time, nothing half there, and no ZIP file that does more than hold files."""

import asyncio
import io
import os
import struct
import tracemalloc
import zipfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from memnet.adapters.process import zip_archive
from memnet.adapters.process.zip_archive import ZipArchiveReader, create_zip, open_zip
from memnet.domain.core.errors import ArchiveInvalid
from memnet.domain.governance.archive import ArchiveMember

FILES = {"audit/a.jsonl": b"one\ntwo\n", "events.jsonl": b"", "manifest.json": b"{}"}


async def parts(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), 3):
        yield data[start : start + 3]


async def write(path: Path, files: dict[str, bytes] = FILES) -> None:
    with create_zip(path) as archive:
        for name, data in files.items():
            await archive.write(name, parts(data))


async def read(archive: ZipArchiveReader, name: str) -> bytes:
    return b"".join([chunk async for chunk in archive.read(name)])


def reason(data: bytes) -> str:
    with pytest.raises(ArchiveInvalid) as caught:
        ZipArchiveReader(io.BytesIO(data))
    return str(caught.value.details["reason"])


async def test_what_is_written_is_read(tmp_path: Path) -> None:
    await write(tmp_path / "a.zip")
    with open_zip(tmp_path / "a.zip") as archive:
        assert archive.members == [ArchiveMember(name, len(data)) for name, data in FILES.items()]
        assert {member.name: await read(archive, member.name) for member in archive.members} == FILES
    with zipfile.ZipFile(tmp_path / "a.zip") as other:
        assert other.testzip() is None
        assert {name: other.read(name) for name in other.namelist()} == FILES


async def test_the_bytes_follow_from_the_files(tmp_path: Path) -> None:
    await write(tmp_path / "a.zip")
    await asyncio.sleep(0)
    await write(tmp_path / "b.zip")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    assert (tmp_path / "a.zip").stat().st_mode & 0o777 == 0o600


async def test_a_failure_leaves_nothing_and_nothing_is_written_over(tmp_path: Path) -> None:
    async def failing() -> AsyncIterator[bytes]:
        yield b"some"
        raise LookupError

    with pytest.raises(LookupError), create_zip(tmp_path / "a.zip") as archive:
        await archive.write("x", failing())
    assert os.listdir(tmp_path) == []
    (tmp_path / "a.zip").write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        await write(tmp_path / "a.zip")
    assert (tmp_path / "a.zip").read_bytes() == b"mine"


async def test_large_files_pass_through_a_bounded_memory(tmp_path: Path) -> None:
    part = b"x" * 99_999 + b"\n"

    async def many() -> AsyncIterator[bytes]:
        for _ in range(400):
            yield part

    tracemalloc.start()
    try:
        with create_zip(tmp_path / "a.zip") as archive:
            await archive.write("audit/a.jsonl", many())
        size = 0
        with open_zip(tmp_path / "a.zip") as reader:
            async for chunk in reader.read("audit/a.jsonl"):
                size += len(chunk)
        assert (size, tracemalloc.get_traced_memory()[1] < 8_000_000) == (40_000_000, True)
    finally:
        tracemalloc.stop()


def packed(change: Callable[[zipfile.ZipFile], None]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        change(archive)
    return made.getvalue()


def test_a_compressed_file_is_refused() -> None:
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        data = packed(lambda archive, method=method: archive.writestr("a", b"0" * 9999, compress_type=method))  # type: ignore[misc]
        assert "is compressed" in reason(data)


def directory_entry(data: bytes, offset: int, value: bytes) -> bytes:
    """The archive with some bytes of its first central directory entry changed."""
    start = data.index(b"PK\x01\x02") + offset
    return data[:start] + value + data[start + len(value) :]


async def test_an_encrypted_file_is_refused() -> None:
    data = packed(lambda archive: archive.writestr("a", b"data"))
    assert "is encrypted" in reason(directory_entry(data, 8, struct.pack("<H", 1)))


async def test_files_that_lie_over_each_other_are_refused() -> None:
    """Many entries for one large file: small on disk, endless to read."""
    data = packed(lambda archive: archive.writestr("a", b"x" * 10_000))
    entry_at, end_at = data.index(b"PK\x01\x02"), data.index(b"PK\x05\x06")
    entry = data[entry_at:end_at]
    entries = b"".join(entry[:46] + bytes([ord("a") + number]) for number in range(20))
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 20, 20, len(entries), entry_at, 0)
    assert "together larger than itself" in reason(data[:entry_at] + entries + end)


async def test_a_damaged_file_is_found_when_it_is_read() -> None:
    data = packed(lambda archive: archive.writestr("a", b"the content"))
    reader = ZipArchiveReader(io.BytesIO(data.replace(b"the content", b"THE content")))
    with pytest.raises(ArchiveInvalid) as caught:
        await read(reader, "a")
    assert caught.value.details == {"reason": "the file is damaged", "member": "a"}


async def test_a_file_with_another_name_in_its_own_header_is_refused() -> None:
    data = packed(lambda archive: archive.writestr("aaaa", b"the content"))
    reader = ZipArchiveReader(io.BytesIO(data.replace(b"aaaa", b"bbbb", 1)))
    with pytest.raises(ArchiveInvalid):
        await read(reader, "aaaa")


def test_a_name_that_is_cut_short_is_refused() -> None:
    data = packed(lambda archive: archive.writestr("a.json", b"x")).replace(b"a.json", b"a\0json")
    assert "cut short" in reason(data)


def test_a_directory_without_bounds_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_archive, "MAX_FILES", 10)

    def many(archive: zipfile.ZipFile) -> None:
        for number in range(11):
            archive.writestr(str(number), b"")

    data = packed(many)
    assert "more than 10 files" in reason(data)
    monkeypatch.setattr(zip_archive, "MAX_FILES", 100)
    assert len(ZipArchiveReader(io.BytesIO(data)).members) == 11
    monkeypatch.setattr(zip_archive, "MAX_DIRECTORY_BYTES", 100)
    assert "a directory of more than 100 bytes" in reason(data)


def test_the_end_that_the_library_prefers_is_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ZIP64 end before the plain one says other numbers, and the library goes by those."""
    data = packed(lambda archive: archive.writestr("a", b"x"))
    at = data.index(b"PK\x05\x06")
    start = data.index(b"PK\x01\x02")
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, at - start, start)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, at, 1)
    assert len(ZipArchiveReader(io.BytesIO(data[:at] + record + locator + data[at:])).members) == 1
    huge = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 2**40, 2**40, 2**50, start)
    assert "it has more than" in reason(data[:at] + huge + locator + data[at:])
    assert "not where it belongs" in reason(data[:at] + locator + data[at:])


@pytest.mark.parametrize("data", [b"", b"PK", b"PK\x05\x06" + b"\0" * 18 + b"x", b"\x1f\x8b" + b"0" * 100, b"0" * 5000])
def test_what_is_no_zip_file_is_refused(data: bytes) -> None:
    assert "not a ZIP file" in reason(data)


def test_a_zip_file_with_a_comment_is_refused() -> None:
    data = packed(lambda archive: setattr(archive, "comment", b"and more"))
    assert "after its end" in reason(data)


@pytest.mark.parametrize("fill", [lambda archive: archive.writestr("a", b"x"), lambda archive: None])
def test_a_zip_file_behind_something_else_is_refused(fill: Callable[[zipfile.ZipFile], None]) -> None:
    """The library would read it: archives that extract themselves begin with a program."""
    assert "before its first file" in reason(b"#!/bin/sh\n" + packed(fill))
