"""A schema version that only the container has: read with all it needs, checked, or not used."""

import pytest

from memnet.domain.catalog.catalog_text import TextName, texts_of
from memnet.operations.catalog import read_schema as module
from memnet.operations.catalog.read_schema import read_schema
from memnet.stores import CatalogTexts
from tests.memory_blobs import memory_blobs
from tests.operations.schema_versions import NEW, NEWEST, OLD


class CountingTexts(CatalogTexts):
    reads = 0

    async def read(self, name: TextName) -> bytes | None:
        self.reads += 1
        return await super().read(name)


@pytest.fixture
async def texts() -> CountingTexts:
    filled = CountingTexts(memory_blobs())
    for name, data in texts_of(NEWEST).items():
        await filled.create(name, data)
    return filled


async def test_a_version_comes_with_what_it_refers_to_and_what_it_is_additive_to(texts: CountingTexts) -> None:
    found = await read_schema("garden", "1.2.0", OLD.schemas, texts=texts)
    assert found.keys() - OLD.schemas.keys() == {("garden", "1.2.0"), ("garden", "1.1.0"), ("place", "1.0.0")}
    assert texts.reads == 3
    assert found["garden", "1.2.0"].digest == NEWEST.schema("garden", "1.2.0").digest
    assert not found["garden", "1.2.0"].violations({"place": {"north": True}})


async def test_what_is_known_is_not_read(texts: CountingTexts) -> None:
    assert await read_schema("garden", "1.1.0", NEW.schemas, texts=texts) is NEW.schemas
    assert texts.reads == 0


async def test_a_version_that_needs_too_much_is_not_used(texts: CountingTexts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 2)
    assert await read_schema("garden", "1.2.0", OLD.schemas, texts=texts) is OLD.schemas
    assert texts.reads == 3


async def test_a_version_that_is_not_there_is_not_used(texts: CountingTexts) -> None:
    assert await read_schema("garden", "2.0.0", OLD.schemas, texts=texts) is OLD.schemas
