"""The receipts that count: the service's own, of this user, each once."""

import orjson
import pytest

from memnet.domain.json_text import canonical
from memnet.domain.signature import SigningKey, by_id
from memnet.operations.find_receipts import find_receipts
from tests.memory_blobs import storage_of
from tests.operations.erasure_world import OTHER, U1, U10, ErasureWorld


@pytest.fixture
async def world() -> ErasureWorld:
    made = ErasureWorld()
    for scope in (U1, U10):
        await made.live(scope)
    return made


async def erased(world: ErasureWorld, key: str, scope=U1) -> str:
    erasure_id = (await world.request(key, scope)).erasure_id
    for _ in range(3):
        world.advance()
        await world.run(scope)
    return erasure_id


async def found(world: ErasureWorld, scope=U1, keys=None) -> list[str]:
    keys = by_id(await world.services.signing.public_keys()) if keys is None else keys
    receipts = await find_receipts(scope, erasures=world.services.erasures, public_keys=keys)
    return [receipt.members["erasure_id"] for receipt in receipts]


async def test_those_of_this_user_and_of_nobody_else(world):
    mine = {await erased(world, "forget-1"), await erased(world, "forget-2")}
    others = await erased(world, "forget-1", U10)
    assert set(await found(world)) == mine
    assert await found(world, U10) == [others]
    assert await found(world, OTHER) == []


async def test_only_with_a_signature_that_can_be_checked_and_holds(world):
    erasure_id = await erased(world, "forget-1")
    mallory = SigningKey("v1", b"m" * 32).public
    assert await found(world, keys={}) == []
    assert await found(world, keys=by_id([mallory])) == []
    (own,) = await world.services.signing.public_keys()
    assert await found(world, keys={own.key_id: mallory}) == []
    assert await found(world) == [erasure_id]


async def test_what_is_altered_copied_or_none_is_left_out(world):
    erasure_id = await erased(world, "forget-1")
    erasures = world.services.erasures
    data = await erasures.read_receipt("t1", erasure_id)
    altered = canonical(orjson.loads(data) | {"erasure_id": "altered", "removed": {"documents": 9}})
    for name, content in {"altered": altered, "copied": data, "junk": b"?", "empty": b"{}"}.items():
        await erasures.create_receipt("t1", name, content)
    storage_of(erasures).overwrite("erasures/t1/.json", data)
    assert await found(world) == [erasure_id]
