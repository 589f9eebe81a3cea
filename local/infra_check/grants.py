"""Role assignments: allowed roles, each on one resource, and exactly those in the table of docs/deployment.md."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from local.infra_check.finding import Finding
from local.infra_check.plan import MAIN, Plan, Resource, own_name
from local.infra_check.roles import ALLOWED, BROAD, OWN, Role
from local.infra_check.tree import Tree
from memnet.domain.core.job import DEAD_LETTERS, QUEUES

ASSIGNMENT: Final = "Microsoft.Authorization/roleAssignments"
DEFINITIONS: Final = "Microsoft.Authorization/roleDefinitions"
PAGE: Final = "docs/deployment.md"
_IDENTITIES: Final = {
    "API": "id-memnet-api", "workers": "id-memnet-workers", "encryption": "id-memnet-encryption",
}  # fmt: skip
_CONDITION: Final = "with `serviceMakesKeys` false, "
_PLACES: Final[Mapping[str, tuple[str, ...]]] = {
    "the container `memnet`": ("stmemnet/default/memnet",),
    "the vault": ("kv-memnet",),
    "the search service": ("srch-memnet",),
    "each queue of jobs": tuple(f"sb-memnet/{name}" for name in sorted(QUEUES.values())),
    "the queue of dead letters": (f"sb-memnet/{DEAD_LETTERS}",),
    "Application Insights": ("appi-memnet",),
    "the account of `openAiAccount`": ("models",),
    "the registry": ("crmemnet",),
    "the host's own account": ("stmemhost",),
    "the key of storage, queues and search index": ("kv-memnet/memnet-at-rest",),
}
"""The start of the table's last column, and the resources that it means."""
Grant = tuple[str, str, str]
"""Identity, role and resource."""


class UnreadableTable(Exception):
    """The page has no table of roles, or a row that the check cannot read."""


def documented(page: str, plan: Plan) -> set[Grant]:
    """Return the grants of the page's table in this scenario, and those that the workers always need.

    Workers take an erased user's messages out of every queue. Raises UnreadableTable.
    """
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", page.partition("## Who may do what")[2], re.MULTILINE)
    found = {grant for who, roles, on in rows for grant in _row(who, roles, on, plan)}
    if not found:
        raise UnreadableTable(f"{PAGE} has no table of roles")
    return found | {
        (_IDENTITIES["workers"], f"Azure Service Bus Data {role}", f"sb-memnet/{name}")
        for role in ("Sender", "Receiver")
        for name in (*QUEUES.values(), DEAD_LETTERS)
    }


def _row(who: str, cell: str, on: str, plan: Plan) -> Iterator[Grant]:
    if not set(who.split(", ")) <= _IDENTITIES.keys():
        return
    place = next((place for place in _PLACES if on.startswith(place)), None)
    if place is None:
        raise UnreadableTable(f"{PAGE}: unknown resource {on}")
    usual, _, otherwise = cell.partition(f"; {_CONDITION}")
    roles = [role.strip() for role in (otherwise if otherwise and not plan["serviceMakesKeys"] else usual).split(",")]
    unknown = set(roles) - {role.name for role in (*ALLOWED.values(), *OWN.values())}
    if unknown:
        raise UnreadableTable(f"{PAGE}: unknown role {', '.join(unknown)}")
    if (who == "encryption" and not plan["customerManagedKeys"]) or ("openAi" in place and not plan["openAiAccount"]):
        return
    for identity in who.split(", "):
        yield from ((_IDENTITIES[identity], role, name) for role in roles for name in _PLACES[place])


def check_grants(tree: Tree, plan: Plan) -> Iterator[Finding]:
    """Return findings about the assignments of a plan."""
    try:
        missing = documented(tree.text(PAGE), plan)
    except UnreadableTable as error:
        yield Finding(PAGE, 1, "grant", str(error))
        return
    for assignment in plan.of(ASSIGNMENT):
        role_id = str(assignment.at("properties.roleDefinitionId")).partition(f"/{DEFINITIONS}/")[2]
        own = next((one.declared.name for one in plan.of(DEFINITIONS) if one.name == role_id), "")
        role = ALLOWED.get(role_id) or OWN.get(own)
        if role is None:
            message = f"{own or BROAD.get(role_id, role_id)} is not among the allowed roles"
            yield assignment.finding("properties.roleDefinitionId", "role-not-allowed", message)
            continue
        yield from _target(assignment, role)
        grant = (_principal(plan, assignment), role.name, _name(assignment.on))
        if grant not in missing:
            yield assignment.finding("properties", "grant", "{} gets {} on {}: not documented".format(*grant))
        missing.discard(grant)
    for identity, name, on in sorted(missing):
        where = next((one for one in plan.resources if own_name(one).partition("/")[0] == on.partition("/")[0]), None)
        file, line = (MAIN, 1) if where is None else (where.source.name, where.declared.line)
        yield Finding(file, line, "grant", f"{identity} does not get {name} on {on}")


def _target(assignment: Resource, role: Role) -> Iterator[Finding]:
    if assignment.on is None:
        yield assignment.finding("", "role-scope", f"{role.name} is assigned on a whole resource group or subscription")
    elif assignment.on.type != role.target:
        yield assignment.finding("scope", "role-scope", f"{role.name} is for {role.target}, not {assignment.on.type}")
    if assignment.at("properties.principalType") != "ServicePrincipal":
        message = "only the services' identities get roles: principalType has to be 'ServicePrincipal'"
        yield assignment.finding("properties", "role-principal", message)


def _name(on: Resource | None) -> str:
    return "everything" if on is None else on.declared.name if on.declared.existing else own_name(on)


def _principal(plan: Plan, assignment: Resource) -> str:
    given = str(assignment.at("properties.principalId"))
    whose = plan.by_id(given.removesuffix("#properties.principalId"))
    return given if whose is None else own_name(whose)
