"""After an erasure that a hold has stopped, signing goes on, and a check tells what was erased from what was taken."""

from dataclasses import replace

import orjson
import pytest

from memnet.domain import envelope
from memnet.domain.errors import HistoryBroken
from memnet.domain.head import head_key
from memnet.domain.json_text import canonical
from memnet.domain.signature import SigningKey, by_id
from memnet.domain.write import IfMatch
from memnet.operations.read_newest_head import read_newest_head
from memnet.operations.sign_head import Signed, sign_head
from memnet.operations.sign_heads import sign_heads
from memnet.operations.verify_history import verify_history
from tests.memory_blobs import storage_of
from tests.operations.baseline_world import retain
from tests.operations.erasure_world import U1, ErasureWorld, alpha
from tests.operations.retention_world import Between


def ports(world: ErasureWorld) -> dict:
    services = world.services
    return {
        "documents": services.documents,
        "audit": services.audit,
        "records": services.records,
        "keys": services.signing,
        "erasures": services.erasures,
    }


async def sign(world: ErasureWorld, **members) -> Signed:
    return await sign_head(U1, clock=world.services.clock, **ports(world) | members)


async def newest(world: ErasureWorld):
    return await read_newest_head(U1, records=world.services.records)


async def told(world: ErasureWorld, **members) -> tuple[str | None, list[tuple[str | None, str | None]]]:
    """What is said of the heads, and of each document: its fault, and the erasure that has removed it."""
    heads, found = await verify_history(U1, **ports(world) | members)
    return heads.fault, sorted(((one.fault, one.removed_by) for one in found), key=lambda one: one[1] or "")


async def begun() -> ErasureWorld:
    world = ErasureWorld()
    first = await world.patch(U1, "first")
    await world.patch(U1, "second", IfMatch(first.etag))
    await world.services.background.drain()
    assert await sign(world) is Signed.SIGNED
    world.advance()
    return world


async def stopped(world: ErasureWorld, call: str = "storage.list", number: int = 1) -> str:
    """Erase, with a hold that comes before that call; the hold is released once it is over."""
    erasure_id = (await world.request()).erasure_id
    await world.run(watch=Between(call, world.hold, number))
    await world.finish()
    await world.release()
    assert (await world.status(erasure_id)).status == "partial"
    world.advance()
    return erasure_id


async def take_away(world: ErasureWorld) -> None:
    """As somebody does who can write to the storage."""
    storage_of(world.services.documents).drop(alpha(U1).blob_name)


@pytest.fixture
async def world() -> ErasureWorld:
    return await begun()


async def test_what_it_has_removed_is_told_as_that(world):
    erasure_id = await stopped(world)
    assert await told(world) == (None, [(None, erasure_id)])
    heads, _ = await verify_history(U1, **ports(world))
    assert (heads.since, heads.is_checked) == (0, True)


async def test_signing_goes_on_and_the_head_names_it(world):
    erasure_id = await stopped(world)
    await world.patch(U1, "afresh")
    await world.services.background.drain()
    report = await sign_heads(users=world.services.users, clock=world.services.clock, **ports(world))
    assert (report.signed, report.broken) == (1, 0)
    head = await newest(world)
    assert (head.sequence, head.erasures) == (2, (erasure_id,))
    heads, _ = await verify_history(U1, **ports(world))
    assert heads.since == 0
    assert await told(world) == (None, [(None, None), (None, erasure_id)])
    await world.patch(U1, "more", IfMatch((await world.services.documents.get(alpha(U1))).view.etag))
    await world.services.background.drain()
    assert await sign(world) is Signed.SIGNED
    assert (await newest(world)).erasures == ()
    # What was signed about it is enough.
    forget_receipts(world)
    assert await told(world) == (None, [(None, None), (None, erasure_id)])


async def test_a_user_who_has_nothing_any_more_can_be_signed_for(world):
    erasure_id = await stopped(world)
    assert await sign(world) is Signed.SIGNED
    head = await newest(world)
    assert (head.documents, head.erasures) == ((), (erasure_id,))
    assert await sign(world) is Signed.UNCHANGED


async def test_a_document_that_nobody_had_signed_yet_was_erased_too():
    world = ErasureWorld()
    await world.patch(U1, "first")
    await world.services.background.drain()
    erasure_id = await stopped(world)
    assert await told(world) == (None, [(None, erasure_id)])


async def broken(world: ErasureWorld) -> None:
    """Both say that somebody has taken it away."""
    fault, documents = await told(world)
    assert fault is None
    assert any(one is not None and by is None for one, by in documents)
    with pytest.raises(HistoryBroken):
        await sign(world)


async def test_without_a_receipt_it_was_taken_away(world):
    await take_away(world)
    await broken(world)
    assert (await newest(world)).sequence == 1


async def test_a_receipt_of_before_the_head_explains_nothing(world):
    await stopped(world)
    await world.patch(U1, "afresh")
    await world.services.background.drain()
    assert await sign(world) is Signed.SIGNED
    world.advance()
    await take_away(world)
    await broken(world)


async def test_a_receipt_of_before_a_document_that_nobody_had_signed_explains_nothing(world):
    erasure_id = await stopped(world)
    await sign(world)
    await world.patch(U1, "afresh")
    await world.services.background.drain()
    await take_away(world)
    _, documents = await told(world)
    assert documents == [("there is no document for these records", None), (None, erasure_id)]


async def test_a_receipt_that_removed_nothing_explains_nothing(world):
    await world.hold()
    assert (await world.request()).status == "partial"
    await world.release()
    await take_away(world)
    await broken(world)


@pytest.mark.parametrize("forge", ["another key", "another user", "altered", "unsigned"])
async def test_a_receipt_that_is_not_the_service_s_of_this_user_explains_nothing(world, forge):
    erasure_id = await stopped(world)
    receipts = storage_of(world.services.erasures)
    (name,) = receipts.names("erasures/")
    members = orjson.loads(receipts.data(name))
    if forge == "altered":
        members["finished_at"] = "2099-01-01T00:00:00.000000Z"
    elif forge == "another user":
        members["salt"] = "A" * 43 + "="
    elif forge == "unsigned":
        members["signature"] = "A" * 86 + "=="
    else:
        mallory = SigningKey("v1", b"m" * 32).public
        assert await told(world, public_keys=by_id([mallory])) != (None, [(None, erasure_id)])
        members["key_id"] = mallory.key_id
    receipts.overwrite(name, canonical(members))
    await broken(world)


async def test_of_two_that_are_gone_it_explains_one_and_so_none(world):
    """A storage writer takes away what an erasure was stopped before."""
    other = replace(alpha(U1), path="beta.json")
    await world.services.documents.put(
        other,
        *await copy_of(world),
        replaces=None,
    )
    await sign(world, accept=True)
    storage_of(world.services.documents).drop(other.blob_name)
    await stopped(world)
    await broken(world)


def forget_receipts(world: ErasureWorld) -> None:
    storage = storage_of(world.services.erasures)
    for name in storage.names("erasures/"):
        storage.drop(name)


async def copy_of(world: ErasureWorld):
    """Another document, with an id of its own."""
    head = envelope.load((await world.services.documents.get(alpha(U1))).data)
    made = replace(head, doc_id="beta-1", commit=replace(head.commit, outbox=()))
    return envelope.dump(made), envelope.summarise(made)


async def test_what_is_altered_in_what_is_left_is_told(world):
    await stopped(world)
    (first, second) = (await world.services.audit.list(U1, "", limit=9, cursor=None)).items
    records = storage_of(world.services.audit)
    name = f"{U1.prefix}audit/{first}.json"
    records.overwrite(name, canonical(orjson.loads(records.data(name)) | {"actor": "somebody-else"}))
    assert await told(world) == (None, [(f"{first}: the record was altered, or the one after it", None)])
    records.drop(name)
    name = f"{U1.prefix}audit/{second}.json"
    records.overwrite(name, canonical(orjson.loads(records.data(name)) | {"actor": "somebody-else"}))
    _, ((fault, by),) = await told(world)
    assert by is None
    assert fault == f"{second}: the history is not the one of head 1, which has another record there"


async def test_a_baseline_in_what_is_left_must_fit_too(world):
    await retain(world.services, alpha(U1), 1)
    erasure_id = await stopped(world)
    assert await told(world) == (None, [(None, erasure_id)])
    stored = storage_of(world.services.audit)
    (name,) = stored.names(f"{U1.prefix}baselines/")
    change = name.rpartition("/")[2].removesuffix(".json")
    whole = stored.data(name)
    stored.overwrite(name, canonical(orjson.loads(whole) | {"record_hash": "0" * 64}))
    reason = f"{change}: the baseline was altered, or the record after it"
    assert await told(world) == (None, [(reason, None)])
    stored.overwrite(name, b"{}")
    assert await told(world) == (None, [(f"{change}: the baseline cannot be read", None)])
    stored.overwrite(name, whole)
    assert await told(world) == (None, [(None, erasure_id)])


async def test_records_that_are_gone_with_the_document_are_no_fault(world):
    erasure_id = await stopped(world)
    (first, _) = (await world.services.audit.list(U1, "", limit=9, cursor=None)).items
    await world.services.audit.delete(U1, first)
    assert await told(world) == (None, [(None, erasure_id)])


async def heads_removed(world: ErasureWorld, number: int) -> str:
    """Stopped when so many heads were gone, as at the end of a batch."""
    monkey = world.services.user_storage.delete
    gone = 0

    async def delete(scope, found, *, known_at):
        nonlocal gone
        if "/heads/" in found.name:
            if gone == number:
                raise OSError
            gone += 1
        await monkey(scope, found, known_at=known_at)

    world.services.user_storage.delete = delete
    erasure_id = (await world.request()).erasure_id
    await world.run()
    await world.hold()
    world.services.user_storage.delete = monkey
    await world.finish()
    await world.release()
    return erasure_id


async def more_heads(world: ErasureWorld, number: int) -> None:
    for _ in range(number):
        etag = (await world.services.documents.get(alpha(U1))).view.etag
        await world.patch(U1, "more", IfMatch(etag))
        await world.services.background.drain()
        await sign(world)
    world.advance()


@pytest.mark.parametrize("number", [1, 2])
async def test_heads_that_it_has_removed_are_no_fault_and_others_are(world, number):
    await more_heads(world, 3)
    erasure_id = await heads_removed(world, number)
    assert (await world.status(erasure_id)).removed["heads"] == number
    fault, documents = await told(world)
    assert (fault, {by for _, by in documents}) == (None, {erasure_id})
    await world.patch(U1, "afresh")
    await sign(world)
    assert (await told(world))[0] is None
    await world.services.records.delete(head_key(U1, number + 1))
    assert (await told(world))[0] == f"heads/{1:012d}: the head is missing"


async def test_a_head_that_was_kept_elsewhere_is_gone_with_a_whole_erasure(world):
    kept = (await newest(world)).data
    erasure_id = (await world.request()).erasure_id
    await world.run()
    await world.finish()
    assert world.stored(U1) == {}
    assert await told(world, expected=kept) == (None, [(None, erasure_id)])
    world.advance()
    await world.patch(U1, "afresh")
    await world.services.background.drain()
    await sign(world)
    assert await told(world, expected=kept) == (None, [(None, None), (None, erasure_id)])
    forget_receipts(world)
    assert (await told(world, expected=kept))[0] is not None
