"""All checks of one tree."""

import json
from collections.abc import Iterator
from pathlib import Path

from local.infra_check.agreement import INFRA, check_agreement
from local.infra_check.exposure import check_exposure
from local.infra_check.finding import Finding
from local.infra_check.parameters import check_parameters
from local.infra_check.plans import MAIN, check_plans
from local.infra_check.properties import Load, check_resources
from local.infra_check.roles import check_roles, check_table
from local.infra_check.schemas import load_schema
from local.infra_check.symbols import check_symbols
from local.infra_check.syntax import Source
from local.infra_check.values import NoSuchMember

ROLES = f"{INFRA}/roles.json"


def read(root: Path) -> dict[str, Source]:
    """Every Bicep file below infra/, by its path from `root`."""
    paths = sorted((root / INFRA).rglob("*.bicep")) + sorted((root / INFRA).glob("*.bicepparam"))
    return {source.name: source for source in (Source(path, root) for path in paths)}


def check(root: Path, load: Load = load_schema) -> list[Finding]:
    """Everything that is wrong below `root`/infra, in order of place.

    What is no Bicep hides the rest, and what does not fit together hides what it would deploy.
    """
    sources = read(root)
    unread = [finding for source in sources.values() for finding in source.problems]
    if unread:
        return unread
    unread = list(_data(root))
    return unread or _collected(_all(root, sources, load)) or _collected(check_plans(root, sources))


def _collected(findings: Iterator[Finding]) -> list[Finding]:
    """All of them, once. What cannot be worked out at all is one, too, and ends the search."""
    found = set()
    try:
        for finding in findings:
            found.add(finding)
    except (NoSuchMember, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        told = f"what this deploys cannot be worked out: {type(error).__name__}: {error}"
        found.add(Finding(MAIN, 1, "not-planned", told))
    return sorted(found)


def resource_types(root: Path) -> set[str]:
    """The resource types that the templates use."""
    return {declared.target for source in read(root).values() for declared in source.of("resource")}


def _data(root: Path) -> Iterator[Finding]:
    for path in sorted((root / INFRA).glob("*.json")):
        try:
            json.loads(path.read_text("utf-8"))
        except ValueError as error:
            line = getattr(error, "lineno", 1)
            yield Finding(path.relative_to(root).as_posix(), line, "syntax", "this is not JSON")


def _all(root: Path, sources: dict[str, Source], load: Load) -> Iterator[Finding]:
    for source in sources.values():
        if source.path.suffix == ".bicepparam":
            yield from check_parameters(source, sources)
        else:
            yield from check_resources(source, load)
            yield from check_roles(source)
        yield from check_symbols(source, sources)
        yield from check_exposure(source)
    yield from check_table(ROLES, json.loads((root / ROLES).read_text("utf-8")))
    yield from check_agreement(root, sources)
