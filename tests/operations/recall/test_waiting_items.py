"""Pending items in a recall: the question for the user always, the items themselves if profile and request say so."""

from dataclasses import replace

import pytest

from memnet.domain.core.access import Role
from memnet.domain.core.scope import Actor
from memnet.domain.history.statements import EntryState
from tests.domain.samples import CATALOG
from tests.operations.recall_history_scenario import HistoryWorld, on, opinion
from tests.operations.recall_scenario import PERSONAL
from tests.operations.turn_search_scenario import ONE, OTHER

OLD, NEW, THIRD = (f"The user thinks that the harbour is {stance}." for stance in ("quiet", "loud", "busy"))
ELSEWHERE = "The user thinks that the harbour wall is {}."

USER = Actor("svc-user", frozenset({Role.WRITE}))


@pytest.fixture
async def world() -> HistoryWorld:
    """An opinion, two later ones that are much less sure, and an opinion on something else: a question each."""
    made = HistoryWorld()
    made.set_clock(on(2, 1))
    await made.think(opinion("o1", "the harbour", "quiet"), said=on(2, 1))
    for day, (name, stance) in enumerate([("o2", "loud"), ("o3", "busy")], start=2):
        made.set_clock(on(2, day))
        entry = opinion(name, "the harbour", stance, confidence=0.5)
        result = await made.think(entry, said=on(2, day), confidence=0.5)
        assert [one["verdict"] for one in result.settled] == ["asked"]
    for name, stance, sure in (("w1", "high", 0.9), ("w2", "low", 0.5)):
        made.set_clock(on(2, 4))
        await made.think(opinion(name, "the harbour wall", stance, confidence=sure), said=on(2, 4), confidence=sure)
    return made


def set_show_waiting(world: HistoryWorld, *, to: bool) -> None:
    profile = CATALOG.profile(PERSONAL)
    rules = profile.recall.model_copy(update={"show_waiting": to})
    shown = profile.model_copy(update={"recall": rules})
    world.catalog = replace(CATALOG, profiles={**CATALOG.profiles, PERSONAL: shown})
    world.service = world.process()


async def test_the_oldest_question_is_asked_whatever_the_question_is(world: HistoryWorld) -> None:
    answer = await world.recall("Which bus goes to the airport?")
    assert answer.results == []
    assert answer.clarification is not None
    assert answer.clarification["choices"] == [OLD, NEW, THIRD]
    assert (await world.recall("harbour", scope=OTHER)).clarification is None


async def test_an_answered_question_gives_way_to_the_next_one(world: HistoryWorld) -> None:
    first = (await world.recall("harbour")).clarification
    assert first is not None
    await world.patch({"op": "remove", "path": "/content/to_confirm/0"}, actor=USER)
    second = (await world.recall("harbour")).clarification
    assert second is not None
    assert (second["choices"], second["pending_id"] == first["pending_id"]) == (
        [ELSEWHERE.format("high"), ELSEWHERE.format("low")],
        False,
    )


async def test_nothing_is_asked_about_an_earlier_time(world: HistoryWorld) -> None:
    assert (await world.recall("harbour", as_of=on(2, 3))).clarification is None
    assert (await world.recall("harbour", valid_at=on(2, 3))).clarification is not None


async def test_items_are_results_only_if_the_profile_and_the_request_say_so(world: HistoryWorld) -> None:
    set_show_waiting(world, to=False)
    assert await world.texts("harbour", waiting=True) == [OLD, ELSEWHERE.format("high")]
    set_show_waiting(world, to=True)
    assert await world.texts("harbour") == [OLD, ELSEWHERE.format("high")]
    found = await world.found("harbour", waiting=True)
    states = {one.text: one.state for one in found}
    assert states == {
        OLD: EntryState.OPEN,
        NEW: EntryState.WAITING,
        ELSEWHERE.format("high"): EntryState.OPEN,
        ELSEWHERE.format("low"): EntryState.WAITING,
    }


async def test_only_what_is_confirmed_and_returned_as_it_is_now_counts_as_used(world: HistoryWorld) -> None:
    set_show_waiting(world, to=True)
    await world.texts("harbour", as_of=on(2, 3))
    await world.service.usage.flush()
    assert await world.service.usage.read(ONE) == {}
    assert len(await world.texts("harbour", waiting=True)) == 4
    await world.service.usage.flush()
    (counted,) = (await world.service.usage.read(ONE)).values()
    assert counted.keys() == {"o1", "w1"}
