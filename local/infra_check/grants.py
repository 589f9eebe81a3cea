"""Who gets which role on what, as the table of docs/deployment.md has it: none less, none more, none for another."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from local.infra_check.finding import Finding
from local.infra_check.plan import Plan, Resource, own_name
from local.infra_check.project import text_of
from local.infra_check.roles import ALLOWED, ASSIGNMENT, DEFINITIONS, OWN
from memnet.domain.job import DEAD_LETTERS, QUEUES

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
"""What the table's last column begins with, and the names of the resources it means."""
Grant = tuple[str, str, str]
"""Identity, role and resource."""


class UnreadableTable(Exception):
    """The page has no such table, or says something in it that is not understood."""


def wanted(page: str, plan: Plan) -> set[Grant]:
    """What the page says of this situation, and what the workers cannot do without, whatever it says.

    They take an erased user's messages out of every queue. Raises UnreadableTable.
    """
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", page.partition("## Who may do what")[2], re.MULTILINE)
    found = {grant for who, roles, on in rows for grant in _row(who, roles, on, plan)}
    if not found:
        raise UnreadableTable("docs/deployment.md has no table of roles")
    return found | {
        (_IDENTITIES["workers"], f"Azure Service Bus Data {role}", f"sb-memnet/{name}")
        for role in ("Sender", "Receiver")
        for name in (*QUEUES.values(), DEAD_LETTERS)
    }


def _row(who: str, told: str, on: str, plan: Plan) -> Iterator[Grant]:
    if not set(who.split(", ")) <= _IDENTITIES.keys():
        return
    place = next((place for place in _PLACES if on.startswith(place)), None)
    if place is None:
        raise UnreadableTable(f"docs/deployment.md: a role on {on}, which is not known here")
    usual, _, otherwise = told.partition(f"; {_CONDITION}")
    told = otherwise if otherwise and not plan["serviceMakesKeys"] else usual
    roles = [role.strip() for role in told.split(",")]
    unknown = set(roles) - {role.name for role in (*ALLOWED.values(), *OWN.values())}
    if unknown:
        raise UnreadableTable(f"docs/deployment.md: {', '.join(unknown)} is no role that is known here")
    if (who == "encryption" and not plan["customerManagedKeys"]) or ("openAi" in place and not plan["openAiAccount"]):
        return
    for identity in who.split(", "):
        yield from ((_IDENTITIES[identity], role, name) for role in roles for name in _PLACES[place])


def check_grants(root: Path, plan: Plan) -> Iterator[Finding]:
    """Findings about the assignments of a plan."""
    try:
        missing = wanted(text_of(root, "docs/deployment.md"), plan)
    except UnreadableTable as error:
        yield Finding("docs/deployment.md", 1, "grant", str(error))
        return
    for assignment in plan.of(ASSIGNMENT):
        role_id, principal, on = (_said(assignment, name) for name in ("roleDefinitionId", "principalId", "scope"))
        grant = _grant(plan, assignment, role_id, principal)
        if grant not in missing:
            told = "{} gets {} on {}, which docs/deployment.md does not say, or says once".format(*grant)
            yield assignment.finding("properties", "grant", told)
        missing.discard(grant)
        name = str(assignment.pick("name"))
        if name != f"guid({on}, {principal}, {_bare(role_id)})":
            yield assignment.finding("name", "grant", "its guid is not of what it is on, who gets it, and which role")
    for identity, role, name in sorted(missing):
        module = name.partition("/")[0]
        where = next((one for one in plan.resources if own_name(one).partition("/")[0] == module), None)
        told = f"{identity} does not get {role} on {name}"
        yield where.finding("", "grant", told) if where else Finding("infra/main.bicep", 1, "grant", told)


def _said(assignment: Resource, name: str) -> str:
    if name == "scope":
        return "" if assignment.on is None else assignment.on.id
    return str(assignment.at(f"properties.{name}"))


def _bare(role_id: str) -> str:
    return role_id.partition(f"/{DEFINITIONS}/")[2]


def _grant(plan: Plan, assignment: Resource, role_id: str, principal: str) -> Grant:
    own = next((one.declared.name for one in plan.of(DEFINITIONS) if one.name == _bare(role_id)), "")
    role = ALLOWED.get(_bare(role_id)) or OWN.get(own)
    whose = plan.by_id(principal.partition("#")[0])
    is_principal = whose is not None and principal.endswith("#properties.principalId")
    on = assignment.on
    target = "everything" if on is None else on.declared.name if on.declared.existing else own_name(on)
    return (own_name(whose) if whose and is_principal else principal, role.name if role else role_id, target)
