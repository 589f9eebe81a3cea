"""Who reaches what: private endpoints with their zones, subnets, and doors that are shut once there is a network."""

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any, Final

from local.infra_check.finding import Finding
from local.infra_check.plan import Plan, Resource, own_name

ZONES: Final[Mapping[tuple[str, str], str]] = {
    ("Microsoft.Storage/storageAccounts", "blob"): "privatelink.blob.core.windows.net",
    ("Microsoft.Storage/storageAccounts", "table"): "privatelink.table.core.windows.net",
    ("Microsoft.KeyVault/vaults", "vault"): "privatelink.vaultcore.azure.net",
    ("Microsoft.Search/searchServices", "searchService"): "privatelink.search.windows.net",
    ("Microsoft.ServiceBus/namespaces", "namespace"): "privatelink.servicebus.windows.net",
    ("Microsoft.Web/sites", "sites"): "privatelink.azurewebsites.net",
    ("Microsoft.Web/sites", "sites-next"): "privatelink.azurewebsites.net",
}
"""What an endpoint of a type is for, and the zone that its name has to be in (Microsoft Learn, "Azure Private Endpoint
private DNS zone values"); of a slot the group is `sites-` and its name."""
_STORES: Final[Mapping[str, tuple[str, ...]]] = {
    "stmemnet": ("blob",),
    "stmemhost": ("blob", "table"),
    "kv-memnet": ("vault",),
    "srch-memnet": ("searchService",),
    "sb-memnet": ("namespace",),
}
"""What has private endpoints and nothing else, once there is a network."""
_ENDPOINT: Final = "Microsoft.Network/privateEndpoints"
_NETWORK: Final = "Microsoft.Network/virtualNetworks"
_ZONE: Final = "Microsoft.Network/privateDnsZones"
_ENVIRONMENT: Final = "Microsoft.App/managedEnvironments"
_SUBNETS: Final = {"endpoints": None, "api": None, "workers": "Microsoft.App/environments"}
_CONTAINER_APPS: Final = "Microsoft.App/environments"
_APP_SERVICE: Final = "Microsoft.Web/serverFarms"


def check_reach(plan: Plan) -> Iterator[Finding]:
    """Findings about the network of a plan."""
    yield from _existing(plan)
    yield from _doors(plan)
    yield from _endpoints(plan)
    if plan["privateNetworking"]:
        yield from _subnets(plan)
        yield from _zones(plan)
    yield from _placed(plan)
    yield from _domain(plan)


def _existing(plan: Plan) -> Iterator[Finding]:
    """What is said to be there is made by the same deployment, but for the models' account."""
    made = {one.id for one in plan.resources}
    for one in plan.existing:
        if one.id not in made and one.type != "Microsoft.CognitiveServices/accounts":
            yield one.finding("name", "unreachable", f"nothing makes the {one.type} {one.name}")


def _doors(plan: Plan) -> Iterator[Finding]:
    is_private = plan["privateNetworking"]
    for name in _STORES:
        store = next((one for one in plan.resources if own_name(one) == name), None)
        if store is None:
            yield Finding(plan.main.source.name, 1, "unreachable", f"no {name} is made")
            continue
        wanted = {"properties.publicNetworkAccess": "disabled" if is_private else "enabled"}
        if store.type in ("Microsoft.Storage/storageAccounts", "Microsoft.KeyVault/vaults"):
            wanted["properties.networkAcls.defaultAction"] = "deny" if is_private else "allow"
            wanted["properties.networkAcls.bypass"] = "azureservices" if name == "kv-memnet" else "none"
        for path, value in wanted.items():
            if str(store.at(path) or "").lower() != value:
                yield store.finding(path, "unreachable", f"{path} is {store.at(path)!r} and has to be {value!r}")


def _endpoints(plan: Plan) -> Iterator[Finding]:
    wanted = {(name, group) for name, groups in _STORES.items() for group in groups}
    if not plan["privateNetworking"]:
        wanted = set()
    elif plan["apiHost"] == "appService" and not plan["apiIsPublic"] and plan["release"]:
        wanted |= {("app-memnet", "sites"), ("app-memnet", "sites-next")}
    for endpoint in plan.of(_ENDPOINT):
        connection = "properties.privateLinkServiceConnections.0.properties"
        target = plan.by_id(endpoint.at(f"{connection}.privateLinkServiceId"))
        groups = endpoint.at(f"{connection}.groupIds") or [""]
        pair = ("nothing" if target is None else own_name(target), groups[0])
        if pair not in wanted or len(groups) != 1:
            told = f"an endpoint for {', '.join(groups)} of {pair[0]} is not wanted, or wanted once"
            yield endpoint.finding("properties", "unreachable", told)
        wanted.discard(pair)
        yield from _zone_of(plan, endpoint, target, groups[0])
        if not str(endpoint.at("properties.subnet.id")).endswith("/vnet-memnet/subnets/endpoints"):
            yield endpoint.finding("properties", "unreachable", "it has to be in the subnet endpoints")
    for name, group in sorted(wanted):
        told = f"{name} has no private endpoint for {group}"
        store = next((one for one in plan.resources if own_name(one) == name), None)
        yield (
            store.finding("", "unreachable", told) if store else Finding(plan.main.source.name, 1, "unreachable", told)
        )


def _zone_of(plan: Plan, endpoint: Resource, target: Resource | None, group: str) -> Iterator[Finding]:
    wanted = None if target is None else ZONES.get((target.type, group))
    own = [one for one in plan.of(f"{_ENDPOINT}/privateDnsZoneGroups") if one.parent is endpoint]
    zones = [
        config["properties"]["privateDnsZoneId"] for one in own for config in one.at("properties.privateDnsZoneConfigs")
    ]
    if [str(zone).rpartition("/")[2] for zone in zones] != [wanted]:
        name = endpoint.name
        told = f"{name}, for {group} of a {'thing' if target is None else target.type}: its zone has to be {wanted}"
        for module in plan.modules:
            if module.declared.kind == "module" and own[:1] and own[0] in module.world.made:
                yield Finding(module.scope.source.name, module.declared.line, "unreachable", told)


def _subnets(plan: Plan) -> Iterator[Finding]:
    network = plan.the(_NETWORK)
    subnets = {one["name"]: one["properties"] for one in network.at("properties.subnets") or []}
    on = _CONTAINER_APPS if plan["apiHost"] == "containerApps" else _APP_SERVICE
    for name, delegated in (_SUBNETS | {"api": on}).items():
        found = [one["properties"]["serviceName"] for one in subnets.get(name, {}).get("delegations", [])]
        if name not in subnets or found != ([delegated] if delegated else []):
            told = f"the subnet {name} has to be delegated to {delegated or 'nothing'}"
            yield network.finding("properties.subnets", "unreachable", told)
    space = ipaddress.IPv4Network((network.at("properties.addressSpace.addressPrefixes") or ["0.0.0.0/32"])[0])
    ranges = [ipaddress.IPv4Network(one["addressPrefix"]) for one in subnets.values()]
    if any(not one.subnet_of(space) for one in ranges) or any(
        one.overlaps(other) for i, one in enumerate(ranges) for other in ranges[:i]
    ):
        yield network.finding("properties.subnets", "unreachable", "subnets overlap, or leave the network")


def _zones(plan: Plan) -> Iterator[Finding]:
    """Each zone is known in the network."""
    network = plan.the(_NETWORK)
    links = plan.of(f"{_ZONE}/virtualNetworkLinks")
    linked = {one.parent.name for one in links if one.parent and one.at("properties.virtualNetwork.id") == network.id}
    for zone in plan.of(_ZONE):
        if zone.name not in linked:
            yield zone.finding("", "unreachable", f"the zone {zone.name} is not linked to the network")
    for link in links:
        if link.at("properties.registrationEnabled") is not False:
            yield link.finding("properties.registrationEnabled", "unreachable", "machines must not register in it")


def _placed(plan: Plan) -> Iterator[Finding]:
    """API and workers are in their subnets, or in none."""
    network = f"{plan.the(_NETWORK).id}/subnets/" if plan["privateNetworking"] else None
    for app in plan.of("Microsoft.Web/sites", "Microsoft.Web/sites/slots"):
        subnet = "workers" if app.name.startswith("func-") else "api"
        yield from _in(app, "properties.virtualNetworkSubnetId", network and network + subnet)
    for environment in plan.of(_ENVIRONMENT):
        where = "properties.vnetConfiguration.infrastructureSubnetId"
        yield from _in(environment, where, network and network + "api")
        is_internal = environment.at("properties.vnetConfiguration.internal")
        if network and is_internal is not (not plan["apiIsPublic"]):
            told = f"internal is {is_internal!r} though apiIsPublic is {plan['apiIsPublic']!r}"
            yield environment.finding("properties.vnetConfiguration", "unreachable", told)


def _in(app: Resource, path: str, wanted: str | None) -> Iterator[Finding]:
    if app.at(path) != wanted:
        yield app.finding(path, "unreachable", f"its subnet is {app.at(path)!r} and has to be {wanted!r}")


def _domain(plan: Plan) -> Iterator[Finding]:
    """The names of an internal environment are known in the network."""
    for environment in plan.of(_ENVIRONMENT):
        if not environment.at("properties.vnetConfiguration.internal"):
            continue
        domain, address = (str(environment.pick("properties").pick(name)) for name in ("defaultDomain", "staticIp"))
        records = [one for one in plan.of(f"{_ZONE}/A") if one.name == f"{domain}/*"]
        given: list[Any] = [one.at("properties.aRecords.0.ipv4Address") for one in records]
        if given != [address]:
            told = f"the zone {domain} has to lead * to the environment's address"
            yield environment.finding("", "unreachable", told)
