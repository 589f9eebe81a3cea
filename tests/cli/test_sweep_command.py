"""`memnet outbox flush` against Azurite."""

from azure.storage.blob import ContainerClient

from tests.cli.conftest import Memnet


def test_it_counts_what_it_saw_and_leaves_fresh_documents_alone(memnet: Memnet, history: list[bytes]) -> None:
    result = memnet("outbox", "flush")
    assert result.exit_code == 0, result.output
    assert result.stdout == "2 documents listed, 0 trimmed, 0 postponed, 0 broken\n"


def test_it_trims_what_has_been_quiet_and_finds_a_record_that_differs(
    memnet: Memnet, history: list[bytes], blobs: ContainerClient
) -> None:
    with blobs:
        for name in blobs.list_blob_names(name_starts_with="tenants/t1/users/u1/documents/"):
            blob = blobs.get_blob_client(name)
            metadata = blob.get_blob_properties().metadata
            aged = {
                key: "2020-01-01T00:00:00.000000Z" if "updated" in key else value for key, value in metadata.items()
            }
            assert aged != metadata
            blob.set_blob_metadata(aged)
        (record, *_) = [
            name
            for name in blobs.list_blob_names(name_starts_with="tenants/t1/users/u1/audit/")
            if name.endswith("-000000000003.json")
        ]
        blobs.upload_blob(record, b"{}", overwrite=True)
    result = memnet("outbox", "flush")
    assert result.exit_code == 1
    assert result.stdout == "2 documents listed, 1 trimmed, 0 postponed, 1 broken\n"
    assert memnet("outbox", "flush").stdout == "2 documents listed, 0 trimmed, 0 postponed, 1 broken\n"
