"""Searches, recalls and contexts show nothing that a retraction has taken out, while the index still shows it."""

import asyncio
from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from memnet.domain.context.context import AssembleContext, IncludeEvents
from memnet.domain.events.event_search import EventQuery
from memnet.domain.governance.source import Source, SourceKind
from memnet.domain.governance.withdrawn import Withdrawal
from memnet.domain.recall.recalled import Degraded
from memnet.operations.context import assemble_context
from memnet.operations.events.search_events import search_events
from memnet.operations.governance.withdrawn_items import apply_item, plan_items
from tests.operations.recall_scenario import PERSONAL, RecallWorld, with_deadline
from tests.operations.turn_search_scenario import ACTOR, ONE, said

BAD = Source(kind=SourceKind.CONVERSATION, conversation_id="c1")


async def withdrawn() -> RecallWorld:
    """A user whose c1 was taken back, and an index that shows everything."""
    world = RecallWorld()
    for number in (1, 2):
        evidence: dict[str, Any] = {"conversation_id": f"c{number}"}
        await world.store(f"c{number}", said(f"m{number}", "Biscuit barked.", name="Ada"), profile_id=PERSONAL)
        await world.happen(f"e{number}", "Biscuit went to the vet.", evidence=evidence)
    await world.settle()

    async def shows_on(name: str, keys: Sequence[str]) -> frozenset[str]:
        return frozenset()

    world.index.delete = shows_on  # type: ignore[method-assign]
    for item in await plan_items(ONE, BAD, world.service):
        await apply_item(ONE, item, Withdrawal("rtr-1", BAD), world.service)
    return world


def recalled(answer: Any) -> set[str]:
    return {one.candidate.event_id or one.candidate.message_ids[0] for one in answer.results}


@pytest.mark.parametrize("text", ["Biscuit", None])
async def test_searches_of_turns_and_events(text: str | None) -> None:
    world = await withdrawn()
    assert await world.find(text, profile_id=PERSONAL) == ["m2"]
    for service in (world.service, world.process()):
        found = await search_events(EventQuery(scope=ONE, text=text, top=9), cursor=None, service=service)
        assert [one.members()["event_id"] for one in found.items] == ["e2"]


@pytest.mark.parametrize("text", ["Biscuit", ""])
async def test_contexts(text: str) -> None:
    world = await withdrawn()
    command = AssembleContext(
        scope=ONE,
        actor=ACTOR,
        profile_id=PERSONAL,
        text=text,
        explicit_ids={},
        include_events=IncludeEvents(top_k=9),
    )
    events = (await assemble_context(command, world.service)).events
    assert events is not None
    assert [orjson.loads(one)["event_id"] for one in events.cited] == ["e2"]


async def test_recalls_also_if_what_is_marked_is_not_read_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await withdrawn()
    assert recalled(await world.recall("Biscuit")) == {"m2", "e2"}

    async def hangs(*_: object) -> Any:
        await asyncio.Event().wait()

    monkeypatch.setattr("memnet.operations.recall.gather.read_marked", hangs)
    world.catalog = with_deadline(1)
    answer = await world.recall("Biscuit", service=world.process())
    assert (recalled(answer), answer.degraded) == ({"m2", "e2"}, [Degraded.TIME])


async def test_more_marks_than_one_page_of_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memnet.operations.events.find.MAX_MARKS", 1)
    world = await withdrawn()
    await world.store("a0", said("m0", "Biscuit slept.", name="Ada"), profile_id=PERSONAL)
    await world.happen("a0", "Biscuit slept.")
    assert recalled(await world.recall("Biscuit barked at the vet.")) >= {"m2", "e2"}
    assert not recalled(await world.recall("Biscuit barked at the vet.")) & {"m1", "e1"}
    found = await search_events(EventQuery(scope=ONE, text=None, top=9), cursor=None, service=world.service)
    assert "e1" not in [one.members()["event_id"] for one in found.items]
