"""Everything that some deployment makes: a resource that is new or gone is a decision, to be written down here."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from local.infra_check.finding import Finding
from local.infra_check.plan import Resource, own_name
from local.infra_check.roles import ASSIGNMENT

INVENTORY: Final[Mapping[str, frozenset[str]]] = {
    "Microsoft.App/containerApps": frozenset(("ca-memnet-api",)),
    "Microsoft.App/managedEnvironments": frozenset(("cae-memnet",)),
    "Microsoft.Authorization/roleDefinitions": frozenset(("indexManager",)),
    "Microsoft.ContainerRegistry/registries": frozenset(("crmemnet",)),
    "Microsoft.Insights/actionGroups": frozenset(("ag-memnet",)),
    "Microsoft.Insights/components": frozenset(("appi-memnet",)),
    "Microsoft.Insights/diagnosticSettings": frozenset(
        (
            "app-memnet/memnet",
            "app-memnet/next/memnet",
            "cae-memnet/memnet",
            "crmemnet/memnet",
            "func-memnet-blue/memnet",
            "func-memnet-green/memnet",
            "kv-memnet/memnet",
            "log-memnet/memnet",
            "sb-memnet/memnet",
            "srch-memnet/memnet",
            "stmemhost/default/memnet",
            "stmemnet/default/memnet",
        )
    ),
    "Microsoft.Insights/metricAlerts": frozenset(("memnet-broker-dead-letters",)),
    "Microsoft.Insights/scheduledQueryRules": frozenset(
        (
            "memnet-dead-letters",
            "memnet-index-lag",
            "memnet-late-replays",
            "memnet-open-erasures",
            "memnet-replay-backlog",
            "memnet-schema-violations",
            "memnet-server-errors",
            "memnet-silent-api",
            "memnet-silent-workers",
            "memnet-stale-writes",
        )
    ),
    "Microsoft.Insights/workbooks": frozenset(("workbook",)),
    "Microsoft.KeyVault/vaults": frozenset(("kv-memnet",)),
    "Microsoft.KeyVault/vaults/keys": frozenset(("kv-memnet/memnet-at-rest",)),
    "Microsoft.ManagedIdentity/userAssignedIdentities": frozenset(
        (
            "id-memnet-api",
            "id-memnet-encryption",
            "id-memnet-workers",
        )
    ),
    "Microsoft.Network/privateDnsZones": frozenset(
        (
            "calm-sea.westeurope.azurecontainerapps.io",
            "privatelink.azurewebsites.net",
            "privatelink.blob.core.windows.net",
            "privatelink.search.windows.net",
            "privatelink.servicebus.windows.net",
            "privatelink.table.core.windows.net",
            "privatelink.vaultcore.azure.net",
        )
    ),
    "Microsoft.Network/privateDnsZones/A": frozenset(("calm-sea.westeurope.azurecontainerapps.io/*",)),
    "Microsoft.Network/privateDnsZones/virtualNetworkLinks": frozenset(
        (
            "calm-sea.westeurope.azurecontainerapps.io/memnet",
            "privatelink.azurewebsites.net/memnet",
            "privatelink.blob.core.windows.net/memnet",
            "privatelink.search.windows.net/memnet",
            "privatelink.servicebus.windows.net/memnet",
            "privatelink.table.core.windows.net/memnet",
            "privatelink.vaultcore.azure.net/memnet",
        )
    ),
    "Microsoft.Network/privateEndpoints": frozenset(
        (
            "pe-memnet-api",
            "pe-memnet-api-next",
            "pe-memnet-blob",
            "pe-memnet-host-blob",
            "pe-memnet-host-table",
            "pe-memnet-search",
            "pe-memnet-service-bus",
            "pe-memnet-vault",
        )
    ),
    "Microsoft.Network/privateEndpoints/privateDnsZoneGroups": frozenset(
        (
            "pe-memnet-api-next/default",
            "pe-memnet-api/default",
            "pe-memnet-blob/default",
            "pe-memnet-host-blob/default",
            "pe-memnet-host-table/default",
            "pe-memnet-search/default",
            "pe-memnet-service-bus/default",
            "pe-memnet-vault/default",
        )
    ),
    "Microsoft.Network/virtualNetworks": frozenset(("vnet-memnet",)),
    "Microsoft.OperationalInsights/workspaces": frozenset(("log-memnet",)),
    "Microsoft.Resources/resourceGroups": frozenset(("rg-memnet-shop",)),
    "Microsoft.Search/searchServices": frozenset(("srch-memnet",)),
    "Microsoft.ServiceBus/namespaces": frozenset(("sb-memnet",)),
    "Microsoft.ServiceBus/namespaces/queues": frozenset(
        (
            "sb-memnet/memnet-conflicts",
            "sb-memnet/memnet-dead-letters",
            "sb-memnet/memnet-reindex",
            "sb-memnet/memnet-replay",
        )
    ),
    "Microsoft.Storage/storageAccounts": frozenset(
        (
            "stmemhost",
            "stmemnet",
        )
    ),
    "Microsoft.Storage/storageAccounts/blobServices": frozenset(
        (
            "stmemhost/default",
            "stmemnet/default",
        )
    ),
    "Microsoft.Storage/storageAccounts/blobServices/containers": frozenset(
        (
            "stmemhost/default/packages-blue",
            "stmemhost/default/packages-green",
            "stmemnet/default/memnet",
        )
    ),
    "Microsoft.Storage/storageAccounts/managementPolicies": frozenset(("stmemnet/default",)),
    "Microsoft.Web/serverfarms": frozenset(
        (
            "asp-memnet-api",
            "asp-memnet-workers-blue",
            "asp-memnet-workers-green",
        )
    ),
    "Microsoft.Web/sites": frozenset(
        (
            "app-memnet",
            "func-memnet-blue",
            "func-memnet-green",
        )
    ),
    "Microsoft.Web/sites/basicPublishingCredentialsPolicies": frozenset(
        (
            "app-memnet/ftp",
            "app-memnet/scm",
            "func-memnet-blue/ftp",
            "func-memnet-blue/scm",
            "func-memnet-green/ftp",
            "func-memnet-green/scm",
        )
    ),
    "Microsoft.Web/sites/slots": frozenset(("app-memnet/next",)),
    "Microsoft.Web/sites/slots/basicPublishingCredentialsPolicies": frozenset(
        (
            "app-memnet/next/ftp",
            "app-memnet/next/scm",
        )
    ),
}

FUNCTIONS: Final = frozenset(
    (
        "apply_conflict",
        "apply_retentions",
        "compact_documents",
        "erase_users",
        "reconcile_events",
        "refresh_documents",
        "replay_snapshot",
        "requeue_jobs",
        "resume_reindexing",
        "sign_heads",
        "sweep_outboxes",
    )
)
"""Every function that the workers ever had. A name is added and never taken away."""


def names_of(made: Iterable[Resource]) -> dict[str, set[str]]:
    """By type, the names without their unique part; of what is put on another resource, behind that one's."""
    found = defaultdict(set)
    for one in made:
        if one.type != ASSIGNMENT:
            found[one.type].add(_name(one))
    return found


def _name(one: Resource) -> str:
    return own_name(one) if one.on is None else f"{own_name(one.on)}/{own_name(one)}"


def check_inventory(made: list[Resource]) -> Iterator[Finding]:
    """Findings about what all situations together make. Assignments have a table of their own."""
    for one in made:
        if one.type != ASSIGNMENT and _name(one) not in INVENTORY.get(one.type, ()):
            yield one.finding("name", "inventory", f"local/infra_check/inventory.py has no {one.type} {_name(one)}")
    found = names_of(made)
    for kind, names in INVENTORY.items():
        for name in sorted(names - found[kind]):
            yield Finding("infra/main.bicep", 1, "inventory", f"nothing makes the {kind} {name}")
