"""Processes of an older and a newer release write the same documents, without a migration."""

from typing import Any

import pytest

from memnet.domain.catalog.catalog import Catalog, TextKind, TextName
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import BindingMismatch, SchemaViolation
from memnet.domain.core.scope import ETag
from memnet.domain.documents.commands import ReplaceDocument, WriteResult
from memnet.operations.catalog import register_catalog
from memnet.operations.documents.write import patch_document, replace_document
from tests.operations.schema_versions import GARDEN, NEW, NEWEST, OLD, PLACE, THIRD, release
from tests.operations.service_scenario import Service
from tests.services import service_of


class Gardening(Service):
    """One store, and a process of each release."""

    async def grow(
        self, catalog: Catalog, place: str, value: Any, over: ETag | None = None, **members: Any
    ) -> WriteResult:
        op = {"op": "add", "path": f"/content/{place}", "value": value}
        rules: dict[str, Any] = {"key": GARDEN, "profile_id": "gardener", "binding_id": "garden"}
        command = self.patch_command(op, over=over, **rules | members)
        return await patch_document(command, service_of(**self.ports() | {"catalog": catalog}))

    async def start(self, catalog: Catalog) -> None:
        await register_catalog(catalog, texts=self.documents.texts)


@pytest.fixture
async def garden() -> Gardening:
    made = Gardening()
    for catalog in (OLD, NEW, NEWEST):
        await made.start(catalog)
    return made


async def test_an_old_and_a_new_release_patch_one_document_in_turn(garden: Gardening) -> None:
    results = [await garden.grow(OLD, "plants/-", "rose")]
    for catalog, place, value in (
        (NEW, "plants/-", "oak"),
        (OLD, "plants/-", "elm"),
        (NEW, "tools", ["rake"]),
        (OLD, "plants/0", "ivy"),
    ):
        results.append(await garden.grow(catalog, place, value, over=results[-1].etag))
    found = await garden.read(GARDEN)
    assert found["content"] == {"plants": ["ivy", "rose", "oak", "elm"], "tools": ["rake"]}

    versions = ["1.0.0", "1.1.0", "1.1.0", "1.1.0", "1.1.0"]
    for result, version in zip(results, versions, strict=True):
        assert (await garden.read(GARDEN, as_of=result.change_id))["schema_version"] == version
        record = await garden.record(result.sequence, GARDEN)
        assert (record["schema_version"], record["schema_sha256"]) == (version, NEW.schema("garden", version).digest)
    writers = [(await garden.record(result.sequence, GARDEN))["profile_version"] for result in results]
    assert writers == ["1.0.0", "1.1.0", "1.0.0", "1.1.0", "1.0.0"]


@pytest.mark.parametrize("older", [OLD, release("1.0.0", "1.1.0", "1.2.0")], ids=["reads the texts", "has the texts"])
async def test_a_newer_version_may_be_several_steps_ahead(garden: Gardening, older: Catalog) -> None:
    first = await garden.grow(NEWEST, "place", {"north": True})
    second = await garden.grow(older, "plants/-", "rose", over=first.etag)
    with pytest.raises(SchemaViolation):
        await garden.grow(older, "place", {"south": True}, over=second.etag)
    # The newer version takes what the older one does not know.
    await garden.grow(older, "place", {"north": False}, over=second.etag)
    found = await garden.read(GARDEN)
    assert (found["schema_version"], found["content"]) == ("1.2.0", {"plants": ["rose"], "place": {"north": False}})


@pytest.mark.parametrize(
    "text",
    [
        None,
        b"{",
        b"[]",
        canonical({**THIRD, "required": ["place"]}),
        canonical({key: value for key, value in THIRD.items() if key != "x-additive-to"}),
    ],
    ids=["missing", "no JSON", "no schema", "not additive", "says nothing"],
)
async def test_a_newer_version_without_a_proof_is_refused(text: bytes | None) -> None:
    garden = Gardening()
    first = await garden.grow(NEWEST, "place", {})
    await garden.start(NEW)
    stored = {TextName(TextKind.SCHEMA, "place", "1.0.0"): canonical(PLACE)}
    if text is not None:
        stored[TextName(TextKind.SCHEMA, "garden", "1.2.0")] = text
    for name, data in stored.items():
        await garden.documents.texts.create(name, data)
    before = await garden.read(GARDEN)
    with pytest.raises(BindingMismatch) as refusal:
        await garden.grow(OLD, "plants/-", "rose", over=first.etag)
    assert refusal.value.details == {"schema_id": "garden", "schema_version": "1.2.0"}
    assert await garden.read(GARDEN) == before


@pytest.mark.parametrize(("catalog", "named", "stored"), [(NEW, "1.0.0", "1.1.0"), (NEWEST, "1.1.0", "1.2.0")])
async def test_a_put_of_an_older_version_is_stored_under_the_binding_s(
    garden: Gardening, catalog: Catalog, named: str, stored: str
) -> None:
    place = {"key": GARDEN, "profile_id": "gardener", "binding_id": "garden"}
    members = {**garden.common(None), **place, "schema_id": "garden", "schema_version": named, "content": {"tools": []}}
    ports = garden.ports() | {"catalog": catalog}
    with pytest.raises(BindingMismatch):
        await replace_document(ReplaceDocument(**members | {"schema_version": "0.9.0"}), service_of(**ports))
    await replace_document(ReplaceDocument(**members), service_of(**ports))
    assert (await garden.read(GARDEN))["schema_version"] == stored
