"""What each scenario deploys, compared with the plan that is committed for it in infra/plans.

A plan file names its scenario: parameter file, environment and parameters that override the file's. Below it stands
what the templates make of it. A file with nothing but a scenario is a new one; an update writes the rest.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from local.infra_check.finding import Finding
from local.infra_check.functions import Refused
from local.infra_check.plan import MAIN, Plan, Scenario, plain
from local.infra_check.syntax import parts, text
from local.infra_check.tree import INFRA, Tree
from local.infra_check.values import Scope, evaluate

PLANS: Final = f"{INFRA}/plans"
INTERFACE: Final = f"{PLANS}/parameters.json"
CODE: Final = "plan-differs"
_LONGEST: Final = 300
_NOT_IN_ENTRY: Final = ("name", "parent", "scope")


def scenarios(tree: Tree) -> dict[str, Scenario]:
    """Return the scenario of each plan file, by the file's name."""
    names = [name for name in tree.names(f"{PLANS}/*.json") if name != INTERFACE]
    return {name: Scenario(**tree.json(name)["scenario"]) for name in names}


def make_plan(tree: Tree, scenario: Scenario) -> tuple[Plan | None, dict[str, Any]]:
    """Evaluate a scenario: the plan, None if the template refuses it, and the contents of its plan file."""
    head = {"scenario": {"file": scenario.file, "environment": {**scenario.environment}}}
    head["scenario"]["parameters"] = {**scenario.parameters}
    try:
        plan = Plan(tree, scenario)
    except Refused as error:
        return None, {**head, "refused": str(error)}
    params, outputs = (sorted(one.name for one in plan.main.source.of(kind)) for kind in ("param", "output"))
    content = {
        "parameters": {name: plan[name] for name in params},
        "modules": sorted(f"{one.body['name']} in {one.world.names['$group']}" for one in plan.modules),
        "outputs": {name: plain(plan.main.output(name)) for name in outputs},
        "resources": sorted((_entry(one) for one in plan.resources), key=lambda one: str(one["id"]).lower()),
    }
    return plan, {**head, **_shortened(content)}


def _entry(one: Any) -> dict[str, Any]:
    body = {name: value for name, value in plain(one.body).items() if name not in _NOT_IN_ENTRY}
    if "dependsOn" in body:
        body["dependsOn"] = sorted(inner.id for inner in one.body["dependsOn"])
    return {"id": one.id, "type": one.type, "apiVersion": one.declared.version, **dict(sorted(body.items()))}


def _shortened(value: Any) -> Any:
    """The value with the hash of each long text in its place: its own file shows what changed."""
    if isinstance(value, dict):
        return {name: _shortened(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_shortened(inner) for inner in value]
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"{len(value)} characters, SHA-256 {hashlib.sha256(value.encode()).hexdigest()}"
    return value


def make_interface(tree: Tree) -> dict[str, Any]:
    """The parameters of main.bicep: type, default and what their decorators allow."""
    main = tree.sources[MAIN]
    found: dict[str, Any] = {}
    for one in main.of("param"):
        told = {name: evaluate(given[0], Scope(main)) for name, given in one.decorators.items() if given}
        told.pop("description", None)
        default = {} if one.value is None else {"default": evaluate(one.value, Scope(main))}
        kind = "" if one.type is None else text(one.type)
        found[one.name] = {"type": kind, **default, **dict(sorted(told.items()))}
    scope = [text(parts(node)[-1]) for node in parts(main.root) if text(node).startswith("targetScope")]
    return {"targetScope": scope, **dict(sorted(found.items()))}


def dump(value: Any) -> str:
    """The text of a plan file."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def compare(tree: Tree, name: str, found: Mapping[str, Any]) -> Iterator[Finding]:
    """Findings for each difference between what is planned now and the committed file."""
    before = _flat(tree.json(name)) if tree.exists(name) else {}
    after = _flat(json.loads(dump(found)))
    told = set()
    for key in sorted(before.keys() ^ after.keys()):
        told.add(key)
        yield Finding(name, _line(tree, name, key), CODE, f"{_short(key)} is {'new' if key in after else 'gone'}")
    for key in sorted(before.keys() & after.keys()):
        old, new = _leaves(before[key]), _leaves(after[key])
        for path in sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path)):
            shown = f"{_value(new, path)}; the plan has {_value(old, path)}"
            yield Finding(name, _line(tree, name, key), CODE, f"{_short(key)}: {path} is {shown}")


def _flat(content: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of a file by their names, resources by their ids; a second one of an id has a name of its own."""
    found: dict[str, Any] = {name: value for name, value in content.items() if name != "resources"}
    for one in content.get("resources", []):
        key = one["id"]
        found[f"a second {key}" if key in found else key] = one
    return found


def _leaves(value: Any, path: str = "") -> dict[str, Any]:
    pairs = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
    if not pairs:
        return {path: value}
    return {key: leaf for name, inner in pairs for key, leaf in _leaves(inner, f"{path}.{name}".lstrip(".")).items()}


def _value(leaves: Mapping[str, Any], path: str) -> str:
    return json.dumps(leaves[path], ensure_ascii=False) if path in leaves else "nothing"


def _short(key: str) -> str:
    return key.rpartition("/providers/")[2]


def _line(tree: Tree, name: str, key: str) -> int:
    return tree.line(name, json.dumps(key)) if tree.exists(name) else 1
