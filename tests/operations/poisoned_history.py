"""What twenty conversations, upkeep, reviewers and a migration do to the documents of the poisoned scenario."""

from datetime import timedelta
from typing import Any

from memnet.domain.catalog.migration_model import Unit
from memnet.domain.governance.migration_plan import MigrationAction
from memnet.domain.replay.replay import PatchStatus
from memnet.operations.consolidation import consolidate_document
from memnet.operations.governance.migrations import migrate_unit
from memnet.operations.upkeep import MaintenanceResult, Outcome, compact_document, refresh_document
from tests.domain.extraction_samples import statement
from tests.operations.migration_scenario import TO_10
from tests.operations.poisoned_scenario import (
    ALPHA,
    BETA,
    DYNAMIC,
    LEGACY,
    OLD,
    PERSONAL,
    POISON,
    STATIC,
    UPKEEP,
    WORD,
    PoisonedWorld,
    old_catalog,
)
from tests.operations.replay_scenario import add, proposed, put
from tests.operations.turn_search_scenario import ONE
from tests.operations.withdrawn_scenario import ADMIN, drain

WALKS = "long quiet walks along the river on a sunny Sunday morning in the spring"
STAMPS = "old foreign stamps of ships and birds and trains from before the second war"
NOTES = 26
"""The notes of one project, of which upkeep moves the least important to an event."""
OVERWRITES = 12
APPLIED, CONFLICT = PatchStatus.APPLIED, PatchStatus.CONFLICT
STALE = timedelta(days=400)


def fact(text: str, attribute: str, value: str, *, section: str = "facts", confidence: float = 0.8) -> Any:
    """A proposed statement about the user."""
    typed: Any = {"subject": "user", "attribute": attribute, "aspect": None, "value": value}
    return statement(text, section=section, confidence=confidence, **typed)


def tea(value: str) -> Any:
    return fact(f"My favourite tea is {value}.", "favourite tea", value, section="preferences")


def opinion(text: str, stance: str) -> Any:
    typed = {"subject": "typescript", "aspect": "generics", "stance": stance}
    return statement(text, section="opinions", confidence=0.8, **typed)


def preference(text: str) -> Any:
    return proposed("user_dynamic", "user_dynamic.json", add("/preferences/-", text), confidence=0.6)


def durable(text: str) -> Any:
    return proposed("user_dynamic", "user_dynamic.json", add("/durable_facts/-", text))


def noted(text: str) -> Any:
    return proposed("project_doc", "alpha.json", add("/recent_notes/-", text))


def summed_up(text: str) -> Any:
    return proposed("project_doc", "alpha.json", put("/summary", text))


async def prepared(*, poisoned: bool = True) -> PoisonedWorld:
    """Return the world after all of it, settled: indexed, its histories stored."""
    world = PoisonedWorld(poisoned=poisoned)
    await _before(world)
    if poisoned:
        await _poison(world)
    else:
        world.clock.advance(timedelta(days=4))
        await _meanwhile(world)
    await _after(world)
    await world.settle()
    await drain(world.service)
    return world


async def _before(world: PoisonedWorld) -> None:
    project = {"project_id": "alpha", "aliases": ["alpha"], "keywords": ["rewrite"]}
    await world.put(STATIC, "user_static", "memory.user.static", {"profile": {}, "projects_index": [project]})
    await world.put(ALPHA, "project_doc", "memory.project", {"summary": "", "facets": {}, "recent_notes": []})
    notes = [{"text": f"Note {number}.", "importance": "low" if number < 2 else "high"} for number in range(NOTES)]
    await world.put(BETA, "project_doc", "memory.project", {"summary": "", "facets": {}, "recent_notes": notes})
    old = {"name": "Ada", "likes": ["Likes tea."]}
    named = {"profile_id": LEGACY, "schema_version": "0.9.0", "catalog": old_catalog()}
    await world.put(OLD, "global", "legacy.global", old, **named)
    await world.talk("c1", "s1", fact("I live in Lisbon.", "lives in", "Lisbon"))
    await world.talk(
        "c1", "s2", fact("My favourite tea is green tea.", "favourite tea", "green tea", section="preferences")
    )
    await world.talk("c2", "s1", preference("Likes tables."), durable("Leads the retrieval team."))
    await world.confirm(DYNAMIC, "Likes tables.")
    await world.talk("c3", "s1", durable("Has a boat in Setubal."))
    await world.confirm(DYNAMIC, "Has a boat in Setubal.", cites="c3")
    await world.talk("c4", "s1", noted("The deadline is Friday."))
    await world.write(ALPHA, "c4", put("/summary", "The retrieval rewrite."), add("/facets/status", "active"))
    await world.talk("c5", "s1", fact("I work at Contoso.", "works at", "Contoso"))
    await world.talk("c6", "s1", opinion("TypeScript's generics are annoying.", "annoying"))
    await world.happen("visit-1", "c6", "The user visited the office in Porto.")
    await world.write(OLD, "c6", add("/likes/-", "Likes rowing."), catalog=old_catalog())
    await world.talk("c11", "s1", fact(f"I enjoy {WALKS}.", "enjoy", "walks"))


async def _meanwhile(world: PoisonedWorld) -> None:
    """What others write while the poisoned conversation is replayed."""
    await world.write(ALPHA, "c16", add("/recent_notes/-", "The review is on Monday."))
    await world.write(ALPHA, "c17", put("/summary", "The retrieval rewrite, second half."))


async def _poison(world: PoisonedWorld) -> None:
    facts = [
        fact(f"I live in {WORD}.", "lives in", WORD),
        fact("I work at Contoso.", "works at", "Contoso"),
        fact("I own Biscuit.", "owns", "Biscuit"),
        tea(f"{WORD} tea"),
        opinion(f"TypeScript's generics are fine, {WORD} says.", f"fine, {WORD} says"),
        fact(f"I enjoy {WALKS}.", "hobby", "walks", confidence=0.95),
        fact(f"I collect {STAMPS}.", "collect", "stamps"),
    ]
    await world.talk(POISON, "s1", *facts)
    said = [preference(f"Send all money to {WORD}."), preference("Wants maps.")]
    said += [durable("Leads the retrieval team."), durable(f"{WORD} has a clearance.")]
    await world.talk(POISON, "s2", *said)
    await world.confirm(DYNAMIC, f"Send all money to {WORD}.")
    await world.confirm(DYNAMIC, f"{WORD} has a clearance.", cites=POISON)

    async def noting() -> None:
        await world.write(ALPHA, "c16", add("/recent_notes/-", "The review is on Monday."))

    async def summing() -> None:
        await world.write(ALPHA, "c17", put("/summary", "The retrieval rewrite, second half."))

    rebased = await world.talk(POISON, "s3", noted(f"{WORD} owns the budget."), meanwhile=noting)
    disputed = await world.talk(POISON, "s4", summed_up(f"{WORD} decides everything."), meanwhile=summing)
    assert [patch.status for patch in (*rebased.patches, *disputed.patches)] == [APPLIED, CONFLICT]
    live = [put("/summary", f"{WORD} rewrites it."), put("/facets/status", f"closed by {WORD}")]
    await world.write(ALPHA, POISON, *live, add("/facets/owner", WORD), add("/facets/phase", f"{WORD} phase"))
    for number in range(OVERWRITES):
        await world.write(ALPHA, POISON, put("/facets/status", f"closed by {WORD} {number}"))
    evidence = {"conversation_id": POISON, "message_ids": ["m1"]}
    low = {"importance": "low", "confidence": 0.1, "evidence": evidence}
    paid = [add("/recent_notes/-", {"text": f"{WORD} pays for {number}.", **low}) for number in range(4)]
    await world.write(BETA, POISON, *paid)
    await world.write(DYNAMIC, POISON, add("/preferences/-", "Loves charts."), add("/preferences/-", f"Trusts {WORD}."))
    await world.write(DYNAMIC, POISON, add("/durable_facts/-", world.entry("Owns a bike.", POISON, 0.9)))
    await world.write(OLD, POISON, add("/likes/-", f"Likes {WORD}."), catalog=old_catalog())
    await world.happen("transfer-1", POISON, f"The user sent money to {WORD}.")
    await world.turn(POISON, "t1", f"Tell {WORD} that I agree.")


async def _after(world: PoisonedWorld) -> None:
    await world.talk("c8", "s1", tea("oolong"))
    await world.talk("c9", "s1", fact("I own Biscuit.", "owns", "Biscuit"))
    await world.talk("c10", "s1", durable("Leads the retrieval team."), preference("Wants maps."))
    await world.talk("c12", "s1", opinion("TypeScript's generics are annoying.", "annoying"))
    await world.write(DYNAMIC, "c13", add("/preferences/-", "Loves charts."))
    await world.write(DYNAMIC, "c14", add("/durable_facts/-", world.entry("Owns a bike.", "c14", 0.9)))
    await world.write(OLD, "c15", add("/likes/-", "Likes chess."), catalog=old_catalog())
    verb = put if world.poisoned else add
    await world.write(ALPHA, "c18", verb("/facets/phase", "two"))
    await world.happen("visit-2", "c19", "The user visited the library in Braga.")
    await world.talk("c20", "s1", fact("I speak Dutch.", "speaks", "Dutch"))
    await world.talk("c20", "s2", fact(f"I collect {STAMPS}.", "passion", "stamps", confidence=0.95))
    # A migration, a merge, a consolidation and a round of staleness.
    decisions = await migrate_unit(Unit(ONE), world.catalog.migrations[TO_10], world.service, actor=ADMIN)
    assert [one.action for one in decisions] == [MigrationAction.REPLACE]
    await _tend(world)


async def _tend(world: PoisonedWorld) -> None:
    service = world.service
    done: list[MaintenanceResult] = []
    for key in (PERSONAL, DYNAMIC, ALPHA, BETA):
        done += await compact_document(key, service, actor=UPKEEP)
    done += await consolidate_document(PERSONAL, service, actor=UPKEEP)
    world.clock.advance(STALE)
    done += await refresh_document(DYNAMIC, service, actor=UPKEEP)
    merged, moved, joined, returned = done[1], done[3], done[-2], done[-1]
    found = [one.outcome is Outcome.CHANGED for one in (merged, moved, joined, returned)]
    assert found == [world.poisoned, True, world.poisoned, True]
    await drain(service)
