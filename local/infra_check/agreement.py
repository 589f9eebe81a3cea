"""What the templates and the code both say, said alike: names, queues, functions, settings, telemetry."""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, Final

from local.infra_check.finding import Finding
from local.infra_check.inventory import FUNCTIONS
from local.infra_check.syntax import Declaration, Source, line, member
from local.infra_check.values import UNKNOWN, NoSuchMember, Scope, evaluate, iterations
from memnet.domain.error_code import ErrorCode
from memnet.domain.job import DEAD_LETTERS, QUEUES
from memnet.domain.metric import LABELS, METRICS
from memnet.settings import PREFIX, Settings

INFRA: Final = "infra"
NAMES: Final = f"{INFRA}/names.json"
ALERTS: Final = f"{INFRA}/alerts.json"
SERVICES: Final = ("modules/api_container_app.bicep", "modules/api_app_service.bicep", "modules/workers.bicep")
_QUEUE: Final = "Microsoft.ServiceBus/namespaces/queues"
_QUEUE_MEMBERS: Final = {
    "RequiresSession": "requiresSession",
    "RequiresDuplicateDetection": "requiresDuplicateDetection",
    "DuplicateDetectionHistoryTimeWindow": "duplicateDetectionHistoryTimeWindow",
    "LockDuration": "lockDuration",
    "MaxDeliveryCount": "maxDeliveryCount",
}
_DIFFERS: Final = "differs-from-code"


def check_agreement(root: Path, sources: dict[str, Source]) -> Iterator[Finding]:
    """Findings about the templates below `root` against its workers and the code that is imported here."""
    yield from _names(root)
    yield from _functions(root)
    yield from _queues(root, sources)
    yield from _settings(sources)
    yield from _telemetry(root)
    yield from _alerts(root, sources)


def _json(root: Path, name: str) -> Any:
    return json.loads((root / name).read_text("utf-8"))


def _line_in(root: Path, name: str, word: str) -> int:
    lines = (root / name).read_text("utf-8").splitlines()
    return next((i for i, told in enumerate(lines, 1) if word in told), 1)


def _same(root: Path, name: str, found: Any, wanted: Any, where: str) -> Iterator[Finding]:
    if isinstance(found, list):
        found, wanted = sorted(found), sorted(wanted)
    if found != wanted:
        told = f"{name} is {found!r}, and {wanted!r} in {where}"
        yield Finding(NAMES, _line_in(root, NAMES, f'"{name}"'), _DIFFERS, told)


def _names(root: Path) -> Iterator[Finding]:
    names = _json(root, NAMES)
    yield from _same(root, "queues", names["queues"], list(QUEUES.values()), "memnet/domain/job.py")
    yield from _same(root, "deadLetters", names["deadLetters"], DEAD_LETTERS, "memnet/domain/job.py")
    defaults = {field.name: field.default for field in fields(Settings)}
    yield from _same(root, "searchIndex", names["searchIndex"], defaults["search_index"], "memnet/settings.py")
    yield from _same(root, "apiPort", names["apiPort"], defaults["port"], "memnet/settings.py")


def _functions(root: Path) -> Iterator[Finding]:
    names = _json(root, NAMES)
    module = ast.parse((root / "workers/function_app.py").read_text("utf-8"))
    assigned = {ast.unparse(n.targets[0]): n.value for n in module.body if isinstance(n, ast.Assign)}
    where = "workers/function_app.py"
    yield from _same(root, "queueConnection", names["queueConnection"], ast.literal_eval(assigned["CONNECTION"]), where)
    calls = [node for node in ast.walk(module) if isinstance(node, ast.Call)]
    by_name = [(ast.unparse(call.func), call) for call in calls]
    functions = [ast.literal_eval(call.args[0]) for name, call in by_name if name == "app.function_name"]
    yield from _same(root, "functions", names["functions"], functions, where)
    retired = sorted(FUNCTIONS - set(functions))
    yield from _same(root, "retiredFunctions", names["retiredFunctions"], retired, "local/infra_check/inventory.py")
    for name in sorted(set(functions) - FUNCTIONS):
        yield Finding(where, 1, _DIFFERS, f"local/infra_check/inventory.py has no function {name}")
    for name, call in by_name:
        given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
        if name == "app.service_bus_queue_trigger" and given.get("is_sessions_enabled") != "True":
            yield Finding(where, call.lineno, _DIFFERS, "the queues have sessions, and this trigger takes none")
    host = _json(root, "workers/host.json")["extensions"]["serviceBus"]
    if "maxConcurrentSessions" not in host:
        yield Finding("workers/host.json", 1, _DIFFERS, "the queues have sessions, and the host is not told how many")


def _queues(root: Path, sources: dict[str, Source]) -> Iterator[Finding]:
    """Each queue as the local stack's has it, which the tests run on."""
    config = json.loads((Path(__file__).parents[1] / "service_bus" / "Config.json").read_text("utf-8"))
    (namespace,) = config["UserConfig"]["Namespaces"]
    local = {queue["Name"]: queue["Properties"] for queue in namespace["Queues"]}
    found = {}
    for source in sources.values():
        for declared in source.of("resource"):
            if declared.target == _QUEUE and not declared.existing:
                found.update({name: (source, declared, given) for name, given in _instances(source, declared)})
    for name, properties in local.items():
        if name not in found:
            yield Finding(NAMES, _line_in(root, NAMES, '"queues"'), _DIFFERS, f"no template makes the queue {name}")
            continue
        source, declared, given = found[name]
        for member_name, bicep_name in _QUEUE_MEMBERS.items():
            wanted = properties.get(member_name)
            if wanted is not None and given.get(bicep_name) != wanted:
                told = f"{name}: {bicep_name} has to be {wanted!r}, as local/service_bus/Config.json has it"
                yield Finding(source.name, declared.line, _DIFFERS, told)


def _instances(source: Source, declared: Declaration) -> Iterator[tuple[str, dict[str, Any]]]:
    scopes = [Scope(source)] if declared.loop is None else iterations(declared.loop, Scope(source))
    for scope in scopes or []:
        try:
            body = evaluate(declared.value, scope) if declared.value is not None else {}
        except NoSuchMember:
            continue  # told by the check of symbols
        yield str(body.get("name")), body.get("properties") or {}


def _settings(sources: dict[str, Source]) -> Iterator[Finding]:
    """Every variable is a setting, and every service gets those it cannot do without."""
    known = {PREFIX + field.name.upper() for field in fields(Settings)}
    for source in sources.values():
        for name, place in _variables(source):
            if name.startswith(PREFIX) and name not in known and "__" not in name:
                yield Finding(source.name, place, _DIFFERS, f"memnet/settings.py has no {name}")
    needed = {PREFIX + field.name.upper() for field in fields(Settings) if field.default is MISSING}
    needed |= {f"{PREFIX}{name}" for name in ("SEARCH_URL", "QUEUE_URL", "VAULT_URL")}
    main = sources.get(f"{INFRA}/main.bicep")
    for declared in main.of("module") if main is not None else ():
        if main is not None and declared.target in SERVICES and declared.value is not None:
            given = _given(main, declared)
            for name in sorted(needed - given):
                yield Finding(main.name, declared.line, _DIFFERS, f"{declared.name} is not given {name}")


def _given(main: Source, declared: Declaration) -> set[str]:
    params = member(declared.value, "params") if declared.value is not None else None
    settings = member(params, "settings") if params is not None else None
    found = evaluate(settings, Scope(main)) if settings is not None else UNKNOWN
    return set(found) if isinstance(found, dict) else set()


def _variables(source: Source) -> Iterator[tuple[str, int]]:
    """Names of environment variables that a template gives: keys of objects, and `name`s of lists."""
    for declared in source.of("var", "resource"):
        told = source.path.read_text("utf-8").splitlines()[declared.line - 1 : line_after(declared)]
        for i, written in enumerate(told):
            for name in re.findall(rf"^\s+({PREFIX}\w+):|name: '({PREFIX}\w+)'", written):
                yield next(filter(None, name)), declared.line + i


def line_after(declared: Declaration) -> int:
    """The last line of a declaration, counted from 1."""
    return int(declared.node.end_point[0]) + 1


def _telemetry(root: Path) -> Iterator[Finding]:
    """Metrics, labels and error codes that queries ask for are those that the code has."""
    metrics = {metric.name for metric in METRICS}
    paths = [*sorted((root / INFRA / "queries").glob("*.kql")), root / INFRA / "workbook.json"]
    for path in paths:
        name = path.relative_to(root).as_posix()
        for i, told in enumerate(path.read_text("utf-8").splitlines(), 1):
            asked = set(re.findall(r'"(memnet\.[\w.]+)\\?"', told)) - metrics
            asked |= set(re.findall(r"Properties\.(\w+)", told)) - set(LABELS)
            asked |= set(re.findall(r'\\?"([A-Z]+_[A-Z_]+)\\?"', told)) - set(ErrorCode)
            for word in sorted(asked):
                yield Finding(name, i, _DIFFERS, f"memnet measures no {word}")


def _alerts(root: Path, sources: dict[str, Source]) -> Iterator[Finding]:
    """Every alert has its query, every query its alert, and the columns it is divided by are in the query."""
    alerts = _json(root, ALERTS)
    files = {path.stem: path.read_text("utf-8") for path in (root / INFRA / "queries").glob("*.kql")}
    source = sources.get(f"{INFRA}/modules/alerts.bicep")
    declared = source.named("queries") if source is not None else None
    loaded: dict[str, Any] = {}
    if source is not None and declared is not None and declared.value is not None:
        loaded = evaluate(declared.value, Scope(source))
        for name in sorted(alerts.keys() - loaded.keys()):
            yield Finding(source.name, line(declared.node), _DIFFERS, f"the alert {name} has no query here")
    for name in sorted(files.keys() - alerts.keys()):
        yield Finding(ALERTS, 1, _DIFFERS, f"no alert runs {INFRA}/queries/{name}.kql")
    for name, query in loaded.items():
        if query is not UNKNOWN and files.get(name) != query and source is not None:
            yield Finding(source.name, line(declared.node) if declared else 1, _DIFFERS, f"{name} loads another query")
    for name, alert in alerts.items():
        columns = ["Value", *alert["by"]]
        for column in [column for column in columns if not re.search(rf"\b{column}\b", files.get(name, column))]:
            told = f"{name} compares by {column}, which its query has not"
            yield Finding(ALERTS, _line_in(root, ALERTS, f'"{name}"'), _DIFFERS, told)
