"""What was decided of each resource, whatever else stands in the templates: kinds, sizes, and how long is kept what."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from local.infra_check.finding import Finding
from local.infra_check.plan import Plan, Resource, own_name
from local.infra_check.schemas import is_read_only, load_schema
from local.infra_check.spans import seconds
from local.infra_check.symbols import outside

Wanted = Mapping[str, Any]
"""By path: a value, or what makes it of a plan."""
_MAXIMAL_TTL: Final = "P10675199DT2H48M5.4775807S"
_ENCRYPTED: Final[Callable[[Plan], bool]] = lambda plan: bool(plan["customerManagedKeys"])  # noqa: E731


def _premium(plan: Plan) -> str:
    return "Premium" if plan["privateNetworking"] or plan["customerManagedKeys"] else str(plan["serviceBusSku"])


def _encryption(plan: Plan) -> str | None:
    return (
        plan.the("Microsoft.ManagedIdentity/userAssignedIdentities", "id-memnet-encryption").id
        if _ENCRYPTED(plan)
        else None
    )


def _only_if_encrypted(value: Any) -> Callable[[Plan], Any]:
    return lambda plan: value if _ENCRYPTED(plan) else None


def _vault(plan: Plan) -> str | None:
    return f"https://{plan.the('Microsoft.KeyVault/vaults').name}.vault.azure.net/" if _ENCRYPTED(plan) else None


def _parameter(name: str) -> Callable[[Plan], Any]:
    return lambda plan: plan[name]


_FLEX_PLAN: Final[Wanted] = {
    "kind": "functionapp",
    "sku.name": "FC1",
    "sku.tier": "FlexConsumption",
    "properties.reserved": True,
}
_WORKER: Final[Wanted] = {
    "properties.functionAppConfig.scaleAndConcurrency.instanceMemoryMB": 2048,
    "properties.siteConfig.ipSecurityRestrictionsDefaultAction": lambda plan: (
        "Deny" if plan["privateNetworking"] else "Allow"
    ),
    "properties.siteConfig.scmIpSecurityRestrictionsDefaultAction": "Allow",
    "properties.functionAppConfig.deployment.storage.authentication.userAssignedIdentityResourceId": lambda plan: (
        plan.the("Microsoft.ManagedIdentity/userAssignedIdentities", "id-memnet-workers").id
    ),
}
_KEY: Final = "properties.encryption.keyVaultProperties.0"
_RULE: Final = "properties.policy.rules.0"
DECIDED: Final[Mapping[str, Wanted]] = {
    "log-memnet": {
        "properties.sku.name": "PerGB2018",
        "properties.retentionInDays": _parameter("logRetentionDays"),
        "properties.features.enableLogAccessUsingOnlyResourcePermissions": True,
    },
    "appi-memnet": {
        "kind": "web",
        "properties.Application_Type": "web",
        "properties.IngestionMode": "LogAnalytics",
        "properties.WorkspaceResourceId": lambda plan: plan.the("Microsoft.OperationalInsights/workspaces").id,
    },
    "stmemnet": {
        "kind": "StorageV2",
        "sku.name": _parameter("storageRedundancy"),
        "identity.type": lambda plan: "UserAssigned" if _ENCRYPTED(plan) else "None",
        "identity.userAssignedIdentities": lambda plan: {_encryption(plan): {}} if _ENCRYPTED(plan) else None,
        "properties.accessTier": "Hot",
        "properties.defaultToOAuthAuthentication": True,
        "properties.isSftpEnabled": False,
        "properties.encryption.services.blob.enabled": True,
        "properties.encryption.requireInfrastructureEncryption": True,
        "properties.encryption.keySource": lambda plan: (
            "Microsoft.Keyvault" if _ENCRYPTED(plan) else "Microsoft.Storage"
        ),
        "properties.encryption.identity.userAssignedIdentity": _encryption,
        "properties.encryption.keyvaultproperties.keyname": _only_if_encrypted("memnet-at-rest"),
        "properties.encryption.keyvaultproperties.keyvaulturi": _vault,
    },
    "stmemhost": {
        "kind": "StorageV2",
        "sku.name": "Standard_LRS",
        "properties.defaultToOAuthAuthentication": True,
    },
    "stmemnet/default": {
        "properties.deleteRetentionPolicy.enabled": True,
        "properties.deleteRetentionPolicy.days": _parameter("softDeleteDays"),
        "properties.deleteRetentionPolicy.allowPermanentDelete": False,
        "properties.containerDeleteRetentionPolicy.enabled": True,
        "properties.containerDeleteRetentionPolicy.days": _parameter("softDeleteDays"),
        "properties.isVersioningEnabled": False,
        "properties.changeFeed.enabled": False,
        "properties.restorePolicy.enabled": False,
    },
    "stmemnet/default#managementPolicies": {
        f"{_RULE}.enabled": True,
        f"{_RULE}.type": "Lifecycle",
        f"{_RULE}.definition.filters.blobTypes": ["blockBlob"],
        f"{_RULE}.definition.actions.baseBlob": None,
        f"{_RULE}.definition.actions.version.delete.daysAfterCreationGreaterThan": _parameter("softDeleteDays"),
        f"{_RULE}.definition.actions.snapshot.delete.daysAfterCreationGreaterThan": _parameter("softDeleteDays"),
    },
    "stmemhost/default": {"properties.deleteRetentionPolicy.enabled": False},
    "kv-memnet": {
        "properties.sku.name": lambda plan: "premium" if _ENCRYPTED(plan) else "standard",
        "properties.softDeleteRetentionInDays": 90,
    },
    "kv-memnet/memnet-at-rest": {
        "properties.kty": "RSA-HSM",
        "properties.keySize": 3072,
        "properties.keyOps": ["wrapKey", "unwrapKey"],
        "properties.rotationPolicy.attributes.expiryTime": "P2Y",
        "properties.rotationPolicy.lifetimeActions.0.action.type": "rotate",
        "properties.rotationPolicy.lifetimeActions.0.trigger.timeAfterCreate": "P1Y",
    },
    "indexManager": {
        "properties.type": "CustomRole",
        "properties.permissions": [
            {
                "actions": ["Microsoft.Search/searchServices/read", "Microsoft.Search/searchServices/indexes/*"],
                "notActions": [],
                "dataActions": [],
                "notDataActions": [],
            }
        ],
        "properties.assignableScopes": lambda plan: [plan.the("Microsoft.Resources/resourceGroups").id],
    },
    "srch-memnet": {
        "sku.name": _parameter("searchSku"),
        "properties.hostingMode": "default",
        "properties.partitionCount": 1,
        "properties.replicaCount": _parameter("searchReplicas"),
        "properties.semanticSearch": _parameter("semanticSearch"),
        "properties.networkRuleSet.bypass": "None",
        "identity.type": lambda plan: "UserAssigned" if _ENCRYPTED(plan) else "None",
        "identity.userAssignedIdentities": lambda plan: {_encryption(plan): {}} if _ENCRYPTED(plan) else None,
        "properties.encryptionWithCmk.enforcement": lambda plan: "Enabled" if _ENCRYPTED(plan) else "Unspecified",
    },
    "sb-memnet": {
        "identity.type": lambda plan: "UserAssigned" if _ENCRYPTED(plan) else "None",
        "identity.userAssignedIdentities": lambda plan: {_encryption(plan): {}} if _ENCRYPTED(plan) else None,
        "sku.name": _premium,
        "sku.tier": _premium,
        "properties.encryption.keySource": _only_if_encrypted("Microsoft.KeyVault"),
        f"{_KEY}.keyName": _only_if_encrypted("memnet-at-rest"),
        f"{_KEY}.keyVaultUri": _vault,
        f"{_KEY}.identity.userAssignedIdentity": _encryption,
    },
    "crmemnet": {"sku.name": "Standard"},
    "cae-memnet": {
        "properties.zoneRedundant": _parameter("privateNetworking"),
        "properties.workloadProfiles": [{"name": "Consumption", "workloadProfileType": "Consumption"}],
    },
    "ca-memnet-api": {
        "properties.template.containers.0.probes.0.periodSeconds": 5,
        "properties.template.containers.0.probes.0.failureThreshold": 10,
        "properties.template.containers.0.probes.1.periodSeconds": 10,
        "properties.template.containers.0.probes.1.timeoutSeconds": 5,
        "properties.template.containers.0.probes.2.periodSeconds": 10,
        "properties.template.containers.0.probes.2.timeoutSeconds": 10,
        "properties.template.scale.rules.0.http.metadata.concurrentRequests": "50",
    },
    "asp-memnet-api": {
        "kind": "linux",
        "sku.name": _parameter("appServiceSku"),
        "sku.capacity": _parameter("apiMinReplicas"),
        "properties.reserved": True,
    },
    "asp-memnet-workers-blue": _FLEX_PLAN,
    "asp-memnet-workers-green": _FLEX_PLAN,
    "func-memnet-blue": _WORKER,
    "func-memnet-green": _WORKER,
    "workbook": {
        "kind": "shared",
        "properties.displayName": "memnet",
        "properties.category": "workbook",
        "properties.serializedData": lambda plan: (plan.main.source.path.parent / "workbook.json").read_text("utf-8"),
        "properties.sourceId": lambda plan: plan.the("Microsoft.OperationalInsights/workspaces").id,
    },
    "rg-memnet-shop": {"location": _parameter("location")},
}
"""By the resource's name without its unique part."""
_NAMES: Final[Mapping[str, str]] = {
    "Microsoft.Storage/storageAccounts": r"[a-z0-9]{3,24}",
    "Microsoft.KeyVault/vaults": r"[a-zA-Z](?!.*--)[a-zA-Z0-9-]{1,22}[a-zA-Z0-9]",
    "Microsoft.ContainerRegistry/registries": r"[a-zA-Z0-9]{5,50}",
    "Microsoft.Search/searchServices": r"[a-z0-9][a-z0-9](?!.*--)[a-z0-9-]{0,57}[a-z0-9]",
    "Microsoft.ServiceBus/namespaces": r"[a-zA-Z](?!.*--)[a-zA-Z0-9-]{4,48}[a-zA-Z0-9]",
    "Microsoft.App/containerApps": r"[a-z](?!.*--)[a-z0-9-]{0,30}[a-z0-9]",
    "Microsoft.Web/sites": r"(?!.*--)[a-z0-9][a-z0-9-]{0,58}[a-z0-9]",
    "Microsoft.OperationalInsights/workspaces": r"[a-zA-Z0-9][a-zA-Z0-9-]{2,61}[a-zA-Z0-9]",
    "Microsoft.Storage/storageAccounts/blobServices/containers": r"(?!.*--)[a-z0-9][a-z0-9-]{1,61}[a-z0-9]",
    "Microsoft.Storage/storageAccounts/blobServices": "default",
    "Microsoft.Storage/storageAccounts/managementPolicies": "default",
    "Microsoft.Web/sites/basicPublishingCredentialsPolicies": "ftp|scm",
    "Microsoft.Web/sites/slots/basicPublishingCredentialsPolicies": "ftp|scm",
}
_WORLDWIDE: Final = (
    "Microsoft.ContainerRegistry/registries", "Microsoft.KeyVault/vaults", "Microsoft.Search/searchServices",
    "Microsoft.ServiceBus/namespaces", "Microsoft.Storage/storageAccounts", "Microsoft.Web/sites",
)  # fmt: skip
"""Names that nobody in the world may have a second time."""
_GLOBAL: Final = re.compile(
    r"Microsoft\.(Network/privateDnsZones(/virtualNetworkLinks)?|Insights/(actionGroups|metricAlerts))"
)
_REPLICAS: Final = {"basic": 3, "standard": 12, "standard2": 12, "standard3": 12}
"""How many replicas a search service may have."""


def check_decided(plan: Plan) -> Iterator[Finding]:
    """Findings about the resources of a plan."""
    seen = set()
    for one in plan.resources:
        key = own_name(one)
        key = f"{key}#managementPolicies" if one.type.endswith("/managementPolicies") else key
        for path, value in DECIDED.get(key, {}).items():
            wanted = value(plan) if callable(value) else value
            found = one.at(path)
            if found != wanted or isinstance(found, bool) != isinstance(wanted, bool):
                yield one.finding(path, "decided", f"{path} is {found!r:.200} and has to be {wanted!r:.200}")
        if one.id in seen and one.on is None:
            yield one.finding("name", "decided", f"{one.name} is made twice")
        seen.add(one.id)
        yield from _named(plan, one)
        for other in (one.parent, one.on):
            if other is not None and not other.declared.existing and plan.by_id(other.id) is None:
                yield one.finding("", "decided", f"it is made though {own_name(other)} is not")
    if plan["apiMinReplicas"] > plan["apiMaxReplicas"]:
        yield _of_file(plan, "apiMinReplicas is larger than apiMaxReplicas")
    yield from _sizes(plan)
    yield from _modules(plan)


def _of_file(plan: Plan, told: str) -> Finding:
    return Finding(plan.situation.file, 1, "decided", told)


def _named(plan: Plan, one: Resource) -> Iterator[Finding]:
    name = str(one.pick("name"))
    if not re.fullmatch(_NAMES.get(one.type, ".+"), name):
        yield one.finding("name", "decided", f"Azure takes no {one.type} of the name {name}")
    if one.type in _WORLDWIDE and own_name(one) == one.name:
        yield one.finding("name", "decided", "the whole world shares these names: it needs the token")
    wanted = "global" if _GLOBAL.fullmatch(one.type) else plan["location"]
    known = _properties(one.type)
    if one.at("location") != (wanted if "location" in known else None):
        yield one.finding("location", "decided", f"location is {one.at('location')!r} and has to be {wanted!r}")
    is_own = "tags" in known and one.type.count("/") == 1
    if is_own and (one.at("tags") or {}).get("azd-env-name") != plan["environmentName"]:
        yield one.finding("tags", "decided", "azd finds it by the tag azd-env-name")
    if one.type.count("/") - 1 != one.name.count("/") and not one.name.startswith("guid("):
        yield one.finding("", "decided", f"a {one.type} needs its parent")
    if one.parent is not None and one.type.rpartition("/")[0] != one.parent.type:
        yield one.finding("parent", "decided", f"the parent of a {one.type} is no {one.parent.type}")
    if one.type == "Microsoft.ServiceBus/namespaces/queues":
        yield from _queue(one)


@cache
def _properties(kind: str) -> frozenset[str]:
    """What may be said of resources of a type beside their properties, and is not Azure's own."""
    schema = load_schema(kind)
    known = schema.properties(schema.body) if schema is not None else None
    return frozenset(name for name, told in (known or {}).items() if not is_read_only(told))


def _queue(queue: Resource) -> Iterator[Finding]:
    bounds = {"lockDuration": 300, "duplicateDetectionHistoryTimeWindow": 7 * 86400}
    for name, most in bounds.items():
        span = queue.at(f"properties.{name}")
        if span is not None and not 0 < seconds(str(span)) <= most:
            yield queue.finding(f"properties.{name}", "decided", f"{name} is at most {most} s")
    if queue.at("properties.defaultMessageTimeToLive") != _MAXIMAL_TTL:
        told = "no message may go because of its age"
        yield queue.finding("properties.defaultMessageTimeToLive", "decided", told)


def _sizes(plan: Plan) -> Iterator[Finding]:
    if plan["searchReplicas"] > _REPLICAS.get(plan["searchSku"], 0):
        yield _of_file(plan, f"a search service {plan['searchSku']} has no {plan['searchReplicas']} replicas")
    if not re.fullmatch(r"(P[0-5]m?v[34]|S[123])", plan["appServiceSku"]):
        yield _of_file(plan, f"appServiceSku {plan['appServiceSku']} has no slots and private endpoints, or is none")
    for app in plan.of("Microsoft.App/containerApps"):
        sizes = app.at("properties.template.containers.0.resources") or {}
        if f"{2 * (sizes.get('cpu') or 0)}Gi" != sizes.get("memory"):
            path = "properties.template.containers"
            yield app.finding(path, "decided", "Container Apps gives 2 Gi of memory to each core, no more and no less")


def _modules(plan: Plan) -> Iterator[Finding]:
    """No two deployments of one name, and each in the group that is made."""
    seen = set()
    group = plan.the("Microsoft.Resources/resourceGroups")
    for module in plan.modules:
        name, scope = module.body["name"], module.body["scope"]
        place = (module.scope.source.name, module.declared.line)
        if name in seen:
            yield Finding(*place, "decided", f"two modules are called {name}")
        seen.add(name)
        for param in module.target.of("param"):
            problem = outside(module.world.names[param.name], param, module.world.scope)
            if problem:
                told = f"{param.name} is {module.world.names[param.name]!r}, and {problem}"
                yield Finding(module.target.name, param.line, "parameter-value", told)
        if module.scope.source is plan.main.source:
            elsewhere = plan["openAiResourceGroup"] if module.declared.name == "modelAccess" else ""
            found = scope.name if isinstance(scope, Resource) else (scope or {}).get("name")
            if found != (elsewhere or group.name):
                yield Finding(*place, "decided", f"{name} has to be deployed to the group {elsewhere or group.name}")
