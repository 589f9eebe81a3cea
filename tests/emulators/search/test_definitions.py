"""Index definitions: Azure's defaults, and what is refused with which status."""

from typing import Any

import pytest

from local.emulators.search.errors import SearchError
from local.emulators.search.schema import check_update, parse_definition

KEY = {"name": "id", "type": "Edm.String", "key": True}
VECTOR = {"name": "v", "type": "Collection(Edm.Single)", "dimensions": 4, "vectorSearchProfile": "p"}
SEARCH = {
    "algorithms": [{"name": "a", "kind": "hnsw", "hnswParameters": {"m": 4, "metric": "cosine"}}],
    "profiles": [{"name": "p", "algorithm": "a"}],
}
ENCRYPTION_KEY = {"keyVaultUri": "https://kv.vault.test", "keyVaultKeyName": "k"}


def definition(*fields: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"name": "events", "fields": [KEY, *fields], **members}


def status_of(body: Any) -> int:
    with pytest.raises(SearchError) as caught:
        parse_definition(body)
    return caught.value.status


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ({"type": "Edm.String"}, {"searchable", "filterable", "sortable", "facetable", "retrievable"}),
        ({"type": "Collection(Edm.String)"}, {"searchable", "filterable", "facetable", "retrievable"}),
        ({"type": "Edm.Int32"}, {"filterable", "sortable", "facetable", "retrievable"}),
        ({"type": "Edm.Double", "sortable": False, "retrievable": False}, {"filterable", "facetable"}),
    ],
)
def test_attributes_left_out_have_azures_defaults(field: dict[str, Any], expected: set[str]) -> None:
    body = parse_definition(definition({"name": "f", **field})).fields["f"].body()
    assert {name for name, value in body.items() if value is True} == expected


def test_what_is_shown_can_be_sent_back() -> None:
    text = {"name": "text", "type": "Edm.String", "analyzer": "standard.lucene"}
    first = parse_definition(
        definition(VECTOR, text, vectorSearch=SEARCH, description="d", encryptionKey=ENCRYPTION_KEY)
    )
    assert parse_definition({"@odata.etag": "x", **first.body()}) == first


@pytest.mark.parametrize(
    "body",
    [
        [],
        {"name": "events"},
        {"name": "events", "fields": [{"name": "f", "type": "Edm.String"}]},
        {"name": "Events", "fields": [KEY]},
        {"name": "x" * 129, "fields": [KEY]},
        definition({"name": "k2", "type": "Edm.String", "key": True}),
        definition({"name": "ID", "type": "Edm.String"}),
        definition({"name": "f", "type": "Edm.Text"}),
        definition(encryptionKey={"keyVaultKeyName": "k"}),
        definition({"name": "f", "type": "Edm.String", "surprise": 1}),
        definition({"name": "f", "type": "Edm.Int32", "searchable": True}),
        definition({"name": "f", "type": "Collection(Edm.String)", "sortable": True}),
        definition(VECTOR),
        definition({**VECTOR, "dimensions": 5000}, vectorSearch=SEARCH),
        definition({**VECTOR, "vectorSearchProfile": "q"}, vectorSearch=SEARCH),
        definition({**VECTOR, "filterable": True}, vectorSearch=SEARCH),
        definition(vectorSearch={"profiles": [{"name": "p", "algorithm": "missing"}]}),
        definition(vectorSearch={"algorithms": [{"name": "a", "kind": "hnsw", "hnswParameters": {"m": 99}}]}),
        definition(vectorSearch={"algorithms": [{"name": "a", "kind": "hnsw"}] * 2}),
    ],
)
def test_wrong_definitions_are_400(body: Any) -> None:
    assert status_of(body) == 400


@pytest.mark.parametrize(
    "body",
    [
        definition({"name": "f", "type": "Edm.GeographyPoint"}),
        definition({"name": "f", "type": "Edm.String", "analyzer": "en.microsoft"}),
        definition({**VECTOR, "stored": False}, vectorSearch=SEARCH),
        definition(scoringProfiles=[{"name": "p"}]),
        definition(vectorSearch={"compressions": [{"name": "c"}]}),
        definition(
            vectorSearch={"algorithms": [{"name": "a", "kind": "hnsw", "hnswParameters": {"metric": "euclidean"}}]}
        ),
    ],
)
def test_what_is_lacking_is_501(body: Any) -> None:
    assert status_of(body) == 501


@pytest.mark.parametrize(
    "change", [{"type": "Edm.Int32", "searchable": False}, {"filterable": False}, {"searchable": False}]
)
def test_an_existing_field_cannot_change(change: dict[str, Any]) -> None:
    old = parse_definition(definition({"name": "f", "type": "Edm.String"}))
    new = parse_definition(definition({"name": "f", "type": "Edm.String", **change}))
    with pytest.raises(SearchError) as caught:
        check_update(old, new)
    assert caught.value.body()["error"] == {
        "code": "OperationNotAllowed",
        "message": "Existing field 'f' cannot be changed.",
        "details": [{"code": "CannotChangeExistingField", "message": "Existing field 'f' cannot be changed."}],
    }


def test_a_field_cannot_go_but_new_ones_and_another_visibility_may_come() -> None:
    old = parse_definition(definition({"name": "f", "type": "Edm.String"}))
    hidden = {"name": "f", "type": "Edm.String", "retrievable": False}
    check_update(old, parse_definition(definition(hidden, {"name": "g", "type": "Edm.Int32"})))
    with pytest.raises(SearchError, match="cannot be deleted"):
        check_update(old, parse_definition(definition()))


def test_a_vector_profile_cannot_change() -> None:
    old = parse_definition(definition(VECTOR, vectorSearch=SEARCH))
    other = {**SEARCH, "algorithms": [{"name": "a", "kind": "exhaustiveKnn"}]}
    with pytest.raises(SearchError, match="cannot be changed"):
        check_update(old, parse_definition(definition(VECTOR, vectorSearch=other)))
