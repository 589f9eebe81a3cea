"""Where audit records lie: segments of consecutive records, one line each.

A segment begins with the first change of a document, with the first change of a calendar month (UTC), and after
MAX_RECORDS records. So the place of every record follows from the records before it, and all processes agree on it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from memnet.domain.core.json_types import Record
from memnet.domain.documents.audit_record import read_record, record_bytes
from memnet.domain.documents.envelope import Position

MAX_RECORDS = 256
"""Far below the 50,000 blocks that an append blob may have (Azure Storage, "Scalability targets for Blob storage")."""
MONTH = len("2026-01")


START = Position(1, 0)
"""The position of a document's first record."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive lines of one segment, to be appended together."""

    position: Position
    started: str
    """The timestamp of the first of the lines."""
    last: int
    """The change of the last of the lines."""
    data: bytes


def position_of(start: Position, records: Sequence[Record], index: int) -> Position:
    """Return the position of `records[index]`, given that of the first."""
    position = start
    for before, record in pairwise(records[: index + 1]):
        position = next_position(position, before, record)
    return position


def next_position(position: Position, record: Record, following: Record) -> Position:
    """Return the position of the record that follows `record`, which has the given position."""
    first = following["sequence"]
    if first - position.first >= MAX_RECORDS or following["timestamp"][:MONTH] != record["timestamp"][:MONTH]:
        return Position(first, 0)
    return Position(position.first, position.offset + len(line(record)))


def batches(start: Position, records: Sequence[Record]) -> Iterator[Batch]:
    """Yield what to append to each segment for these records, the first of which belongs at `start`."""
    position, begin = start, 0
    for index in range(1, len(records) + 1):
        if index < len(records):
            position = next_position(position, records[index - 1], records[index])
            if position.offset:
                continue
        found = records[begin:index]
        yield Batch(start, found[0]["timestamp"], found[-1]["sequence"], b"".join(map(line, found)))
        start, begin = position, index


def line(record: Record) -> bytes:
    """Return the line of a record."""
    return record_bytes(record) + b"\n"


def read_lines(data: bytes) -> list[Record]:
    """Return the records of a segment in order, as stored; an empty record for a line that the service did not write.

    The n-th line belongs to the n-th change of the segment, whatever it holds.
    """
    lines = data.split(b"\n")
    return [read_record(text) or {} for text in (lines if lines[-1] else lines[:-1])]
