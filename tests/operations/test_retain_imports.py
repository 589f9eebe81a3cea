"""What was imported is over like everything else: old records by their own time, and who imported them last."""

from collections import Counter
from dataclasses import replace
from typing import Any

import orjson
import pytest

from memnet.domain.archive import MANIFEST
from memnet.domain.attachment import Part, parse
from memnet.domain.document import UserScope
from memnet.domain.errors import HistoryBroken, Unavailable, VaultUnavailable
from memnet.domain.hold import HoldKey, HoldPlace
from memnet.domain.json_text import canonical
from memnet.domain.profile import Profile
from memnet.domain.record import RecordKey, RecordKind
from memnet.domain.retention import Tally
from memnet.operations.legal_holds import place_hold
from memnet.operations.remove_due import RetentionRun
from memnet.operations.retain_imports import retain_imports
from tests.operations.archive_world import BETA, OTHER, doc_id, exported, files, filled_world, imported
from tests.operations.baseline_world import retain
from tests.operations.replay_world import ALPHA, DYNAMIC, World
from tests.operations.retention_world import DAY, LEGAL, SCOPE, Between, FallsAt, RetentionWorld, StopsAt

AUDIT_DAYS, JOBS_DAYS = 400, 100


def with_short_rule(profile: Profile) -> Profile:
    rules = profile.retention_rules.model_copy(update={"audit_days": AUDIT_DAYS})
    return profile.model_copy(update={"retention_rules": rules})


async def taken_over(changes: int = 3, *, at: int = 200) -> tuple[RetentionWorld, bytes]:
    """A world below OTHER that took over a user's memory on day `at`: a deleted document and a baseline among it."""
    source, world = await filled_world(changes), RetentionWorld()
    await retain(source, DYNAMIC, 2)
    archive, _ = await exported(source)
    # The profile of the documents has a rule of its own, shorter than those of the others.
    profiles = {name: with_short_rule(one) if name.startswith("project") else one for name, one in _profiles(world)}
    world.catalog = replace(world.catalog, profiles=profiles)
    world.clock.advance(at * DAY)
    await imported(world, archive, OTHER)
    return world, archive


def _profiles(world: World) -> Any:
    return world.catalog.profiles.items()


async def run(world: RetentionWorld, *, dry_run: bool = False, watch: Any = None, scope: UserScope = OTHER) -> Any:
    """One run over what was imported alone; the report's tally and what was broken."""
    ports = world.retention_ports() if watch is None else world.retention_ports(watch)
    policy = world.catalog.retention(scope.tenant_id)
    made = RetentionRun(scope, policy, world.clock.now(), dry_run, ports["holds"], world.clock)
    await retain_imports(run=made, records=ports["records"], vault=ports["vault"])
    return made.report.tallies["imports"], made.report.broken["imports"]


async def parts(world: RetentionWorld, scope: UserScope = OTHER) -> Counter[str]:
    """How many of what there are; what came with an archive from an earlier import begins with "earlier"."""
    found = [parse(name) for name in await names(world, scope)]
    assert None not in found
    return Counter(f"{'earlier ' * one.is_earlier}{one.part}" for one in found if one is not None)


async def names(world: RetentionWorld, scope: UserScope = OTHER) -> list[str]:
    page = await world.records.list(scope, RecordKind.IMPORTS, limit=10_000, cursor=None)
    return [key.name for key in page.items]


async def test_old_records_go_by_their_own_time_and_the_manifest_and_the_run_when_they_have() -> None:
    world, _ = await taken_over()
    there = await parts(world)
    assert (there["manifest"], there["runs"], there["baselines"]) == (1, 1, 1)
    old = there["audit"] + there["baselines"]
    world.clock.advance((AUDIT_DAYS - 200) * DAY - DAY)
    # The run is over, and waits with the manifest for the rest.
    assert await run(world) == (Tally(waiting=2, kept=old), 0)
    world.clock.advance(DAY)
    assert await run(world, dry_run=True) == (Tally(removed=old + 2), 0)
    assert await parts(world) == there
    assert await run(world) == (Tally(removed=old + 2), 0)
    assert await names(world) == []


async def test_the_run_and_the_manifest_stay_for_as_long_as_their_own_rule_says() -> None:
    world, _ = await taken_over(at=AUDIT_DAYS)
    there = await parts(world)
    assert await run(world) == (Tally(removed=there.total() - 2, kept=2), 0)
    world.clock.advance(JOBS_DAYS * DAY)
    assert await run(world) == (Tally(removed=2), 0)
    assert await names(world) == []


async def test_of_several_runs_only_the_last_one_waits_for_the_rest() -> None:
    world, archive = await taken_over(at=0)
    world.clock.advance(10 * DAY)
    await imported(world, archive, OTHER)
    world.clock.advance(JOBS_DAYS * DAY)
    there = await parts(world)
    assert there["runs"] == 2
    assert await run(world) == (Tally(removed=1, waiting=2, kept=there.total() - 3), 0)
    assert [name.split("/runs/")[1][:8] for name in await names(world) if "/runs/" in name] == ["20260111"]


async def test_many_go_at_once() -> None:
    world, _ = await taken_over(200, at=350)
    there = await parts(world)
    world.clock.advance(50 * DAY)
    found, _ = await run(world)
    assert (found.removed, there["audit"] > 200) == (there["audit"] + there["baselines"], True)
    assert (await parts(world)).keys() == {"manifest", "runs"}


async def test_an_old_record_that_has_to_stay_keeps_those_after_it() -> None:
    world, archive = await taken_over(5, at=300)
    place = doc_id(archive, f"{DYNAMIC.namespace}/{DYNAMIC.path}")
    document = [name for name in await names(world) if place in name and "/audit/" in name]
    line = next(line for line in _lines(archive) if document[1].rpartition("/")[2].encode() in line)
    await _replace(world, document[1], line.replace(b'"timestamp":"2026-01', b'"timestamp":"2026-02'))
    world.clock.advance(100 * DAY)
    await run(world)
    assert [name for name in await names(world) if place in name] == document[1:]


async def test_every_kind_of_what_is_kept_goes_by_the_longest_rule_if_it_names_no_profile_that_is_known() -> None:
    world, _ = await taken_over(at=AUDIT_DAYS)
    world.catalog = replace(world.catalog, profiles={n: p for n, p in _profiles(world) if not n.startswith("project")})
    there = await parts(world)
    assert await run(world) == (Tally(kept=there.total()), 0)
    world.clock.advance(2555 * DAY)
    await run(world)
    assert await names(world) == []


async def twice_moved(at: int = 200) -> RetentionWorld:
    """A world below SCOPE that took over what another user had taken over before."""
    world, middle = RetentionWorld(), World()
    first, _ = await exported(await filled_world(1))
    await imported(middle, first, OTHER)
    second, _ = await exported(middle, OTHER)
    profiles = {name: with_short_rule(one) if name.startswith("project") else one for name, one in _profiles(world)}
    world.catalog = replace(world.catalog, profiles=profiles)
    world.clock.advance(at * DAY)
    await imported(world, second, SCOPE)
    return world


async def test_what_was_brought_along_goes_too_and_the_import_that_brought_it_last() -> None:
    world = await twice_moved(at=AUDIT_DAYS)
    there = await parts(world, SCOPE)
    assert there.keys() == {"manifest", "runs", "audit", "earlier manifest", "earlier runs", "earlier audit"}
    # Its own run is of today; what was brought along is over, its run included.
    assert await run(world, scope=SCOPE) == (Tally(removed=there.total() - 2, kept=2), 0)
    assert (await parts(world, SCOPE)).keys() == {"manifest", "runs"}

    world = await twice_moved()
    world.clock.advance(JOBS_DAYS * DAY)
    there = await parts(world, SCOPE)
    assert await run(world, scope=SCOPE) == (Tally(waiting=4, kept=there.total() - 4), 0)


async def test_the_manifest_waits_for_what_was_brought_along_too() -> None:
    world = await twice_moved(at=0)
    (name, *_) = [name for name in await names(world, SCOPE) if "/earlier/" in name and "/audit/" in name]
    await _replace(world, name, b"{}", SCOPE)
    world.clock.advance(AUDIT_DAYS * DAY)
    found, broken = await run(world, scope=SCOPE)
    assert (found.waiting, broken) == (4, 1)
    left = await parts(world, SCOPE)
    assert left == dict.fromkeys(["manifest", "runs", "earlier manifest", "earlier runs", "earlier audit"], 1)


async def test_what_says_that_it_is_of_the_future_is_counted_from_its_import() -> None:
    world, archive = await taken_over(at=0)
    name = next(name for name in await names(world) if "/audit/" in name)
    key = RecordKey(OTHER, RecordKind.IMPORTS, name)
    line = next(line for line in _lines(archive) if name.rpartition("/")[2].encode() in line)
    await world.records.delete(key)
    await world.records.write(key, line.replace(b'"timestamp":"2026', b'"timestamp":"9999'), replaces=None)
    world.clock.advance(AUDIT_DAYS * DAY)
    await run(world)
    assert await names(world) == []


def _lines(archive: bytes) -> list[bytes]:
    return [line for name, data in files(archive).items() if name.startswith("audit/") for line in data.splitlines()]


async def test_without_any_run_the_manifest_says_how_old_the_import_is() -> None:
    world, _ = await taken_over(at=AUDIT_DAYS)
    for name in await names(world):
        if "/runs/" in name:
            await world.records.delete(RecordKey(OTHER, RecordKind.IMPORTS, name))
    await run(world)
    assert await names(world) == []


async def test_what_cannot_be_read_stays_and_so_does_what_says_where_it_is_from() -> None:
    world, archive = await taken_over(at=0)
    place = doc_id(archive, "projects/beta.json")
    (first, second) = [name for name in await names(world) if f"/audit/{place}-" in name]
    sealed = await world.records.read(RecordKey(OTHER, RecordKind.IMPORTS, second))
    assert sealed is not None
    # Of another place, and so one that does not open; and one that is no record.
    await _replace(world, first, sealed.data)
    await _replace(world, second, canonical({"timestamp": "2026"}))
    await world.records.write(RecordKey(OTHER, RecordKind.IMPORTS, "of/nobody"), b"{}", replaces=None)
    world.clock.advance(3000 * DAY)
    found, broken = await run(world)
    assert (found.waiting, broken) == (2, 3)
    assert await parts_left(world) == {first.partition("/")[2], second.partition("/")[2], "manifest", "runs", "nobody"}
    (manifest,) = [name for name in await names(world) if name.endswith("/manifest")]
    for name in (first, second, next(name for name in await names(world) if "/runs/" in name)):
        await world.records.delete(RecordKey(OTHER, RecordKind.IMPORTS, name))
    await _replace(world, manifest, b"{}")
    assert await run(world) == (Tally(), 2)
    assert manifest in await names(world)


async def parts_left(world: RetentionWorld) -> set[str]:
    rest = [name.partition("/")[2] for name in await names(world)]
    return {"runs" if one.startswith("runs/") else one for one in rest}


async def _replace(world: RetentionWorld, name: str, data: bytes, scope: UserScope = OTHER) -> None:
    key = RecordKey(scope, RecordKind.IMPORTS, name)
    await world.records.delete(key)
    await world.records.write(key, data, replaces=None)


async def test_without_a_vault_nobody_can_tell_how_old_what_is_sealed_is() -> None:
    world, _ = await taken_over(at=AUDIT_DAYS)
    made = RetentionRun(OTHER, world.catalog.retention("t2"), world.clock.now(), False, world.holds, world.clock)
    with pytest.raises(VaultUnavailable):
        await retain_imports(run=made, records=world.records, vault=None)


async def test_without_rules_and_ceilings_nothing_goes() -> None:
    world, archive = await taken_over()
    (name, *_) = [name for name in await names(world) if "/audit/" in name]
    line = next(line for line in _lines(archive) if name.rpartition("/")[2].encode() in line)
    await _replace(world, name, canonical(orjson.loads(line) | {"timestamp": ""}))
    world.catalog = replace(World().catalog, profiles={})
    world.clock.advance(10_000 * DAY)
    assert await run(world) == (Tally(kept=(await parts(world)).total()), 0)


async def hold(world: RetentionWorld, scope: UserScope = OTHER) -> None:
    await place_hold(
        HoldPlace(scope.tenant_id, scope.user_id),
        "litigation",
        actor=LEGAL,
        holds=world.holds,
        erasures=world.fences,
        clock=world.clock,
    )


async def test_under_a_hold_nothing_goes() -> None:
    world, _ = await taken_over(at=AUDIT_DAYS)
    world.clock.advance(JOBS_DAYS * DAY)
    before = await names(world)
    await hold(world)
    assert await run(world) == (Tally(held=len(before) - 2, waiting=2), 0)
    assert await names(world) == before
    applied = await world.retain(scope=OTHER)
    assert applied.report.tallies["imports"] == Tally(held=len(before) - 2, waiting=2)
    await world.holds.create(HoldKey(HoldPlace("t2"), 1), b"?")
    with pytest.raises(HistoryBroken):
        await run(world)


async def test_a_hold_that_comes_meanwhile_stops_it() -> None:
    world, _ = await taken_over(100, at=AUDIT_DAYS)
    there = (await parts(world)).total()
    found, _ = await run(world, watch=Between("records.delete", lambda: hold(world)))
    # One batch was under way; the last run and the manifest are of today.
    assert (found.removed, found.held, found.kept) == (64, there - 66, 2)


@pytest.mark.parametrize("applied", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("error", [StopsAt, Unavailable])
async def test_interrupted_at_any_call_and_run_again_the_end_is_the_same(applied: bool, error: Any) -> None:
    base = await twice_moved(at=0)
    base.clock.advance(AUDIT_DAYS * DAY)
    there = await parts(base, SCOPE)

    async def end(world: RetentionWorld, falls: FallsAt) -> Tally:
        total = Tally()
        for _ in range(3):
            try:
                total = (await run(world, watch=falls, scope=SCOPE))[0]
            except (StopsAt, Unavailable):
                # The last run says how old a manifest may be at most, so it outlasts it.
                left = await parts(world, SCOPE)
                assert all(left[f"{of}runs"] for of in ("", "earlier ") if left[f"{of}manifest"])
                continue
            break
        return total

    undisturbed = FallsAt(0, applied=applied)
    assert await end(base.twin(), undisturbed) == Tally(removed=there.total())
    assert len(undisturbed.calls) > 40
    for number, name in enumerate(undisturbed.calls, start=1):
        world = base.twin()
        total = await end(world, FallsAt(number, applied=applied, error=error))
        assert (await names(world, SCOPE), total.waiting, total.kept) == ([], 0, 0), f"call {number}: {name}"


async def test_two_runs_at_once_come_to_one_end() -> None:
    world, _ = await taken_over(at=0)
    world.clock.advance(AUDIT_DAYS * DAY)

    async def another() -> None:
        await run(world)

    await run(world, watch=Between("records.delete", another, number=3))
    assert await names(world) == []


async def test_the_manifest_is_still_there_while_anything_else_of_its_import_is() -> None:
    """After every single removal."""
    world = await twice_moved(at=0)
    world.clock.advance(AUDIT_DAYS * DAY)
    seen = 0

    async def watch(name: str, call: Any) -> Any:
        nonlocal seen
        found = await call()
        if name == "records.delete":
            seen += 1
            left = [one for one in map(parse, await names(world, SCOPE)) if one is not None]
            for archive, of in {(one.archive, one.of) for one in left}:
                rest = {one.part for one in left if (one.archive, one.of) == (archive, of)}
                # The last run goes after it: it is what the age is told by.
                assert Part.MANIFEST in rest or rest == {Part.RUNS}
        return found

    await run(world, watch=watch, scope=SCOPE)
    assert seen > 10


async def test_a_deletion_is_not_left_behind_by_the_change_whose_rule_it_goes_by(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from memnet.operations.remove_due import remove_due

    monkeypatch.setitem(remove_due.__globals__, "BATCH", 1)
    world, archive = await taken_over(at=0)
    place = doc_id(archive, BETA.namespace + "/" + BETA.path)
    world.clock.advance(AUDIT_DAYS * DAY)
    order: list[str] = []

    async def watch(name: str, call: Any) -> Any:
        before = set(await names(world))
        found = await call()
        order.extend(sorted(before - set(await names(world))))
        return found

    await run(world, watch=watch)
    assert [name[-3:] for name in order if place in name] == ["002", "001"]
    alpha = [name[-3:] for name in order if doc_id(archive, f"{ALPHA.namespace}/{ALPHA.path}") in name]
    assert alpha == sorted(alpha)
    assert MANIFEST in files(archive)
