"""Events of upkeep: the entries of a withdrawn source go, and another event keeps the others."""

from typing import Any

import orjson
import pytest

from memnet.domain.events.event import Event
from memnet.domain.governance.withdrawn import Fate, WithdrawnKind
from memnet.operations.events.write_event import write_event
from tests.operations.turn_search_scenario import ONE
from tests.operations.withdrawn_scenario import WithdrawnWorld

BAD: dict[str, Any] = {"text": "Owes money.", "evidence": {"conversation_id": "c1", "message_ids": ["m1"]}}
GOOD: dict[str, Any] = {"text": "Likes tea.", "evidence": {"conversation_id": "c2", "message_ids": ["m1"]}}
BOTH = {"text": "Lives in Bern.", "evidence": {**BAD["evidence"], "also": [GOOD["evidence"]]}}
PLAIN = "Has a dog."


async def moved(world: WithdrawnWorld, *entries: Any) -> None:
    evidence = {"namespace": "user", "path": "user_dynamic.json", "section": "/durable_facts", "etag": '"1-a"'}
    members = {
        "event_id": "memnet-compaction-1",
        "service_id": "memnet-upkeep",
        "timestamp": "2026-05-01T12:00:00Z",
        "source_type": "compaction",
        "digest": "Some entries.",
        "evidence": {**evidence, "entries": list(entries)},
    }
    await write_event(ONE, Event.model_validate(members), world.service)


@pytest.mark.parametrize(
    ("entries", "left"),
    [
        ([GOOD, PLAIN], None),
        ([BAD], []),
        ([BAD, GOOD, PLAIN], [GOOD, PLAIN]),
        ([BOTH], [{**BOTH, "evidence": GOOD["evidence"]}]),
    ],
)
async def test_entries_of_other_sources_are_kept_in_another_event(entries: list[Any], left: list[Any] | None) -> None:
    world = WithdrawnWorld()
    await moved(world, *entries)
    before, planned = world.kept(), await world.plan()
    if left is None:
        assert planned == []
        return
    fate = Fate.STRIP if left else Fate.REMOVE
    assert [(item.kind, item.fate) for item in planned] == [(WithdrawnKind.EVENT, fate)]
    await world.take_out()
    kept = [entries_of(data) for data in world.kept().values()]
    assert kept == ([left] if left else [])
    assert b"Owes money" not in b"".join(world.kept().values())
    assert await world.plan() == []
    assert await world.put_back(planned) == [True]
    assert world.kept() == before


def entries_of(data: bytes) -> Any:
    return orjson.loads(data)["evidence"]["entries"]
