"""What blame costs on a document of 10,000 changes: printed, not asserted by time."""

import time
from typing import Any

import pytest

from memnet.domain.core.canonical_json import canonical
from memnet.operations.history.get_blame import get_blame
from memnet.stores import read_baseline
from tests.operations.service_scenario import DYNAMIC, SCOPE, Service
from tests.operations.storage_calls import StorageCalls
from tests.services import service_of

CHANGES = 10_000
FACTS = 50
READS = 200


def fact(number: int) -> dict[str, Any]:
    said = {"conversation_id": f"c{number}", "message_ids": [f"m{number}"], "snapshot_uri": f"s/{number}.json"}
    return {
        "id": f"fact-{number}",
        "text": f"The user said something of an ordinary length, the {number}. time.",
        "confidence": 0.9,
        "last_verified_at": "2026-01-01T00:00:00Z",
        "evidence": said,
    }


@pytest.mark.slow
async def test_blame_of_ten_thousand_changes(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    made: list[Any] = []
    for number in range(CHANGES):
        value, at = fact(number), number % FACTS
        verb, path = ("add", "-") if number < FACTS else ("replace", str(at))
        op = {"op": verb, "path": f"/content/durable_facts/{path}", "value": value}
        over = made[-1].etag if made else None
        made[:] = [await service.patch(op, over=over, key=DYNAMIC, confidence=0.9, evidence=value["evidence"])]
        if number % 200 == 0:
            await service.background.drain()
    await service.background.drain()
    ports, taken = service_of(**service.ports()), []
    calls = StorageCalls(service)
    for number in range(READS):
        place = () if number % 2 else ("durable_facts", str(number % FACTS), "text")
        started = time.perf_counter()
        page = await get_blame(DYNAMIC, place, ports, as_of=None, limit=1000, cursor=None)
        taken.append(time.perf_counter() - started)
        assert page.version.sequence == CHANGES
    assert calls.count("get", ".jsonl") <= 2 * READS
    assert calls.total() <= 8 * READS
    head = await service.head(DYNAMIC)
    history = await service.audit.history(SCOPE, head.doc_id)
    baseline = await read_baseline(SCOPE, head.doc_id, max(history.baselines), audit=service.audit)
    assert baseline is not None
    content, origins = len(canonical(baseline.content)), len(canonical(baseline.origins))
    ordered = sorted(taken)
    with capsys.disabled():
        print(
            f"\nblame of {CHANGES} changes: p50 {ordered[READS // 2] * 1000:.0f} ms, "
            f"p99 {ordered[int(READS * 0.99)] * 1000:.0f} ms; a baseline has {content} bytes of content and "
            f"{origins} of origins ({origins / content:.1f} times)"
        )
