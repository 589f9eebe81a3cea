"""The audit log on every backend: each record once, whichever processes append it."""

import asyncio

import pytest

from memnet.adapters.system import SystemClock
from memnet.domain.core.errors import ErasureRunning, HistoryCorrupt
from memnet.domain.documents import audit_segments
from memnet.ports import BlobStorage
from memnet.stores import AuditLog, Blobs, ErasureStore
from tests.domain.samples import SCOPE
from tests.operations.vault_scenario import VaultWorld
from tests.stores.chains import DOC, versions


def process(storage: BlobStorage) -> AuditLog:
    """The log as one process sees it."""
    return AuditLog(Blobs(storage, SystemClock()), VaultWorld().vault)


async def stored(storage: BlobStorage) -> dict[int, list[int]]:
    """Return the changes in each segment, by its first change."""
    audit = process(storage)
    firsts = (await audit.history(SCOPE, DOC)).segments
    return {first: [record["sequence"] for record in await audit.read(SCOPE, DOC, first) or ()] for first in firsts}


async def test_processes_in_turn_and_at_once_append_every_record_once(storage: BlobStorage) -> None:
    first, second = process(storage), process(storage)
    made = versions(12, flushed=lambda number: max(0, min(number, 5) - 2))
    for number, version in enumerate(made[:4]):
        await (first, second)[number % 2].flush(SCOPE, version)
    await asyncio.gather(*(audit.flush(SCOPE, version) for version in made[4:] for audit in (first, second)))
    assert await stored(storage) == {1: list(range(1, 13))}


async def test_a_late_version_and_a_new_process_add_nothing(storage: BlobStorage) -> None:
    made = versions(4)
    await process(storage).flush(SCOPE, made[3])
    for version in (made[0], made[3]):
        await process(storage).flush(SCOPE, version)
        await process(storage).flush(SCOPE, version, read_first=True)
    assert await stored(storage) == {1: [1, 2, 3, 4]}


async def test_segments_end_by_number_and_with_the_month(storage: BlobStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_segments, "MAX_RECORDS", 4)
    made = versions(11, months=6)
    await process(storage).flush(SCOPE, made[2])
    await process(storage).flush(SCOPE, made[10])
    assert await stored(storage) == {1: [1, 2, 3, 4], 5: [5, 6], 7: [7, 8, 9, 10], 11: [11]}
    started = (await process(storage).history(SCOPE, DOC)).segments
    assert {first: moment[:7] for first, moment in started.items()} == {
        1: "2026-02",
        5: "2026-02",
        7: "2026-03",
        11: "2026-03",
    }


async def test_a_deleted_segment_is_not_restored(storage: BlobStorage) -> None:
    audit, made = process(storage), versions(3, flushed=lambda number: number - 1)
    for version in made[:2]:
        await audit.flush(SCOPE, version)
    await audit.delete(SCOPE, DOC, 1)
    with pytest.raises(HistoryCorrupt):
        await audit.flush(SCOPE, made[2])
    await ErasureStore(Blobs(storage, SystemClock())).write(SCOPE, b"{}", replaces=None)
    with pytest.raises(ErasureRunning):
        await audit.flush(SCOPE, made[2])
    with pytest.raises(ErasureRunning):
        await process(storage).flush(SCOPE, made[0])
    assert await stored(storage) == {}
