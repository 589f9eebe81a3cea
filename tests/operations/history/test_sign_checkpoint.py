"""Checkpoints are signed for new changes, by the first signer, and never for less than was signed before."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from memnet.domain.core.errors import HistoryCorrupt, Unavailable, VaultUnavailable
from memnet.domain.documents import envelope
from memnet.domain.history.checkpoint import is_signed
from memnet.domain.sealing.data_keys import data_keys_key
from memnet.operations.history.sign_checkpoints import Signed
from tests.operations.baseline_scenario import retain, split
from tests.operations.head_scenario import BETA, HeadWorld
from tests.operations.service_scenario import ALPHA, SCOPE


@pytest.fixture
async def world() -> AsyncIterator[Any]:
    made = HeadWorld()
    await made.changed(ALPHA, 3)
    await made.changed(BETA, 1)
    yield made
    await made.background.drain()


async def test_it_says_up_to_where_every_document_went(world: Any) -> None:
    assert await world.sign() is Signed.SIGNED
    head = await world.newest()
    assert [(one.path, one.sequence) for one in head.documents] == [("alpha.json", 3), ("beta.json", 1)]
    assert [one.record_hash for one in head.documents] == [
        (await world.head(key)).commit.record_hash for key in (ALPHA, BETA)
    ]
    assert is_signed(head, (await world.signing.newest()).public)


async def test_nothing_new_is_not_signed_again_and_no_document_is_read_for_it(world: Any) -> None:
    await world.sign()
    world.documents.calls.clear()
    world.records.calls.clear()
    assert await world.sign() is Signed.UNCHANGED
    assert world.documents.calls == {"list": 1}
    assert world.records.calls == {"list": 1, "read": 1}
    assert (await world.newest()).sequence == 1


async def test_what_is_not_flushed_yet_is_signed_too(world: Any) -> None:
    world.audit.down = True
    await world.patch(
        {"op": "replace", "path": "/content/summary", "value": "new"}, over=(await world.head()).commit.etag
    )
    assert await world.sign() is Signed.SIGNED
    await world.background.drain()
    world.audit.down = False
    assert (await world.newest()).documents[0].sequence == 4
    assert await world.faults() == [None, None, None]


async def test_signers_at_once_make_one_chain(world: Any) -> None:
    done = await asyncio.gather(*(world.sign() for _ in range(5)))
    assert sorted(done) == [Signed.POSTPONED] * 4 + [Signed.SIGNED]
    await world.changed(ALPHA, 1)
    assert await world.sign() is Signed.SIGNED
    assert await world.faults() == [None, None, None]


@pytest.mark.parametrize(
    "attack",
    [
        lambda world: world.cut(ALPHA, 2),
        lambda world: world.put_back(ALPHA, None),
    ],
    ids=["the end cut off", "the document taken away"],
)
async def test_nothing_is_signed_for_who_took_changes_away(world: Any, attack: Any) -> None:
    await world.sign()
    last = (await world.head()).change_id(3)
    await attack(world)
    with pytest.raises(HistoryCorrupt) as raised:
        await world.sign()
    assert raised.value.details["change_id"] == last
    assert (await world.newest()).sequence == 1


async def test_replaced_changes_are_reported(world: Any) -> None:
    """The last two changes are cut off, and writers continue from there."""
    await world.sign()
    await world.cut(ALPHA, 1)
    await world.changed(ALPHA, 4)
    with pytest.raises(HistoryCorrupt) as raised:
        await world.sign()
    assert raised.value.details["change_id"] == (await world.head()).change_id(4)


async def test_a_document_with_another_record_hash_is_reported(world: Any) -> None:
    await world.sign()
    await world.changed(ALPHA, 1)
    head = await world.head()
    forged = replace(head, commit=replace(head.commit, record_hash="f" * 64))
    await world.put_back(ALPHA, forged)
    with pytest.raises(HistoryCorrupt) as raised:
        await world.sign()
    assert raised.value.details["change_id"] == head.change_id(4)


async def test_a_baseline_that_replaces_unsigned_changes_is_reported(world: Any) -> None:
    await world.sign()
    await world.changed(ALPHA, 3)
    await retain(world, ALPHA, 5)
    with pytest.raises(HistoryCorrupt) as raised:
        await world.sign()
    head = await world.head()
    assert raised.value.details["change_id"] == head.change_id(4)
    assert (await world.faults())[1].startswith(f"{head.change_id(5)}: the history begins here, and head 1, the newest")


async def test_signing_continues_after_a_baseline(world: Any) -> None:
    await world.sign()
    await retain(world, ALPHA, 2)
    assert await world.sign() is Signed.UNCHANGED
    await world.changed(ALPHA, 2)
    assert await world.sign() is Signed.SIGNED
    assert await world.faults() == [None, None, None]
    await world.changed(ALPHA, 1)
    await retain(world, ALPHA, 5)  # The history begins right after what was signed.
    assert await world.faults() == [None, None, None]
    assert await world.sign() is Signed.SIGNED


async def test_one_segment_is_read_for_each_document_that_changed(world: Any) -> None:
    await world.sign()
    await split(world, ALPHA, 3)
    await world.changed(ALPHA, 3)
    world.audit.calls.clear()
    assert await world.sign() is Signed.SIGNED
    assert world.audit.calls == {"read": 1}


async def test_an_operator_can_accept_the_state_and_the_fault_stays_visible(world: Any) -> None:
    await world.sign()
    await world.cut(ALPHA, 2)
    assert await world.sign(accept=True) is Signed.SIGNED
    assert (await world.newest()).documents[0].sequence == 2
    assert await world.sign() is Signed.UNCHANGED
    assert [fault is None for fault in await world.faults()] == [True, False, True]
    await world.changed(ALPHA, 1)
    assert await world.sign() is Signed.SIGNED


async def test_an_unreadable_document_is_reported(world: Any) -> None:
    stored = await world.documents.get(ALPHA)
    summary = envelope.summarise(await world.head())
    await world.documents.put(ALPHA, b"{}", summary, replaces=stored.storage_etag)
    with pytest.raises(HistoryCorrupt):
        await world.sign()
    assert await world.newest() is None


async def test_without_a_vault_or_a_store_nothing_is_signed_and_the_next_time_does_it(world: Any) -> None:
    world.signing.down = True
    with pytest.raises(VaultUnavailable):
        await world.sign()
    world.signing.down = False
    world.records.fate = lambda key: "lost"
    with pytest.raises(Unavailable):
        await world.sign()
    world.records.fate = lambda key: None
    assert await world.sign() is Signed.SIGNED


@pytest.mark.parametrize("fate", ["unconfirmed", "repeated"])
async def test_a_write_whose_outcome_is_unknown_is_found_the_next_time(world: Any, fate: Any) -> None:
    world.records.fate = lambda key: fate
    if fate == "repeated":
        assert await world.sign() is Signed.POSTPONED
    else:
        with pytest.raises(Unavailable):
            await world.sign()
    world.records.fate = lambda key: None
    assert await world.sign() is Signed.UNCHANGED
    assert (await world.newest()).sequence == 1
    assert await world.faults() == [None, None, None]


async def test_it_takes_no_data_key_to_follow_a_chain(world: Any) -> None:
    await world.sign()
    await world.changed(ALPHA, 3)
    world.vault.cache.forget(SCOPE)
    await world.key_records.delete(data_keys_key(SCOPE))
    assert await world.sign() is Signed.SIGNED


async def test_a_content_that_was_put_in_the_place_of_what_was_signed_is_named_by_its_record(world: Any) -> None:
    """The signed record stands for the content, so the signer sees nothing and the check does."""
    await world.sign()
    head = await world.head(BETA)
    await world.put_back(BETA, replace(head, content={**head.content, "summary": "forged"}))
    await world.changed(ALPHA, 1)
    assert await world.sign() is Signed.SIGNED
    assert "the document's content is not what its records give" in (await world.faults())[2]
