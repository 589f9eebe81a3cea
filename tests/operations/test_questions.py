"""A question is asked while it shows what is open, by each assembly and each recall, one at a time."""

from dataclasses import replace

import pytest

from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.errors import MemnetError
from memnet.operations.service.tenant_pending import list_tenant_pending
from tests.domain.samples import CATALOG
from tests.operations.question_scenario import CHAT, MAIL, TRAVEL, Asked, offered, towns
from tests.operations.workspace_scenario import ACME, PROFILE, TENANT, Workspace


async def test_the_oldest_question_is_asked_and_the_next_one_after_it_is_decided() -> None:
    world = Asked()
    await world.say("Lisbon", 0.9, "c1")
    await world.say("Oslo", 0.9, "c2", aspect="in summer")
    first = (await world.say("Berlin", 0.3, "c3"))["pending_id"]
    second = (await world.say("Turku", 0.3, "c4", aspect="in summer"))["pending_id"]
    for by in (CHAT, MAIL, TRAVEL):
        assert (await world.asked(by=by))["pending_id"] == first
    await world.answer(first, TRAVEL, take="existing")
    assert (await world.asked())["pending_id"] == second
    await world.reject(second, CHAT)
    assert await world.asked() is None
    await world.check()


async def test_a_question_that_a_surer_statement_has_overtaken_is_not_asked() -> None:
    world = Asked()
    await world.say("Lisbon", 0.9, "c1")
    old = (await world.say("Berlin", 0.3, "c2"))["pending_id"]
    await world.say("Porto", 0.9, "c3")
    assert towns(await world.content()) == ["Porto"]
    assert await world.asked() is None, "Lisbon or Berlin is no question any more"
    (item,) = await world.questions()
    assert item["id"] == old, "it waits for a person who looks at what is there"
    # The next contradiction asks again, about what is open now, and an answer to the old one applies to nothing.
    await world.say("Rome", 0.3, "c4")
    again = await world.asked()
    assert again["choices"] == ["Lives in Porto.", "Lives in Berlin.", "Lives in Rome."]
    with pytest.raises(MemnetError) as late:
        await world.answer(old, TRAVEL, take="existing")
    assert late.value.code.value == "PENDING_ITEM_NOT_FOUND"
    await world.answer(again["pending_id"], TRAVEL, choice=2)
    assert towns(await world.content()) == ["Rome"]
    await world.check()


async def test_an_older_question_that_is_outdated_does_not_hide_the_next_one() -> None:
    world = Asked()
    await world.say("Lisbon", 0.9, "c1")
    await world.say("Berlin", 0.3, "c2")
    await world.say("Oslo", 0.9, "c3", aspect="in summer")
    later = (await world.say("Turku", 0.3, "c4", aspect="in summer"))["pending_id"]
    await world.say("Porto", 0.9, "c5")
    assert (await world.asked())["pending_id"] == later


async def test_each_choice_keeps_the_change_that_it_comes_from() -> None:
    world = Asked()
    await world.say("Lisbon", 0.9, "c1")
    await world.say("Berlin", 0.3, "c2")
    await world.say("Porto", 0.3, "c3", by=MAIL)
    (item,) = await world.questions()
    assert offered(item) == ["Berlin", "Porto"]
    *_, joined = await world.check()
    paths = [op["path"] for op in joined["ops"]]
    assert "/content/to_confirm/0" not in paths
    assert {"/content/to_confirm/0/alternatives", "/content/to_confirm/0/choices/-"} <= set(paths)


async def test_once_the_tenant_has_to_decide_the_question_is_the_tenant_s() -> None:
    """Iris doubts what she said, so she decides; then Noor's contradiction holds, and her next statement meets it."""
    workspace = Workspace()
    await workspace.hire("noor", "iris")
    said = {"question": "day off", "by": "iris"}
    await workspace.state({**said, "value": "Friday", "day": 1})
    await workspace.state({**said, "by": "noor", "value": "Sunday", "day": 2})
    await workspace.answer("both", TENANT)
    profile = CATALOG.profile(PROFILE)
    weighs = [_weighing(rule) for rule in profile.upkeep_rules["workspace"]]
    lenient = profile.model_copy(update={"upkeep_rules": {"workspace": tuple(weighs)}})
    strict, workspace.service = (
        workspace.service,
        replace(workspace.service, catalog=replace(CATALOG, profiles={**CATALOG.profiles, PROFILE: lenient})),
    )
    await workspace.state({**said, "value": "Monday", "day": 3, "confidence": 0.3})
    (item,) = (await workspace.content())["to_confirm"]
    assert item["decides"] == "user"
    workspace.service = strict
    await workspace.state({**said, "value": "Tuesday", "day": 4, "confidence": 0.3})
    (item,) = (await workspace.content())["to_confirm"]
    assert (item["decides"], offered(item)) == ("tenant", ["Monday", "Tuesday"])
    page = await list_tenant_pending(ACME.tenant_id, workspace.service, limit=25, cursor=None)
    assert [one.waiting.item["id"] for one in page.items] == [item["id"]]
    await workspace.check()


def _weighing(rule: SectionUpkeep) -> SectionUpkeep:
    """The rule before the tenant was asked between claimants."""
    if rule.statements is None:
        return rule
    return rule.model_copy(update={"statements": rule.statements.model_copy(update={"between_claimants": "weigh"})})
