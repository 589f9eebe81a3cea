"""Private networking: no public endpoint, and a private one for each service that memnet calls."""

from collections.abc import Iterator
from typing import Final

from local.infra_check.finding import Finding
from local.infra_check.plan import Plan

_STORES: Final = (
    "Microsoft.Storage/storageAccounts", "Microsoft.KeyVault/vaults", "Microsoft.Search/searchServices",
    "Microsoft.ServiceBus/namespaces",
)  # fmt: skip
_ENDPOINT: Final = "Microsoft.Network/privateEndpoints"
_CODE: Final = "public-endpoint"


def check_network(plan: Plan) -> Iterator[Finding]:
    """Findings about the public endpoints of a plan."""
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
