"""What each way of tampering comes to, with heads: the first broken link has a name."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from memnet.adapters.memory.ids import SequentialIds
from memnet.adapters.memory.keys import MemorySigningKeys
from memnet.domain.core.signature import by_id
from memnet.domain.history import baseline as baselines
from memnet.domain.history.checkpoint import checkpoint_key
from memnet.domain.sealing.data_keys import data_keys_key
from memnet.stores import read_baseline, store_baseline
from tests.operations.baseline_scenario import drop_history, retain, retain_newest
from tests.operations.head_scenario import BETA, HeadWorld
from tests.operations.service_scenario import ALPHA, SCOPE


@pytest.fixture
async def world() -> AsyncIterator[Any]:
    """Alpha with five changes and beta with two; heads after alpha's second, third and fifth."""
    made: Any = HeadWorld()
    await made.changed(BETA, 2)
    made.alpha = []
    for times in (2, 1, 2):
        made.alpha += await made.changed(ALPHA, times)
        await made.sign()
    yield made
    await made.background.drain()


async def test_what_holds(world: Any) -> None:
    heads, found = await world.verify()
    assert (heads.count, heads.newest.sequence, heads.fault, heads.is_checked, heads.since) == (3, 3, None, True, 0)
    assert [(one.key, one.changes, one.fault) for one in found] == [(ALPHA, 5, None), (BETA, 2, None)]


async def test_no_vault_is_asked_where_nothing_is_signed(world: Any) -> None:
    fresh = HeadWorld()
    await fresh.changed(ALPHA, 1)
    heads, _ = await fresh.verify(keys=None)
    assert (heads.is_checked, heads.count, heads.since) == (True, 0, 1)


async def test_a_public_key_is_enough(world: Any) -> None:
    public = by_id(await world.signing.public_keys())
    assert await world.faults(keys=None, public_keys=public) == [None, None, None]
    heads, _ = await world.verify(keys=None, public_keys=public)
    assert heads.is_checked
    other = MemorySigningKeys(SequentialIds())
    await other.rotate()
    await other.rotate()
    strange = by_id((await other.public_keys())[1:])
    assert (await world.faults(public_keys=strange))[0].startswith("heads/000000000001: signed with the key")


@pytest.mark.parametrize(("keep", "head"), [(4, 3), (3, 3), (2, 2), (1, 1)])
async def test_a_cut_end_with_a_document_to_match_is_named(world: Any, keep: Any, head: Any) -> None:
    """Of the chain alone, nothing shows."""
    await world.cut(ALPHA, keep)
    heads, alpha, beta = await world.faults()
    assert (heads, beta) == (None, None)
    assert alpha.startswith(f"{world.alpha[keep]}: the record is missing: head {head} has")
    for number in (1, 2, 3):
        world.records.tamper(checkpoint_key(SCOPE, number), None)
    assert await world.faults() == [None, None, None]


@pytest.mark.parametrize(("number", "head"), [(1, 1), (2, 1), (3, 2), (4, 3), (5, 3)])
async def test_a_rewritten_chain_is_reported(world: Any, number: Any, head: Any) -> None:
    """From one record on, every hash and the document to match: of the chain alone, nothing shows."""
    await world.write_anew(ALPHA, number, "svc-mallory")
    heads, alpha, beta = await world.faults()
    assert (heads, beta) == (None, None)
    assert f"the history is not the one of head {head}" in alpha


async def test_a_removed_document_is_named_with_all_its_records(world: Any) -> None:
    drop_history(world.audit, SCOPE, (await world.head(BETA)).doc_id)
    await world.put_back(BETA, None)
    heads, alpha, beta = await world.faults()
    assert (heads, alpha) == (None, None)
    assert "and nothing of it is stored" in beta


@pytest.mark.parametrize("sequence", [1, 2, 3, 4])
async def test_a_baseline_takes_nothing_from_the_heads(world: Any, sequence: Any) -> None:
    """Records up to a change have been removed; heads from before it hold by their signature."""
    await retain(world, ALPHA, sequence)
    heads, [alpha, _] = await world.verify()
    assert (heads.fault, alpha.fault, alpha.first) == (None, None, sequence)
    await world.put_back(ALPHA, None)
    assert (await world.faults())[1] is not None


@pytest.mark.parametrize("sealed", [False, True])
async def test_a_baseline_that_was_made_up_in_a_signed_place_is_named(world: Any, sealed: Any) -> None:
    """The baseline and the document agree on another content: the record that was signed contradicts them.

    Unsealed, as made with write access to the storage; or sealed, as made with the user's data key too.
    """
    await retain(world, ALPHA, 4)
    head = await world.head()
    stored = await read_baseline(SCOPE, head.doc_id, 5, audit=world.audit)
    assert stored is not None
    forged = replace(stored, content={**stored.content, "summary": "forged"})
    await world.audit.delete(SCOPE, head.doc_id, 5, baseline=True)
    if sealed:
        await store_baseline(forged, audit=world.audit)
    else:
        await world.audit.create_baseline(SCOPE, head.doc_id, 5, baselines.dump(forged))
    await world.put_back(ALPHA, replace(head, content=forged.content))
    found = (await world.faults())[1]
    if not sealed:
        assert found == f"{head.change_id(4)}: the baseline cannot be read"
    else:
        assert found == f"{head.change_id(5)}: content before it differs"


async def test_a_history_that_begins_with_its_newest_records_own_baseline_holds(world: Any) -> None:
    await retain_newest(world, ALPHA)
    heads, [alpha, _] = await world.verify()
    assert (heads.fault, alpha.fault, alpha.first, alpha.changes) == (None, None, 5, 1)
    await world.changed(ALPHA, 1)
    assert await world.faults() == [None, None, None]
    await world.sign()


@pytest.mark.parametrize("tampered", ["content", "document", "timestamp", "missing", "record"])
async def test_a_forgery_at_the_newest_records_own_baseline_is_named(world: Any, tampered: str) -> None:
    made, head = await retain_newest(world, ALPHA), await world.head()
    if tampered == "record":
        world.audit.tamper(SCOPE, made.change_id, b"{}")
        assert (await world.faults())[
            1
        ] == f"{made.change_id}: the record in audit/ differs from the one in the document"
        return
    await world.audit.delete(SCOPE, head.doc_id, 6, baseline=True)
    content = {**made.content, "summary": "forged"}
    if tampered == "timestamp":
        await store_baseline(replace(made, timestamp="2020-01-01T00:00:00.000000Z"), audit=world.audit)
    elif tampered != "missing":
        await store_baseline(replace(made, content=content), audit=world.audit)
    if tampered == "document":
        await world.put_back(ALPHA, replace(head, content=content))
    assert (await world.faults())[1] == {
        "content": f"{made.change_id}: the baseline's content is not the record's",
        "document": f"{made.change_id}: the baseline's content is not the record's",
        "timestamp": f"{made.change_id}: the document's envelope is not what its records give",
        "missing": f"{head.change_id(4)}: the history begins after it, and its baseline is missing",
    }[tampered]


async def test_where_the_first_segments_are_gone_without_a_baseline_it_is_missing(world: Any) -> None:
    await retain(world, ALPHA, 3)
    head = await world.head()
    await world.audit.delete(SCOPE, head.doc_id, 4, baseline=True)
    assert (await world.faults())[1] == (
        f"{head.change_id(3)}: the history begins after it, and its baseline is missing"
    )


async def test_where_the_data_keys_are_gone_the_heads_still_hold(world: Any) -> None:
    world.vault.cache.forget(SCOPE)
    await world.key_records.delete(data_keys_key(SCOPE))
    heads, alpha, beta = await world.faults()
    assert heads is None
    assert alpha == f"{world.alpha[0]}: its values do not open"
    assert beta.endswith("-000000000001: its values do not open")


async def test_what_is_newer_than_the_last_head_can_be_cut_unnoticed(world: Any) -> None:
    """What a head is for, and how far it goes."""
    await world.changed(ALPHA, 2)
    heads, _ = await world.verify()
    assert heads.since == 2
    await world.cut(ALPHA, 5)
    assert await world.faults() == [None, None, None]


async def test_changes_and_signatures_meanwhile_are_no_fault(world: Any) -> None:
    async def go_on() -> None:
        for _ in range(5):
            await world.changed(ALPHA, 1)
            await world.sign()

    going = asyncio.create_task(go_on())
    while not going.done():
        assert await world.faults() == [None, None, None]
    await going
    assert (await world.verify())[0].count == 8
