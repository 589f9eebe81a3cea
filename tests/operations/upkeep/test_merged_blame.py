"""An entry that upkeep merged others into rests on who said each of them."""

from functools import partial
from typing import Any

from memnet.domain.upkeep.compaction import plan_compaction
from memnet.domain.upkeep.maintenance import profiles_maintaining
from memnet.operations.history.read_origins import read_origins
from memnet.operations.upkeep import Kind, Outcome, maintain_document
from tests.operations.service_scenario import DYNAMIC
from tests.operations.upkeep_scenario import Upkeep
from tests.services import arguments, service_of

TIMES = {"confidence": 0.9, "last_verified_at": "2026-01-01T00:00:00Z"}


async def test_a_merged_entry_rests_on_the_changes_that_said_it() -> None:
    world = Upkeep()
    made: list[Any] = []
    for number in (1, 2):
        said = {"conversation_id": f"c{number}", "message_ids": ["m1"]}
        value = {"id": f"f{number}", "text": "Lives in Bern.", "evidence": said, **TIMES}
        add = {"op": "add", "path": "/content/durable_facts/-", "value": value}
        over = made[-1].etag if made else None
        made.append(await world.service.patch(add, over=over, key=DYNAMIC, confidence=0.9, evidence=said))
    [rules] = profiles_maintaining(world.catalog, DYNAMIC)
    tend = partial(maintain_document, DYNAMIC, rules, plan_compaction, kind=Kind.COMPACTION, dry_run=False)
    assert (await tend(**arguments(**world.ports))).outcome is Outcome.CHANGED
    found = await read_origins(DYNAMIC, service_of(**world.service.ports()))
    assert found.origins.content is not None
    (fact,) = found.origins.content.at(("durable_facts",)).value
    said_by = {origin.change_id for origin in fact.value["text"].sources()}
    assert said_by == {one.change_id for one in made}
    await world.service.background.drain()
