"""Azurite lists the blobs with a prefix by its index of names, whatever characters the prefix has."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from local.stack.azurite_server import Azurite, container_client, create_container

Names = Callable[[str, int], list[str]]
NAMES = ["10/1", "9/1", "a/1", "a/10", "a/2", "a0", "a.b/1", "a-b/1", "a(b)", "axb/1", "a~", "b"]


@pytest.fixture(scope="module")
def names_with(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Names]:
    """Return a function that lists names."""
    directory: Path = tmp_path_factory.mktemp("azurite")
    with Azurite(log=directory / "azurite.log") as azurite:
        create_container(azurite.account_url, "names")
        create_container(azurite.account_url, "other")
        with (
            container_client(azurite.account_url, "names") as client,
            container_client(azurite.account_url, "other") as other,
        ):
            for name in NAMES:
                client.upload_blob(name, b"")
            other.upload_blob("a/elsewhere", b"")
            client.upload_blob("a/deleted", b"")
            client.delete_blob("a/deleted")
            yield lambda prefix, size: [
                name
                for page in client.list_blob_names(name_starts_with=prefix, results_per_page=size).by_page()
                for name in page
            ]


@pytest.mark.parametrize("prefix", ["", "a", "a/", "a.", "a-", "a(", "1", "9/", "c", "A"])
@pytest.mark.parametrize("size", [2, 5000])
def test_a_listing_has_exactly_the_names_with_the_prefix_in_order(names_with: Names, prefix: str, size: int) -> None:
    found = names_with(prefix, size)
    assert found == sorted(name for name in NAMES if name.startswith(prefix))
