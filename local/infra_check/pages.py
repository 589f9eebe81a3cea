"""docs/deployment.md tells the parameters of both stages and when an alert fires: as the files have them."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from local.infra_check.finding import Finding
from local.infra_check.project import text_of
from local.infra_check.spans import seconds
from local.infra_check.syntax import Source, text
from local.infra_check.values import UNKNOWN, Scope, evaluate

_PAGE: Final = "docs/deployment.md"
_DIFFERS: Final = "differs-from-page"
_FILES: Final = ("infra/main.dev.bicepparam", "infra/main.prod.bicepparam")
_TIMES: Final = {"twice": 2, "three times": 3}
_NEEDED: Final = {"issuerUrl", "audience"}


def check_parameters_page(root: Path, sources: Mapping[str, Source]) -> Iterator[Finding]:
    """Findings about the table of parameters."""
    section = text_of(root, _PAGE).partition("\n## Parameters\n")[2].partition("\n## ")[0]
    defaults = {one.name: one.value for one in sources["infra/main.bicep"].of("param")}
    main = Scope(sources["infra/main.bicep"])
    for names, *cells in re.findall(r"^\| (`[^|]+) \| ([^|]*) \| ([^|]*) \| [^|]*\|$", section, re.MULTILINE):
        told = re.findall(r"`(\w+)`", names)
        for file, cell in zip(_FILES, cells, strict=True):
            wanted = (cells[0] if cell.strip() == "the same" else cell).strip().split(", ")
            for name, one in zip(told, wanted, strict=False):
                default = defaults.get(name)
                usual = None if default is None else evaluate(default, main)
                yield from _parameter(sources[file], name, one, usual)


def _parameter(file: Source, name: str, told: str, usual: Any) -> Iterator[Finding]:
    declared = file.named(name)
    written = "" if declared is None or declared.value is None else text(declared.value)
    place = 1 if declared is None else declared.line
    variable = re.search(r"MEMNET_\w+", told)
    if variable is not None and f"'{variable[0]}'" not in written:
        yield Finding(file.name, place, _DIFFERS, f"{name} has to be read from {variable[0]}, as {_PAGE} says")
        return
    found = usual
    if declared is not None and declared.value is not None:
        found = evaluate(declared.value, Scope(file, environment={}))
    found = [one for one in found if one] if isinstance(found, list) else found
    if variable is not None and not told.startswith(("true", "false")):
        wanted = UNKNOWN if name in _NEEDED else usual
    else:
        wanted = _value(told.partition(" ")[0]) if told else found
    if found != wanted:
        yield Finding(file.name, place, _DIFFERS, f"{name} is {found!r}, and {wanted!r} in {_PAGE}")


def _value(told: str) -> Any:
    bare = told.strip("`")
    return {"true": True, "false": False}.get(bare, int(bare) if bare.isdigit() else bare)


def check_alerts_page(root: Path) -> Iterator[Finding]:
    """Findings about the table of alerts."""
    section = text_of(root, _PAGE).partition("\n## Alerts\n")[2].partition("\n## ")[0]
    by_title = {row[0]: row for row in re.findall(r"^\| ([^|]+) \| ([^|]+) \| `([\w-]+)` \|$", section, re.MULTILINE)}
    written = (root / "infra/alerts.json").read_text("utf-8")
    for name, alert in json.loads(written).items():
        place = next(i for i, line in enumerate(written.splitlines(), 1) if f'"{name}"' in line)
        row = by_title.get(alert["title"])
        if row is None or row[2] != name:
            yield Finding("infra/alerts.json", place, _DIFFERS, f"{name}: {_PAGE} tells nothing of it by this title")
        elif not _is_told(row[1], alert):
            told = f"{name}: {_PAGE} says that it fires when {row[1]!r}, which these numbers are not"
            yield Finding("infra/alerts.json", place, _DIFFERS, told)


def _is_told(told: str, alert: Mapping[str, Any]) -> bool:
    in_a_row = next((times for words, times in _TIMES.items() if f"{words} in a row" in told), 1)
    if "half an hour" in told:
        in_a_row = int(1800 // seconds(alert["every"]))
    # Over half an hour one quiet moment does not count.
    failing = in_a_row - 1 if "half an hour" in told else in_a_row
    if (alert["periods"], alert["failing"]) != (in_a_row, failing):
        return False
    number = re.search(r"(\d+) (%|minutes|hours)", told)
    if number is None:
        return bool(alert["threshold"] == 0)
    size = int(number[1]) * {"%": 1, "minutes": 60, "hours": 3600}[number[2]]
    if alert["operator"].startswith("Less"):
        return bool(seconds(alert["window"]) == size and alert["threshold"] == 1)
    return bool(alert["threshold"] == size)
