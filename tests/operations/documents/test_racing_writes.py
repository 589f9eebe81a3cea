"""Deletions and replacements that race, are repeated, or come late."""

import asyncio
import dataclasses
from typing import Any

import pytest

from memnet.domain.core.errors import IdempotencyKeyReused
from tests.operations.service_scenario import EMPTY_PROJECT, note


async def test_concurrent_deletions_with_one_key_are_one_change(service: Any) -> None:
    [first] = await service.count_up(1)
    answers = await asyncio.gather(*(service.delete(first.etag, idempotency_key="gone") for _ in range(16)))
    assert {dataclasses.replace(answer, replayed=True) for answer in answers} == {
        dataclasses.replace(answers[0], replayed=True)
    }
    assert (await service.head()).commit.sequence == 2


async def test_one_of_several_concurrent_deletions_succeeds(service: Any) -> None:
    [first] = await service.count_up(1)
    calls = [service.delete(first.etag) for _ in range(10)] + [service.patch(note("x"), over=first.etag)] * 1
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(not isinstance(outcome, Exception) for outcome in outcomes) == 1


async def test_a_repeated_deletion_is_replayed_after_the_document_was_created_again(service: Any) -> None:
    [first] = await service.count_up(1)
    gone = await service.delete(first.etag, idempotency_key="gone")
    for _ in range(2):
        assert await service.delete(first.etag, idempotency_key="gone") == dataclasses.replace(gone, replayed=True)
        if (await service.head()).deleted:
            await service.patch(note("again"))
    assert (await service.read())["content"]["summary"] == "again"
    with pytest.raises(IdempotencyKeyReused):
        await service.delete(first.etag, idempotency_key="gone", note="another reason")


async def test_a_late_retry_of_the_creation_does_not_restore_the_document(service: Any) -> None:
    results = await service.count_up(70)
    await service.delete(results[-1].etag)
    await service.background.drain()
    again = await service.patch(note("note 0"), idempotency_key="key-1")
    assert again == dataclasses.replace(results[0], replayed=True)
    assert (await service.head()).deleted
    assert (await service.patch(note("new"))).created


async def test_a_dry_run_of_a_deletion_writes_nothing(service: Any) -> None:
    [first] = await service.count_up(1)
    result = await service.delete(first.etag, dry_run=True)
    assert (result.dry_run, result.document, result.sequence) == (True, None, 2)
    assert (await service.read())["content"]["summary"] == "note 0"


async def test_concurrent_replacements_with_one_key_are_one_change(service: Any) -> None:
    answers = await asyncio.gather(*(service.replace(EMPTY_PROJECT, idempotency_key="one") for _ in range(16)))
    assert {answer.etag for answer in answers} == {answers[0].etag}
    assert sum(not answer.replayed for answer in answers) == 1
    assert (await service.head()).commit.sequence == 1
