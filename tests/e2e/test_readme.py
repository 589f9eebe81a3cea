"""The walk-through in the README, run verbatim."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.stack.process import ROOT
from local.stack.stack import running_stack
from tests.conftest import AzuriteAccount


@pytest.fixture
def workplace(azurite: AzuriteAccount, tmp_path: Path, container_url: str) -> Iterator[tuple[Path, str]]:
    """A directory with a .venv, in which a local stack runs; and the API's address."""
    directory = tmp_path / ".local"
    container = container_url.rpartition("/")[2]
    with running_stack(directory=directory, account_url=azurite.account_url, container=container) as stack:
        (directory / "stack.json").write_text(json.dumps(stack.description()), "utf-8")
        (tmp_path / ".venv").symlink_to(sys.prefix)
        yield tmp_path, stack.url


def test_the_walk_through_works_verbatim(workplace: tuple[Path, str]) -> None:
    directory, url = workplace
    (block,) = re.findall(r"^```bash\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    script = block.replace("http://127.0.0.1:8080", url)
    assert script != block
    done = subprocess.run(
        ["bash", "-eu", "-c", script], cwd=directory, capture_output=True, text=True, timeout=60, check=True
    )
    lines = map(json.loads, filter(None, done.stdout.splitlines()))
    created, changed, repeated, stale, assembled = lines
    assert created["sequence"] == 1
    assert changed["sequence"] == 2
    assert repeated == changed
    assert stale["error"]["code"] == "ETAG_MISMATCH"
    assert stale["error"]["details"]["latest_etag"] == changed["etag"]
    (document,) = assembled["documents"]
    assert document["document"]["content"]["preferences"] == ["Answer briefly, with examples."]
    assert [path.name for path in directory.iterdir() if path.name not in (".local", ".venv")] == []
