"""Mistakes planted in a copy of what `make infra` reads, each by one edit, and that the right finding tells of it."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from local.infra_check.check import check
from tests.house.source_tree import ROOT

API = "infra/modules/api_container_app.bicep"
BUS = "infra/modules/service_bus.bicep"
MAIN = "infra/main.bicep"
MONITORING = "infra/modules/monitoring.bicep"
NAMES = "infra/names.json"
PROD = "infra/main.prod.bicepparam"
ROLES = "infra/roles.json"
SEARCH = "infra/modules/search.bicep"
STORAGE = "infra/modules/storage.bicep"
VAULT = "infra/modules/vault.bicep"
WORKERS = "infra/modules/workers.bicep"
ALERTS = "infra/modules/alerts.bicep"


@dataclass(frozen=True)
class Mistake:
    """An edit, and the finding it has to lead to."""

    file: str
    old: str
    new: str
    code: str
    told: str
    """What the message says, among other things."""
    at: str = ""
    """The file the finding names; empty: the one that was edited."""


def copy_to(root: Path) -> Path:
    """What the check reads, in another place."""
    shutil.copytree(ROOT / "infra", root / "infra")
    (root / "workers").mkdir()
    (root / "docs").mkdir()
    for name in ("workers/host.json", "workers/function_app.py", "docs/deployment.md"):
        shutil.copy2(ROOT / name, root / name)
    return root


def plant(root: Path, mistake: Mistake) -> None:
    """Make the edit, wherever the text stands in the file."""
    path = root / mistake.file
    before = path.read_text("utf-8")
    assert mistake.old in before
    path.write_text(before.replace(mistake.old, mistake.new), "utf-8")


def each(mistakes: Mapping[str, Mistake]) -> pytest.MarkDecorator:
    """Run a test with every one of these."""
    return pytest.mark.parametrize("mistake", mistakes.values(), ids=[name.replace(" ", "-") for name in mistakes])


def check_that_it_is_found(root: Path, mistake: Mistake) -> None:
    """Plant it in a copy at `root`, and look for its finding."""
    plant(copy_to(root), mistake)
    findings = check(root)
    right = [one for one in findings if one.code == mistake.code and mistake.told in one.message]
    assert (mistake.at or mistake.file) in {one.file for one in right}, [str(one) for one in findings]
