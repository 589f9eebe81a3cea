"""Putting a whole content in place."""

import asyncio
import dataclasses

import orjson
import pytest

from memnet.domain.core.errors import (
    BindingMismatch,
    BindingNotFound,
    DocumentExists,
    DocumentNotFound,
    ETagMismatch,
    FieldDenied,
    IdempotencyKeyReused,
    ProfileNotFound,
    SchemaViolation,
)
from memnet.domain.core.scope import ETag
from tests.operations.service_scenario import DYNAMIC, EMPTY_PROJECT, STATIC, note

CARD = "4111 1111 1111 1111"


async def test_create_and_replace(service):
    created = await service.replace(EMPTY_PROJECT)
    replaced = await service.replace(EMPTY_PROJECT | {"summary": "second"}, over=created.etag, note="migration 7")
    assert (created.created, replaced.created, replaced.sequence) == (True, False, 2)
    assert (await service.read())["content"]["summary"] == "second"
    record = await service.record(2)
    assert (record["reason"], record["note"]) == ("admin_migration", "migration 7")


async def test_a_document_that_no_patch_may_write_can_be_put(service):
    content = {"profile": {}, "projects_index": [{"project_id": "alpha"}]}
    members = {"key": STATIC, "binding_id": "user_static", "schema_id": "memory.user.static"}
    assert (await service.replace(content, **members)).created


async def test_many_at_once_with_one_key_make_one_change(service):
    answers = await asyncio.gather(*(service.replace(EMPTY_PROJECT, idempotency_key="one") for _ in range(16)))
    assert {answer.etag for answer in answers} == {answers[0].etag}
    assert sum(not answer.replayed for answer in answers) == 1
    assert (await service.head()).commit.sequence == 1


async def test_a_repetition_is_the_first_answer_and_another_body_is_refused(service):
    first = await service.replace(EMPTY_PROJECT, idempotency_key="one")
    await service.patch(note("since then"), over=first.etag)
    again = await service.replace(EMPTY_PROJECT, idempotency_key="one")
    assert again == dataclasses.replace(first, replayed=True)
    with pytest.raises(IdempotencyKeyReused):
        await service.replace(EMPTY_PROJECT | {"summary": "x"}, idempotency_key="one")
    with pytest.raises(IdempotencyKeyReused):
        await service.patch(note("x"), idempotency_key="one")


@pytest.mark.parametrize(
    ("members", "error"),
    [
        ({"content": {"summary": 5}}, SchemaViolation),
        ({"content": EMPTY_PROJECT | {"facets": {"iban": "x"}}}, FieldDenied),
        ({"schema_version": "2.0.0"}, BindingMismatch),
        ({"key": DYNAMIC}, BindingMismatch),
        ({"binding_id": "nothing"}, BindingNotFound),
        ({"profile_id": "nobody"}, ProfileNotFound),
    ],
)
async def test_refused(service, members, error):
    with pytest.raises(error):
        await service.replace(members.pop("content", EMPTY_PROJECT), **members)
    assert service.documents.calls["put"] == 0


async def test_the_version_must_be_the_one_that_is_named(service):
    with pytest.raises(DocumentNotFound):
        await service.replace(EMPTY_PROJECT, over=ETag('"1-0000000000000000"'))
    await service.replace(EMPTY_PROJECT)
    with pytest.raises(DocumentExists):
        await service.replace(EMPTY_PROJECT)
    with pytest.raises(ETagMismatch):
        await service.replace(EMPTY_PROJECT, over=ETag('"1-0000000000000000"'))


async def test_a_dry_run_writes_nothing(service):
    result = await service.replace(EMPTY_PROJECT | {"summary": "dry"}, dry_run=True)
    assert orjson.loads(result.document)["content"]["summary"] == "dry"
    assert service.documents.calls["put"] == 0


async def test_creation_over_a_deleted_document(service):
    [first] = await service.count_up(1)
    deleted = await service.delete(first.etag)
    again = await service.replace(EMPTY_PROJECT)
    assert (again.created, again.sequence) == (True, 3)
    assert len({first.etag, deleted.etag, again.etag}) == 3


async def test_sensitive_content_is_refused_and_nothing_is_stored(service):
    with pytest.raises(FieldDenied) as refused:
        await service.replace(EMPTY_PROJECT | {"summary": "Pay to DE89 3704 0044 0532 0130 00."})
    assert refused.value.details == {"path": "/content/summary", "kind": "iban"}
    for members in ({"note": CARD}, {"evidence": {"note": CARD}}):
        with pytest.raises(FieldDenied) as refused:
            await service.replace(EMPTY_PROJECT, **members)
        assert refused.value.details["kind"] == "card_number"
    with pytest.raises(DocumentNotFound):
        await service.read()
