"""What a retraction puts back keeps its origins, so that a later retraction and blame find its source."""

from itertools import permutations
from typing import Any

import pytest

from memnet.domain.core.access import Reason
from memnet.domain.documents import audit_segments, envelope
from memnet.domain.documents.commands import IfMatch, PatchDocument
from memnet.domain.governance.retraction import Retraction, RetractionStatus
from memnet.domain.governance.source import Source, SourceKind
from memnet.domain.history.origin_table import dump_origins
from memnet.operations.documents.write import patch_document
from memnet.operations.governance.retractions import (
    apply_retraction,
    get_retraction,
    plan_retraction,
    undo_retraction,
)
from memnet.operations.history.get_blame import get_blame
from memnet.operations.history.read_origins import read_origins
from memnet.service import Service
from tests.operations.retraction_scenario import ADMIN, DYNAMIC, LIVE, OTHER, Retracting, texts
from tests.operations.turn_search_scenario import ONE


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> Retracting:
    """A preference that c1, c2 and c3 put one over the other, and one that c1 and c2 said; baselines in between."""
    monkeypatch.setattr(audit_segments, "MAX_RECORDS", 3)
    made = Retracting()
    await made.live("Answer briefly", conversation_id="c1")
    await made.live("Likes tables", conversation_id="c1")
    for text, conversation_id in (("Answer in full", "c2"), ("Answer in verse", "c3")):
        await replaced(made, 0, text, conversation_id)
    await replaced(made, 1, "Likes tables", "c2")
    return made


async def replaced(world: Retracting, index: int, text: str, conversation_id: str) -> None:
    stored = await world.service.documents.get(DYNAMIC)
    assert stored is not None
    world.number += 1
    command = PatchDocument(
        key=DYNAMIC,
        actor=LIVE,
        precondition=IfMatch(envelope.load(stored.data).commit.etag),
        idempotency_key=f"replaced-{world.number}",
        profile_id="project-copilot-v1",
        binding_id="user_dynamic",
        ops=[{"op": "replace", "path": f"/content/preferences/{index}", "value": text}],
        reason=Reason.LIVE_UPDATE,
        evidence={"conversation_id": conversation_id},
        confidence=0.9,
    )
    await patch_document(command, world.service)


async def retract(world: Retracting, conversation_id: str) -> Retraction:
    source = Source(kind=SourceKind.CONVERSATION, conversation_id=conversation_id)
    world.number += 1
    view = await plan_retraction(
        ONE, source, "Wrong.", world.service, actor=ADMIN, idempotency_key=f"plan-{world.number}"
    )
    found = view.retraction
    await apply_retraction(ONE, found.retraction_id, found.etag, world.service, actor=OTHER)
    done = await world.run(found.retraction_id)
    assert done.status is RetractionStatus.APPLIED
    return done


async def undo(world: Retracting, retraction: Retraction) -> list[str]:
    """Undo it, and return what could not be undone."""
    await undo_retraction(ONE, retraction.retraction_id, world.service, actor=ADMIN)
    await world.run(retraction.retraction_id)
    view = await get_retraction(ONE, retraction.retraction_id, world.service)
    return [text for document in view.plan.documents for text in document.not_undone]


async def origins(service: Service) -> Any:
    """The content and where it comes from, in two readings that agree: from the beginning, and from a baseline."""
    whole, short = await read_origins(DYNAMIC, service, is_whole=True), await read_origins(DYNAMIC, service)
    assert whole.origins.content is not None
    assert short.origins.content is not None
    assert dump_origins(whole.origins.content) == dump_origins(short.origins.content)
    return whole.origins.content.plain(), dump_origins(whole.origins.content)


async def sources(world: Retracting, index: int) -> list[str]:
    """The conversations that blame names for a preference, its own origin first."""
    place = ("preferences", str(index))
    page = await get_blame(DYNAMIC, place, world.service, as_of=None, limit=10, cursor=None)
    node = page.rows[0].node
    said = [node.origin, *(source.origin for source in node.further)]
    return [(origin.evidence or {}).get("conversation_id", origin.reason) for origin in said]


async def test_a_value_that_is_put_back_names_its_source_and_goes_with_it(world: Retracting) -> None:
    await retract(world, "c3")
    assert (texts(await world.content())[0], await sources(world, 0)) == ("Answer in full", ["c2"])
    await retract(world, "c2")
    assert (texts(await world.content())[0], await sources(world, 0)) == ("Answer briefly", ["c1"])
    await retract(world, "c1")
    assert texts(await world.content()) == []
    await world.check_history()


@pytest.mark.parametrize("order", list(permutations(("c1", "c2", "c3"))))
async def test_in_any_order_nothing_is_left_and_the_undo_restores_content_and_origins(
    world: Retracting, order: tuple[str, ...]
) -> None:
    before = [await origins(world.service)]
    done = []
    for conversation_id in order:
        done.append(await retract(world, conversation_id))
        before.append(await origins(world.service))
    assert texts(await world.content()) == []
    for retraction in reversed(done):
        assert await origins(world.service) == before.pop()
        assert await undo(world, retraction) == []
    assert await origins(world.service) == before.pop()
    await world.check_history()


async def test_an_undo_in_the_other_order_says_what_it_could_not_bring_back(world: Retracting) -> None:
    first, second = await retract(world, "c3"), await retract(world, "c2")
    assert await undo(world, first) == ["/content/preferences/0"]
    assert await undo(world, second) == []
    assert (texts(await world.content())[0], await sources(world, 0)) == ("Answer in full", ["c2"])
    # It is there from its own source, and can be taken back again.
    await retract(world, "c2")
    assert texts(await world.content())[0] == "Answer briefly"


async def test_blame_of_a_value_that_is_put_back_knows_the_values_before(world: Retracting) -> None:
    await retract(world, "c3")
    page = await get_blame(DYNAMIC, ("preferences", "0"), world.service, as_of=None, limit=10, cursor=None)
    assert page.rows[0].knows_before
    assert [one.value for one in page.rows[0].before] == ["Answer briefly"]


async def test_a_value_that_is_put_back_and_stated_again_stays_until_both_sources_are_taken_back(
    world: Retracting,
) -> None:
    await retract(world, "c3")
    await world.live("Written since")
    await replaced(world, 0, "Answer in full", "c9")
    assert await sources(world, 0) == ["c2", "c9"]
    await retract(world, "c2")
    assert (texts(await world.content())[0], await sources(world, 0)) == ("Answer in full", ["c2", "c9"])
    await retract(world, "c9")
    assert texts(await world.content())[0] == "Answer briefly"
