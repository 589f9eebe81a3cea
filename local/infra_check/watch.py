"""What watches: each resource's logs and metrics by categories that it has, and alerts that can fire."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from local.infra_check.finding import Finding
from local.infra_check.plan import Plan, Resource
from local.infra_check.project import text_of
from local.infra_check.spans import seconds

_SETTING: Final = "Microsoft.Insights/diagnosticSettings"
CATEGORIES: Final[Mapping[str, tuple[frozenset[str], frozenset[str]]]] = {
    "Microsoft.App/managedEnvironments": (
        frozenset({"ContainerAppConsoleLogs", "ContainerAppSystemLogs"}), frozenset({"AllMetrics"}),
    ),
    "Microsoft.ContainerRegistry/registries": (frozenset({"+audit"}), frozenset()),
    "Microsoft.KeyVault/vaults": (frozenset({"+audit"}), frozenset({"AllMetrics"})),
    "Microsoft.OperationalInsights/workspaces": (frozenset({"+audit"}), frozenset()),
    "Microsoft.Search/searchServices": (frozenset(), frozenset({"AllMetrics"})),
    "Microsoft.ServiceBus/namespaces": (frozenset({"OperationalLogs"}), frozenset({"AllMetrics"})),
    "Microsoft.Storage/storageAccounts/blobServices": (
        frozenset({"StorageRead", "StorageWrite", "StorageDelete"}), frozenset({"Transaction"}),
    ),
    "Microsoft.Web/sites/slots": (
        frozenset({"AppServiceConsoleLogs", "AppServicePlatformLogs"}), frozenset({"AllMetrics"}),
    ),
}  # fmt: skip
"""What is taken of each type: categories of logs, those with + being groups of them, and of metrics (Microsoft Learn,
"Supported resource log categories"). Every resource of these types is watched."""
_OF_FUNCTIONS: Final = (frozenset({"FunctionAppLogs"}), frozenset({"AllMetrics"}))
_ACCESS: Final = "Microsoft.Storage/storageAccounts/blobServices"
BROKER_METRICS: Final = frozenset({"DeadletteredMessages", "ActiveMessages", "ServerErrors", "ThrottledRequests"})
EVERY: Final = frozenset(
    {"PT1M", "PT5M", "PT10M", "PT15M", "PT30M", "PT45M", "PT1H", "PT2H", "PT3H", "PT4H", "PT5H", "PT6H"}
)
"""How often a query can be run."""
_FIELDS: Final = {
    "title": str, "meaning": str, "unit": str, "severity": int, "operator": str, "threshold": int, "aggregation": str,
    "every": str, "window": str, "periods": int, "failing": int, "by": list,
}  # fmt: skip
_ALERTS: Final = "infra/alerts.json"


def check_watch(plan: Plan) -> Iterator[Finding]:
    """Findings about what watches in a plan."""
    workspace = plan.the("Microsoft.OperationalInsights/workspaces")
    watched = {}
    for setting in plan.of(_SETTING):
        if setting.on is not None:
            watched[setting.on.id] = setting
        if setting.at("properties.workspaceId") != workspace.id:
            yield setting.finding("properties.workspaceId", "unwatched", f"it has to go to {workspace.name}")
    for one in plan.resources:
        wanted = _wanted(one)
        if wanted is not None and one.id not in watched:
            yield one.finding("", "unwatched", f"nothing takes the logs and metrics of this {one.type}")
        elif wanted is not None:
            yield from _categories(plan, watched[one.id], one, wanted)
    for rule in plan.of("Microsoft.Insights/scheduledQueryRules"):
        yield from _rule(plan, rule, workspace)
    yield from _broker(plan)


def _wanted(one: Resource) -> tuple[frozenset[str], frozenset[str]] | None:
    if one.type == "Microsoft.Web/sites":
        return _OF_FUNCTIONS if one.name.startswith("func-") else CATEGORIES[f"{one.type}/slots"]
    return CATEGORIES.get(one.type)


def _categories(plan: Plan, setting: Resource, on: Resource, wanted: tuple[Any, Any]) -> Iterator[Finding]:
    logs, metrics = setting.at("properties.logs") or [], setting.at("properties.metrics") or []
    for path, given, known in (("logs", logs, wanted[0]), ("metrics", metrics, wanted[1])):
        found = {one.get("category") or f"+{one.get('categoryGroup')}" for one in given}
        if found != known:
            told = f"{path} of {on.type} are {', '.join(sorted(known)) or 'none'}, and not {', '.join(sorted(found))}"
            yield setting.finding(f"properties.{path}", "unwatched", told)
    is_on = plan["storageAccessLogs"] if on.type == _ACCESS else True
    if any(one.get("enabled") is not is_on for one in logs) or any(one.get("enabled") is not True for one in metrics):
        yield setting.finding("properties.logs", "unwatched", f"enabled has to be {str(is_on).lower()}")


def _rule(plan: Plan, rule: Resource, workspace: Resource) -> Iterator[Finding]:
    told = plan.the("Microsoft.Insights/actionGroups")
    alerts = json.loads((rule.source.path.parents[1] / "alerts.json").read_text("utf-8"))
    alert = alerts.get(rule.name.removeprefix("memnet-"), {})
    criterion = "properties.criteria.allOf.0"
    wanted = {
        "properties.enabled": True,
        "properties.autoMitigate": True,
        "properties.skipQueryValidation": True,
        "kind": "LogAlert",
        "properties.scopes": [workspace.id],
        "properties.severity": alert.get("severity"),
        "properties.evaluationFrequency": alert.get("every"),
        "properties.windowSize": alert.get("window"),
        "properties.actions.actionGroups": [told.id],
        f"{criterion}.metricMeasureColumn": "Value",
        f"{criterion}.operator": alert.get("operator"),
        f"{criterion}.threshold": alert.get("threshold"),
        f"{criterion}.timeAggregation": alert.get("aggregation"),
        f"{criterion}.failingPeriods.numberOfEvaluationPeriods": alert.get("periods"),
        f"{criterion}.failingPeriods.minFailingPeriodsToAlert": alert.get("failing"),
    }
    for path, value in wanted.items():
        if rule.at(path) != value:
            yield rule.finding(
                path, "unwatched", f"{path.rpartition('.')[2]} is {rule.at(path)!r} and has to be {value!r}"
            )
    if [one["name"] for one in rule.at(f"{criterion}.dimensions") or []] != alert.get("by"):
        yield rule.finding("properties.criteria", "unwatched", "it has to be divided as alerts.json says")


def _broker(plan: Plan) -> Iterator[Finding]:
    namespace, told = plan.the("Microsoft.ServiceBus/namespaces"), plan.the("Microsoft.Insights/actionGroups")
    receivers = [{"emailAddress": one, "useCommonAlertSchema": True} for one in plan["alertEmails"] if one]
    found = [{key: one.get(key) for key in receivers[0]} for one in told.at("properties.emailReceivers") if receivers]
    if told.at("properties.enabled") is not True or found != receivers:
        yield told.finding("properties.enabled", "unwatched", "it has to tell everybody in alertEmails")
    for alert in plan.of("Microsoft.Insights/metricAlerts"):
        criterion = alert.at("properties.criteria.allOf.0") or {}
        if criterion.get("metricName") not in BROKER_METRICS:
            yield alert.finding("properties.criteria", "unwatched", f"Service Bus has no {criterion.get('metricName')}")
        wanted = {
            "properties.enabled": True,
            "properties.severity": 2,
            "properties.scopes": [namespace.id],
            "properties.evaluationFrequency": "PT5M",
            "properties.windowSize": "PT5M",
            "properties.criteria.allOf.0.threshold": 0,
            "properties.actions": [{"actionGroupId": told.id}],
            "properties.criteria.allOf.0.operator": "GreaterThan",
            "properties.criteria.allOf.0.timeAggregation": "Maximum",
            "location": "global",
        }
        for path, value in wanted.items():
            if alert.at(path) != value:
                yield alert.finding(path, "unwatched", f"{path.rpartition('.')[2]} has to be {value!r}")


def check_alerts(root: Path) -> Iterator[Finding]:
    """Findings about alerts.json itself, and the sections of the runbook it leads to."""
    text = (root / _ALERTS).read_text("utf-8")
    lines = text.splitlines()
    headings = re.findall(r"^#+ (.+)$", text_of(root, "docs/runbook.md"), re.MULTILINE)
    sections = {heading.strip().lower().replace(" ", "-") for heading in headings}
    for path in sorted((root / "infra/modules").glob("*.bicep")):
        for number, written in enumerate(path.read_text("utf-8").splitlines(), 1):
            for section in sorted(set(re.findall(r"runbook\.md#([\w-]+)", written)) - sections):
                name = path.relative_to(root).as_posix()
                yield Finding(name, number, "unwatched", f"docs/runbook.md has no section {section}")
    for name, alert in json.loads(text).items():
        place = next(i for i, told in enumerate(lines, 1) if f'"{name}"' in told)
        for told in _problems(name, alert, sections):
            yield Finding(_ALERTS, place, "unwatched", f"{name}: {told}")


def _problems(name: str, alert: Mapping[str, Any], sections: set[str]) -> Iterator[str]:
    for field, kind in _FIELDS.items():
        if not isinstance(alert.get(field), kind) or isinstance(alert.get(field), bool):
            yield f"{field} has to be given, as {kind.__name__}"
            return
    yield from (f"nothing reads {field}" for field in sorted(alert.keys() - _FIELDS.keys()))
    yield from (told for is_right, told in _RULES if not is_right(alert))
    if name not in sections:
        yield "docs/runbook.md has no section of this name"


def _seconds(span: str) -> float:
    """How long it is; 0 of what another rule refuses."""
    return seconds(span) if span in EVERY else 0


def _fits_its_unit(alert: Mapping[str, Any]) -> bool:
    named = re.search(r"in (\d+) minutes", alert["unit"])
    return named is None or f"PT{named[1]}M" == alert["window"]


_RULES: Final[tuple[tuple[Callable[[Mapping[str, Any]], bool], str], ...]] = (
    (lambda one: {one["every"], one["window"]} <= EVERY, "every and window are not among those that Azure takes"),
    (lambda one: _seconds(one["window"]) >= _seconds(one["every"]), "what happens between two windows is never seen"),
    (lambda one: 1 <= one["failing"] <= one["periods"] <= 6, "failing is from 1 to periods, and that is at most 6"),
    (lambda one: 0 <= one["severity"] <= 4, "severity is from 0 to 4"),
    (lambda one: one["threshold"] > 0 or one["operator"] == "GreaterThan", "nothing is ever below this threshold"),
    (lambda one: not one["unit"].startswith("percent") or one["threshold"] < 100, "nothing is above 100 percent"),
    (_fits_its_unit, "the unit names another window"),
)
