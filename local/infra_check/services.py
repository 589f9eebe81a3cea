"""What API and workers are given: identity, settings, image, addresses that are asked, and time to end."""

import ast
import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from local.infra_check.finding import Finding
from local.infra_check.plan import Plan, Resource
from local.infra_check.project import text_of
from memnet.settings import PREFIX, Settings, SettingsError, load
from memnet.wiring import DRAIN_SECONDS

CONTAINER_APP: Final = "Microsoft.App/containerApps"
SITE: Final = "Microsoft.Web/sites"
SLOT: Final = "Microsoft.Web/sites/slots"
_IDENTITY: Final = "Microsoft.ManagedIdentity/userAssignedIdentities"
_OUTPUTS: Final = {
    "AZURE_RESOURCE_GROUP", "AZURE_CONTAINER_REGISTRY_NAME", "MEMNET_API_HOST", "MEMNET_API_URL",
    "MEMNET_WORKER_FUNCTIONS", "MEMNET_SERVING_RELEASE", "MEMNET_SERVING_WORKERS", "MEMNET_STORAGE_URL",
    "MEMNET_SEARCH_URL", "MEMNET_QUEUE_URL", "MEMNET_VAULT_URL",
}  # fmt: skip
"""What azd keeps of a deployment, for its hooks and for who runs `memnet` beside it."""
_FINDER: Final = "infra/hooks/find_revision.sh"
_MOST_STOP_SECONDS: Final = 120
"""What App Service gives at most."""
_DEFAULTS: Final[Mapping[str, Any]] = {one.name: one.default for one in fields(Settings)}


def check_services(root: Path, plan: Plan) -> Iterator[Finding]:
    """Findings about the services of a plan."""
    names = json.loads((root / "infra/names.json").read_text("utf-8"))
    needs = needed_seconds(root)
    for app in plan.of(CONTAINER_APP):
        yield from _settings(plan, app, "properties.template.containers.0.env", _of_api(plan, names))
        yield from _container_app(root, plan, app, names, needs)
    for app in plan.of(SITE, SLOT):
        is_api = app.name.startswith("app-memnet-")
        wanted = _of_app_service(plan, names) if is_api else _of_workers(plan, names, app)
        yield from _settings(plan, app, "properties.siteConfig.appSettings", wanted)
        yield from _app_service(plan, app, names, needs) if is_api else _function_app(plan, app, names)
    made = {one.type for one in plan.of(CONTAINER_APP, SITE, SLOT) if not one.name.startswith("func-")}
    apis = {CONTAINER_APP} if plan["apiHost"] == "containerApps" else {SITE, SLOT}
    if made != (apis if plan["release"] else set()):
        told = f"with the host {plan['apiHost']} and the release {plan['release']!r} the API is {sorted(made)}"
        yield Finding(plan.main.source.name, 1, "service", told)
    yield from _outputs(plan, names)


def _client(plan: Plan, part: str) -> str:
    return f"{plan.the(_IDENTITY, f'id-memnet-{part}').id}#properties.clientId"


def _of_both(plan: Plan, names: Mapping[str, Any]) -> dict[str, Any]:
    """The addresses are those of what this plan makes."""
    storage, vault = plan.the("Microsoft.Storage/storageAccounts", "stmemnet"), plan.the("Microsoft.KeyVault/vaults")
    container = plan.the("Microsoft.Storage/storageAccounts/blobServices/containers", storage.name)
    insights = plan.the("Microsoft.Insights/components")
    search = plan.the("Microsoft.Search/searchServices")
    own_key = plan["customerManagedKeys"]
    given = {"MODEL_PROVIDERS": "modelProviders", "EMBEDDINGS": "embeddings", "EMBEDDINGS_MODEL": "embeddingsModel"}
    given |= {"EMBEDDINGS_DIMENSIONS": "embeddingsDimensions"}
    given |= {"ISSUER_URL": "issuerUrl", "AUDIENCE": "audience", "TENANT_CLAIM": "tenantClaim"}
    return {f"{PREFIX}{name}": str(plan[param]) for name, param in given.items()} | {
        "MEMNET_STORAGE_URL": f"https://{storage.name}.blob.core.windows.net/{container.pick('name')}",
        "MEMNET_SEARCH_INDEX": names["searchIndex"],
        "MEMNET_SEARCH_URL": f"https://{search.name}.search.windows.net",
        "MEMNET_SEARCH_ENCRYPTION_KEY": f"https://{vault.name}.vault.azure.net/keys/memnet-at-rest" if own_key else "",
        "MEMNET_SEARCH_ENCRYPTION_IDENTITY": plan.the(_IDENTITY, "id-memnet-encryption").id if own_key else "",
        "MEMNET_QUEUE_URL": f"sb://{_queue_host(plan)}",
        "MEMNET_VAULT_URL": f"https://{vault.name}.vault.azure.net/",
        "MEMNET_TELEMETRY": "azure_monitor",
        "MEMNET_TELEMETRY_CONNECTION_STRING": f"{insights.id}#properties.ConnectionString",
    }


def _queue_host(plan: Plan) -> str:
    return f"{plan.the('Microsoft.ServiceBus/namespaces').name}.servicebus.windows.net"


def _of_api(plan: Plan, names: Mapping[str, Any]) -> dict[str, Any]:
    own = {"MEMNET_HOST": "0.0.0.0", "MEMNET_PORT": str(names["apiPort"]), "AZURE_CLIENT_ID": _client(plan, "api")}
    return _of_both(plan, names) | own


def _of_app_service(plan: Plan, names: Mapping[str, Any]) -> dict[str, Any]:
    own = {"WEBSITES_PORT": str(names["apiPort"]), "WEBSITES_ENABLE_APP_SERVICE_STORAGE": "false"}
    return _of_api(plan, names) | own | {"WEBSITES_CONTAINER_STOP_TIME_LIMIT": None}


def _functions(plan: Plan, names: Mapping[str, Any]) -> list[str]:
    """Those of this checkout, those that were, and those that the last deployment knew."""
    known = [name for name in plan["workerFunctions"].split(",") if name]
    return list(dict.fromkeys([*names["functions"], *names["retiredFunctions"], *known]))


def _of_workers(plan: Plan, names: Mapping[str, Any], app: Resource) -> dict[str, Any]:
    client, connection = _client(plan, "workers"), names["queueConnection"]
    is_serving = app.name.startswith(f"func-memnet-{plan['servingWorkers']}-")
    functions = [] if is_serving else _functions(plan, names)
    off = {f"AzureWebJobs.{name}.Disabled": "true" for name in functions}
    insights = plan.the("Microsoft.Insights/components")
    return _of_both(plan, names) | off | {
        "MEMNET_WORKER_PRINCIPAL": _DEFAULTS["worker_principal"],
        "AZURE_CLIENT_ID": client,
        "AzureWebJobsStorage__accountName": plan.the("Microsoft.Storage/storageAccounts", "stmemhost").name,
        "AzureWebJobsStorage__credential": "managedidentity",
        "AzureWebJobsStorage__clientId": client,
        f"{connection}__fullyQualifiedNamespace": _queue_host(plan),
        f"{connection}__credential": "managedidentity",
        f"{connection}__clientId": client,
        "APPLICATIONINSIGHTS_CONNECTION_STRING": f"{insights.id}#properties.ConnectionString",
        "APPLICATIONINSIGHTS_AUTHENTICATION_STRING": f"ClientId={client};Authorization=AAD",
    }  # fmt: skip


def _settings(plan: Plan, app: Resource, path: str, wanted: Mapping[str, Any]) -> Iterator[Finding]:
    """Exactly these, but for further settings of the code, which the code has to take. None: any value."""
    listed = app.at(path) or []
    given = {one["name"]: one.get("value") for one in listed}
    path = "properties"
    for name in sorted({one["name"] for one in listed if [other["name"] for other in listed].count(one["name"]) > 1}):
        yield app.finding(path, "setting", f"{name} is given twice")
    for name, value in wanted.items():
        if name not in given:
            yield app.finding(path, "setting", f"{name} is not given")
        elif value is not None and given[name] != value:
            yield app.finding(path, "setting", f"{name} is {given[name]!r} and has to be {value!r}")
    for name in sorted(given.keys() - wanted.keys()):
        if not name.startswith(PREFIX):
            yield app.finding(path, "setting", f"{name} is given, and nothing here is known to read it")
    try:
        load({name: str(value) for name, value in given.items()})
    except SettingsError as error:
        yield app.finding(path, "setting", f"memnet/settings.py refuses it: {error}")
    yield from _identity(plan, app, "api" if app.type != SITE or app.name.startswith("app-") else "workers")


def _identity(plan: Plan, app: Resource, part: str) -> Iterator[Finding]:
    wanted = plan.the(_IDENTITY, f"id-memnet-{part}").id
    if app.at("identity.type") != "UserAssigned":
        yield app.finding("identity", "setting", "its identity is one that it is assigned")
    if list(app.at("identity.userAssignedIdentities") or []) != [wanted]:
        yield app.finding("identity", "setting", f"its identity has to be id-memnet-{part}, and no other")
    path = "properties.functionAppConfig.deployment.storage.authentication.userAssignedIdentityResourceId"
    for where in (path, "properties.configuration.registries.0.identity"):
        if app.at(where) not in (None, wanted):
            yield app.finding(where, "setting", f"the identity has to be id-memnet-{part}")
    if app.at("properties.siteConfig.acrUserManagedIdentityID") not in (None, _client(plan, part)):
        yield app.finding("properties.siteConfig", "setting", f"the image is asked for with id-memnet-{part}")


def needed_seconds(root: Path) -> float:
    """How long the API takes to end: it drains, then requests, then background work."""
    module = ast.parse(text_of(root, "api/main.py"))
    told = {ast.unparse(one.targets[0]): one.value for one in module.body if isinstance(one, ast.Assign)}
    drains = _DEFAULTS["drain_seconds"]
    return float(drains + ast.literal_eval(told["GRACE_SECONDS"])) + DRAIN_SECONDS


def _container_app(root: Path, plan: Plan, app: Resource, names: Mapping[str, Any], needs: float) -> Iterator[Finding]:
    registry = f"{plan.the('Microsoft.ContainerRegistry/registries').name}.azurecr.io"
    release = plan["release"]
    wanted: dict[str, Any] = {
        "properties.environmentId": plan.the("Microsoft.App/managedEnvironments").id,
        "properties.configuration.activeRevisionsMode": "Multiple",
        "properties.configuration.registries.0.server": registry,
        "properties.configuration.ingress.targetPort": names["apiPort"],
        "properties.configuration.ingress.external": True,
        "properties.configuration.ingress.transport": "http",
        "properties.configuration.maxInactiveRevisions": 10,
        "properties.workloadProfileName": "Consumption",
        # A name of ours that was used before would leave the revision as it is that has it, whatever the template says.
        "properties.template.revisionSuffix": None,
        "properties.template.containers.0.image": f"{registry}/{names['image']}:{release}",
        "properties.template.scale.minReplicas": plan["apiMinReplicas"],
        "properties.template.scale.maxReplicas": plan["apiMaxReplicas"],
    }
    for path, value in wanted.items():
        if app.at(path) != value:
            yield app.finding(path, "service", f"{path.rpartition('.')[2]} is {app.at(path)!r} and has to be {value!r}")
    hook = text_of(root, _FINDER)
    for told in (f"--name {app.pick('name')} ", f'/{names["image"]}:$serving"'):
        if told not in hook:
            yield app.finding("name", "service", f"{_FINDER} looks for another app or image: it has no {told!r}")
    if (app.at("properties.template.terminationGracePeriodSeconds") or 0) < needs:
        path = "properties.template.terminationGracePeriodSeconds"
        yield app.finding(path, "service", f"the API needs {needs:.0f} s to end")
    yield from _traffic(plan, app)
    yield from _probes(app, names)


def _traffic(plan: Plan, app: Resource) -> Iterator[Finding]:
    """What is put in place serves once it is ready, unless a revision is named to have the traffic meanwhile."""
    latest = {"latestRevision": True, "weight": 100, "label": "serving"}
    wanted = [latest]
    if plan["servingRevision"]:
        other = {"revisionName": plan["servingRevision"], "weight": 100, "label": "serving"}
        wanted = [other, {**latest, "weight": 0, "label": "next"}]
    if app.at("properties.configuration.ingress.traffic") != wanted:
        told = f"the traffic has to be {wanted}"
        yield app.finding("properties.configuration.ingress.traffic", "service", told)


def _probes(app: Resource, names: Mapping[str, Any]) -> Iterator[Finding]:
    paths = {"Startup": names["liveness"], "Liveness": names["liveness"], "Readiness": names["readiness"]}
    found = {probe["type"]: probe for probe in app.at("properties.template.containers.0.probes") or []}
    for kind, path in paths.items():
        asked = (found.get(kind) or {}).get("httpGet") or {}
        if (asked.get("path"), asked.get("port")) != (path, names["apiPort"]):
            told = f"the {kind} probe has to ask for {path} on {names['apiPort']}"
            yield app.finding("properties.template.containers", "service", told)
    drains = _DEFAULTS["drain_seconds"]
    asks = (found.get("Readiness") or {}).get("periodSeconds", 10)
    if not 0 < asks <= 2 * drains:
        told = f"readiness is asked for every {asks} s, and the API drains for {drains:.0f} s alone"
        yield app.finding("properties.template.containers", "service", told)


def _app_service(plan: Plan, app: Resource, names: Mapping[str, Any], needs: float) -> Iterator[Finding]:
    serving = plan["servingRelease"] or plan["release"]
    release = plan["release"] if app.type == SLOT else serving
    registry = f"{plan.the('Microsoft.ContainerRegistry/registries').name}.azurecr.io"
    wanted = {
        "properties.siteConfig.linuxFxVersion": f"DOCKER|{registry}/{names['image']}:{release}",
        "properties.siteConfig.healthCheckPath": names["readiness"],
        "properties.siteConfig.acrUseManagedIdentityCreds": True,
        "properties.siteConfig.alwaysOn": True,
        "properties.siteConfig.ftpsState": "Disabled",
        "properties.siteConfig.http20Enabled": True,
        "properties.siteConfig.scmMinTlsVersion": "1.2",
        "properties.clientAffinityEnabled": False,
        "properties.siteConfig.vnetRouteAllEnabled": plan["privateNetworking"],
        "properties.serverFarmId": plan.the("Microsoft.Web/serverfarms", "asp-memnet-api").id,
        "properties.publicNetworkAccess": "Enabled" if plan["apiIsPublic"] else "Disabled",
        "kind": "app,linux,container",
    }
    for path, value in wanted.items():
        if app.at(path) != value:
            yield app.finding(path, "service", f"{path.rpartition('.')[2]} is {app.at(path)!r} and has to be {value!r}")
    given = {one["name"]: one["value"] for one in app.at("properties.siteConfig.appSettings") or []}
    seconds = str(given.get("WEBSITES_CONTAINER_STOP_TIME_LIMIT", "5"))
    if not seconds.isdigit() or not needs <= int(seconds) <= _MOST_STOP_SECONDS:
        told = f"WEBSITES_CONTAINER_STOP_TIME_LIMIT: the API needs {needs:.0f} s to end"
        yield app.finding("properties.siteConfig", "service", f"{told}, and App Service gives {_MOST_STOP_SECONDS}")


def _function_app(plan: Plan, app: Resource, names: Mapping[str, Any]) -> Iterator[Finding]:
    colour = app.name.split("-")[2]
    host = plan.the("Microsoft.Storage/storageAccounts", "stmemhost")
    packages = {one.name: str(one.pick("name")) for one in plan.of(f"{host.type}/blobServices/containers")}
    container = packages.get(f"{host.name}/default/packages-{colour}")
    wanted: dict[str, Any] = {
        "properties.functionAppConfig.deployment.storage.value": f"https://{host.name}.blob.core.windows.net/{container}",
        "properties.functionAppConfig.deployment.storage.type": "blobContainer",
        "properties.functionAppConfig.deployment.storage.authentication.type": "UserAssignedIdentity",
        "properties.functionAppConfig.runtime.name": "python",
        "properties.functionAppConfig.runtime.version": names["python"],
        "properties.functionAppConfig.scaleAndConcurrency.maximumInstanceCount": plan["workerMaxInstances"],
        "properties.serverFarmId": plan.the("Microsoft.Web/serverfarms", f"asp-memnet-workers-{colour}").id,
        "tags.azd-service-name": f"workers-{colour}",
        "kind": "functionapp,linux",
    }
    for path, value in wanted.items():
        if app.at(path) != value:
            yield app.finding(path, "service", f"{path.rpartition('.')[2]} is {app.at(path)!r} and has to be {value!r}")
    if not any(isinstance(one, Resource) and one.on is host for one in app.body.get("dependsOn") or []):
        told = "it has to wait for the role by which it reaches its package (dependsOn)"
        yield app.finding("properties", "service", told)


def _outputs(plan: Plan, names: Mapping[str, Any]) -> Iterator[Finding]:
    """What the deployment tells is what its services are given."""
    wanted = _of_both(plan, names) | {
        "AZURE_RESOURCE_GROUP": plan.the("Microsoft.Resources/resourceGroups").name,
        "AZURE_CONTAINER_REGISTRY_NAME": plan.the("Microsoft.ContainerRegistry/registries").name,
        "MEMNET_API_HOST": plan["apiHost"],
        "MEMNET_WORKER_FUNCTIONS": ",".join(_functions(plan, names)),
        "MEMNET_SERVING_RELEASE": plan["servingRelease"] or plan["release"],
        "MEMNET_SERVING_WORKERS": plan["servingWorkers"],
    }
    answers = {CONTAINER_APP: "properties.configuration.ingress.fqdn", SITE: "properties.defaultHostName"}
    apis = [one for one in plan.of(CONTAINER_APP, SITE) if not one.name.startswith("func-")]
    wanted["MEMNET_API_URL"] = "".join(f"https://{one.id}#{answers[one.type]}" for one in apis)
    given = {declared.name for declared in plan.main.source.of("output")}
    for name in sorted(_OUTPUTS - given):
        yield Finding(plan.main.source.name, 1, "service", f"there is no output {name}")
    for declared in plan.main.source.of("output"):
        found = str(plan.main.output(declared.name))
        if declared.name in wanted and found != wanted[declared.name]:
            told = f"the output {declared.name} is {found!r} and has to be {wanted[declared.name]!r}"
            yield Finding(plan.main.source.name, declared.line, "service", told)
        elif declared.name not in _OUTPUTS:
            told = f"nothing is known to read the output {declared.name}"
            yield Finding(plan.main.source.name, declared.line, "service", told)
