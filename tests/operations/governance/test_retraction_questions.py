"""A retraction takes its statements out of questions, too: nothing of them is asked or can be confirmed."""

from typing import Any

import pytest

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import PendingItemNotFound
from memnet.domain.governance.retraction import RetractionStatus
from memnet.domain.governance.source import Source, SourceKind
from tests.operations.question_scenario import CHAT, MAIL, TRAVEL, Asked, offered, towns


async def asked(*said: tuple[str, float]) -> Asked:
    """A world in which Lisbon is open, and each of the towns was said by another product in its own conversation."""
    world = Asked()
    await world.say("Lisbon", 0.9, "c-Lisbon")
    for number, (town, sure) in enumerate(said):
        assert (await world.say(town, sure, f"c-{town}", by=(CHAT, MAIL, TRAVEL)[number % 3]))["verdict"] == "asked"
    return world


@pytest.mark.parametrize("gone", ["Berlin", "Porto", "Rome"])
async def test_a_choice_of_the_source_is_not_offered_any_more(gone: str) -> None:
    world = await asked(("Berlin", 0.3), ("Porto", 0.3), ("Rome", 0.3))
    before = await world.asked()
    content = canonical(await world.content())
    done = await world.retract(f"c-{gone}")
    assert done.status is RetractionStatus.APPLIED
    (item,) = await world.questions()
    left = [town for town in ("Berlin", "Porto", "Rome") if town != gone]
    assert offered(item) == left
    assert gone not in canonical(await world.content()).decode()
    after = await world.asked()
    assert after["choices"] == ["Lives in Lisbon.", *(f"Lives in {town}." for town in left)]
    assert gone not in after["question"]
    # A choice keeps its index, or the question has another id.
    assert (after["pending_id"] == before["pending_id"]) is (gone == "Rome")
    await world.undo(done.retraction_id)
    assert canonical(await world.content()) == content
    await world.check()


async def test_a_late_answer_to_choices_that_moved_applies_to_nothing() -> None:
    world = await asked(("Berlin", 0.3), ("Porto", 0.3))
    old = (await world.asked())["pending_id"]
    await world.retract("c-Berlin")
    with pytest.raises(PendingItemNotFound):
        await world.answer(old, TRAVEL, choice=1)
    await world.answer((await world.asked())["pending_id"], TRAVEL, choice=1)
    assert towns(await world.content()) == ["Porto"]
    assert await world.asked() is None
    await world.check()


async def test_the_proposer_of_what_remains_still_cannot_answer() -> None:
    world = await asked(("Berlin", 0.3), ("Porto", 0.3))
    await world.say("Rome", 0.3, "c-Rome", by=CHAT)
    await world.retract("c-Berlin")
    (item,) = await world.questions()
    assert (item["proposed_by"], item["also_proposed_by"]) == (MAIL.principal, [CHAT.principal])


async def test_a_question_about_an_entry_of_the_source_quotes_it_no_more() -> None:
    world = await asked(("Berlin", 0.3), ("Porto", 0.3))
    await world.retract("c-Lisbon")
    assert "Lisbon" not in canonical(await world.content()).decode()
    assert await world.asked() is None, "nothing is open that the user could keep"
    (item,) = await world.questions()
    assert (offered(item), item["decides"]) == (["Berlin", "Porto"], "user")
    # The next statement about it asks again, about what is open then.
    await world.say("Bern", 0.9, "c-Bern")
    await world.say("Rome", 0.3, "c-Rome")
    again = await world.asked()
    assert again["choices"] == [f"Lives in {town}." for town in ("Bern", "Berlin", "Porto", "Rome")]
    assert again["pending_id"] != item["id"]
    await world.answer(again["pending_id"], TRAVEL, take="existing")
    assert towns(await world.content()) == ["Bern"]
    await world.check()


async def test_a_question_asks_about_the_entry_that_holds_again() -> None:
    world = Asked()
    await world.say("Bern", 0.9, "c-Bern")
    await world.say("Lisbon", 0.9, "c-Lisbon")
    await world.say("Berlin", 0.3, "c-Berlin")
    old = await world.asked()
    content = canonical(await world.content())
    done = await world.retract("c-Lisbon")
    assert towns(await world.content()) == ["Bern"]
    again = await world.asked()
    assert again["choices"] == ["Lives in Bern.", "Lives in Berlin."]
    assert again["pending_id"] != old["pending_id"]
    assert "Lisbon" not in canonical(await world.content()).decode()
    await world.undo(done.retraction_id)
    assert canonical(await world.content()) == content
    await world.check()


@pytest.mark.parametrize("first", ["c-Berlin", "c-again"])
async def test_a_choice_with_another_source_stays(first: str) -> None:
    world = await asked(("Berlin", 0.3), ("Porto", 0.3))
    await world.say("Berlin", 0.3, "c-again", by=MAIL)
    await world.retract(first)
    (item,) = await world.questions()
    assert offered(item) == ["Berlin", "Porto"]
    assert first not in canonical(await world.content()).decode()
    await world.retract("c-again" if first == "c-Berlin" else "c-Berlin")
    (item,) = await world.questions()
    assert offered(item) == ["Porto"]
    await world.check()


async def test_what_a_principal_proposed_goes_with_it() -> None:
    world = await asked(("Berlin", 0.3), ("Porto", 0.3))
    await world.retract(Source(kind=SourceKind.ACTOR, actor=MAIL.principal))
    (item,) = await world.questions()
    assert offered(item) == ["Berlin"]
    assert "Porto" not in canonical(await world.content()).decode()
    assert MAIL.principal not in canonical(await world.content()).decode()
    await world.check()


async def test_the_last_choice_takes_the_question_with_it() -> None:
    world = await asked(("Berlin", 0.3))
    content: Any = canonical(await world.content())
    done = await world.retract("c-Berlin")
    assert await world.questions() == []
    await world.undo(done.retraction_id)
    assert canonical(await world.content()) == content


async def test_other_questions_are_not_touched() -> None:
    world = await asked(("Berlin", 0.3))
    await world.say("Oslo", 0.9, "c-Oslo", aspect="in summer")
    await world.say("Turku", 0.3, "c-Turku", aspect="in summer")
    before = await world.questions()
    await world.retract("c-Berlin")
    assert await world.questions() == [item for item in before if offered(item) == ["Turku"]]


async def test_a_proposal_keeps_no_copy_of_an_entry_of_the_source() -> None:
    """A pending item keeps the entries that could be confused with its own, also closed ones."""
    world = Asked()
    await world.say("Berlin", 0.9, "c-poisoned")
    await world.say("Lisbon", 0.9, "c-Lisbon")
    await world.say("Berlin", 0.3, "c-Berlin", by=MAIL)
    (item,) = await world.questions()
    assert "c-poisoned" in canonical(item["base"]).decode()
    content = canonical(await world.content())
    done = await world.retract("c-poisoned")
    assert "c-poisoned" not in canonical(await world.content()).decode()
    (item,) = await world.questions()
    assert item["base"] == {"facts": []}
    await world.undo(done.retraction_id)
    assert canonical(await world.content()) == content
    await world.retract("c-poisoned")
    await world.answer(item["id"], TRAVEL)
    assert towns(await world.content()) == ["Berlin"]
    await world.check()
