"""Mistakes, each planted by one edit in memory, and the finding that `make infra` reports for it."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from local.infra_check.check import findings
from local.infra_check.tree import Tree

ALERTS = "infra/modules/alerts.bicep"
API = "infra/modules/api_container_app.bicep"
APP_SERVICE = "infra/modules/api_app_service.bicep"
BUS = "infra/modules/service_bus.bicep"
FUNCTIONS = "workers/function_app.py"
MAIN = "infra/main.bicep"
MONITORING = "infra/modules/monitoring.bicep"
NAMES = "infra/names.json"
PROD = "infra/main.prod.bicepparam"
ROLES = "infra/roles.json"
SEARCH = "infra/modules/search.bicep"
STORAGE = "infra/modules/storage.bicep"
VAULT = "infra/modules/vault.bicep"
WORKERS = "infra/modules/workers.bicep"


@dataclass(frozen=True)
class Mistake:
    """An edit, the code of the finding that it leads to, and a part of the finding's message."""

    file: str
    old: str
    new: str
    code: str
    message: str


def planted(*edits: tuple[str, str, str]) -> Tree:
    """The project with edits: file, old text, new text."""
    texts: dict[str, str] = {}
    for file, old, new in edits:
        before = texts.get(file) or Tree().text(file)
        assert old in before
        texts[file] = before.replace(old, new)
    return Tree(replaced=texts)


def each(mistakes: Mapping[str, Mistake]) -> pytest.MarkDecorator:
    """Run a test with each mistake."""
    return pytest.mark.parametrize("mistake", mistakes.values(), ids=[name.replace(" ", "-") for name in mistakes])


def check_that_it_is_found(mistake: Mistake) -> None:
    """Look for the finding of a planted mistake, and stop at it."""
    others = []
    for one in findings(planted((mistake.file, mistake.old, mistake.new))):
        if one.code == mistake.code and mistake.message in one.message:
            return
        others.append(str(one))
    raise AssertionError(others)
