"""Claimants of patches and turns: who is found, what is stored, and what an erasure leaves."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from memnet.adapters.memory.clock import FrozenClock
from memnet.adapters.memory.models import ScriptedModels
from memnet.domain.core.claimant import Claimant
from memnet.domain.core.errors import ClaimantNotAccepted, ClaimantNotFound, SnapshotExists
from memnet.domain.core.scope import UserScope
from memnet.domain.replay.turn import Turns
from memnet.operations.documents.claimants import find_codes
from memnet.operations.governance.erase_user import Erased, erase_user
from memnet.operations.governance.erasure_request import request_erasure
from memnet.operations.replay.turns import store_turns
from memnet.operations.sealing import rotate_keys
from tests.memory_blobs import storage_of
from tests.operations.workspace_scenario import ACME, CHAT, PROFILE, SHARED, TENANT, Workspace, day

FRIDAY = {"day": 1, "by": "noor-1783", "attribute": "release day", "value": "Friday"}
MONDAY = {"day": 2, "by": "iris-2291", "attribute": "release day", "value": "Monday"}


async def code_of(workspace: Workspace, user_id: str, at: UserScope = ACME) -> str:
    codes = await find_codes(at, {"/claimant": Claimant(user_id=user_id)}, workspace.service.audit.vault)
    return codes[user_id]


def names(workspace: Workspace, prefix: str = "") -> list[str]:
    return list(storage_of(workspace.service.records).names(prefix))


async def test_a_code_is_the_same_in_one_workspace_and_survives_rotations() -> None:
    workspace = Workspace()
    await workspace.hire("noor-1783", "iris-2291")
    first = await code_of(workspace, "noor-1783")
    assert first != await code_of(workspace, "iris-2291")
    assert first != await code_of(workspace, "noor-1783", UserScope("t1", "workspace-zeta"))
    vault = workspace.service.audit.vault
    await rotate_keys("t1", "noor-1783", vault=vault)
    await rotate_keys("t1", vault=vault)
    clock: Any = workspace.service.clock
    clock.advance(timedelta(hours=1))  # no key is in the cache any more
    assert await code_of(workspace, "noor-1783") == first


async def test_a_claimant_costs_one_read() -> None:
    workspace = Workspace()
    await workspace.hire("noor-1783")
    read: list[str] = []
    records: Any = workspace.service.records
    inner = records.read

    async def counted(key: Any) -> Any:
        read.append(key.blob_name)
        return await inner(key)

    records.read = counted
    workspace.service.audit.vault.records.read = counted  # type: ignore[method-assign]
    await workspace.state({**FRIDAY, "by": "noor-1783"})
    await workspace.drain()
    assert [name for name in read if "noor-1783" in name] == ["tenants/t1/users/noor-1783/keys/data.json"]


@pytest.mark.parametrize("where", ["patch", "turn"])
async def test_a_claimant_without_a_memory_is_refused_and_nothing_is_created(where: str) -> None:
    workspace = Workspace()
    await workspace.hire("noor-1783")
    before = names(workspace)
    send: Any = {"patch": workspace.state, "turn": workspace.turn}[where]
    with pytest.raises(ClaimantNotFound) as refused:
        await send({**FRIDAY, "by": "stranger"})
    assert refused.value.param == {"patch": "/claimant/user_id", "turn": "/turns/0/claimant/user_id"}[where]
    await workspace.drain()
    assert names(workspace) == before


async def test_a_claimant_is_refused_where_no_statement_has_one() -> None:
    workspace = Workspace()
    await workspace.hire("noor-1783")
    turn = {"turn_id": "t1", "claimant": {"user_id": "noor-1783"}, "messages": [{"role": "user", "content": "Hi."}]}
    body = Turns.model_validate({"profile_id": "personal-memory-v1", "turns": [{**turn, "turn_id": "t0"}]})
    with pytest.raises(ClaimantNotAccepted) as refused:
        await store_turns(ACME, "c1", body, workspace.service, actor=CHAT)
    assert refused.value.param == "/turns/0/claimant"


async def test_the_same_turn_again_is_the_same_and_another_claimant_is_another_turn() -> None:
    workspace = Workspace()
    await workspace.hire("noor-1783", "iris-2291")
    turn: dict[str, Any] = {"timestamp": day(1), "messages": [{"role": "user", "content": "Our release day: Friday."}]}

    async def store(user_id: str | None, **members: Any) -> Any:
        claimant = {} if user_id is None else {"claimant": {"user_id": user_id}}
        body = Turns.model_validate({"profile_id": PROFILE, "turns": [turn | claimant | members]})
        return await store_turns(ACME, "c1", body, workspace.service, actor=CHAT)

    first = await store("noor-1783")
    await rotate_keys("t1", "noor-1783", vault=workspace.service.audit.vault)
    again = await store("noor-1783")
    assert (again.replayed, again.turns[0].turn_id) == (True, first.turns[0].turn_id)
    others = {(await store(user_id)).turns[0].turn_id for user_id in ("noor-1783", "iris-2291", None)}
    assert len(others) == 3
    await store("noor-1783", turn_id="t7")
    with pytest.raises(SnapshotExists):
        await store("iris-2291", turn_id="t7")


async def test_a_replay_takes_the_turns_of_its_claimant_alone() -> None:
    workspace = Workspace()
    await workspace.hire("noor-1783", "iris-2291")
    turns = [
        {
            "turn_id": f"t{number}",
            "timestamp": day(number),
            "claimant": {"user_id": user_id},
            "messages": [{"role": "user", "content": f"Our release day: {value}."}],
        }
        for number, (user_id, value) in enumerate(
            [("noor-1783", "Friday"), ("iris-2291", "Monday"), ("noor-1783", "Sunday"), ("iris-2291", "Tuesday")]
        )
    ]
    body = Turns.model_validate({"profile_id": PROFILE, "turns": turns})
    stored = (await store_turns(ACME, "c1", body, workspace.service, actor=CHAT)).turns
    replays = [await workspace.work(one, ScriptedModels(['{"digest":null,"patches":[]}'])) for one in stored[:2]]
    assert [sorted(one.covers) for one in replays] == [[stored[2].replay_id], [stored[3].replay_id]]


async def test_the_same_words_of_two_claimants_are_two_statements() -> None:
    workspace = Workspace()
    await workspace.hire("noor-1783", "iris-2291")
    await workspace.replay(FRIDAY)
    await workspace.replay({**FRIDAY, "by": "iris-2291", "day": 3})
    claims = (await workspace.content())["claims"]
    assert [entry["value"] for entry in claims] == ["Friday", "Friday"]
    assert len({entry["claimed_by"] for entry in claims}) == 2


async def test_statements_by_rules_have_the_claimant_too() -> None:
    workspace = Workspace()
    await workspace.hire("noor-1783")
    said = {**FRIDAY, "text": "Our release day is Friday."}
    await workspace.work(await workspace.turn(said))
    (item,) = (await workspace.content())["to_confirm"]
    proposed = item["target"]["value"]
    assert (proposed["subject"], proposed["attribute"], proposed["value"]) == ("workspace", "release day", "Friday")
    assert proposed["claimed_by"] == await code_of(workspace, "noor-1783")


# An erasure of a claimant.


async def found_in(workspace: Workspace, text: str, everywhere: bool = True) -> set[str]:
    """The blobs, index documents and messages that contain a text, in name or bytes; nothing of memnet reads them."""
    service = workspace.service
    storage, wanted = storage_of(service.records), text.encode()
    blobs = {name for name in storage.names("") if text in name or wanted in storage.data(name)}
    index: Any = service.search.index
    queue: Any = service.queue
    rows = {f"index {number}" for number, row in enumerate(repr(vars(index)).split("}")) if text in row}
    sent = {"queue"} if text in repr(vars(queue)) else set()
    return blobs | rows | sent


async def erase(workspace: Workspace, user_id: str) -> None:
    """Erase a user, each run after the settle time, until the receipt is signed."""
    scope, clock = UserScope("t1", user_id), workspace.service.clock
    assert isinstance(clock, FrozenClock)
    await request_erasure(scope, workspace.service, idempotency_key="forget", actor=TENANT)
    for _ in range(8):
        clock.advance(timedelta(seconds=960))
        await asyncio.sleep(0)
        if await erase_user(scope, workspace.service) in (Erased.FINISHED, Erased.NOTHING):
            await workspace.drain()
            return
    raise AssertionError("the erasure does not end")


async def test_an_erasure_of_a_claimant_leaves_nothing_that_leads_to_the_user() -> None:
    workspace = Workspace()
    await workspace.hire("noor-1783", "iris-2291")
    await workspace.state(FRIDAY)
    await workspace.replay({**FRIDAY, "day": 2, "value": "Sunday"})
    await workspace.state({"day": 3, "by": "noor-1783", "question": "database", "value": "Postgres"})
    await workspace.state(MONDAY)
    await workspace.drain()
    code = await code_of(workspace, "noor-1783")
    before = await workspace.content()
    assert await found_in(workspace, "noor-1783")

    await erase(workspace, "noor-1783")

    assert await found_in(workspace, "noor-1783") == set()
    assert await found_in(workspace, code) == {SHARED.blob_name}
    with pytest.raises(ClaimantNotFound):
        await code_of(workspace, "noor-1783")
    assert await workspace.content() == before
    await workspace.check()

    # A user who comes back under the same id is another claimant.
    await workspace.hire("noor-1783")
    assert await code_of(workspace, "noor-1783") != code


async def test_turns_that_race_with_the_erasure_of_their_claimant_leave_no_id() -> None:
    workspace = Workspace()
    await workspace.hire("noor-1783")
    said = 0

    async def speak() -> None:
        nonlocal said
        while True:
            try:
                await workspace.turn({**FRIDAY, "day": 10 + said})
            except ClaimantNotFound:
                return
            said += 1
            await asyncio.sleep(0)

    await asyncio.gather(erase(workspace, "noor-1783"), speak())
    await workspace.drain()
    assert said
    assert await found_in(workspace, "noor-1783") == set()
