"""What was consolidated is recalled and listed with the sources of all that became one."""

from typing import Any

from api import recall_rows
from memnet.domain.core.scope import Actor
from memnet.domain.recall.recalled import RecallRequest
from memnet.operations.history.entry_filter import CURRENT, EntryFilter
from memnet.operations.history.list_entries import list_entries
from memnet.operations.recall.recall import recall
from tests.operations.consolidation_scenario import ONE, PERSONAL, ConsolidationWorld, says

READER = Actor("svc-reader", frozenset())
SOURCES = [{"conversation_id": f"c{number}", "message_ids": ["m1"]} for number in (2, 0, 1)]
"""Of the surest statement first, then of the others."""


async def merged() -> ConsolidationWorld:
    """Three ways to say one thing, consolidated: s002 is the surest."""
    world = ConsolidationWorld()
    await world.know(*(says(number) for number in range(3)))
    await world.consolidate()
    assert await world.open() == ["s002"]
    return world


async def recalled(world: ConsolidationWorld) -> list[dict[str, Any]]:
    request = RecallRequest(scope=ONE, actor=READER, profile_id=PERSONAL, query="Where does the user live?")
    return list(recall_rows.answer(await recall(request, world.service), debug=False)["results"])


async def test_a_recall_after_a_merge_cites_all_sources() -> None:
    world = await merged()
    (row,) = await recalled(world)
    cited = [{name: row[name] for name in ("conversation_id", "message_ids")}, *row["also"]]
    assert (row["entry_id"], cited[0]) == ("s002", SOURCES[0])
    assert sorted(cited, key=str) == sorted(SOURCES, key=str)


async def test_a_recall_of_one_source_has_no_further_ones() -> None:
    world = ConsolidationWorld()
    await world.know(says(0))
    (row,) = await recalled(world)
    assert ("also" in row, row["conversation_id"]) == (False, "c0")


async def test_the_list_of_entries_has_the_merged_evidence() -> None:
    world = await merged()
    page = await list_entries(
        ONE, READER, world.service, only=EntryFilter(profile_id=PERSONAL, states=CURRENT), limit=25, cursor=None
    )
    (entry,) = [one.said for one in page.items]
    evidence = entry.evidence
    cited = [{name: one[name] for name in ("conversation_id", "message_ids")} for one in (evidence, *evidence["also"])]
    assert entry.entry_id == "s002"
    assert sorted(cited, key=str) == sorted(SOURCES, key=str)
