"""Compare names in templates and code: queues, functions, settings, metrics, labels and error codes."""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from local.infra_check.finding import Finding
from local.infra_check.plan import Plan
from local.infra_check.snapshots import PLANS
from local.infra_check.syntax import Source
from local.infra_check.tree import INFRA, Tree
from local.infra_check.values import Scope, evaluate
from memnet.domain.core.error_code import ErrorCode
from memnet.domain.core.job import DEAD_LETTERS, QUEUES
from memnet.domain.core.metric import LABELS, METRICS
from memnet.settings import Settings

NAMES: Final = f"{INFRA}/names.json"
ALERTS: Final = f"{INFRA}/alerts.json"
FUNCTIONS: Final = "workers/function_app.py"
DIFFERS: Final = "differs-from-code"
_PARTS: Final = ("api/main.py", "workers/runtime.py")
_QUEUE_MEMBERS: Final = (
    "requiresSession", "requiresDuplicateDetection", "duplicateDetectionHistoryTimeWindow", "lockDuration",
    "maxDeliveryCount",
)  # fmt: skip
_EMULATOR: Final = Path(__file__).parents[1] / "emulators" / "service_bus" / "Config.json"


def check_code(tree: Tree) -> Iterator[Finding]:
    """Return findings about the templates of a tree, its workers and the imported code."""
    names = tree.json(NAMES)
    yield from _names(tree, names)
    yield from _functions(tree, names)
    yield from _forgotten(tree, names)
    yield from _telemetry(tree)
    yield from _alerts(tree)


def of_names(tree: Tree, key: str, message: str) -> Finding:
    """Return a finding about a member of names.json."""
    return Finding(NAMES, tree.line(NAMES, f'"{key}"'), DIFFERS, f"{key}: {message}")


def _same(tree: Tree, key: str, found: Any, wanted: Any, where: str) -> Iterator[Finding]:
    if (sorted(found) != sorted(wanted)) if isinstance(found, list) else found != wanted:
        yield of_names(tree, key, f"{found!r} here and {wanted!r} in {where}")


def _names(tree: Tree, names: Any) -> Iterator[Finding]:
    defaults = {field.name: field.default for field in fields(Settings)}
    yield from _same(tree, "queues", names["queues"], sorted(set(QUEUES.values())), "memnet/domain/core/job.py")
    yield from _same(tree, "deadLetters", names["deadLetters"], DEAD_LETTERS, "memnet/domain/core/job.py")
    yield from _same(tree, "searchIndex", names["searchIndex"], defaults["search_index"], "memnet/settings.py")
    yield from _same(tree, "apiPort", names["apiPort"], defaults["port"], "memnet/settings.py")


def _functions(tree: Tree, names: Any) -> Iterator[Finding]:
    module = ast.parse(tree.text(FUNCTIONS))
    assigned = {ast.unparse(n.targets[0]): n.value for n in module.body if isinstance(n, ast.Assign)}
    connection = ast.literal_eval(assigned["CONNECTION"])
    yield from _same(tree, "queueConnection", names["queueConnection"], connection, FUNCTIONS)
    calls = [(ast.unparse(node.func), node) for node in ast.walk(module) if isinstance(node, ast.Call)]
    functions = [ast.literal_eval(call.args[0]) for name, call in calls if name == "app.function_name"]
    yield from _same(tree, "functions", names["functions"], functions, FUNCTIONS)
    queues = {f"QUEUES[JobKind.{kind.name}]": name for kind, name in QUEUES.items()}
    waiting = dict.fromkeys(QUEUES.values())
    for name, call in calls:
        given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
        queue = given.get("queue_name", "")
        if name == "app.service_bus_queue_trigger":
            if given.get("is_sessions_enabled") != "True":
                yield Finding(FUNCTIONS, call.lineno, DIFFERS, "this trigger needs is_sessions_enabled=True")
            if queues.get(queue) not in waiting:
                yield Finding(FUNCTIONS, call.lineno, DIFFERS, f"{queue} is not a job queue, or has two triggers")
            waiting.pop(queues.get(queue, ""), None)
        elif name == "app.service_bus_queue_output" and queue != "DEAD_LETTERS":
            yield Finding(FUNCTIONS, call.lineno, DIFFERS, "this output has to be DEAD_LETTERS")
    for queue in waiting:
        yield Finding(FUNCTIONS, 1, DIFFERS, f"{queue} has no trigger")


def _forgotten(tree: Tree, names: Any) -> Iterator[Finding]:
    """Check that names.json keeps each function of a committed plan: the app that does not serve may still have it."""
    known = {*names["functions"], *names["retiredFunctions"]}
    for name in tree.names(f"{PLANS}/*.json"):
        for function in sorted(set(re.findall(r"AzureWebJobs\.(\w+)\.Disabled", tree.text(name))) - known):
            yield of_names(tree, "retiredFunctions", f"{function} was a function, and has to be listed here")


def check_queues(plan: Plan) -> Iterator[Finding]:
    """Return findings about queues of a plan that differ from those of the local stack."""
    (namespace,) = json.loads(_EMULATOR.read_text("utf-8"))["UserConfig"]["Namespaces"]
    local = {queue["Name"]: queue["Properties"] for queue in namespace["Queues"]}
    deployed = {str(queue.pick("name")): queue for queue in plan.of("Microsoft.ServiceBus/namespaces/queues")}
    for name in sorted(local.keys() - deployed.keys()):
        yield Finding(NAMES, 1, DIFFERS, f"no template deploys the queue {name}")
    for name, queue in deployed.items():
        for member in _QUEUE_MEMBERS:
            wanted = local.get(name, {}).get(member[0].upper() + member[1:])
            if wanted is not None and queue.at(f"properties.{member}") != wanted:
                yield queue.finding("properties", DIFFERS, f"{member} is {wanted!r} in {_EMULATOR.name}")


def _telemetry(tree: Tree) -> Iterator[Finding]:
    """Check that metrics, labels, error codes and roles of the queries exist in the code."""
    metrics = {metric.name for metric in METRICS}
    roles = {f"memnet-{part}" for page in _PARTS for part in re.findall(r'_telemetry\(.*, "(\w+)"\)', tree.text(page))}
    for name in [*tree.names(f"{INFRA}/queries/*.kql"), f"{INFRA}/workbook.json"]:
        for i, written in enumerate(tree.text(name).splitlines(), 1):
            asked = set(re.findall(r'"(memnet\.[\w.]+)\\?"', written)) - metrics
            asked |= set(re.findall(r"Properties\.(\w+)", written)) - set(LABELS)
            asked |= set(re.findall(r'\\?"([A-Z]+_[A-Z_]+)\\?"', written)) - set(ErrorCode)
            for word in sorted(asked):
                yield Finding(name, i, DIFFERS, f"memnet has no metric, label or error code {word}")
            for role in sorted(set(re.findall(r'AppRoleName\s*[!=]=\s*\\?"([^"\\]*)', written)) - roles):
                yield Finding(name, i, DIFFERS, f"no process reports as {role}")


def _alerts(tree: Tree) -> Iterator[Finding]:
    """Check that each alert loads the query of its name, that no query is unused, and that columns match."""
    alerts = tree.json(ALERTS)
    queries = {name.rpartition("/")[2][:-4]: tree.text(name) for name in tree.names(f"{INFRA}/queries/*.kql")}
    loaded = _loaded(tree.sources[f"{INFRA}/modules/alerts.bicep"])
    for name in sorted(alerts.keys() ^ queries.keys() | alerts.keys() ^ loaded.keys()):
        yield Finding(ALERTS, 1, DIFFERS, f"{name} needs an alert, a query and a line in alerts.bicep")
    for name, alert in alerts.items():
        if loaded.get(name) != queries.get(name):
            yield Finding(ALERTS, 1, DIFFERS, f"{name} loads another query")
        for column in ["Value", *alert["by"]]:
            if not re.search(rf"\b{column}\b", queries.get(name, column)):
                message = f"{name} compares by {column}, which its query does not return"
                yield Finding(ALERTS, tree.line(ALERTS, f'"{name}"'), DIFFERS, message)


def _loaded(source: Source) -> dict[str, Any]:
    declared = source.named("queries")
    found = evaluate(declared.value, Scope(source)) if declared is not None and declared.value is not None else {}
    return found if isinstance(found, dict) else {}
