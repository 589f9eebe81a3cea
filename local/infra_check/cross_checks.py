"""Files that must match the templates: routes, image, hooks, timers, environment variables, runbook, tables."""

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from local.infra_check.code_consistency import ALERTS, DIFFERS, FUNCTIONS, NAMES, of_names
from local.infra_check.finding import Finding
from local.infra_check.plan import MAIN
from local.infra_check.symbols import check_argument
from local.infra_check.syntax import Source, line, literal, members, parts, text, walk
from local.infra_check.tree import INFRA, Tree
from local.infra_check.values import Scope

_HOOK: Final = f"{INFRA}/hooks/build_release.sh"
_FINDER: Final = f"{INFRA}/hooks/find_revision.sh"
_HOST: Final = "workers/host.json"
_PAGE: Final = "docs/deployment.md"
_OTHERWISE: Final = {
    "environmentName": "AZURE_ENV_NAME", "location": "AZURE_LOCATION", "release": "MEMNET_BUILT_RELEASE",
}  # fmt: skip
"""Environment variables that are not named like their parameters."""
_RANGES: Final = (60, 60, 24, 32, 13, 7)
"""Seconds, minutes, hours, days, months and days of the week are below these."""
_DECORATORS: Final = {"allowed", "description", "maxLength", "maxValue", "metadata", "minLength", "minValue", "secure"}
_PYTHON_OF_FUNCTIONS: Final = ("3.10", "3.11", "3.12", "3.13")


def check_files(tree: Tree) -> Iterator[Finding]:
    """Return findings about these files, and about each file alone."""
    names = tree.json(NAMES)
    yield from _routes(tree, names)
    yield from _image(tree, names)
    yield from _timers(tree)
    yield from _host(tree)
    yield from _runbook(tree)
    yield from _tables(tree)
    for source in tree.sources.values():
        yield from _declared(source) if source.is_template else _variables(source)
    for name in tree.names(f"{INFRA}/*.json"):
        yield from _twice(name, tree.text(name))


def _routes(tree: Tree, names: Any) -> Iterator[Finding]:
    """Check that the probes call routes of the API."""
    page = tree.text("docs/api.md")
    for key, operation in (("liveness", "health_live"), ("readiness", "health_ready")):
        if f"`GET {names[key]}` (`{operation}`)" not in page:
            yield of_names(tree, key, f"docs/api.md has no {operation} at {names[key]}")


def _image(tree: Tree, names: Any) -> Iterator[Finding]:
    """Check that hooks, Dockerfile and templates name the same image, app, Python and outputs."""
    hook, finder = tree.text(_HOOK), tree.text(_FINDER)
    built = set(re.findall(r"image=\"?([\w./-]+):", hook))
    if built != {names["image"]}:
        yield of_names(tree, "image", f"{_HOOK} builds {', '.join(sorted(built))}")
    if f'image="/{names["image"]}:$serving"' not in finder:
        yield of_names(tree, "image", f"{_FINDER} looks for another image")
    apps = set(re.findall(r"'(ca-[\w-]+)'", tree.text(f"{INFRA}/modules/api_container_app.bicep")))
    if not apps & set(re.findall(r"--name ([\w-]+)", finder)):
        yield Finding(_FINDER, 1, DIFFERS, f"it looks for another app than {', '.join(sorted(apps))}")
    versions = set(re.findall(r"^FROM python:(\d+\.\d+)", tree.text("docker/api.Dockerfile"), re.MULTILINE))
    if names["python"] not in _PYTHON_OF_FUNCTIONS or versions != {names["python"]}:
        message = f"the API's image has {', '.join(sorted(versions))}, Functions {', '.join(_PYTHON_OF_FUNCTIONS)}"
        yield of_names(tree, "python", message)
    outputs = {one.name for one in tree.sources[MAIN].of("output")}
    outputs |= {"AZURE_SUBSCRIPTION_ID", "AZURE_ENV_NAME", "MEMNET_RELEASE", "MEMNET_BUILT_RELEASE"}
    read = re.findall(r"\$\{?(AZURE_\w+|MEMNET_WORKER_\w+)", hook + tree.text(f"{INFRA}/hooks/check_functions.sh"))
    for name in sorted(set(read) - outputs):
        yield Finding(MAIN, 1, DIFFERS, f"a hook reads {name}, which is no output")


def _timers(tree: Tree) -> Iterator[Finding]:
    """Check that each schedule has the six fields of NCRONTAB, each in its range."""
    for node in ast.walk(ast.parse(tree.text(FUNCTIONS))):
        if not isinstance(node, ast.Call) or ast.unparse(node.func) != "app.timer_trigger":
            continue
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        schedule = str(ast.literal_eval(given["schedule"])) if "schedule" in given else ""
        fields = schedule.split()
        if len(fields) != len(_RANGES) or not all(map(_is_field, fields, _RANGES)):
            yield Finding(FUNCTIONS, node.lineno, DIFFERS, f"{schedule!r} is no schedule of six fields")


def _is_field(field: str, end: int) -> bool:
    def is_number(word: str) -> bool:
        return word.isdigit() and int(word) < end

    def is_part(part: str) -> bool:
        which, slash, step = part.partition("/")
        first, dash, last = which.partition("-")
        is_range = which == "*" or (is_number(first) and (not dash or (is_number(last) and int(first) <= int(last))))
        return is_range and (not slash or (is_number(step) and int(step) > 0))

    return all(map(is_part, field.split(",")))


def _host(tree: Tree) -> Iterator[Finding]:
    host = tree.json(_HOST)
    bus = host["extensions"]["serviceBus"]
    if "maxConcurrentSessions" not in bus:
        yield Finding(_HOST, 1, DIFFERS, "the queues have sessions: maxConcurrentSessions is required")
    if bus.get("maxAutoLockRenewalDuration") != host.get("functionTimeout"):
        yield Finding(_HOST, 1, DIFFERS, "maxAutoLockRenewalDuration has to equal functionTimeout")
    if bus.get("autoCompleteMessages") is not True:
        yield Finding(_HOST, 1, DIFFERS, "autoCompleteMessages has to be true: nothing else completes a message")


def _runbook(tree: Tree) -> Iterator[Finding]:
    """Check that each alert has a section in the runbook."""
    headings = re.findall(r"^#+ (.+)$", tree.text("docs/runbook.md"), re.MULTILINE)
    sections = {heading.strip().lower().replace(" ", "-") for heading in headings}
    for name in sorted(tree.json(ALERTS).keys() - sections):
        yield Finding(ALERTS, tree.line(ALERTS, f'"{name}"'), DIFFERS, f"docs/runbook.md has no section {name}")
    for name in tree.names(f"{INFRA}/modules/*.bicep"):
        for section in sorted(set(re.findall(r"runbook\.md#([\w-]+)", tree.text(name))) - sections):
            place = tree.line(name, f"runbook.md#{section}")
            yield Finding(name, place, DIFFERS, f"docs/runbook.md has no section {section}")


def _tables(tree: Tree) -> Iterator[Finding]:
    """Check that the tables of docs/deployment.md have the parameters of each stage, and every alert."""
    declared = {one.name: one.value for one in tree.sources[MAIN].of("param")}
    table = tree.text(_PAGE).partition("## Parameters")[2].partition("\n## ")[0]
    for first, *stages in re.findall(r"^\| (`[^|]+) \|([^|]*)\|([^|]*)\|", table, re.MULTILINE):
        names = re.findall(r"`(\w+)`", first)
        place = tree.line(_PAGE, f"| {first}")
        for name in [name for name in names if name not in declared]:
            yield Finding(_PAGE, place, DIFFERS, f"{MAIN} has no parameter {name}")
        for stage, cell in zip(("dev", "prod"), stages, strict=True):
            given = declared | {
                one.name: one.value for one in tree.sources[f"{INFRA}/main.{stage}.bicepparam"].of("var")
            }
            cells = (stages[0] if "the same" in cell else cell).split(",")
            for name, written in zip(names, cells, strict=False):
                value = given.get(name)
                words = set(re.findall(r"\w+", written)) - set(re.findall(r"\w+", "" if value is None else text(value)))
                if words:
                    yield Finding(_PAGE, place, DIFFERS, f"{name} of {stage} is not {' '.join(sorted(words))}")
    alerts = tree.text(_PAGE).partition("## Alerts")[2]
    for name in sorted(name for name in tree.json(ALERTS) if f"| `{name}` |" not in alerts):
        yield Finding(_PAGE, 1, DIFFERS, f"the table of alerts has no {name}")


def _variables(source: Source) -> Iterator[Finding]:
    """Check that a parameter is read from the environment variable of its name."""
    for declared in source.of("var"):
        for node in walk(declared.value) if declared.value is not None else ():
            if node.type != "call_expression" or text(parts(node)[0]) != "readEnvironmentVariable":
                continue
            name = literal(parts(parts(node)[1])[0]) or ""
            wanted = _OTHERWISE.get(declared.name) or f"MEMNET{declared.name.upper()}"
            if name.replace("_", "") != wanted.replace("_", ""):
                yield Finding(source.name, line(node), DIFFERS, f"{declared.name} is read from {name}")


def _declared(source: Source) -> Iterator[Finding]:
    """Check that decorators exist, defaults are within their bounds, and no member is given twice."""
    for declared in source.declarations:
        for name in sorted(declared.decorators.keys() - _DECORATORS):
            yield Finding(source.name, declared.line, "undefined", f"there is no decorator {name}")
        if declared.kind == "param" and declared.value is not None:
            yield from check_argument(source, declared.name, declared.value, declared, Scope(source))
    for node in walk(source.root):
        if node.type == "object":
            counted = Counter(name for name, _, _ in members(node) if name is not None)
            for name in [name for name, count in counted.items() if count > 1]:
                yield Finding(source.name, line(node), "declared-twice", f"{name} is given twice")


def _twice(name: str, written: str) -> Iterator[Finding]:
    doubled: list[str] = []

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        counted = Counter(key for key, _ in found)
        doubled.extend(key for key, count in counted.items() if count > 1)
        return dict(found)

    json.loads(written, object_pairs_hook=pairs)
    yield from (Finding(name, 1, "declared-twice", f"{key} is given twice") for key in doubled)
