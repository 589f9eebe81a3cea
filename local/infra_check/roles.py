"""The roles that may be assigned, and the type of resource that each is for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from local.infra_check.finding import Finding
from local.infra_check.tree import INFRA, Tree

TABLE: Final = f"{INFRA}/roles.json"
_CODE: Final = "role-not-allowed"


@dataclass(frozen=True, slots=True)
class Role:
    """A role that may be assigned."""

    key: str
    """Its name in roles.json."""
    name: str
    """Its name in Azure."""
    target: str
    """The type of the resources on which it may be assigned."""


_INSIGHTS: Final = "Microsoft.Insights/components"
_MODELS: Final = "Microsoft.CognitiveServices/accounts"
_QUEUE: Final = "Microsoft.ServiceBus/namespaces/queues"
_REGISTRY: Final = "Microsoft.ContainerRegistry/registries"
_SEARCH: Final = "Microsoft.Search/searchServices"
_STORAGE: Final = "Microsoft.Storage/storageAccounts"
_VAULT: Final = "Microsoft.KeyVault/vaults"
_ENCRYPTION: Final = "Key Vault Crypto Service Encryption User"
ALLOWED: Final[Mapping[str, Role]] = {
    "7f951dda-4ed3-4680-a7ca-43fe172d538d": Role("acrPull", "AcrPull", _REGISTRY),
    "e147488a-f6f5-4113-8e2d-b22465e65bf6": Role("keyVaultCryptoServiceEncryptionUser", _ENCRYPTION, f"{_VAULT}/keys"),
    "b86a8fe4-44ce-4948-aee5-eccb2c155cd7": Role("keyVaultSecretsOfficer", "Key Vault Secrets Officer", _VAULT),
    "4633458b-17de-408a-b874-0445c86b69e6": Role("keyVaultSecretsUser", "Key Vault Secrets User", _VAULT),
    "3913510d-42f4-4e42-8a64-420c390055eb": Role(
        "monitoringMetricsPublisher", "Monitoring Metrics Publisher", _INSIGHTS
    ),
    "5e0bd9bd-7b93-4f28-af87-19fc36ad61bd": Role("openAiUser", "Cognitive Services OpenAI User", _MODELS),
    "8ebe5a00-799e-43f5-93ac-243d3dce84a7": Role(
        "searchIndexDataContributor", "Search Index Data Contributor", _SEARCH
    ),
    "4f6d3b9b-027b-4f4c-9142-0e5a2a2247e0": Role("serviceBusDataReceiver", "Azure Service Bus Data Receiver", _QUEUE),
    "69a216fc-b8fb-44d8-bc22-1f3c2cd27a39": Role("serviceBusDataSender", "Azure Service Bus Data Sender", _QUEUE),
    "ba92f5b4-2d11-453d-a403-e96b0029c9fe": Role(
        "storageBlobDataContributor", "Storage Blob Data Contributor", f"{_STORAGE}/blobServices/containers"
    ),
    "b7e6dc6d-f1e8-4753-8033-0f276bb0955b": Role("storageBlobDataOwner", "Storage Blob Data Owner", _STORAGE),
    "0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3": Role(
        "storageTableDataContributor", "Storage Table Data Contributor", _STORAGE
    ),
}
"""Azure's own, by their ids, which are the same in every tenant (Microsoft Learn, "Azure built-in roles")."""
OWN: Final[Mapping[str, Role]] = {"indexManager": Role("indexManager", "memnet Index Manager", _SEARCH)}
"""Those that the templates define, by the names of their declarations."""
BROAD: Final = {
    "8e3af657-a8ff-443c-a75c-2fe8c4bcb635": "Owner",
    "b24988ac-6180-42a0-ab88-20f7382dd24c": "Contributor",
    "18d7d88d-d35e-4fb5-a5c3-7773c20a72d9": "User Access Administrator",
    "f58310d9-a9f6-439a-9e8d-f62e7b41a168": "Role Based Access Control Administrator",
    "7ca78c08-252a-4471-8644-bb5ff32d4ba0": "Search Service Contributor",
}
"""Roles that a message names."""


def check_table(tree: Tree) -> Iterator[Finding]:
    """Findings about roles.json: each name has the id of the role that it names."""
    for i, (key, role_id) in enumerate(tree.json(TABLE).items()):
        role = ALLOWED.get(role_id)
        if role is None:
            yield Finding(TABLE, i + 2, _CODE, f"{key} is {BROAD.get(role_id, role_id)}")
        elif role.key != key:
            yield Finding(TABLE, i + 2, _CODE, f"{key} is the id of {role.name}")
