"""The place of every record follows from the records before it, however they are appended."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.domain.core.json_types import Record
from memnet.domain.documents import audit_segments
from memnet.domain.documents.audit_segments import START, Batch, batches, line, next_position, position_of, read_lines
from memnet.domain.documents.commit import next_version
from memnet.domain.documents.envelope import Position
from tests.domain.samples import KEY, SEALING, History, op, patch_command

SMALL = 4


@pytest.fixture(autouse=True, scope="module")
def _small_segments() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(audit_segments, "MAX_RECORDS", SMALL)
        yield


def records_of(steps: list[tuple[int, int]]) -> list[Record]:
    """Records of some size, each so many months after the one before it."""
    found, month = [], 0
    for sequence, (months, size) in enumerate(steps, 1):
        month += months
        timestamp = f"{2026 + month // 12}-{month % 12 + 1:02}-01T00:00:00.000000Z"
        found.append({"sequence": sequence, "timestamp": timestamp, "note": "x" * size})
    return found


def segments_of(records: list[Record]) -> dict[int, bytes]:
    """The rule, written out again: a segment ends after SMALL records, and with the month."""
    found: dict[int, list[Record]] = {}
    for record in records:
        newest = next(reversed(found.values()), None)
        if newest is None or len(newest) == SMALL or newest[0]["timestamp"][:7] != record["timestamp"][:7]:
            newest = found[record["sequence"]] = []
        newest.append(record)
    return {first: b"".join(map(line, lines)) for first, lines in found.items()}


def append(stored: dict[int, bytes], batch: Batch) -> None:
    """What the storage does: create the segment with its first record, append at exactly that offset."""
    first, offset = batch.position.first, batch.position.offset
    if offset == 0:
        assert first not in stored
    assert len(stored.get(first, b"")) == offset
    stored[first] = stored.get(first, b"") + batch.data


STEPS = st.lists(st.tuples(st.sampled_from([0, 0, 0, 0, 1, 13]), st.integers(0, 40)), min_size=1, max_size=24)


@given(STEPS, st.data())
def test_every_batching_gives_the_same_segments(steps: Any, data: Any) -> None:
    records = records_of(steps)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(records)), max_size=8)) | {0, len(records)})
    stored: dict[int, bytes] = {}
    for begin, end in pairwise(cuts):
        for batch in batches(position_of(START, records, begin), records[begin:end]):
            assert batch.started == records[batch.last - batch.data.count(b"\n")]["timestamp"]
            append(stored, batch)
        assert stored == segments_of(records[:end])


@given(STEPS, st.data())
def test_a_position_is_the_same_from_wherever_it_is_counted(steps: Any, data: Any) -> None:
    records = records_of(steps)
    begin = data.draw(st.integers(0, len(records) - 1))
    end = data.draw(st.integers(begin, len(records) - 1))
    start = position_of(START, records, begin)
    assert position_of(start, records[begin:], end - begin) == position_of(START, records, end)


@given(st.lists(st.tuples(st.sampled_from([0, 0, 0, 1]), st.integers(0, 9)), min_size=1, max_size=10), st.data())
def test_a_document_names_the_position_of_its_first_record_whatever_is_flushed(steps: Any, data: Any) -> None:
    history, current, records, month = History(), None, list[Record](), 0
    flushed = 0
    for number, (months, size) in enumerate(steps, 1):
        month += months
        command = patch_command(op("add", "/content/n", value="x" * size), key=KEY, idempotency_key=f"k{number}")
        decision = history.decide(command, current)
        flushed = data.draw(st.integers(flushed, number - 1))
        now = f"{2026 + month // 12}-{month % 12 + 1:02}-03T00:00:00.000000Z"
        current = next_version(current, command, decision, now=now, new_doc_id="d", flushed=flushed, sealing=SEALING)
        records.append(current.commit.outbox[-1])
        kept = current.commit.outbox
        assert tuple(records[-len(kept) :]) == kept
        assert len(kept) >= number - flushed
        assert current.commit.position == position_of(START, records, number - len(kept))


def test_a_segment_ends_after_its_last_record_and_with_the_month() -> None:
    records = records_of([(0, 1)] * SMALL + [(0, 1), (1, 1), (0, 1)])
    found = list(batches(START, records))
    assert [(batch.position, batch.last) for batch in found] == [
        (Position(1, 0), SMALL),
        (Position(SMALL + 1, 0), SMALL + 1),
        (Position(SMALL + 2, 0), SMALL + 3),
    ]
    assert [batch.started[:7] for batch in found] == ["2026-01", "2026-01", "2026-02"]


def test_the_month_is_that_of_the_year() -> None:
    before, after = records_of([(0, 1), (12, 1)])
    assert next_position(START, before, after) == Position(2, 0)
    assert next_position(START, before, after | {"timestamp": "2026-01-31T23:59:59.999999Z"}) == Position(
        1, len(line(before))
    )


def test_nothing_to_append_is_no_batch() -> None:
    assert list(batches(START, [])) == []


def test_a_line_belongs_to_its_change_whatever_it_holds() -> None:
    history = History()
    for number in range(3):
        history.patch(op("add", "/content/n", value=number))
    lines = [line(record) for record in history.records]
    assert read_lines(b"") == []
    assert read_lines(b"".join(lines)) == history.records
    for damage in (b"\n", b"{}\n", b'{"a": 1}\n', b"\xff\n", lines[1][:-1] + b" \n"):
        assert read_lines(lines[0] + damage + lines[2]) == [history.records[0], {}, history.records[2]]
    assert read_lines(lines[0] + lines[1][:-1]) == history.records[:2]
