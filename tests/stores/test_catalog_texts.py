"""The CatalogTexts; and that no document is written before the texts are registered."""

import asyncio
from datetime import UTC, datetime

import pytest

from memnet.adapters.process.once import Once
from memnet.domain.catalog.catalog import TextKind, TextName
from memnet.domain.core.errors import CatalogConflict
from memnet.domain.core.scope import DocumentKey, ETag, UserScope
from memnet.domain.documents.envelope import DocumentSummary
from memnet.ports import StoreConflict
from memnet.stores import Blobs, DocumentStore
from tests.memory_blobs import storage_of

NAME = TextName(TextKind.PROFILE, "p-1", "1.0.0")
KEY = DocumentKey(UserScope("t1", "u1"), "n", "d.json")
SUMMARY = DocumentSummary(ETag('"1-0"'), 1, "2026-02-14T20:00:00.000000Z", 2, deleted=False)


async def test_a_text_is_created_once_and_stays(documents: DocumentStore) -> None:
    texts = documents.texts
    assert await texts.read(NAME) is None
    await texts.create(NAME, '{"naïve": "文档"}'.encode())
    for data in (b"{}", '{"naïve": "文档"}'.encode()):
        with pytest.raises(StoreConflict):
            await texts.create(NAME, data)
    assert await texts.read(NAME) == '{"naïve": "文档"}'.encode()
    assert await texts.read(TextName(TextKind.SCHEMA, "p-1", "1.0.0")) is None
    assert await texts.read(TextName(TextKind.PROFILE, "p-1", "1.0.1")) is None


async def test_it_lies_below_catalog(documents: DocumentStore) -> None:
    await documents.texts.create(NAME, b"{}")
    assert storage_of(documents).names() == ["catalog/profile/p-1/1.0.0.json"]


async def test_nothing_is_written_until_the_registration_succeeds(blobs: Blobs) -> None:
    calls = 0

    async def register() -> None:
        nonlocal calls
        calls += 1
        if calls < 3:
            raise CatalogConflict(["profile p 1"])

    documents = DocumentStore(blobs, before_writing=Once(register))
    for _ in range(2):
        with pytest.raises(CatalogConflict):
            await documents.put(KEY, b"{}", SUMMARY, replaces=None)
    assert await documents.get(KEY) is None
    await asyncio.gather(
        documents.put(KEY, b"{}", SUMMARY, replaces=None),
        documents.put(DocumentKey(KEY.scope, "n", "e.json"), b"{}", SUMMARY, replaces=None),
    )
    assert calls == 3


async def test_an_erasure_s_tombstones_are_written_whatever_the_catalog_says(blobs: Blobs) -> None:
    async def refuse() -> None:
        raise CatalogConflict(["profile p 1"])

    documents = DocumentStore(blobs, before_writing=refuse)
    with pytest.raises(CatalogConflict):
        await documents.check_writing(KEY.scope.tenant_id)
    await documents.put(KEY, b"{}", SUMMARY, replaces=None, known_at=datetime.now(UTC))
    assert await documents.get(KEY) is not None
