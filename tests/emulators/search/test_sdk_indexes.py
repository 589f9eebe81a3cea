"""Indexes and aliases through the unchanged SDK."""

from uuid import uuid4

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.search.documents import SearchClient
from azure.search.documents.indexes import SearchIndexClient
from azure.search.documents.indexes.models import (
    AnalyzeTextOptions,
    SearchAlias,
    SearchIndex,
    SimpleField,
)

from tests.emulators.search.emulator_process import EmulatorProcess, events_index


def test_create_get_list_delete(index_client: SearchIndexClient) -> None:
    name = f"made-{uuid4().hex[:8]}"
    created = index_client.create_index(events_index(name))
    found = index_client.get_index(name)
    assert found == created
    assert found.e_tag
    assert [field.name for field in found.fields][:2] == ["id", "tenant_id"]
    assert next(field for field in found.fields if field.name == "secret").hidden is True
    assert found.vector_search is not None
    assert found.vector_search.profiles is not None
    assert found.vector_search.profiles[0].algorithm_configuration_name == "graph"
    assert name in list(index_client.list_index_names())
    assert name in [index.name for index in index_client.list_indexes()]
    selected = next(index for index in index_client.list_indexes(select=["name"]) if index.name == name)
    assert selected.fields == []
    index_client.delete_index(name)
    with pytest.raises(ResourceNotFoundError):
        index_client.get_index(name)
    assert name not in list(index_client.list_index_names())


def test_a_taken_name_is_refused_as_azure_does(index_client: SearchIndexClient, index_name: str) -> None:
    with pytest.raises(HttpResponseError) as caught:
        index_client.create_index(events_index(index_name))
    assert caught.value.status_code == 400
    assert caught.value.error is not None
    assert caught.value.error.code == "ResourceNameAlreadyInUse"


def test_an_index_takes_new_fields_and_keeps_its_documents(
    index_client: SearchIndexClient, index_name: str, client: SearchClient
) -> None:
    client.upload_documents([{"id": "old", "title": "boat"}])
    index = index_client.get_index(index_name)
    index.fields.append(SimpleField(name="added", type="Edm.Int32", filterable=True))
    updated = index_client.create_or_update_index(index)
    assert updated.e_tag != index.e_tag
    assert client.get_document("old")["added"] is None
    client.merge_documents([{"id": "old", "added": 4}])
    assert [hit["title"] for hit in client.search("boat", filter="added eq 4")] == ["boat"]


def test_an_existing_field_cannot_change(index_client: SearchIndexClient, index_name: str) -> None:
    index = index_client.get_index(index_name)
    index.fields[1].filterable = False
    with pytest.raises(HttpResponseError, match="Existing field 'tenant_id' cannot be changed"):
        index_client.create_or_update_index(index)


def test_create_or_update_creates(index_client: SearchIndexClient) -> None:
    name = f"made-{uuid4().hex[:8]}"
    index_client.create_or_update_index(events_index(name))
    index_client.delete_index(name)


def test_etags_guard_updates_and_deletes(index_client: SearchIndexClient) -> None:
    name = f"made-{uuid4().hex[:8]}"
    first = index_client.create_index(events_index(name))
    second = index_client.create_or_update_index(first, match_condition=MatchConditions.IfNotModified)
    with pytest.raises(HttpResponseError) as caught:
        index_client.create_or_update_index(first, match_condition=MatchConditions.IfNotModified)
    assert caught.value.status_code == 412
    with pytest.raises(HttpResponseError) as caught:
        index_client.delete_index(first, match_condition=MatchConditions.IfNotModified)
    assert caught.value.status_code == 412
    with pytest.raises(HttpResponseError) as caught:
        index_client.create_or_update_index(second, match_condition=MatchConditions.IfMissing)
    assert caught.value.status_code == 412
    index_client.delete_index(second, match_condition=MatchConditions.IfNotModified)


def test_statistics(index_client: SearchIndexClient, index_name: str, client: SearchClient) -> None:
    client.upload_documents([{"id": "a", "embedding": [1, 0, 0]}, {"id": "b"}])
    statistics = index_client.get_index_statistics(index_name)
    assert (statistics.document_count, statistics.vector_index_size) == (2, 12)
    assert statistics.storage_size > 0
    service = index_client.get_service_statistics()
    assert service.counters.index_counter.usage >= 1
    assert service.counters.document_counter.usage >= 2


def test_analyze(index_client: SearchIndexClient, index_name: str) -> None:
    found = index_client.analyze_text(index_name, AnalyzeTextOptions(text="Wi-Fi", analyzer_name="standard.lucene"))
    assert [(token.token, token.start_offset, token.end_offset, token.position) for token in found.tokens] == [
        ("wi", 0, 2, 0),
        ("fi", 3, 5, 1),
    ]


def test_an_alias_switches_between_indexes(
    emulator: EmulatorProcess, index_client: SearchIndexClient, index_name: str, client: SearchClient
) -> None:
    other = f"made-{uuid4().hex[:8]}"
    alias = f"alias-{uuid4().hex[:8]}"
    index_client.create_index(events_index(other))
    client.upload_documents([{"id": "old"}])
    created = index_client.create_alias(SearchAlias(name=alias, indexes=[index_name]))
    assert index_client.get_alias(alias) == created
    assert alias in [found.name for found in index_client.list_aliases()]
    with emulator.search_client(alias) as through:
        assert [hit["id"] for hit in through.search("*")] == ["old"]
        index_client.create_or_update_alias(SearchAlias(name=alias, indexes=[other]))
        assert list(through.search("*")) == []
        through.upload_documents([{"id": "new"}])
        assert through.get_document("new")["id"] == "new"
        assert through.get_document_count() == 1
    assert index_client.get_index(alias).name == other
    with pytest.raises(HttpResponseError, match=f"cannot be deleted while an alias .*{alias}"):
        index_client.delete_index(other)
    index_client.delete_alias(alias)
    with pytest.raises(ResourceNotFoundError):
        index_client.get_alias(alias)
    index_client.delete_index(other)


def test_an_alias_needs_one_index_that_exists_and_a_name_of_its_own(
    index_client: SearchIndexClient, index_name: str
) -> None:
    for alias in (
        SearchAlias(name="alias-x", indexes=["missing"]),
        SearchAlias(name="alias-x", indexes=[index_name, index_name]),
        SearchAlias(name=index_name, indexes=[index_name]),
    ):
        with pytest.raises(HttpResponseError) as caught:
            index_client.create_alias(alias)
        assert caught.value.status_code == 400


def test_an_index_cannot_take_the_name_of_an_alias(index_client: SearchIndexClient, index_name: str) -> None:
    alias = f"alias-{uuid4().hex[:8]}"
    index_client.create_alias(SearchAlias(name=alias, indexes=[index_name]))
    with pytest.raises(HttpResponseError, match="already exists"):
        index_client.create_index(SearchIndex(name=alias, fields=[SimpleField(name="id", type="Edm.String", key=True)]))
    index_client.delete_alias(alias)
