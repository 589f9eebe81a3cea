"""The work of a retraction: applied, undone, continued after a kill."""

from functools import partial
from typing import Any

import orjson
import pytest

from memnet.domain.core.errors import (
    SourceRetracted,
    Unavailable,
    UserHeld,
)
from memnet.domain.core.job import Job, JobKind
from memnet.domain.governance.legal_hold import HoldTarget
from memnet.domain.governance.retraction import RetractionStatus
from memnet.operations.governance.legal_holds import place_hold, release_hold
from memnet.operations.governance.retractions import (
    apply_retraction,
    get_retraction,
    undo_retraction,
)
from memnet.operations.governance.run_retraction import MAX_SCANS, fail_retraction
from tests.memory_blobs import storage_of
from tests.operations.retraction_scenario import ADMIN, OTHER, Retracting, texts
from tests.operations.turn_search_scenario import ONE
from tests.operations.withdrawn_scenario import Between, Killed, killed


@pytest.fixture
async def world() -> Retracting:
    return await Retracting().prepared()


async def test_applying_takes_back_what_the_plan_said_and_nothing_else(world: Retracting) -> None:
    view = await world.planned()
    retraction = await world.applied()
    assert (retraction.status, retraction.applied_by) == (RetractionStatus.APPLIED, "other-admin")
    assert sorted(texts(await world.content())) == ["Call me Noor", "Likes tables"]
    assert b'"c1"' not in orjson.dumps(await world.content())
    assert b"Mallory" not in b"".join(world.stored("documents", "events", "snapshots").values())
    done = await get_retraction(ONE, retraction.retraction_id, world.service)
    (planned,), (document,) = view.plan.documents, done.plan.documents
    assert document.values == planned.values
    assert document.change_id is not None
    assert await world.plan() == []
    await world.check_history()
    with pytest.raises(SourceRetracted):
        await world.say("c1", "s2")
    # The second run: nothing is left to do, and nothing changes.
    before = world.stored("documents")
    assert (await world.run(retraction.retraction_id)).status is RetractionStatus.APPLIED
    assert world.stored("documents") == before


async def test_an_undo_restores_the_bytes_and_opens_the_source(world: Retracting) -> None:
    content, kept = await world.content(), world.stored("snapshots", "events", "conflicts")
    retraction = await world.applied()
    undone = await world.undone(retraction.retraction_id)
    assert (undone.status, undone.undone_by) == (RetractionStatus.UNDONE, "admin")
    assert orjson.dumps(await world.content()) == orjson.dumps(content)
    assert world.stored("snapshots", "events", "conflicts") == kept
    await world.say("c1", "s2")
    await world.check_history()
    # What came back rests on the source: it can be taken back again.
    second = await world.planned("k2")
    assert "removed" in {value.fate.value for document in second.plan.documents for value in document.values}


@pytest.mark.parametrize("undoes", [False, True])
async def test_a_worker_that_dies_at_any_step_is_continued(*, undoes: bool) -> None:
    reference = await Retracting().prepared()
    before = await reference.content()
    retraction = await reference.applied()
    after = before if undoes else await reference.content()
    if undoes:
        await reference.undone(retraction.retraction_id)
    number = 0
    while True:
        number += 1
        world = await Retracting().prepared()
        view = await world.planned()
        retraction_id = view.retraction.retraction_id
        await apply_retraction(ONE, retraction_id, view.retraction.etag, world.service, actor=OTHER)
        if undoes:
            await world.run(retraction_id)
            await undo_retraction(ONE, retraction_id, world.service, actor=ADMIN)
        between = Between(world, number, killed)
        try:
            await world.run(retraction_id)
            between.stop()
            break
        except Killed:
            between.stop()
        ended = await world.run(retraction_id)
        assert ended.status is (RetractionStatus.UNDONE if undoes else RetractionStatus.APPLIED), between.calls[-1]
        assert orjson.dumps(await world.content()) == orjson.dumps(after), between.calls[-1]
        done = await get_retraction(ONE, retraction_id, world.service)
        assert len(done.plan.documents) == 1
        await world.check_history()
    assert number > 12


async def test_a_hold_refuses_the_plan_the_application_and_the_work(world: Retracting) -> None:
    view = await world.planned()
    retraction_id, etag = view.retraction.retraction_id, view.retraction.etag
    target = HoldTarget(ONE.tenant_id, ONE.user_id)
    await apply_retraction(ONE, retraction_id, etag, world.service, actor=OTHER)
    await place_hold(target, "litigation", world.service, actor=ADMIN)
    content = await world.content()
    with pytest.raises(UserHeld):
        await world.planned("k2")
    with pytest.raises(UserHeld):
        await world.run(retraction_id)
    job = Job(JobKind.RETRACTION, ONE.tenant_id, ONE.user_id, retraction_id)
    failed = await fail_retraction(job, "USER_HELD", world.service)
    assert failed is not None
    assert (failed.status, failed.failure) == (RetractionStatus.FAILED, "USER_HELD")
    with pytest.raises(UserHeld):
        await apply_retraction(ONE, retraction_id, etag, world.service, actor=OTHER)
    assert await world.content() == content
    await release_hold(target, "over", world.service, actor=ADMIN)
    await apply_retraction(ONE, retraction_id, etag, world.service, actor=OTHER)
    assert (await world.run(retraction_id)).status is RetractionStatus.APPLIED


async def test_a_hold_that_is_placed_while_a_worker_applies_stops_it() -> None:
    """No document is changed after the hold, wherever it comes."""
    target, number, stopped = HoldTarget(ONE.tenant_id, ONE.user_id), 0, 0
    while True:
        number += 10
        world = await Retracting().prepared()
        view = await world.planned()
        retraction_id, etag = view.retraction.retraction_id, view.retraction.etag
        await apply_retraction(ONE, retraction_id, etag, world.service, actor=OTHER)
        before = await world.content()
        hold = partial(place_hold, target, "litigation", world.service, actor=ADMIN)
        between = Between(world, number, hold)
        try:
            await world.run(retraction_id)
        except UserHeld:
            stopped += 1
            assert await world.content() == before
            await release_hold(target, "over", world.service, actor=ADMIN)
            assert (await world.run(retraction_id)).status is RetractionStatus.APPLIED
        between.stop()
        assert "Mallory" not in orjson.dumps(await world.content()).decode()
        if len(between.calls) < number:
            break
    assert stopped > 4


async def test_a_retraction_is_not_applied_while_others_still_write_what_rests_on_its_source(
    world: Retracting, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = await world.planned()
    retraction_id, etag = view.retraction.retraction_id, view.retraction.etag
    await apply_retraction(ONE, retraction_id, etag, world.service, actor=OTHER)
    storage = storage_of(world.service.records)
    listing, scans = storage.list, 0

    async def writes_first(name: str, *arguments: Any, **options: Any) -> Any:
        nonlocal scans
        if name == f"{ONE.prefix}documents/":
            scans += 1
            await world.live(f"Mallory {scans}", conversation_id="c1")
        return await listing(name, *arguments, **options)

    monkeypatch.setattr(storage, "list", writes_first)
    with pytest.raises(Unavailable):
        await world.run(retraction_id)
    assert scans == MAX_SCANS
    monkeypatch.undo()
    assert (await world.run(retraction_id)).status is RetractionStatus.APPLIED
    assert "Mallory" not in orjson.dumps(await world.content()).decode()
