"""Keys, secrets and open doors: none is read, none is an output, and no service takes keys or strangers."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tree_sitter import Node

from local.infra_check.finding import Finding
from local.infra_check.kinds import READING_KEYS
from local.infra_check.syntax import Declaration, Source, line, member, parts, text, walk
from local.infra_check.values import UNKNOWN, NoSuchMember, Scope, evaluate, unknown_round

SECRET_MEMBER: Final = re.compile(
    r"(?i)connectionstring|instrumentationkey|password|secret\w*|sharedkey|(primary|secondary)\w*key|accesskeys?|keys?"
    r"|\w*sas\w*token|\w*credential\w*"
)
"""Members that hold, or lead to, what lets somebody in."""
SECRET_TEXT: Final = re.compile(r"(?i)(AccountKey|SharedAccessKey|sig)=\S|[A-Za-z0-9+/]{86}==|-----BEGIN")
SECRET_OUTPUT: Final = re.compile(r"(?i).*(connection_?string|password|secret|access_?key|primary_?key|sas_?token).*")

REQUIRED: Final[Mapping[str, Mapping[str, Any]]] = {
    "Microsoft.Storage/storageAccounts": {
        "allowSharedKeyAccess": False,
        "allowBlobPublicAccess": False,
        "allowCrossTenantReplication": False,
        "isLocalUserEnabled": False,
        "minimumTlsVersion": "TLS1_2",
        "supportsHttpsTrafficOnly": True,
    },
    "Microsoft.Storage/storageAccounts/blobServices/containers": {"publicAccess": "None"},
    "Microsoft.KeyVault/vaults": {
        "enableRbacAuthorization": True,
        "enableSoftDelete": True,
        "enablePurgeProtection": True,
    },
    "Microsoft.Search/searchServices": {"disableLocalAuth": True},
    "Microsoft.ServiceBus/namespaces": {"disableLocalAuth": True, "minimumTlsVersion": "1.2"},
    "Microsoft.OperationalInsights/workspaces": {"features.disableLocalAuth": True},
    "Microsoft.Insights/components": {"DisableLocalAuth": True},
    "Microsoft.ContainerRegistry/registries": {"adminUserEnabled": False, "anonymousPullEnabled": False},
    "Microsoft.App/containerApps": {"configuration.ingress.allowInsecure": False},
    "Microsoft.App/managedEnvironments": {"appLogsConfiguration.destination": "azure-monitor"},
    "Microsoft.Web/sites": {"httpsOnly": True, "siteConfig.minTlsVersion": "1.2"},
    "Microsoft.Web/sites/slots": {"httpsOnly": True, "siteConfig.minTlsVersion": "1.2"},
    "Microsoft.Web/sites/basicPublishingCredentialsPolicies": {"allow": False},
    "Microsoft.Web/sites/slots/basicPublishingCredentialsPolicies": {"allow": False},
}
"""What has to stand in `properties` of each resource of a type, whatever the parameters."""


def check_exposure(source: Source) -> Iterator[Finding]:
    """Findings about one file."""
    for node in walk(source.root):
        yield from _key(source, node)
    for declared in source.of("output"):
        yield from _output(source, declared)
    for declared in source.of("resource"):
        if not declared.existing and declared.target in REQUIRED and declared.value is not None:
            yield from _door(source, declared, declared.value)


def _key(source: Source, node: Node) -> Iterator[Finding]:
    if node.type == "call_expression":
        name = parts(node)[0]
        called = text(parts(name)[-1] if name.type == "member_expression" else name)
        if called in READING_KEYS or called.startswith("list"):
            yield Finding(source.name, line(node), "key-read", f"{called} reads keys; identities have roles instead")
    elif node.type == "string_content" and SECRET_TEXT.search(text(node)):
        yield Finding(source.name, line(node), "secret-in-file", "this looks like a key or a signature")


def _output(source: Source, declared: Declaration) -> Iterator[Finding]:
    told = f"the output {declared.name}"
    if "secure" in declared.decorators:
        yield Finding(source.name, declared.line, "secret-output", f"{told} is marked as a secret: let none leave")
    if SECRET_OUTPUT.fullmatch(declared.name):
        yield Finding(source.name, declared.line, "secret-output", f"{told} is named like a secret")
    secret = {param.name for param in source.of("param") if "secure" in param.decorators}
    for node in walk(declared.value) if declared.value is not None else ():
        if node.type == "property_identifier" and SECRET_MEMBER.fullmatch(text(node)):
            yield Finding(source.name, line(node), "secret-output", f"{told} tells {text(node)}")
        if node.type == "identifier" and text(node) in secret:
            yield Finding(source.name, line(node), "secret-output", f"{told} tells the secure parameter {text(node)}")


def _door(source: Source, declared: Declaration, body: Node) -> Iterator[Finding]:
    scope = Scope(source) if declared.loop is None else unknown_round(declared.loop, Scope(source))
    properties = member(body, "properties")
    known = UNKNOWN if properties is None else _known(properties, scope)
    for path, wanted in REQUIRED[declared.target].items():
        found = known
        for name in path.split("."):
            found = found.get(name, UNKNOWN) if isinstance(found, dict) else UNKNOWN
        if found != wanted or isinstance(found, bool) != isinstance(wanted, bool):
            told = f"{declared.name}: {path} has to be {_shown(wanted)}"
            yield Finding(source.name, _line_of(properties, path, declared), "open-door", told)


def _known(node: Node, scope: Scope) -> Any:
    """The value; of a union, what its first part says, because what is added depends on parameters."""
    try:
        found = evaluate(node, scope)
    except NoSuchMember:
        return UNKNOWN
    if found is UNKNOWN and node.type == "call_expression" and text(parts(node)[0]) == "union":
        return _known(parts(parts(node)[1])[0], scope)
    if isinstance(found, dict) and node.type == "object":
        return {name: _member(node, name, value, scope) for name, value in found.items()}
    return found


def _member(node: Node, name: str, value: Any, scope: Scope) -> Any:
    inner = member(node, name)
    return _known(inner, scope) if value is UNKNOWN and inner is not None else value


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _line_of(properties: Node | None, path: str, declared: Declaration) -> int:
    """The line of the deepest member on the path that is there."""
    found = declared.line
    for name in path.split("."):
        properties = member(properties, name) if properties is not None and properties.type == "object" else None
        if properties is None:
            return found
        found = line(properties)
    return found
