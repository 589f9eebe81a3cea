"""Compare the deployment of each scenario with its committed plan in infra/plans.

A plan file names its scenario: parameter file, environment and parameters that override the file's. An update writes
the rest. The plan of the base scenario has all resources; the others have what differs from it.
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
BASE: Final = f"{PLANS}/dev.json"
INTERFACE: Final = f"{PLANS}/parameters.json"
CODE: Final = "plan-differs"
_LONGEST: Final = 300
_NOT_IN_ENTRY: Final = ("name", "parent", "scope")


def scenarios(tree: Tree) -> dict[str, Scenario]:
    """Return the scenario of each plan file, by the file's name, the base first."""
    names = [BASE, *(name for name in tree.names(f"{PLANS}/*.json") if name not in (BASE, INTERFACE))]
    return {name: Scenario(**tree.json(name)["scenario"]) for name in names}


def make_plans(tree: Tree) -> Iterator[tuple[str, Plan | None, dict[str, Any]]]:
    """Evaluate each scenario: the name of its file, its plan, and the file's contents."""
    base: dict[str, Any] = {}
    for name, scenario in scenarios(tree).items():
        plan, content = make_plan(tree, scenario)
        yield name, plan, without_base(content, base) if base else content
        base = base or content


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
    return plan, {**head, **shortened(content)}


def without_base(content: dict[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """Return only the differences of a plan file from the base."""
    if "resources" not in content:
        return content
    usual = {one["id"]: one for one in base["resources"]}
    ids = {one["id"] for one in content["resources"]}
    resources = [one for one in content["resources"] if usual.get(one["id"]) != one]
    return {**content, "resources": resources, "without": sorted(usual.keys() - ids)}


def _entry(one: Any) -> dict[str, Any]:
    body = {name: value for name, value in plain(one.body).items() if name not in _NOT_IN_ENTRY}
    if "dependsOn" in body:
        body["dependsOn"] = sorted(inner.id for inner in one.body["dependsOn"])
    return {"id": one.id, "apiVersion": one.declared.version, **dict(sorted(body.items()))}


def shortened(value: Any) -> Any:
    """Return the value with each long text replaced by its hash: the file of the text shows its changes."""
    if isinstance(value, dict):
        return {name: shortened(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [shortened(inner) for inner in value]
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"{len(value)} characters, SHA-256 {hashlib.sha256(value.encode()).hexdigest()}"
    return value


def make_interface(tree: Tree) -> dict[str, Any]:
    """Return the parameters of main.bicep: type, default and bounds."""
    main = tree.sources[MAIN]
    found: dict[str, Any] = {}
    for one in main.of("param"):
        bounds = {name: evaluate(given[0], Scope(main)) for name, given in one.decorators.items() if given}
        bounds.pop("description", None)
        default = {} if one.value is None else {"default": evaluate(one.value, Scope(main))}
        kind = "" if one.type is None else text(one.type)
        found[one.name] = {"type": kind, **default, **dict(sorted(bounds.items()))}
    scope = [text(parts(node)[-1]) for node in parts(main.root) if text(node).startswith("targetScope")]
    return {"targetScope": scope, **dict(sorted(found.items()))}


def dump(value: Any) -> str:
    """Return the text of a plan file."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def compare(tree: Tree, name: str, found: Mapping[str, Any]) -> Iterator[Finding]:
    """Return a finding for each difference between the plan and the committed file."""
    before = _flat(tree.json(name)) if tree.exists(name) else {}
    after = _flat(json.loads(dump(found)))
    for key in sorted(before.keys() ^ after.keys()):
        yield Finding(name, _line(tree, name, key), CODE, f"{_short(key)} is {'new' if key in after else 'gone'}")
    for key in sorted(key for key in before.keys() & after.keys() if before[key] != after[key]):
        old, new = leaves(before[key]), leaves(after[key])
        for path in sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path)):
            shown = f"{_value(new, path)}; the plan has {_value(old, path)}"
            yield Finding(name, _line(tree, name, key), CODE, f"{_short(key)}: {path} is {shown}")


def _flat(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of a file by name, resources by id; a duplicate id gets a separate name."""
    found: dict[str, Any] = {name: value for name, value in content.items() if name != "resources"}
    found |= {f"without {name}": True for name in found.pop("without", [])}
    for one in content.get("resources", []):
        key = one["id"]
        found[f"a second {key}" if key in found else key] = one
    return found


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """Return the single values below a value, by path."""
    pairs = list(value.items() if isinstance(value, dict) else _named(value) if isinstance(value, list) else ())
    if not pairs:
        return {path: value}
    return {key: leaf for name, inner in pairs for key, leaf in leaves(inner, f"{path}.{name}".lstrip(".")).items()}


def _named(items: list[Any]) -> Iterator[tuple[object, Any]]:
    """Return the items of a list by name if each has a distinct one, otherwise by number."""
    names = [one.get("name") if isinstance(one, dict) else None for one in items]
    return zip(names if len({*names} - {None}) == len(items) else range(len(items)), items, strict=True)


def _value(leaves: Mapping[str, Any], path: str) -> str:
    return json.dumps(leaves[path], ensure_ascii=False) if path in leaves else "nothing"


def _short(key: str) -> str:
    return key.rpartition("/providers/")[2]


def _line(tree: Tree, name: str, key: str) -> int:
    return tree.line(name, json.dumps(key)) if tree.exists(name) else 1
