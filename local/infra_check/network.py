"""Private networking: no public endpoint, and a private one for each service that memnet calls."""

from collections.abc import Iterator, Mapping
from typing import Final

from local.infra_check.finding import Finding
from local.infra_check.plan import Plan

ZONES: Final[Mapping[tuple[str, str], str]] = {
    ("Microsoft.Storage/storageAccounts", "blob"): "privatelink.blob.core.windows.net",
    ("Microsoft.Storage/storageAccounts", "table"): "privatelink.table.core.windows.net",
    ("Microsoft.KeyVault/vaults", "vault"): "privatelink.vaultcore.azure.net",
    ("Microsoft.Search/searchServices", "searchService"): "privatelink.search.windows.net",
    ("Microsoft.ServiceBus/namespaces", "namespace"): "privatelink.servicebus.windows.net",
    ("Microsoft.Web/sites", "sites"): "privatelink.azurewebsites.net",
    ("Microsoft.Web/sites", "sites-next"): "privatelink.azurewebsites.net",
}
"""The zone of a private endpoint by the type and group that it is for (Microsoft Learn, "Azure Private Endpoint
private DNS zone values"); the group of a slot is `sites-` and its name."""
_STORES: Final = {kind for kind, _ in ZONES if not kind.startswith("Microsoft.Web/")}
_ENDPOINT: Final = "Microsoft.Network/privateEndpoints"
_CODE: Final = "public-endpoint"


def check_network(plan: Plan) -> Iterator[Finding]:
    """Findings about the public endpoints of a plan, and about the zones of its private ones."""
    yield from _zones(plan)
    if not plan["privateNetworking"]:
        return
    connection = "properties.privateLinkServiceConnections.0.properties"
    reached = {one.at(f"{connection}.privateLinkServiceId") for one in plan.of(_ENDPOINT)}
    for one in plan.of(*_STORES):
        path = "properties.publicNetworkAccess"
        if str(one.at(path)).lower() != "disabled":
            yield one.finding(path, _CODE, f"publicNetworkAccess is {one.at(path)!r} in a private network")
        path = "properties.networkAcls.defaultAction"
        if str(one.at(path) or "deny").lower() != "deny":
            yield one.finding(path, _CODE, f"defaultAction is {one.at(path)!r} in a private network")
        if one.id not in reached:
            yield one.finding("", _CODE, "it has no private endpoint")
    if not plan["apiIsPublic"]:
        yield from _private_api(plan)


def _private_api(plan: Plan) -> Iterator[Finding]:
    for one in plan.of("Microsoft.Web/sites", "Microsoft.Web/sites/slots"):
        if one.name.startswith("app-") and one.at("properties.publicNetworkAccess") != "Disabled":
            yield one.finding("properties.publicNetworkAccess", _CODE, "the API is public though apiIsPublic is false")
    for one in plan.of("Microsoft.App/managedEnvironments"):
        if one.at("properties.vnetConfiguration.internal") is not True:
            yield one.finding("properties.vnetConfiguration", _CODE, "the API is public though apiIsPublic is false")


def _zones(plan: Plan) -> Iterator[Finding]:
    zones = {one.name for one in plan.of("Microsoft.Network/privateDnsZones")}
    groups = plan.of(f"{_ENDPOINT}/privateDnsZoneGroups")
    for endpoint in plan.of(_ENDPOINT):
        properties = endpoint.at("properties.privateLinkServiceConnections.0.properties")
        target = plan.by_id(properties["privateLinkServiceId"])
        wanted = [ZONES.get((target.type, group)) for group in properties["groupIds"]] if target is not None else []
        own = next((one for one in groups if one.parent is endpoint), None)
        configs = [] if own is None else own.at("properties.privateDnsZoneConfigs")
        found = [one["properties"]["privateDnsZoneId"].rpartition("/")[2] for one in configs]
        if found != wanted or not zones.issuperset(found):
            yield endpoint.finding("", "zone", f"{endpoint.name} has the zones {found}, and needs {wanted}")
