"""Read earlier versions from segments: the right version at every boundary, from few blobs."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from memnet.domain.core.errors import HistoryCorrupt, Unavailable, VersionNotFound
from memnet.domain.core.timestamps import from_text, to_text
from memnet.domain.documents.audit_record import Fold
from memnet.operations.documents.read import get_document
from memnet.stores.audit_log import STARTED, segment_name
from tests.memory_blobs import storage_of
from tests.operations.baseline_scenario import retain, split
from tests.operations.service_scenario import ALPHA, SCOPE, Service, note
from tests.operations.storage_calls import StorageCalls
from tests.services import service_of

MOMENT = timedelta(microseconds=1)


@dataclass
class Seen:
    """A version that was served; None after a deletion."""

    change_id: str
    timestamp: str
    served: tuple[str, bytes] | None


class Life(Service):
    """A document of three months: some changes share their timestamp, the second month ends with its deletion."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Seen] = []
        self.etag: Any = None

    async def live(self) -> None:
        for month in range(3):
            for number in range(4):
                # The second and the third change of a month have the same timestamp.
                self.clock.advance(timedelta(0) if number == 2 else timedelta(hours=1))
                await (self.end() if (month, number) == (1, 3) else self.change(f"{month}/{number}"))
            self.clock.advance(timedelta(days=31))

    async def change(self, text: str) -> None:
        result = await self.patch(note(text), over=self.etag)
        await self.background.drain()
        view = await get_document(ALPHA, self.service)
        self.etag = result.etag
        self.seen.append(Seen(result.change_id, to_text(self.clock.now()), (view.etag, view.document)))

    async def end(self) -> None:
        result = await self.delete(self.etag)
        await self.background.drain()
        self.etag = None
        self.seen.append(Seen(result.change_id, to_text(self.clock.now()), None))

    @property
    def service(self) -> Any:
        return service_of(documents=self.documents, audit=self.audit, clock=self.clock)

    async def at(self, as_of: str) -> tuple[str, bytes] | None:
        try:
            view = await get_document(ALPHA, self.service, as_of=as_of)
        except VersionNotFound:
            return None
        return view.etag, view.document

    def expected(self, as_of: str, first: int = 1) -> tuple[str, bytes] | None:
        """Return the version of a time, if the versions before change `first` are not kept."""
        found = [one for one in self.seen[first - 1 :] if one.timestamp <= as_of]
        return found[-1].served if found else None

    def times(self) -> list[str]:
        """Return the time of each change, and the moments before and after it."""
        moments = [from_text(one.timestamp) for one in self.seen]
        return [to_text(at + by) for at in moments for by in (-MOMENT, timedelta(0), MOMENT)]


@pytest.fixture
async def life() -> AsyncIterator[Life]:
    """Twelve changes in segments that begin with 1, 5 and 9; the 8th is the deletion."""
    made = Life()
    await made.live()
    doc_id = (await made.head()).doc_id
    history = await made.audit.history(SCOPE, doc_id)
    assert (list(history.segments), history.baselines) == ([1, 5, 9], frozenset({5, 9}))
    await made.record(1)  # The process knows the data key from now on.
    yield made
    await made.background.drain()


async def test_every_version_is_found_by_its_change(life: Life) -> None:
    assert [await life.at(one.change_id) for one in life.seen] == [one.served for one in life.seen]


async def test_every_version_is_found_by_time(life: Life) -> None:
    assert [await life.at(time) for time in life.times()] == [life.expected(time) for time in life.times()]
    assert await life.at("9999-01-01T00:00:00Z") == life.seen[-1].served
    assert await life.at("2020-01-01T00:00:00Z") is None


@pytest.mark.parametrize("lost", [(5,), (9,), (5, 9)])
async def test_a_missing_baseline_changes_no_answer(life: Life, lost: tuple[int, ...]) -> None:
    doc_id = (await life.head()).doc_id
    for first in lost:
        await life.audit.delete(SCOPE, doc_id, first, baseline=True)
    assert [await life.at(one.change_id) for one in life.seen] == [one.served for one in life.seen]
    assert [await life.at(time) for time in life.times()] == [life.expected(time) for time in life.times()]


@pytest.mark.parametrize("removed", [1, 4, 6, 8, 11])
async def test_after_retention_the_oldest_version_is_the_baseline(life: Life, removed: int) -> None:
    await retain(life, ALPHA, removed)  # type: ignore[arg-type]
    for number, one in enumerate(life.seen, 1):
        assert await life.at(one.change_id) == (one.served if number >= removed else None)
    for time in life.times():
        assert await life.at(time) == life.expected(time, removed)


@pytest.mark.parametrize("sequence", range(1, 13))
async def test_a_change_is_read_from_one_baseline_and_one_segment(life: Life, sequence: int) -> None:
    calls = StorageCalls(life)
    await life.at(life.seen[sequence - 1].change_id)
    check(calls, baselines=0 if sequence < 4 else 1, segments=1)


@pytest.mark.parametrize("sequence", range(1, 13))
async def test_a_time_is_read_from_two_segments_at_most(life: Life, sequence: int) -> None:
    """From two only if the version is the last of its segment: the first record of the next one confirms it."""
    calls = StorageCalls(life)
    await life.at(life.seen[sequence - 1].timestamp)
    check(calls, baselines=0 if sequence < 5 else 1, segments=2 if sequence in (4, 8) else 1)


async def test_without_a_baseline_one_segment_more_is_read(life: Life) -> None:
    await life.audit.delete(SCOPE, (await life.head()).doc_id, 9, baseline=True)
    for as_of in (life.seen[9].change_id, life.seen[9].timestamp):
        calls = StorageCalls(life)
        assert await life.at(as_of) == life.seen[10 if as_of == life.seen[9].timestamp else 9].served
        check(calls, baselines=1, segments=2)


def check(calls: StorageCalls, *, baselines: int, segments: int) -> None:
    made = [(method, name.rpartition("/")[2]) for method, name in calls.made]
    assert {method for method, _ in made} <= {"get", "list"}
    assert calls.count("list", "/") == 1
    assert calls.count("get", ".jsonl") == segments
    assert calls.count("get", "/alpha.json") == 1
    assert calls.total() == 2 + baselines + segments


@pytest.mark.parametrize(("sequence", "folded"), [(1, 2), (4, 1), (5, 2), (6, 3), (8, 1), (11, 4), (12, 4)])
async def test_no_more_versions_are_folded_than_needed(
    life: Life, sequence: int, folded: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    take, taken = Fold.take, list[int]()

    def counted(fold: Fold, record: Any) -> Any:
        taken.append(record["sequence"])
        return take(fold, record)

    monkeypatch.setattr(Fold, "take", counted)
    await life.at(life.seen[sequence - 1].change_id)
    assert len(taken) == folded


@pytest.mark.parametrize("first", [1, 5, 9])
@pytest.mark.parametrize("started", ["", "2020-01-01T00:00:00.000000Z", "2026-02-02T00:00:00.000000Z", "9999", "?"])
async def test_an_altered_start_of_a_segment_never_gives_another_version(life: Life, first: int, started: str) -> None:
    storage, name = storage_of(life.audit), segment_name(SCOPE, (await life.head()).doc_id, first)
    storage.overwrite(name, storage.data(name), metadata={STARTED: started})
    refused = list[Any]()
    for time in life.times():
        try:
            found = await life.at(time)
        except HistoryCorrupt as error:
            refused.append(error.details["change_id"])
        else:
            assert found == life.expected(time)
    assert set(refused) <= {life.seen[first - 1].change_id}
    assert not refused or started < life.seen[first - 1].timestamp
    assert [await life.at(one.change_id) for one in life.seen] == [one.served for one in life.seen]


async def test_a_document_that_was_set_back_gives_no_unconfirmed_version(life: Life) -> None:
    stored = await life.documents.get(ALPHA)
    assert stored is not None
    fresh = Life()
    await fresh.change("0/0")
    old = await fresh.documents.get(ALPHA)
    assert old is not None
    await retain(life, ALPHA, 8)  # type: ignore[arg-type]
    storage_of(life.documents).overwrite(ALPHA.blob_name, old.data)
    life.documents._cache.forget(ALPHA)
    for time in life.times():
        try:
            assert await life.at(time) is None
        except HistoryCorrupt:
            continue


@pytest.mark.parametrize("days", [0, 31])
async def test_writers_append_while_it_reads(life: Life, days: int) -> None:
    """To the same segment, and to a new one."""
    read, added = life.audit.read, 0

    async def read_and_write(*arguments: Any, **options: Any) -> Any:
        nonlocal added
        if added < 2:
            added += 1
            life.audit.read = read  # type: ignore[method-assign]
            life.clock.advance(timedelta(days=days, hours=1))
            await life.change(f"meanwhile {added}")
            life.audit.read = read_and_write  # type: ignore[method-assign]
        return await read(*arguments, **options)

    for as_of in (life.seen[4].change_id, life.seen[11].change_id, life.seen[11].timestamp):
        expected, added = life.expected(life.seen[11].timestamp), 0
        life.audit.read = read_and_write  # type: ignore[method-assign]
        assert await life.at(as_of) == (life.seen[4].served if as_of == life.seen[4].change_id else expected)
        life.audit.read = read  # type: ignore[method-assign]


@pytest.mark.parametrize("method", ["read", "read_baseline", "histories"])
@pytest.mark.parametrize("sequence", [6, 11])
@pytest.mark.parametrize("by_time", [False, True])
async def test_while_retention_removes_records_a_retry_is_asked_for(
    life: Life, method: str, sequence: int, by_time: bool
) -> None:
    """Never a fault, and never another version."""
    one, original = life.seen[sequence - 1], getattr(life.audit, method)
    as_of = one.timestamp if by_time else one.change_id
    expected = life.expected(as_of) if by_time else one.served

    async def remove_first(*arguments: Any, **options: Any) -> Any:
        setattr(life.audit, method, original)
        await retain(life, ALPHA, 8)  # type: ignore[arg-type]
        return await original(*arguments, **options)

    setattr(life.audit, method, remove_first)
    try:
        assert await life.at(as_of) in ([expected] if sequence == 11 else [expected, None])
    except Unavailable:
        assert sequence == 6
    assert await life.at(as_of) == (expected if sequence == 11 else None)


async def test_a_segment_whose_records_are_altered_is_reported(life: Life) -> None:
    await split(life, ALPHA, 7)  # type: ignore[arg-type]
    life.audit.tamper(SCOPE, life.seen[6].change_id, b"{}")
    for number, one in enumerate(life.seen, 1):
        # The version of change 8 is read from the next baseline, which change 9 confirms.
        if number in (6, 7):
            with pytest.raises(HistoryCorrupt) as refusal:
                await life.at(one.change_id)
            assert refusal.value.details["change_id"] == life.seen[6].change_id
        else:
            assert await life.at(one.change_id) == one.served
