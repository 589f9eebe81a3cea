"""`python -m local.infra_check.bicep_snapshot BICEP`: compare the plans with Microsoft's own, of `bicep snapshot`.

BICEP is the Bicep CLI, 0.41.2 or newer; it needs no Azure. An expression that it leaves unevaluated, which begins with
`[`, is taken as equal, because only a deployment knows its value.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

from local.infra_check.functions import SUBSCRIPTION, TOKEN
from local.infra_check.plan import Scenario
from local.infra_check.snapshots import leaves, make_plan, scenarios, shortened
from local.infra_check.tree import INFRA, Tree

_GUID: Final = "00000000-0000-0000-0000-000000000001"
_FILE: Final = f"{INFRA}/snapshot"
_NOT_COMPARED: Final = {"id", "type", "name", "dependsOn"}


def parameter_file(text: str, scenario: Scenario) -> str:
    """Return the text of a parameter file, with the parameters that the scenario overrides."""
    for name, value in scenario.parameters.items():
        text = re.sub(rf"^param {name} = .*\n", "", text, flags=re.MULTILINE)
        written = f"'{value}'" if isinstance(value, str) else json.dumps(value)
        text += f"param {name} = {written}\n"
    return text


def ask(bicep: str, tree: Tree, scenario: Scenario) -> dict[str, Any]:
    """Run the Bicep CLI on a scenario. Raises CalledProcessError."""
    parameters, answer = (tree.root / f"{_FILE}.{ending}" for ending in ("bicepparam", "snapshot.json"))
    command = [bicep, "snapshot", str(parameters), "--mode", "overwrite", "--subscription-id", _GUID]
    command += ["--location", scenario.environment["AZURE_LOCATION"]]
    try:
        parameters.write_text(parameter_file(tree.text(scenario.file), scenario), "utf-8")
        subprocess.run(command, env={**os.environ, **scenario.environment}, check=True)
        found: dict[str, Any] = json.loads(answer.read_text("utf-8"))
        return found
    finally:
        parameters.unlink(missing_ok=True)
        answer.unlink(missing_ok=True)


def differences(plan: Mapping[str, Any], snapshot: Mapping[str, Any]) -> Iterator[str]:
    """Yield the differences between a plan and a snapshot of the same scenario."""
    text = json.dumps(snapshot).replace(f"/subscriptions/{_GUID}", SUBSCRIPTION)
    token = re.search(r"/storageAccounts/stmemnet([a-z0-9]{13})\b", text)
    resources = json.loads(text.replace(token[1], TOKEN) if token else text)["predictedResources"]
    theirs = [one for one in shortened(resources) if one["type"] != "Microsoft.Resources/deployments"]
    left = list(plan["resources"])
    for one in [*left]:
        same = next((other for other in theirs if other["id"].lower() == one["id"].lower()), None)
        if same is not None:
            yield from _of_resource(one, same)
            left.remove(one)
            theirs.remove(same)
    for one in left:
        alike = [other for other in theirs if other["type"] == _type(one["id"]) and _may_be(one, other)]
        best = min(alike, key=lambda other: len([*_of_resource(one, other)]), default=None)
        if best is None:
            yield f"only in the plan: {one['id']}"
        else:
            yield from _of_resource(one, best)
            theirs.remove(best)
    yield from (f"only in Bicep's snapshot: {one['id']}" for one in theirs)


def _may_be(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether the ids cannot be compared: one is a GUID or an expression."""
    return "guid(" in one["id"] or "[" in other["id"]


def _type(resource_id: str) -> str:
    if "/providers/" not in resource_id:
        return "Microsoft.Resources/resourceGroups"
    provider, *words = resource_id.rpartition("/providers/")[2].split("/")
    return "/".join((provider, *words[::2]))


def _of_resource(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[str]:
    mine, other = ({k: v for k, v in one.items() if k not in _NOT_COMPARED} for one in (ours, theirs))
    have, given = leaves(mine), leaves(other)
    unknown = tuple(path for path, value in given.items() if isinstance(value, str) and value.startswith("["))
    for path in sorted(have.keys() | given.keys()):
        is_unknown = any(f"{path}.".startswith(f"{one}.") for one in unknown)
        if not is_unknown and (have.get(path) or None) != (given.get(path) or None):
            yield f"{ours['id']}: {path} is {have.get(path)!r} in the plan and {given.get(path)!r} in Bicep's snapshot"


def main(arguments: list[str], tree: Tree) -> int:
    """Print one difference a line; return 1 if there is any."""
    found = 0
    for name, scenario in scenarios(tree).items():
        plan, content = make_plan(tree, scenario)
        if plan is not None:
            for message in differences(content, ask(arguments[0], tree, scenario)):
                print(f"{name}: {message}")
                found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Tree()))
