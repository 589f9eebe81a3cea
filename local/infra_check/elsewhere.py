"""What stands outside of the templates and has to fit them: routes, image, hooks, timers, variables, queries."""

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, Final

from local.infra_check.finding import Finding
from local.infra_check.project import text_of
from local.infra_check.symbols import check_argument
from local.infra_check.syntax import Source, line, literal, members, parts, text, walk
from local.infra_check.values import Scope, evaluate
from memnet.domain.job import QUEUES
from memnet.domain.metric import METRICS
from memnet.settings import Settings

_NAMES: Final = "infra/names.json"
_HOOK: Final = "infra/hooks/build_release.sh"
_FUNCTIONS: Final = "workers/function_app.py"
_DIFFERS: Final = "differs-from-code"
_OTHERWISE: Final = {
    "environmentName": "AZURE_ENV_NAME", "location": "AZURE_LOCATION", "release": "MEMNET_BUILT_RELEASE",
}  # fmt: skip
"""The variables that are not named like their parameters: azd's own, and what a hook says of the image it built."""
_RANGES: Final = (60, 60, 24, 32, 13, 7)
"""Seconds, minutes, hours, days, months and days of the week are below these."""
_DECORATORS: Final = {"allowed", "description", "maxLength", "maxValue", "metadata", "minLength", "minValue", "secure"}
_TABLES: Final[Mapping[str, set[str]]] = {
    "AppMetrics": {"AppRoleName", "ItemCount", "Max", "Min", "Name", "Properties", "Sum", "TimeGenerated"},
    "AppRequests": {"AppRoleName", "DurationMs", "ItemCount", "Name", "Properties", "TimeGenerated"},
}
"""The tables that are asked, and their columns as far as anybody asks for them."""
_KQL: Final = {
    "ago", "and", "asc", "avg", "between", "bin", "by", "case", "coalesce", "contains", "count", "countif", "dcount",
    "desc", "distinct", "extend", "has", "iff", "in", "isempty", "isnotempty", "isnotnull", "isnull", "let", "max",
    "maxif", "min", "minif", "not", "now", "or", "order", "percentile", "percentiles", "project", "round", "startswith",
    "strcat", "sum", "sumif", "summarize", "take", "tobool", "todouble", "toint", "tolong", "top", "toreal", "tostring",
    "where",
}  # fmt: skip
_CHOICES: Final[Mapping[str, set[str]]] = {
    "apiHost": {"containerApps", "appService"},
    "servingWorkers": {"blue", "green"},
    "storageRedundancy": {"Standard_LRS", "Standard_ZRS", "Standard_GRS", "Standard_GZRS"},
    "serviceBusSku": {"Standard", "Premium"},
    "searchSku": {"basic", "standard", "standard2", "standard3"},
    "semanticSearch": {"disabled", "free", "standard"},
}
_DEFAULTS: Final[Mapping[str, Any]] = {
    "release": "", "servingRelease": "", "servingRevision": "", "servingWorkers": "blue", "apiHost": "containerApps",
    "workerFunctions": "",
    "apiIsPublic": True, "apiMinReplicas": 1, "apiMaxReplicas": 3, "appServiceSku": "P0v3", "workerMaxInstances": 40,
    "softDeleteDays": 7, "storageRedundancy": "Standard_ZRS", "serviceBusSku": "Standard", "searchSku": "basic",
    "searchReplicas": 1, "semanticSearch": "disabled", "privateNetworking": False, "networkPrefix": "10.80.0.0/16",
    "logRetentionDays": 90, "customerManagedKeys": False, "serviceMakesKeys": True, "openAiAccount": "",
    "openAiResourceGroup": "", "storageAccessLogs": False, "alertEmails": [], "alertThresholds": {},
}  # fmt: skip
"""What counts if nothing is said; of what the code has a default for, it is the code's."""
_BOUNDS: Final[Mapping[str, tuple[int, int]]] = {
    "apiMinReplicas": (1, 30), "apiMaxReplicas": (1, 30), "workerMaxInstances": (1, 1000), "softDeleteDays": (1, 30),
    "searchReplicas": (1, 12), "logRetentionDays": (30, 730),
}  # fmt: skip
"""Erased memory is gone after a month at the latest; the others are Azure's own bounds, or within them."""
_PYTHON_OF_FUNCTIONS: Final = ("3.10", "3.11", "3.12", "3.13")


def check_elsewhere(root: Path, sources: Mapping[str, Source]) -> Iterator[Finding]:
    """Findings about files beside the templates, and templates beside them."""
    names = json.loads((root / _NAMES).read_text("utf-8"))
    yield from _routes(root, names)
    yield from _image(root, names, sources)
    yield from _timers(root)
    yield from _host(root)
    yield from _queries(root)
    for source in sources.values():
        yield from _variables(source) if source.path.suffix == ".bicepparam" else _declared(source)
    yield from _choices(sources.get("infra/main.bicep"))
    for path in sorted((root / "infra").glob("*.json")):
        yield from _twice(path.relative_to(root).as_posix(), path.read_text("utf-8"))


def _of_names(root: Path, key: str, told: str) -> Finding:
    lines = (root / _NAMES).read_text("utf-8").splitlines()
    place = next((i for i, written in enumerate(lines, 1) if f'"{key}"' in written), 1)
    return Finding(_NAMES, place, _DIFFERS, told)


def _routes(root: Path, names: Mapping[str, Any]) -> Iterator[Finding]:
    """The probes ask for routes of the API, each for the one that is meant."""
    page = text_of(root, "api/routes/health.py")
    prefix = re.search(r'APIRouter\(prefix="([^"]+)"', page)
    paths = re.findall(r'@router\.get\(\s*"([^"]+)",\s*\*\*describe\(\s*"(\w+)"', page)
    routes = {name: f"{prefix[1] if prefix else ''}{path}" for path, name in paths}
    for key, operation in (("liveness", "health_live"), ("readiness", "health_ready")):
        if names[key] != routes.get(operation):
            yield _of_names(root, key, f"{key} is {names[key]}, and the API answers at {routes.get(operation)}")


def _image(root: Path, names: Mapping[str, Any], sources: Mapping[str, Source]) -> Iterator[Finding]:
    hook = text_of(root, _HOOK)
    built = set(re.findall(r"image=\"?([\w./-]+):", hook))
    if built != {names["image"]}:
        yield _of_names(root, "image", f"image is {names['image']}, and {_HOOK} builds {', '.join(sorted(built))}")
    dockerfile = text_of(root, "docker/api.Dockerfile")
    versions = set(re.findall(r"^FROM python:(\d+\.\d+)", dockerfile, re.MULTILINE))
    if names["python"] not in _PYTHON_OF_FUNCTIONS or versions != {names["python"]}:
        told = f"python is {names['python']}, of the API's image {', '.join(sorted(versions))}"
        yield _of_names(root, "python", f"{told}, and Functions have {', '.join(_PYTHON_OF_FUNCTIONS)}")
    main = sources.get("infra/main.bicep")
    outputs = {one.name for one in main.of("output")} if main is not None else set()
    for name in sorted(
        set(re.findall(r"\$\{?(AZURE_\w+)", hook)) - outputs - {"AZURE_SUBSCRIPTION_ID", "AZURE_ENV_NAME"}
    ):
        yield Finding("infra/main.bicep", 1, _DIFFERS, f"{_HOOK} reads {name}, which is no output")


def _timers(root: Path) -> Iterator[Finding]:
    """Each schedule has the six fields of NCRONTAB, and each of them is in its range."""
    nodes = list(ast.walk(ast.parse(text_of(root, _FUNCTIONS))))
    yield from _queues(nodes)
    for node in nodes:
        if not isinstance(node, ast.Call) or ast.unparse(node.func) != "app.timer_trigger":
            continue
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        schedule = str(ast.literal_eval(given["schedule"])) if "schedule" in given else ""
        fields = schedule.split()
        if len(fields) != len(_RANGES) or not all(map(_is_field, fields, _RANGES)):
            yield Finding(_FUNCTIONS, node.lineno, _DIFFERS, f"{schedule!r} is no schedule of six fields")


def _queues(nodes: list[ast.AST]) -> Iterator[Finding]:
    """Each queue of jobs has one trigger, and what is given up goes to the dead letters."""
    calls = [(ast.unparse(one.func), one) for one in nodes if isinstance(one, ast.Call)]
    wanted = {f"QUEUES[JobKind.{kind.name}]" for kind in QUEUES}
    for name, call in calls:
        given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
        queue = given.get("queue_name", "")
        if name == "app.service_bus_queue_trigger":
            if queue not in wanted:
                yield Finding(_FUNCTIONS, call.lineno, _DIFFERS, f"{queue} is no queue of jobs, or has two triggers")
            wanted.discard(queue)
        elif name == "app.service_bus_queue_output" and queue != "DEAD_LETTERS":
            yield Finding(_FUNCTIONS, call.lineno, _DIFFERS, "what is given up has to go to the dead letters")
    for queue in sorted(wanted):
        yield Finding(_FUNCTIONS, 1, _DIFFERS, f"nothing takes the jobs of {queue}")


def _is_field(field: str, end: int) -> bool:
    def is_number(told: str) -> bool:
        return told.isdigit() and int(told) < end

    def is_part(told: str) -> bool:
        which, slash, step = told.partition("/")
        first, dash, last = which.partition("-")
        is_range = which == "*" or (is_number(first) and (not dash or (is_number(last) and int(first) <= int(last))))
        return is_range and (not slash or (is_number(step) and int(step) > 0))

    return all(is_part(told) for told in field.split(","))


def _host(root: Path) -> Iterator[Finding]:
    host = json.loads(text_of(root, "workers/host.json"))
    lock = host["extensions"]["serviceBus"].get("maxAutoLockRenewalDuration")
    if lock != host.get("functionTimeout"):
        yield Finding("workers/host.json", 1, _DIFFERS, "a message is locked for as long as its function may take")
    if host["extensions"]["serviceBus"].get("autoCompleteMessages") is not True:
        yield Finding("workers/host.json", 1, _DIFFERS, "nobody else completes the messages")


def _variables(source: Source) -> Iterator[Finding]:
    """A parameter is read from the variable of its name, and each of them has a default unless it is needed."""
    for declared in source.of("var"):
        for node in walk(declared.value) if declared.value is not None else ():
            if node.type != "call_expression" or text(parts(node)[0]) != "readEnvironmentVariable":
                continue
            name = literal(parts(parts(node)[1])[0]) or ""
            wanted = _OTHERWISE.get(declared.name) or f"MEMNET{declared.name.upper()}"
            if name.replace("_", "") != wanted.replace("_", ""):
                yield Finding(source.name, line(node), _DIFFERS, f"{declared.name} is read from {name}")


def _choices(main: Source | None) -> Iterator[Finding]:
    """What main.bicep takes, and what it takes if nothing is said."""
    if main is None:
        return
    params = {one.name: one for one in main.of("param")}
    for name, choices in _CHOICES.items():
        declared = params.get(name)
        listed = parts(declared.decorators.get("allowed", [main.root])[0]) if declared else []
        if declared is not None and {literal(item) for item in listed} != choices:
            told = f"{name} has to be one of {', '.join(sorted(choices))}"
            yield Finding(main.name, declared.line, _DIFFERS, told)
    defaults = {field.name.replace("_", ""): field.default for field in fields(Settings)}
    for name, declared in params.items():
        default = _DEFAULTS.get(name, defaults.get(name.lower(), MISSING))
        if declared.value is not None and evaluate(declared.value, Scope(main)) != default:
            told = f"{name} is {text(declared.value)} if nothing is said, and has to be {default!r}"
            yield Finding(main.name, declared.line, _DIFFERS, told)
        given = (declared.decorators.get(told) for told in ("minValue", "maxValue"))
        bounds = tuple(int(text(bound[0])) if bound else None for bound in given)
        if bounds != _BOUNDS.get(name, (None, None)):
            told = f"{name} has to be from {' to '.join(map(str, _BOUNDS.get(name, ())))}"
            yield Finding(main.name, declared.line, _DIFFERS, told)


def _scope_of_deployment(source: Source) -> Iterator[Finding]:
    """The whole is deployed to a subscription, its modules to a group, which is what they are if nothing is said."""
    told = [node for node in parts(source.root) if text(node).startswith("targetScope")]
    wanted = ["targetScope = 'subscription'"] if source.name == "infra/main.bicep" else []
    if [text(node) for node in told] != wanted:
        yield Finding(
            source.name, line(told[0]) if told else 1, _DIFFERS, f"it has to say {wanted or 'no targetScope'}"
        )


def _declared(source: Source) -> Iterator[Finding]:
    """Decorators that exist, defaults within their own bounds, and no member twice."""
    yield from _scope_of_deployment(source)
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


def _queries(root: Path) -> Iterator[Finding]:
    roles = _roles(root)
    for path in sorted((root / "infra" / "queries").glob("*.kql")):
        yield from _query(path.relative_to(root).as_posix(), path.read_text("utf-8"), roles)
    name = "infra/workbook.json"
    for number, told in enumerate((root / name).read_text("utf-8").splitlines(), 1):
        match = re.match(r'\s*"query": (".*"),?$', told)
        if match is not None:
            query = json.loads(match[1]).replace("{Range:grain}", "5m")
            yield from (Finding(name, number, one.code, one.message) for one in _query(name, query, roles))


def _roles(root: Path) -> set[str]:
    """What API and workers call themselves in telemetry."""
    pages = (text_of(root, "api/main.py"), text_of(root, "workers/runtime.py"))
    return {f"memnet-{part}" for page in pages for part in re.findall(r'open_telemetry\(.*, "(\w+)"\)', page)}


def _query(name: str, query: str, roles: set[str]) -> Iterator[Finding]:
    """Names of columns and functions that exist, roles that report, and labels that its metrics have."""
    bare = re.sub(r"//[^\n]*", "", query)
    for number, told in enumerate(query.splitlines(), 1):
        asked = set(re.findall(r'AppRoleName\s*[!=]=\s*"([^"]*)"', told)) - roles
        yield from (Finding(name, number, _DIFFERS, f"nobody reports as {role}") for role in sorted(asked))
    labels = {metric.name: metric.labels for metric in METRICS}
    measured = [labels[told] for told in re.findall(r'"(memnet\.[\w.]+)"', bare) if told in labels]
    for label in sorted(set(re.findall(r"Properties\.(\w+)", bare))):
        if any(label not in one for one in measured):
            yield Finding(name, 1, _DIFFERS, f"a metric that is asked for has no label {label}")
    without_text = re.sub(r'"[^"]*"|Properties\.\w+|\b\d+(\.\d+)?[smhd]?\b', " ", bare)
    made = set(re.findall(r"\b(\w+)\s*=(?!=)", without_text))
    table = (re.match(r"\s*(\w*)", bare) or [""])[0].strip()
    known = {table} | _TABLES[table] if table in _TABLES else set[str]()
    for word in sorted(set(re.findall(r"\b[A-Za-z_]\w*", without_text)) - made - known - _KQL):
        yield Finding(
            name, 1, _DIFFERS, f"the query names {word}, which is neither a column nor a function that is known"
        )
    for word in re.findall(r"\b\d+(?![smhd]\b)[A-Za-z]\w*", re.sub(r'"[^"]*"', " ", bare)):
        yield Finding(name, 1, _DIFFERS, f"the query says {word}, which is no number and no span of time")
    if re.search(r"\b(Name|AppRoleName)\s*!=", bare):
        yield Finding(name, 1, _DIFFERS, "the query asks for every metric or role but one")
    if name.endswith(".kql") and not re.match(r"\s*AppMetrics\b", bare):
        yield Finding(name, 1, _DIFFERS, "the query reads another table than AppMetrics")
