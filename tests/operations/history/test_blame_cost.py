"""What blame costs on a document of 10,000 changes: calls are checked, times are printed."""

import random
import time
from typing import Any

import pytest

from memnet.domain.core.canonical_json import canonical
from memnet.domain.documents.audit_segments import MAX_RECORDS
from memnet.operations.history.get_blame import get_blame
from memnet.stores import read_baseline
from tests.memory_blobs import storage_of
from tests.operations.service_scenario import DYNAMIC, SCOPE, Service
from tests.operations.storage_calls import StorageCalls
from tests.services import service_of

CHANGES = 10_000
FACTS = 50
READS = 200
RARE = MAX_RECORDS - 6
"""Fact 0 is written by this change of each segment only. Asked for just before it is written again, it is the most
expensive value: almost two whole segments are read, that of the version and that of its change."""


def fact(number: int) -> dict[str, Any]:
    said = {"conversation_id": f"c{number}", "message_ids": [f"m{number}"], "snapshot_uri": f"s/{number}.json"}
    return {
        "id": f"fact-{number}",
        "text": f"The user said something of an ordinary length, the {number}. time.",
        "confidence": 0.9,
        "last_verified_at": "2026-01-01T00:00:00Z",
        "evidence": said,
    }


def edit(number: int) -> dict[str, Any]:
    """The operation of change `number`, from 1 on."""
    if number <= FACTS:
        return {"op": "add", "path": "/content/durable_facts/-", "value": fact(number)}
    at = 0 if number % MAX_RECORDS == RARE else 1 + number % (FACTS - 1)
    return {"op": "replace", "path": f"/content/durable_facts/{at}", "value": fact(number)}


def percentiles(taken: list[float]) -> str:
    ordered = sorted(taken)
    chosen = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)], ordered[-1]
    return " / ".join(f"{seconds * 1000:.0f}" for seconds in chosen)


@pytest.mark.slow
async def test_blame_of_ten_thousand_changes(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    """The versions asked for are chosen at random, the most expensive ones are a case of their own."""
    made: list[Any] = []
    for number in range(1, CHANGES + 1):
        op, over = edit(number), made[-1].etag if made else None
        made.append(await service.patch(op, over=over, key=DYNAMIC, confidence=0.9, evidence=op["value"]["evidence"]))
        if number % 200 == 0:
            await service.background.drain()
    await service.background.drain()
    ports, chance, calls = service_of(**service.ports()), random.Random(1), StorageCalls(service)
    anywhere = [chance.randrange(FACTS, CHANGES) for _ in range(READS)]
    slowest = [segment * MAX_RECORDS + RARE - 1 for segment in range(1, CHANGES // MAX_RECORDS)]
    cases: dict[str, list[tuple[int, tuple[str, ...]]]] = {
        "the newest version": [(CHANGES, ())] * READS,
        "the whole of any version": [(change, ()) for change in anywhere],
        "a value of any version": [(change, ("durable_facts", str(change % FACTS), "text")) for change in anywhere],
        "the slowest value": [(change, ("durable_facts", "0", "text")) for change in slowest * 4],
    }
    lines = []
    for name, asked in cases.items():
        wall, processor = list[float](), list[float]()
        calls.clear()
        for change, place in asked:
            started, used = time.perf_counter(), time.process_time()
            page = await get_blame(DYNAMIC, place, ports, as_of=made[change - 1].change_id, limit=1000, cursor=None)
            wall.append(time.perf_counter() - started)
            processor.append(time.process_time() - used)
            assert page.version.sequence == change
            assert not place or page.rows[0].knows_before
        # The document, the list of its segments, a baseline and one or two segments; for a value, one more of each.
        most = 8 if asked[0][1] else 5
        assert calls.total() <= most * len(asked)
        assert calls.count("get", ".jsonl") <= (4 if asked[0][1] else 2) * len(asked)
        per_call = calls.total() / len(asked)
        lines.append(f"{name}: {percentiles(wall)} ms, processor {percentiles(processor)} ms, {per_call:.1f} calls")
    head = await service.head(DYNAMIC)
    history = await service.audit.history(SCOPE, head.doc_id)
    first = sorted(history.baselines)[-2]
    baseline = await read_baseline(SCOPE, head.doc_id, first, audit=service.audit)
    assert baseline is not None
    content, origins = len(canonical(baseline.content)), len(canonical(baseline.origins))
    storage, folder = storage_of(service.documents), f"{SCOPE.prefix}audit/{head.doc_id}"
    sizes = {end: len(storage.data(f"{folder}/{first:012d}.{end}")) for end in ("json", "jsonl")}
    with capsys.disabled():
        print(f"\nblame of {CHANGES} changes, p50 / p99 / slowest:", *lines, sep="\n  ")
        print(
            f"  stored: a baseline {sizes['json']} bytes, a segment {sizes['jsonl']}; "
            f"{content} bytes of content have {origins} of origins ({origins / content:.1f} times)"
        )
