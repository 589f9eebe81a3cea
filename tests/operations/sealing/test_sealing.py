"""Rotation changes what wraps and what seals from now on; all that was sealed opens before, during and after."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from memnet.adapters.memory.keys import MemoryTenantKeys
from memnet.adapters.process.background import BackgroundTasks
from memnet.domain.core.errors import DecryptionFailed, HistoryCorrupt, InvalidIdentifier, VaultUnavailable
from memnet.domain.core.scope import UserScope
from memnet.domain.core.user_item import ItemKey
from memnet.domain.documents import envelope
from memnet.domain.documents.commands import IfMatch
from memnet.domain.documents.envelope import Envelope
from memnet.domain.replay.snapshot import snapshot_key
from memnet.domain.sealing.data_keys import data_keys_key
from memnet.operations.sealing import RotationReport, rotate_keys
from memnet.paging import MAX_CONCURRENCY
from memnet.stores import KeyRing, read_records
from memnet.wiring import in_memory
from tests.domain.samples import CATALOG
from tests.domain.snapshot_samples import SCOPE
from tests.operations.erasure_scenario import SETTINGS, U1, ErasureWorld, alpha
from tests.operations.vault_scenario import Crash, VaultWorld

USERS = [UserScope("t1", f"u{number}") for number in range(1, MAX_CONCURRENCY + 5)]
STEPS = 6
"""A read and a write for each of three users."""
NEIGHBOUR = UserScope("t10", "u1")


async def sealed_for(world: VaultWorld, scopes: Sequence[UserScope]) -> dict[ItemKey, bytes]:
    keys = [snapshot_key(scope, "c", "s") for scope in scopes]
    return {key: await KeyRing(world.vault).seal(key, key.blob_name.encode()) for key in keys}


async def check(world: VaultWorld, sealed: dict[ItemKey, bytes]) -> None:
    for key, data in sealed.items():
        assert await KeyRing(world.vault).unseal(key, data) == key.blob_name.encode()


async def versions(world: VaultWorld, scopes: Sequence[UserScope]) -> set[str]:
    return {key.tenant_key_version for scope in scopes for key in (await world.data_keys(scope)).keys}


async def test_a_tenants_rotation_wraps_the_keys_of_its_users_only() -> None:
    world = VaultWorld()
    sealed = await sealed_for(world, [*USERS, NEIGHBOUR])
    before = await world.data_keys(NEIGHBOUR)
    report = await rotate_keys("t1", vault=world.vault)
    assert report == RotationReport(version="v2", users=len(USERS), rewrapped=len(USERS))
    assert await versions(world, USERS) == {"v2"}
    assert await world.data_keys(NEIGHBOUR) == before
    await check(world, sealed)


async def test_the_data_keys_themselves_stay() -> None:
    world = VaultWorld()
    await sealed_for(world, [SCOPE])
    before = (await world.data_keys()).current
    await rotate_keys("t1", vault=world.vault)
    after = (await world.data_keys()).current
    assert (after.key_id, after.created_at) == (before.key_id, before.created_at)
    assert after.ciphertext != before.ciphertext


async def test_a_users_rotation_adds_a_key_that_seals_from_then_on() -> None:
    world = VaultWorld()
    sealed = await sealed_for(world, USERS)
    others = [await world.data_keys(scope) for scope in USERS[1:]]
    first = (await world.data_keys()).current
    assert await rotate_keys("t1", "u1", vault=world.vault) == RotationReport(users=1, rewrapped=1)
    assert (await world.data_keys()).keys[0] == first
    assert len((await world.data_keys()).keys) == 2
    assert [await world.data_keys(scope) for scope in USERS[1:]] == others
    later = await KeyRing(world.vault).seal(snapshot_key(SCOPE, "c", "s"), b"later")
    assert (await world.data_keys()).current.key_id.encode() in later
    await check(world, sealed)


async def test_resuming_makes_no_version_and_wraps_what_is_left() -> None:
    world = VaultWorld()
    sealed = await sealed_for(world, USERS[:3])
    await world.keys.rotate("t1")
    sealed |= await sealed_for(world, USERS[3:5])
    report = await rotate_keys("t1", vault=world.vault, resume=True)
    assert report == RotationReport(version="v2", users=5, rewrapped=3)
    assert (await rotate_keys("t1", vault=world.vault, resume=True)).rewrapped == 0
    await check(world, sealed)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", range(1, STEPS + 1))
async def test_after_a_crash_at_any_step_everything_opens_and_resuming_finishes_it(step: int, after: bool) -> None:
    world, users = VaultWorld(), USERS[:3]
    sealed = await sealed_for(world, users)
    world.steps.seen.clear()
    world.steps.crash_at, world.steps.after = step, after
    with pytest.raises(Crash):
        await rotate_keys("t1", vault=world.vault)
    world.steps.crash_at = None
    await check(world, sealed)
    await rotate_keys("t1", vault=world.vault, resume=True)
    assert await versions(world, users) == {"v2"}
    await check(world, sealed)


async def test_the_steps_of_a_rotation_are_all_crashed_at() -> None:
    world = VaultWorld()
    await sealed_for(world, USERS[:3])
    world.steps.seen.clear()
    await rotate_keys("t1", vault=world.vault)
    assert len(world.steps.seen) == STEPS


async def test_writers_continue_while_several_processes_rotate_keys() -> None:
    world, users = VaultWorld(), USERS[:4]
    sealed = await sealed_for(world, users)

    async def write(scope: UserScope, number: int) -> None:
        key = snapshot_key(scope, "c", f"s{number}")
        sealed[key] = await KeyRing(world.vault).seal(key, key.blob_name.encode())
        assert await KeyRing(world.vault).unseal(key, sealed[key]) == key.blob_name.encode()

    newcomers = [UserScope("t1", f"n{number}") for number in range(4)]
    await asyncio.gather(
        *(write(scope, number) for number in range(8) for scope in [*users, *newcomers]),
        *(rotate_keys("t1", vault=world.vault) for _ in range(3)),
        *(rotate_keys("t1", scope.user_id, vault=world.vault) for scope in users * 2),
        rotate_keys("t1", vault=world.vault, resume=True),
    )
    await check(world, sealed)
    assert {len((await world.data_keys(scope)).keys) for scope in users} == {3}
    report = await rotate_keys("t1", vault=world.vault, resume=True)
    assert (report.users, report.postponed, report.broken) == (8, 0, 0)
    assert await versions(world, [*users, *newcomers]) == {"v4"}
    await check(world, sealed)


async def test_a_failure_for_one_user_is_counted_and_stops_no_other() -> None:
    world = VaultWorld()
    sealed = await sealed_for(world, USERS)
    stored = await world.records.read(data_keys_key(USERS[0]))
    assert stored is not None
    await world.records.write(data_keys_key(USERS[0]), b"{}", replaces=stored.storage_etag)
    world.records.fate = lambda key: "lost" if key.scope == USERS[1] else None
    report = await rotate_keys("t1", vault=world.vault)
    assert report == RotationReport("v2", users=len(USERS), rewrapped=len(USERS) - 2, postponed=1, broken=1)
    world.records.fate = lambda key: None
    report = await rotate_keys("t1", vault=world.vault, resume=True)
    assert report == RotationReport("v2", users=len(USERS), rewrapped=1, broken=1)
    await check(world, {key: data for key, data in sealed.items() if key.scope != USERS[0]})


async def test_keys_moved_from_another_user_are_broken() -> None:
    world = VaultWorld()
    await sealed_for(world, USERS[:2])
    await world.swap(data_keys_key(USERS[0]), data_keys_key(USERS[1]))
    assert (await rotate_keys("t1", vault=world.vault)).broken == 2
    with pytest.raises(DecryptionFailed):
        await rotate_keys("t1", "u1", vault=world.vault)


async def test_after_a_loss_that_is_accepted_the_user_can_be_written_for_again() -> None:
    services = in_memory(SETTINGS, CATALOG)
    world = ErasureWorld(services)
    made = await world.patch(U1, "before")
    after = replace(services.vault, keys=MemoryTenantKeys(services.ids), cache=None)
    services.audit.vault = after
    with pytest.raises(DecryptionFailed):
        await world.patch(U1, "refused", IfMatch(made.etag))
    with pytest.raises(DecryptionFailed):
        await rotate_keys(U1.tenant_id, U1.user_id, vault=after)
    assert await rotate_keys(U1.tenant_id, U1.user_id, vault=after, accept_loss=True) == RotationReport(
        users=1, rewrapped=1
    )
    changed = await world.patch(U1, "after", IfMatch(made.etag))
    assert changed.sequence == 2
    assert isinstance(services.background, BackgroundTasks)
    await services.background.drain()
    # What the lost key sealed stays closed, and is not taken for something else.
    with pytest.raises(HistoryCorrupt) as refusal:
        await read_records(U1, await head_of(world), 1, 2, audit=services.audit)
    assert refusal.value.details["reason"] == "the values of the record cannot be decrypted"
    assert len(await read_records(U1, await head_of(world), 2, 2, audit=services.audit)) == 1
    # The next rotation of the tenant's key wraps the usable keys and ends.
    report = await rotate_keys(U1.tenant_id, vault=after)
    assert report == RotationReport(report.version, users=1, rewrapped=1)
    assert await rotate_keys(U1.tenant_id, vault=after, resume=True) == RotationReport(report.version, users=1)
    assert len(await read_records(U1, await head_of(world), 2, 2, audit=services.audit)) == 1


async def head_of(world: ErasureWorld) -> Envelope:
    stored = await world.services.documents.get(alpha(U1))
    assert stored is not None
    return envelope.load(stored.data)


async def test_without_the_vault_nothing_changes() -> None:
    world = VaultWorld()
    await sealed_for(world, [SCOPE])
    before = await world.data_keys()
    world.keys.down = True
    for user in (None, "u1"):
        with pytest.raises(VaultUnavailable):
            await rotate_keys("t1", user, vault=world.vault)
    assert await world.data_keys() == before


@pytest.mark.parametrize("user", [None, "u9"])
async def test_where_there_are_no_keys_none_are_made(user: str | None) -> None:
    world = VaultWorld()
    await sealed_for(world, [NEIGHBOUR])
    assert await rotate_keys("t1", user, vault=world.vault) == RotationReport()
    assert (await world.keys.newest("t1")).version == "v1"


@pytest.mark.parametrize(("tenant", "user"), [("t1/users/u1", None), ("", None), ("t1", "../u1")])
async def test_an_invalid_id_is_refused(tenant: str, user: str | None) -> None:
    with pytest.raises(InvalidIdentifier):
        await rotate_keys(tenant, user, vault=VaultWorld().vault)
