"""`make infra` refuses mistakes that no file shows by itself: networks, alerts, sizes, and what other files say."""

from pathlib import Path

from tests.infra.planting import (
    ALERTS,
    API,
    BUS,
    MAIN,
    NAMES,
    PROD,
    SEARCH,
    STORAGE,
    VAULT,
    WORKERS,
    Mistake,
    check_that_it_is_found,
    each,
)

APP_SERVICE = "infra/modules/api_app_service.bicep"
DOMAIN = "infra/modules/environment_domain.bicep"
ENDPOINT = "infra/modules/private_endpoint.bicep"
JOBS = "infra/alerts.json"
NETWORK = "infra/modules/network.bicep"
REGISTRY = "infra/modules/registry.bicep"
SILENT = "infra/queries/silent-workers.kql"

MISTAKES = {
    # the network
    "doors are shut without a network and open with one": Mistake(
        STORAGE, "publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'",
        "publicNetworkAccess: isPrivate ? 'Enabled' : 'Disabled'", "unreachable", "publicNetworkAccess",
    ),
    "the firewall of the vault is open": Mistake(
        VAULT, "defaultAction: isPrivate ? 'Deny' : 'Allow'", "defaultAction: 'Allow'", "unreachable", "defaultAction"
    ),
    "a zone of another service": Mistake(
        MAIN, "'privatelink.vaultcore.azure.net'", "'privatelink.vault.azure.net'", "unreachable", "vaultcore", VAULT
    ),
    "a zone that nobody makes": Mistake(
        ENDPOINT, "  name: zone\n", "  name: '${zone}.local'\n", "unreachable", "nothing makes"
    ),
    "an endpoint for another group": Mistake(
        VAULT, "groupId: 'vault'", "groupId: 'vaults'", "unreachable", "vaults", ENDPOINT
    ),
    "the host's tables have no endpoint": Mistake(
        WORKERS, "groupId: 'table'", "groupId: 'blob'", "unreachable",
        "stmemhost has no private endpoint for table",
    ),
    "an endpoint in the workers' subnet": Mistake(
        NETWORK, "output endpointSubnetId string = network.properties.subnets[0].id",
        "output endpointSubnetId string = network.properties.subnets[2].id", "unreachable", "subnet endpoints",
        ENDPOINT,
    ),
    "subnets that overlap": Mistake(
        NETWORK, "cidrSubnet(prefix, 24, 2)", "cidrSubnet(prefix, 24, 1)", "unreachable", "overlap"
    ),
    "a subnet for another service": Mistake(
        NETWORK, "'Microsoft.App/environments' : 'Microsoft.Web/serverFarms'",
        "'Microsoft.Web/serverFarms' : 'Microsoft.App/environments'",
        "unreachable", "delegated",
    ),
    "an API in its environment alone": Mistake(
        API, "external: true", "external: false", "service", "external is False"
    ),
    "an API that is not public is in the internet": Mistake(
        API, "internal: !isPublic", "internal: isPublic", "unreachable", "internal is"
    ),
    "an internal API without a name": Mistake(
        DOMAIN, "  name: '*'\n", "  name: 'api'\n", "unreachable", "has to lead *", API
    ),
    "a zone that the network does not know": Mistake(
        NETWORK, "virtualNetwork: { id: network.id }", "virtualNetwork: { id: dnsZones[i].id }", "unreachable",
        "not linked",
    ),
    "nobody reaches the API": Mistake(
        MAIN, "apiIsPublic || privateNetworking ? apiIsPublic : fail(", "apiIsPublic ? true : startsWith('x',",
        "service", "has to be refused",
    ),
    "App Service is private and has no endpoint for the slot": Mistake(
        APP_SERVICE, "groupId: 'sites-${next.name}'", "groupId: 'sites'", "unreachable", "sites-next"
    ),
    # what watches
    "a category that the type does not have": Mistake(
        BUS, "'OperationalLogs'", "'OperationLogs'", "unwatched", "logs of Microsoft.ServiceBus/namespaces"
    ),
    "logs that are taken and not kept": Mistake(
        API, "category: 'ContainerAppConsoleLogs', enabled: true",
        "category: 'ContainerAppConsoleLogs', enabled: false",
        "unwatched", "enabled has to be true",
    ),
    "accesses are logged unasked": Mistake(
        STORAGE, "'StorageRead', enabled: accessLogs", "'StorageRead', enabled: true", "unwatched", "enabled has to be"
    ),
    "the slot is not watched": Mistake(APP_SERVICE, "  scope: next\n", "  scope: plan\n", "unwatched", "slots"),
    "a role that nobody has": Mistake(
        SILENT, '"memnet-worker"', '"memnet-workers"', "differs-from-code", "nobody reports as memnet-workers"
    ),
    "an alert on an API that nobody has": Mistake(
        "infra/queries/silent-api.kql", '"memnet-api"', '"memnet-apis"', "differs-from-code",
        "nobody reports as memnet-apis",
    ),
    "a column that requests do not have": Mistake(
        "infra/workbook.json", "percentiles(DurationMs", "percentiles(Duration", "differs-from-code", "names Duration,"
    ),
    "a column of metrics in requests": Mistake(
        "infra/workbook.json", "percentiles(DurationMs", "percentiles(Sum", "differs-from-code", "names Sum,"
    ),
    "a table that nobody fills": Mistake(
        "infra/workbook.json", "AppRequests", "AppTraces", "differs-from-code", "AppTraces"
    ),
    "a column that does not exist": Mistake(
        "infra/queries/index-lag.kql", "max(Sum / ItemCount)", "max(Sum / Items)", "differs-from-code", "Items"
    ),
    "a label of another metric": Mistake(
        "infra/queries/stale-writes.kql", "Properties.outcome", "Properties.status", "differs-from-code", "label status"
    ),
    "a table that is not ours": Mistake(
        "infra/queries/dead-letters.kql", "AppMetrics", "AppTraces", "differs-from-code", "AppTraces"
    ),
    "an alert that is never asked": Mistake(
        JOBS, '"every": "PT15M"', '"every": "15M"', "unwatched", "every and window",
    ),
    "an alert that looks away": Mistake(JOBS, '"every": "PT15M"', '"every": "PT1H"', "unwatched", "two windows"),
    "an alert that never fires": Mistake(JOBS, '"failing": 5', '"failing": 7', "unwatched", "failing is from 1"),
    "an alert below nothing": Mistake(JOBS, '"threshold": 1,\n    "aggregation": "Total"',
        '"threshold": 0,\n    "aggregation": "Total"', "unwatched", "ever below"),
    "an alert without a section in the runbook": Mistake(
        ALERTS, "docs/runbook.md#dead-letters'", "docs/runbook.md#dead'", "unwatched", "no section dead"
    ),
    "an alert that is off": Mistake(
        ALERTS, "severity: alert.value.severity\n    enabled: true",
        "severity: alert.value.severity\n    enabled: false",
        "unwatched", "enabled is False",
    ),
    "an alert on a metric that Service Bus lacks": Mistake(
        ALERTS, "'DeadletteredMessages'", "'DeadLetteredMessages'", "unwatched", "DeadLetteredMessages"
    ),
    # what was decided
    "versions are kept": Mistake(
        STORAGE, "isVersioningEnabled: false", "isVersioningEnabled: true", "decided", "isVersioningEnabled"
    ),
    "deleted blobs are kept for a month whatever was said": Mistake(
        STORAGE, "enabled: true, days: softDeleteDays }", "enabled: true, days: 30 }", "decided", "days is 30"
    ),
    "the storage's copies are as they are": Mistake(
        STORAGE, "sku: { name: redundancy }", "sku: { name: isPrivate ? 'Standard_LRS' : redundancy }", "decided",
        "Standard_LRS"
    ),
    "messages age": Mistake(BUS, "'P10675199DT2H48M5.4775807S'", "'P1D'", "decided", "age"),
    "a lock that Service Bus does not give": Mistake(
        NAMES, '"PT1M"', '"PT10M"', "differs-from-code", "lockDuration", BUS,
    ),
    "Premium is not asked for": Mistake(
        MAIN, "privateNetworking || customerManagedKeys", "customerManagedKeys", "decided", "sku.name", BUS
    ),
    "a search index without the vault's key": Mistake(
        SEARCH, "withOwnKey ? 'Enabled'", "withOwnKey ? 'Unspecified'", "decided", "enforcement", SEARCH
    ),
    "a search service that is not told its key": Mistake(
        MAIN, "customerManagedKeys ? '${vault.outputs.url}keys", "serviceMakesKeys ? '${vault.outputs.url}keys",
        "setting", "MEMNET_SEARCH_ENCRYPTION_KEY", WORKERS,
    ),
    "a plan that the workers do not run on": Mistake(WORKERS, "'FC1'", "'Y1'", "decided", "sku.name is 'Y1'"),
    "more replicas than the search service has": Mistake(PROD, "searchSku = 'standard'\nparam searchReplicas = 3",
        "searchSku = 'basic'\nparam searchReplicas = 4",
        "decided", "has no 4 replicas"),
    "a parent that is none": Mistake(
        STORAGE, "blobServices/containers@2025-01-01' = {\n  parent: blobs",
        "blobServices/containers@2025-01-01' = {\n  parent: account",
        "decided", "parent",
    ),
    "a name that Azure does not take": Mistake(
        STORAGE, "'stmemnet${token}'", "'stmemnetstorage${token}'", "unreachable", "no stmemnet is made", MAIN,
    ),
    "a name that somebody else has": Mistake(
        REGISTRY, "'crmemnet${token}'", "empty(token) ? token : 'crmemnet'", "decided", "whole world"
    ),
    "elsewhere than where everything is": Mistake(
        SEARCH, "  location: location\n  tags: tags\n  sku",
        "  location: isPrivate ? location : 'westeurope'\n  tags: tags\n  sku",
        "decided", "location is 'westeurope'",
    ),
    "prod without copies in two regions": Mistake(
        PROD, "'Standard_GZRS'", "'Standard_ZRS'", "differs-from-page", "storageRedundancy is 'Standard_ZRS'"
    ),
    "prod in the open": Mistake(
        PROD, "_NETWORKING', 'true'", "_NETWORKING', 'false'", "differs-from-page", "privateNetworking is False"
    ),
    "an alert that waits for longer than is told": Mistake(
        JOBS, '"threshold": 14400', '"threshold": 144000', "differs-from-page", "open-erasures"
    ),
    "an alert on everything else": Mistake(
        SILENT, 'Name == "memnet.', 'Name != "memnet.', "differs-from-code", "but one"
    ),
    "a slot's lock without a slot": Mistake(
        APP_SERVICE, "slots/basicPublishingCredentialsPolicies@2024-11-01' = if (!empty(release))",
        "slots/basicPublishingCredentialsPolicies@2024-11-01' = if (!empty(serving))", "decided",
        "it is made though app-memnet/next is not",
    ),
    "a module that does not take what it is given": Mistake(
        NETWORK, "@allowed(['containerApps', 'appService'])", "@allowed(['containerApps', 'appServices'])",
        "parameter-value", "apiHost is 'appService'",
    ),
    "the workbook shows another file": Mistake(
        "infra/modules/workbook.bicep", "../workbook.json", "../names.json", "decided", "serializedData"
    ),
    "a span of time that is none": Mistake(
        "infra/queries/open-erasures.kql", "15m", "15x", "differs-from-code", "15x"
    ),
    "a trigger on a queue that nobody fills": Mistake(
        "workers/function_app.py", "QUEUES[JobKind.REPLAY]", "QUEUES[JobKind.REINDEX]", "differs-from-code",
        "nothing takes the jobs of QUEUES[JobKind.REPLAY]",
    ),
    "a resource that is gone": Mistake(
        STORAGE, "= {\n  parent: account\n  name: 'default'\n  properties: {\n    policy",
        "= if (empty(token)) {\n  parent: account\n  name: 'default'\n  properties: {\n    policy", "inventory",
        "nothing makes the Microsoft.Storage/storageAccounts/managementPolicies", MAIN,
    ),
    # what is read where
    "a parameter from another variable": Mistake(
        PROD, "readEnvironmentVariable('MEMNET_ISSUER_URL')", "readEnvironmentVariable('MEMNET_ISSUER')",
        "differs-from-code", "issuerUrl is read from MEMNET_ISSUER",
    ),
    "bounds that leave nothing": Mistake(
        MAIN, "@minValue(1)\n@maxValue(12)", "@minValue(12)\n@maxValue(1)", "parameter-value", "at least 12", PROD
    ),
    "a default that is not allowed": Mistake(
        MAIN, "param storageRedundancy string = 'Standard_ZRS'", "param storageRedundancy string = 'Standard'",
        "parameter-value", "storageRedundancy",
    ),
    "erased memory stays for a year": Mistake(
        MAIN, "@maxValue(30)\nparam softDeleteDays", "@maxValue(365)\nparam softDeleteDays", "differs-from-code",
        "softDeleteDays has to be from 1 to 30",
    ),
    "private by default is another deployment": Mistake(
        MAIN, "param privateNetworking bool = false", "param privateNetworking bool = true", "differs-from-code",
        "privateNetworking",
    ),
    "a member that is given twice": Mistake(
        SEARCH, "    partitionCount: 1\n", "    partitionCount: 1\n    partitionCount: 1\n", "declared-twice",
        "partitionCount"
    ),
    "a schedule with a field too few": Mistake(
        "workers/function_app.py", '"0 40 3 * * *"', '"40 3 * * *"', "differs-from-code", "six fields"
    ),
    "a schedule beyond its range": Mistake(
        "workers/function_app.py", '"*/20 * * * * *"', '"75 * * * * *"', "differs-from-code", "'75 * * * * *'"
    ),
    "messages that nobody completes": Mistake(
        "workers/host.json", '"autoCompleteMessages": true', '"autoCompleteMessages": false', "differs-from-code",
        "completes",
    ),
}  # fmt: skip


@each(MISTAKES)
def test_a_planted_mistake_is_found(tmp_path: Path, mistake: Mistake) -> None:
    check_that_it_is_found(tmp_path, mistake)
