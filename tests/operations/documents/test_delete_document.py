"""Ending a document: once, and its history stays."""

import asyncio
import dataclasses

import pytest

from memnet.domain.core.errors import DocumentNotFound, ETagMismatch, FieldDenied, IdempotencyKeyReused
from memnet.domain.core.scope import ETag
from tests.operations.rebuilt import rebuilt_histories
from tests.operations.service_scenario import SCOPE, note


async def test_delete(service):
    results = await service.count_up(2)
    result = await service.delete(results[-1].etag, note="asked by the user")
    assert (result.sequence, result.created, result.document) == (3, False, None)
    with pytest.raises(DocumentNotFound):
        await service.read()
    head = await service.head()
    assert (head.deleted, head.content) == (True, None)
    assert (await service.record(3))["note"] == "asked by the user"


async def test_a_sensitive_note_is_refused(service):
    results = await service.count_up(1)
    with pytest.raises(FieldDenied) as refused:
        await service.delete(results[-1].etag, note="card 4111 1111 1111 1111")
    assert refused.value.details == {"path": "/note", "kind": "card_number"}


async def test_the_version_must_be_the_one_that_is_named(service):
    with pytest.raises(DocumentNotFound):
        await service.delete(ETag('"1-0000000000000000"'))
    results = await service.count_up(2)
    with pytest.raises(ETagMismatch):
        await service.delete(results[0].etag)
    await service.delete(results[1].etag)
    for etag in [results[1].etag, (await service.head()).commit.etag]:
        with pytest.raises(DocumentNotFound):
            await service.delete(etag)


async def test_many_at_once_with_one_key_make_one_change(service):
    [first] = await service.count_up(1)
    answers = await asyncio.gather(*(service.delete(first.etag, idempotency_key="gone") for _ in range(16)))
    assert {dataclasses.replace(answer, replayed=True) for answer in answers} == {
        dataclasses.replace(answers[0], replayed=True)
    }
    assert (await service.head()).commit.sequence == 2


async def test_strangers_have_one_winner(service):
    [first] = await service.count_up(1)
    calls = [service.delete(first.etag) for _ in range(10)] + [service.patch(note("x"), over=first.etag)] * 1
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(not isinstance(outcome, Exception) for outcome in outcomes) == 1


async def test_a_repetition_is_answered_also_when_the_document_lives_again(service):
    [first] = await service.count_up(1)
    gone = await service.delete(first.etag, idempotency_key="gone")
    for _ in range(2):
        assert await service.delete(first.etag, idempotency_key="gone") == dataclasses.replace(gone, replayed=True)
        if (await service.head()).deleted:
            await service.patch(note("again"))
    assert (await service.read())["content"]["summary"] == "again"
    with pytest.raises(IdempotencyKeyReused):
        await service.delete(first.etag, idempotency_key="gone", note="another reason")


async def test_a_late_retry_of_the_creation_does_not_bring_it_back(service):
    results = await service.count_up(70)
    await service.delete(results[-1].etag)
    await service.background.drain()
    again = await service.patch(note("note 0"), idempotency_key="key-1")
    assert again == dataclasses.replace(results[0], replayed=True)
    assert (await service.head()).deleted
    assert (await service.patch(note("new"))).created


async def test_a_dry_run_writes_nothing(service):
    [first] = await service.count_up(1)
    result = await service.delete(first.etag, dry_run=True)
    assert (result.dry_run, result.document, result.sequence) == (True, None, 2)
    assert (await service.read())["content"]["summary"] == "note 0"


async def test_lives_follow_each_other_in_one_history(service):
    etags = set()
    for life in range(3):
        created = await service.patch(note("the same"), idempotency_key=f"c{life}")
        deleted = await service.delete(created.etag, idempotency_key=f"d{life}")
        etags |= {created.etag, deleted.etag}
    await service.background.drain()
    assert len(etags) == 6
    [rebuilt] = await rebuilt_histories(SCOPE, documents=service.documents, audit=service.audit)
    assert rebuilt.fault is None
    assert [version.document is None for version in rebuilt.versions] == [False, True] * 3
