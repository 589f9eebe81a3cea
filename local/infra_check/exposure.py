"""Keys and secrets: no template reads or returns one, and no service accepts keys or anonymous callers."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tree_sitter import Node

from local.infra_check.expression_types import READING_KEYS
from local.infra_check.finding import Finding
from local.infra_check.plan import Plan
from local.infra_check.syntax import Declaration, Source, line, parts, text, walk

SECRET_MEMBER: Final = re.compile(
    r"(?i)connectionstring|instrumentationkey|password|secret\w*|sharedkey|(primary|secondary)\w*key|accesskeys?|keys?"
    r"|\w*sas\w*token|\w*credential\w*"
)
"""Members that hold a credential, or lead to one."""
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
"""The required `properties` of each resource of a type, whatever the parameters."""


def check_secrets(source: Source) -> Iterator[Finding]:
    """Return findings about keys that one file reads, contains or returns."""
    for node in walk(source.root):
        yield from _key(source, node)
    for declared in source.of("output"):
        yield from _output(source, declared)


def check_keys_refused(plan: Plan) -> Iterator[Finding]:
    """Return findings about resources of a plan that accept keys, anonymous access or plain text."""
    for one in plan.resources:
        for name, wanted in REQUIRED.get(one.type, {}).items():
            found = one.at(f"properties.{name}")
            if found != wanted or isinstance(found, bool) != isinstance(wanted, bool):
                yield one.finding(f"properties.{name}", "open-door", f"{name} has to be {json.dumps(wanted)}")


def _key(source: Source, node: Node) -> Iterator[Finding]:
    if node.type == "call_expression":
        name = parts(node)[0]
        called = text(parts(name)[-1] if name.type == "member_expression" else name)
        if called in READING_KEYS or called.startswith("list"):
            yield Finding(source.name, line(node), "key-read", f"{called} reads keys; use the roles of an identity")
    elif node.type == "string_content" and SECRET_TEXT.search(text(node)):
        yield Finding(source.name, line(node), "secret-in-file", "this looks like a key or a signature")


def _output(source: Source, declared: Declaration) -> Iterator[Finding]:
    message = f"output {declared.name}"
    if "secure" in declared.decorators:
        yield Finding(source.name, declared.line, "secret-output", f"{message} is marked as a secret")
    if SECRET_OUTPUT.fullmatch(declared.name):
        yield Finding(source.name, declared.line, "secret-output", f"{message} is named like a secret")
    secret = {param.name for param in source.of("param") if "secure" in param.decorators}
    for node in walk(declared.value) if declared.value is not None else ():
        if node.type == "property_identifier" and SECRET_MEMBER.fullmatch(text(node)):
            yield Finding(source.name, line(node), "secret-output", f"{message} returns {text(node)}")
        if node.type == "identifier" and text(node) in secret:
            yield Finding(
                source.name, line(node), "secret-output", f"{message} returns the secure parameter {text(node)}"
            )
