"""Role assignments: known roles, each on one resource of a type it is meant for, for the services' identities alone."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tree_sitter import Node

from local.infra_check.finding import Finding
from local.infra_check.kinds import resource_of
from local.infra_check.syntax import Declaration, Source, line, literal, member, parts, text
from local.infra_check.values import NoSuchMember, Scope, evaluate, unknown_round

ASSIGNMENT: Final = "Microsoft.Authorization/roleAssignments"
DEFINITIONS: Final = "Microsoft.Authorization/roleDefinitions"


@dataclass(frozen=True, slots=True)
class Role:
    """A role that may be assigned."""

    key: str
    """Its name in roles.json."""
    name: str
    """Its name in Azure."""
    targets: tuple[str, ...]
    """The types of the resources on which it may be assigned."""


_QUEUE = "Microsoft.ServiceBus/namespaces/queues"
_SEARCH = "Microsoft.Search/searchServices"
_STORAGE = "Microsoft.Storage/storageAccounts"
_VAULT = "Microsoft.KeyVault/vaults"

ALLOWED: Final[Mapping[str, Role]] = {
    "7f951dda-4ed3-4680-a7ca-43fe172d538d": Role("acrPull", "AcrPull", ("Microsoft.ContainerRegistry/registries",)),
    "e147488a-f6f5-4113-8e2d-b22465e65bf6": Role(
        "keyVaultCryptoServiceEncryptionUser", "Key Vault Crypto Service Encryption User", (f"{_VAULT}/keys",)
    ),
    "b86a8fe4-44ce-4948-aee5-eccb2c155cd7": Role("keyVaultSecretsOfficer", "Key Vault Secrets Officer", (_VAULT,)),
    "4633458b-17de-408a-b874-0445c86b69e6": Role("keyVaultSecretsUser", "Key Vault Secrets User", (_VAULT,)),
    "3913510d-42f4-4e42-8a64-420c390055eb": Role(
        "monitoringMetricsPublisher", "Monitoring Metrics Publisher", ("Microsoft.Insights/components",)
    ),
    "5e0bd9bd-7b93-4f28-af87-19fc36ad61bd": Role(
        "openAiUser", "Cognitive Services OpenAI User", ("Microsoft.CognitiveServices/accounts",)
    ),
    "8ebe5a00-799e-43f5-93ac-243d3dce84a7": Role(
        "searchIndexDataContributor", "Search Index Data Contributor", (_SEARCH,)
    ),
    "4f6d3b9b-027b-4f4c-9142-0e5a2a2247e0": Role(
        "serviceBusDataReceiver", "Azure Service Bus Data Receiver", (_QUEUE,)
    ),
    "69a216fc-b8fb-44d8-bc22-1f3c2cd27a39": Role("serviceBusDataSender", "Azure Service Bus Data Sender", (_QUEUE,)),
    "ba92f5b4-2d11-453d-a403-e96b0029c9fe": Role(
        "storageBlobDataContributor", "Storage Blob Data Contributor", (f"{_STORAGE}/blobServices/containers",)
    ),
    "b7e6dc6d-f1e8-4753-8033-0f276bb0955b": Role("storageBlobDataOwner", "Storage Blob Data Owner", (_STORAGE,)),
    "0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3": Role(
        "storageTableDataContributor", "Storage Table Data Contributor", (_STORAGE,)
    ),
}
"""All there are, by their ids, which are the same in every tenant (Microsoft Learn, "Azure built-in roles")."""

OWN: Final[Mapping[str, Role]] = {"indexManager": Role("indexManager", "memnet Index Manager", (_SEARCH,))}
"""Those that the templates define, by the names of their declarations; what they may do stands in `decided`."""

BROAD: Final = {
    "8e3af657-a8ff-443c-a75c-2fe8c4bcb635": "Owner",
    "b24988ac-6180-42a0-ab88-20f7382dd24c": "Contributor",
    "18d7d88d-d35e-4fb5-a5c3-7773c20a72d9": "User Access Administrator",
    "f58310d9-a9f6-439a-9e8d-f62e7b41a168": "Role Based Access Control Administrator",
    "7ca78c08-252a-4471-8644-bb5ff32d4ba0": "Search Service Contributor",
}
"""Worth naming when somebody tries."""


def check_roles(source: Source) -> Iterator[Finding]:
    """Findings about the role assignments of one file."""
    for declared in source.of("resource"):
        if declared.target == ASSIGNMENT and declared.value is not None:
            scope = Scope(source) if declared.loop is None else unknown_round(declared.loop, Scope(source))
            yield from _assignment(source, declared, declared.value, scope)


def check_table(path: str, table: Mapping[str, Any]) -> Iterator[Finding]:
    """Findings about roles.json: every name stands for the role it says."""
    for i, (key, role_id) in enumerate(table.items()):
        role = ALLOWED.get(role_id)
        if role is None:
            yield Finding(path, i + 2, "role-not-allowed", f"{key} is {BROAD.get(role_id, role_id)}")
        elif role.key != key:
            yield Finding(path, i + 2, "role-not-allowed", f"{key} is the id of {role.name}")


def _assignment(source: Source, declared: Declaration, body: Node, scope: Scope) -> Iterator[Finding]:
    on, properties = member(body, "scope"), member(body, "properties")
    given = properties if properties is not None else body
    role_id = _role_id(member(given, "roleDefinitionId"), scope)
    if role_id is None:
        told = f"{declared.name}: which role it is cannot be told from the file"
        yield Finding(source.name, declared.line, "role-not-allowed", told)
        return
    role = ALLOWED.get(role_id) or OWN.get(role_id)
    if role is None:
        told = f"{declared.name} assigns {BROAD.get(role_id, role_id)}, which is not among the allowed roles"
        yield Finding(source.name, declared.line, "role-not-allowed", told)
        return
    yield from _scope(source, declared, on, role, scope)
    kind = member(given, "principalType")
    if kind is None or literal(kind) != "ServicePrincipal":
        told = f"{declared.name}: roles are for the services' identities, principalType 'ServicePrincipal'"
        yield Finding(source.name, declared.line, "role-principal", told)


def _scope(source: Source, declared: Declaration, on: Node | None, role: Role, scope: Scope) -> Iterator[Finding]:
    if on is None:
        told = f"{declared.name} assigns {role.name} on a whole resource group or subscription"
        yield Finding(source.name, declared.line, "role-scope", told)
        return
    target = resource_of(on, scope)
    if target is None or target.target not in role.targets:
        what = text(on) if target is None else target.target
        told = f"{role.name} is for {', '.join(role.targets)}, and not for {what}"
        yield Finding(source.name, line(on), "role-scope", told)


def _role_id(node: Node | None, scope: Scope) -> str | None:
    """The role, if it is given as subscriptionResourceId('…/roleDefinitions', <known>): its id, or who declares it."""
    if node is None or node.type != "call_expression":
        return None
    name, *groups = parts(node)
    arguments = [argument for group in groups for argument in parts(group)]
    if text(name) != "subscriptionResourceId" or len(arguments) != 2:
        return None
    named = parts(arguments[1]) if arguments[1].type == "member_expression" else []
    defined = resource_of(named[0], scope) if named and text(named[1]) == "name" else None
    try:
        kind, found = (evaluate(argument, scope) for argument in arguments)
    except NoSuchMember:
        return None
    if defined is not None and defined.target == DEFINITIONS:
        found = defined.name
    return found if kind == DEFINITIONS and isinstance(found, str) else None
