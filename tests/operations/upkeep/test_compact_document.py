"""Compacting one document under the shipped profile, and one that two profiles keep up."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.catalog.profile import Profile
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.operations.upkeep.compact_document import compact_document
from memnet.operations.upkeep.maintain_document import Outcome
from memnet.operations.upkeep.refresh_document import refresh_document
from tests.domain.samples import CATALOG
from tests.operations.service_scenario import ALPHA, DYNAMIC, STATIC
from tests.operations.upkeep_scenario import Upkeep
from tests.services import arguments

COPILOT = CATALOG.profile("project-copilot-v1")


@pytest.fixture
async def world() -> AsyncIterator[Any]:
    made = Upkeep()
    yield made
    await made.service.background.drain()


def second(**members: Any) -> Profile:
    """Another product's view of the projects, by the same schema."""
    bare = {"upkeep_rules": {}, "durable_sections": {}, "pending_sections": {}, "extraction": None}
    return COPILOT.model_copy(update={**bare, "profile_id": "journal-v1", **members})


def both(**members: Any) -> Catalog:
    return Catalog({**CATALOG.profiles, "journal-v1": second(**members)}, CATALOG.schemas)


async def test_the_user_s_document_is_compacted(world: Any) -> None:
    facts = [world.fact("Works from Utrecht."), world.fact("works from utrecht", confidence=0.95, days=9)]
    gone = world.fact("On holiday.", expires_at="2025-12-31T00:00:00Z")
    await world.put_user(preferences=["Short answers.", "Tables.", "short answers"], durable_facts=[*facts, gone])
    [made] = await compact_document(DYNAMIC, **arguments(**world.ports))
    content = await world.content()
    assert made.outcome is Outcome.CHANGED
    assert made.plan.counts() == {"merged": 2, "expired": 1}
    assert content["preferences"] == ["Tables.", "short answers"]
    assert content["durable_facts"] == [{**facts[1], "last_verified_at": facts[0]["last_verified_at"]}]
    assert [event["evidence"]["entries"] for event in await world.told()] == [[gone]]
    [again] = await compact_document(DYNAMIC, **arguments(**world.ports))
    assert again.outcome is Outcome.UNTOUCHED


async def test_a_document_that_no_profile_keeps_up_is_not_even_read(world: Any) -> None:
    assert await compact_document(STATIC, **arguments(**world.ports)) == []
    assert world.service.documents.calls == {}


async def test_two_profiles_keep_one_document_up_each_in_its_own_change(world: Any) -> None:
    rules = {"project_doc": (SectionUpkeep(section="/recent_notes", keep=2),)}
    tight = second(upkeep_rules=rules, compaction_rules={"project_doc": {"max_recent_notes": 5}})
    world.catalog = Catalog({**CATALOG.profiles, "journal-v1": tight}, CATALOG.schemas)
    await world.put_project([f"n{n}" for n in range(6)] + ["n5"])
    made = await compact_document(ALPHA, **arguments(**world.ports))
    assert [(one.profile_id, one.outcome, one.plan.counts()) for one in made] == [
        ("journal-v1", Outcome.CHANGED, {"trimmed": 3}),
        ("project-copilot-v1", Outcome.CHANGED, {"merged": 1}),
    ]
    assert (await world.content(ALPHA))["recent_notes"] == ["n3", "n4", "n5"]
    assert (await world.service.head(ALPHA)).commit.sequence == 3
    assert [one.outcome for one in await compact_document(ALPHA, **arguments(**world.ports))] == [Outcome.UNTOUCHED] * 2


async def test_what_one_profile_calls_durable_the_other_does_not_trim(world: Any) -> None:
    world.catalog = both(durable_sections={"project_doc": ("/recent_notes",)})
    notes = [f"n{n}" for n in range(30)]
    await world.put_project(notes)
    [made] = await compact_document(ALPHA, **arguments(**world.ports))
    assert (made.profile_id, made.outcome) == ("project-copilot-v1", Outcome.UNTOUCHED)
    assert (await world.content(ALPHA))["recent_notes"] == notes


async def test_compacting_and_refreshing_go_together(world: Any) -> None:
    await world.put_user(durable_facts=[world.fact("old", days=400), world.fact("OLD!", days=500)])
    assert [made.outcome for made in await refresh_document(DYNAMIC, **arguments(**world.ports))] == [Outcome.CHANGED]
    assert len((await world.content())["pending_confirmations"]) == 2
    [made] = await compact_document(DYNAMIC, **arguments(**world.ports))
    assert made.plan.counts() == {"merged": 1}
    assert len((await world.content())["pending_confirmations"]) == 1
    assert [made.outcome for made in await refresh_document(DYNAMIC, **arguments(**world.ports))] == [Outcome.UNTOUCHED]


async def test_a_dry_run_of_two_profiles_tells_both_plans(world: Any) -> None:
    rules = second(upkeep_rules=COPILOT.upkeep_rules)
    world.catalog = Catalog({**CATALOG.profiles, "journal-v1": rules}, CATALOG.schemas)
    await world.put_project(["a", "a"])
    made = await compact_document(ALPHA, dry_run=True, **arguments(**world.ports))
    assert [one.outcome for one in made] == [Outcome.CHANGED] * 2
    assert (await world.service.head(ALPHA)).commit.sequence == 1
