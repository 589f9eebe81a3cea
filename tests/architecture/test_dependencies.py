"""What is installed is exactly what pyproject.toml needs, pinned by hash, from wherever the installer looks."""

import json
import re
import tomllib
from importlib.metadata import requires
from typing import Any

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.architecture.source_tree import ROOT, texts

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
LOCK = texts()["requirements.lock"]
PIN = re.compile(r"([\w.-]+)==([\w.+!]+)(?: ; ([^\\]+?))?(?: --hash=sha256:[0-9a-f]{64})+")
INSTALLERS = frozenset({"pip", "setuptools", "wheel"})


def pins() -> dict[str, str]:
    """The locked version of each package for this platform. Fails on a line that is no pin with hashes."""
    lines = LOCK.replace("\\\n", " ").splitlines()
    found: dict[str, str] = {}
    for line in lines:
        if line.strip() and not line.lstrip().startswith("#"):
            pin = PIN.fullmatch(re.sub(r"\s+", " ", line).strip())
            assert pin, f"not a pin with hashes: {line[:80]}"
            name, version, marker = pin.groups()
            if marker is None or Marker(marker).evaluate():
                found[canonicalize_name(name)] = version
    return found


def declared() -> list[Requirement]:
    """What pyproject.toml asks for, extras included."""
    extras = PROJECT["optional-dependencies"].values()
    rows = [*PROJECT["dependencies"], *(row for extra in extras for row in extra)]
    return [r for r in map(Requirement, rows) if canonicalize_name(r.name) != PROJECT["name"]]


def needed() -> set[str]:
    """Every package that the declared ones need, directly or not, on this platform."""
    seen: set[tuple[str, str]] = set()
    waiting = [(r.name, extra) for r in declared() for extra in ("", *r.extras)]
    while waiting:
        name, extra = waiting.pop()
        if (canonicalize_name(name), extra) in seen:
            continue
        seen.add((canonicalize_name(name), extra))
        for row in map(Requirement, requires(name) or ()):
            if row.marker is None or row.marker.evaluate({"extra": extra}):
                waiting += [(row.name, wanted) for wanted in ("", *row.extras)]
    return {name for name, _ in seen}


def test_every_declared_dependency_is_locked_at_a_version_it_allows() -> None:
    locked = pins()
    outside = [str(r) for r in declared() if not r.specifier.contains(locked.get(canonicalize_name(r.name), ""))]
    assert outside == []


def test_the_lock_holds_what_is_needed_and_nothing_else() -> None:
    assert pins().keys() - INSTALLERS == needed() - INSTALLERS


def test_no_lock_or_setting_says_where_packages_come_from() -> None:
    places = re.compile(r"--(?:extra-)?index-url|--find-links|^\s*registry\s*=|index-url\s*=", re.MULTILINE)
    named = ("requirements.lock", "pyproject.toml", "Makefile", ".npmrc", ".ci/run")
    assert [name for name, text in texts().items() if name.endswith(named) and places.search(text)] == []


@pytest.mark.parametrize("lock", [name for name in texts() if name.endswith("package-lock.json")])
def test_npm_packages_are_locked_by_hash_and_without_a_host(lock: str) -> None:
    packages = json.loads(texts()[lock])["packages"]
    outside = {n: entry for n, entry in packages.items() if n.startswith("node_modules/") and not entry.get("link")}
    assert [name for name, entry in outside.items() if "integrity" not in entry] == []
    assert [name for name, entry in outside.items() if "://" in entry.get("resolved", "")] == []
