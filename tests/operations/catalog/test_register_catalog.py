"""One text a version: what is new is created, what is there must be the same."""

import asyncio
from typing import Any

import pytest

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.catalog.catalog_text import TextKind, TextName, texts_of
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import CatalogConflict, Unavailable
from memnet.operations.catalog.register_catalog import register_catalog
from memnet.stores import CatalogTexts
from tests.domain.samples import CATALOG
from tests.memory_blobs import memory_blobs

PROFILE = "project-copilot-v1"


def changed(**update: Any) -> Catalog:
    """The shipped catalog with other members in one profile."""
    profile = CATALOG.profile(PROFILE).model_copy(update=update)
    return Catalog({**CATALOG.profiles, PROFILE: profile}, CATALOG.schemas, CATALOG.prompts)


async def stored(texts: CatalogTexts, catalog: Catalog) -> dict[TextName, bytes | None]:
    return {name: await texts.read(name) for name in texts_of(catalog)}


async def test_every_version_is_created_once_and_found_the_same_again() -> None:
    texts = CatalogTexts(memory_blobs())
    for _ in range(2):
        await asyncio.gather(*(register_catalog(CATALOG, texts=texts) for _ in range(3)))
        assert await stored(texts, CATALOG) == texts_of(CATALOG)
    kinds = [name.kind for name in texts_of(CATALOG)]
    assert [kinds.count(kind) for kind in TextKind] == [2, 6, len(CATALOG.prompts)]
    schema = TextName(TextKind.SCHEMA, "memory.project", "1.0.0")
    assert await texts.read(schema) == canonical(CATALOG.schema("memory.project", "1.0.0").body)


async def test_another_text_under_a_used_version_is_refused_and_a_raised_version_is_not() -> None:
    texts = CatalogTexts(memory_blobs())
    await register_catalog(CATALOG, texts=texts)
    with pytest.raises(CatalogConflict) as refusal:
        await register_catalog(changed(max_ops=51), texts=texts)
    version = CATALOG.profile(PROFILE).version
    assert refusal.value.details == {"versions": [f"profile {PROFILE} {version}"]}
    assert refusal.value.message == (
        f"Used before with another text: profile {PROFILE} {version}. Raise the version, or bring back the text."
    )
    assert await stored(texts, CATALOG) == texts_of(CATALOG)
    await register_catalog(changed(max_ops=51, version="9.0.0"), texts=texts)
    with pytest.raises(CatalogConflict):
        await register_catalog(changed(max_ops=52, version="9.0.0"), texts=texts)


async def test_of_two_texts_at_once_one_wins() -> None:
    texts = CatalogTexts(memory_blobs())
    catalogs = [changed(max_ops=number) for number in (51, 52)]
    outcomes = await asyncio.gather(
        *(register_catalog(catalog, texts=texts) for catalog in catalogs), return_exceptions=True
    )
    assert sorted(type(outcome) for outcome in outcomes if outcome) == [CatalogConflict]


async def test_a_comparison_creates_nothing() -> None:
    texts = CatalogTexts(memory_blobs())
    await register_catalog(CATALOG, texts=texts, create=False)
    assert set((await stored(texts, CATALOG)).values()) == {None}


async def test_a_storage_that_does_not_answer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = CatalogTexts(memory_blobs())

    async def read(name: TextName) -> bytes | None:
        raise Unavailable

    monkeypatch.setattr(texts, "read", read)
    with pytest.raises(Unavailable):
        await register_catalog(CATALOG, texts=texts)
