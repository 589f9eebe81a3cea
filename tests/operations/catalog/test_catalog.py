"""Profiles, schemas and the registered texts of the catalog."""

import asyncio
from typing import Any

import pytest

from memnet.domain.catalog.catalog import Catalog, TextKind, TextName, texts_of
from memnet.domain.core.access import Role
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import (
    CatalogConflict,
    InvalidCursor,
    ProfileForbidden,
    ProfileNotFound,
    SchemaNotFound,
)
from memnet.domain.core.scope import Actor
from memnet.operations import catalog as module
from memnet.operations.catalog import get_profile, get_schema, list_profiles, read_schema, register_catalog
from memnet.stores import CatalogTexts
from tests.domain.samples import CATALOG
from tests.memory_blobs import memory_blobs
from tests.operations.schema_versions import NEW, NEWEST, OLD
from tests.services import service_of

READER = Actor("svc-a", frozenset({Role.READ}))
SERVICE = service_of(catalog=CATALOG)
SHIPPED = [
    *("langgraph-store-v1", "personal-memory-v1", "project-copilot-v1", "support-desk-v1", "transcripts-v1"),
    *("tutor-v1", "workspace-memory-v1"),
]
TWO = ["project-copilot-v1", "support-desk-v1"]


def catalog() -> Catalog:
    """Two of the shipped profiles, the second one only for svc-b."""
    first, second = (CATALOG.profiles[name] for name in TWO)
    second = second.model_copy(update={"allowed_principals": ("svc-b",)})
    return Catalog({first.profile_id: first, second.profile_id: second}, CATALOG.schemas)


async def listed(actor: Actor = READER, known: Catalog = CATALOG) -> list[str]:
    page = await list_profiles(actor, service_of(catalog=known), limit=10, cursor=None)
    assert page.next_cursor is None
    return [profile.profile_id for profile in page.items]


async def test_pages_of_profiles_follow_one_another() -> None:
    first = await list_profiles(READER, SERVICE, limit=4, cursor=None)
    second = await list_profiles(READER, SERVICE, limit=4, cursor=first.next_cursor)
    assert [profile.profile_id for profile in (*first.items, *second.items)] == SHIPPED
    assert second.next_cursor is None
    with pytest.raises(InvalidCursor):
        await list_profiles(READER, SERVICE, limit=1, cursor="AAAA")


@pytest.mark.parametrize(
    ("actor", "found"),
    [
        (READER, TWO[:1]),
        (Actor("svc-b", frozenset({Role.READ})), TWO),
        (Actor("ops", frozenset({Role.ADMIN})), TWO),
        (Actor("auditor", frozenset({Role.AUDIT})), TWO),
    ],
)
async def test_a_restricted_profile_is_listed_for_its_principals_admins_and_auditors(
    actor: Actor, found: list[str]
) -> None:
    assert await listed(actor, catalog()) == found


async def test_a_missing_profile_is_not_found() -> None:
    with pytest.raises(ProfileNotFound):
        await get_profile("none", READER, SERVICE)


async def test_a_profile_for_other_principals_is_refused() -> None:
    with pytest.raises(ProfileForbidden):
        await get_profile("support-desk-v1", READER, service_of(catalog=catalog()))
    for actor in (Actor("svc-b", frozenset({Role.READ})), Actor("ops", frozenset({Role.ADMIN}))):
        assert (await get_profile("support-desk-v1", actor, service_of(catalog=catalog()))).allowed_principals == (
            "svc-b",
        )


async def test_a_schema_version_is_returned() -> None:
    schema = await get_schema("memory.project", "1.0.0", SERVICE)
    assert schema.body["$id"] == "memnet:memory.project:1.0.0"


@pytest.mark.parametrize(("schema_id", "version"), [("memory.project", "9.0.0"), ("none", "1.0.0")])
async def test_a_missing_schema_version_is_not_found(schema_id: str, version: str) -> None:
    with pytest.raises(SchemaNotFound):
        await get_schema(schema_id, version, SERVICE)


PROFILE = "project-copilot-v1"


def changed(**update: Any) -> Catalog:
    """The shipped catalog with other members in one profile."""
    profile = CATALOG.profile(PROFILE).model_copy(update=update)
    return Catalog({**CATALOG.profiles, PROFILE: profile}, CATALOG.schemas, CATALOG.prompts)


async def stored(texts: CatalogTexts, catalog: Catalog) -> dict[TextName, bytes | None]:
    return {name: await texts.read(name) for name in texts_of(catalog)}


async def test_each_version_is_stored_once() -> None:
    texts = CatalogTexts(memory_blobs())
    for _ in range(2):
        await asyncio.gather(*(register_catalog(CATALOG, texts=texts) for _ in range(3)))
        assert await stored(texts, CATALOG) == texts_of(CATALOG)
    kinds = [name.kind for name in texts_of(CATALOG)]
    assert [kinds.count(kind) for kind in TextKind] == [
        len(CATALOG.profiles),
        len(CATALOG.schemas),
        len(CATALOG.prompts),
        len(CATALOG.cues),
        len(CATALOG.rankers),
    ]
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
        f"Used before with a different text: profile {PROFILE} {version}. Raise the version, or restore the text."
    )
    assert await stored(texts, CATALOG) == texts_of(CATALOG)
    await register_catalog(changed(max_ops=51, version="9.0.0"), texts=texts)
    with pytest.raises(CatalogConflict):
        await register_catalog(changed(max_ops=52, version="9.0.0"), texts=texts)


async def test_a_comparison_stores_nothing() -> None:
    texts = CatalogTexts(memory_blobs())
    await register_catalog(CATALOG, texts=texts, create=False)
    assert set((await stored(texts, CATALOG)).values()) == {None}


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


async def test_a_known_version_is_not_read(texts: CountingTexts) -> None:
    assert await read_schema("garden", "1.1.0", NEW.schemas, texts=texts) is NEW.schemas
    assert texts.reads == 0


async def test_a_version_that_needs_too_much_is_not_used(texts: CountingTexts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_TEXTS", 2)
    assert await read_schema("garden", "1.2.0", OLD.schemas, texts=texts) is OLD.schemas
    assert texts.reads == 3
