"""Indexes through the unchanged SDK."""

from uuid import uuid4

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.search.documents import SearchClient
from azure.search.documents.indexes import SearchIndexClient
from azure.search.documents.indexes.models import SimpleField

from tests.emulators.search.emulator_process import events_index


def test_create_get_list_delete(index_client: SearchIndexClient) -> None:
    name = f"made-{uuid4().hex[:8]}"
    created = index_client.create_or_update_index(events_index(name))
    with pytest.raises(HttpResponseError) as caught:
        index_client.delete_index(created, match_condition=MatchConditions.IfNotModified)
    assert caught.value.status_code == 501
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
    index.fields[1].filterable = False
    with pytest.raises(HttpResponseError, match="Existing field 'tenant_id' cannot be changed"):
        index_client.create_or_update_index(index)
