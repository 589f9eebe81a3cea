"""A user's history on Azurite, and the command as it is called."""

import asyncio
from collections.abc import Callable

import pytest
from azure.storage.blob import ContainerClient
from click.testing import CliRunner, Result

from cli.main import main
from local.stack.azurite_server import ACCOUNT_KEY, container_client
from local.stack.key_vault_server import KeyVault
from memnet import settings
from memnet.domain.core.access import Reason
from memnet.domain.core.scope import Actor, DocumentKey, UserScope
from memnet.domain.documents.commands import DeleteDocument, IfAbsent, IfMatch, PatchDocument
from memnet.operations.documents.read import get_document
from memnet.operations.documents.write import delete_document, patch_document
from memnet.settings import Settings
from memnet.wiring import connect
from tests.sample_settings import NOWHERE
from tests.services import service_of

SCOPE = UserScope("t1", "u1")
DYNAMIC = DocumentKey(SCOPE, "user", "user_dynamic.json")
PROJECT = DocumentKey(SCOPE, "projects", "alpha.json")
ACTOR = Actor("svc-a", frozenset({"Memory.Write"}))

Memnet = Callable[..., Result]


@pytest.fixture
def storage(container_url: str, key_vault: KeyVault, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings of an empty container and a vault, also in the environment; search and queue do not answer."""
    own = {"MEMNET_STORAGE_URL": container_url, "MEMNET_STORAGE_KEY": ACCOUNT_KEY}
    for name, value in {**NOWHERE, **key_vault.environment, **own}.items():
        monkeypatch.setenv(name, value)
    found = settings.load_storage()
    assert found is not None
    return found


@pytest.fixture
def blobs(container_url: str) -> ContainerClient:
    """The container itself, to look into and to tamper with."""
    account_url, _, name = container_url.rpartition("/")
    return container_client(account_url, name)


@pytest.fixture
def history(storage: Settings) -> list[bytes]:
    """Three versions of a document with preferences, whose bytes it returns, and a project that was deleted."""
    return asyncio.run(write_history(storage))


@pytest.fixture
def memnet() -> Memnet:
    """Call `memnet` with arguments."""
    return lambda *arguments: CliRunner().invoke(main, list(arguments), prog_name="memnet")


async def write_history(storage: Settings) -> list[bytes]:
    async with connect(storage) as services:
        ports = {"documents": services.documents, "audit": services.audit, "clock": services.clock}
        own = {"ids": services.ids, "background": services.background}

        async def patch(key: DocumentKey, binding: str, path: str, value: str, etag: str | None, name: str) -> str:
            command = PatchDocument(
                key=key,
                actor=ACTOR,
                precondition=IfMatch(etag) if etag else IfAbsent(),
                idempotency_key=name,
                profile_id="project-copilot-v1",
                binding_id=binding,
                ops=[{"op": "add", "path": path, "value": value}],
                reason=Reason.LIVE_UPDATE,
                evidence=None,
                confidence=None,
                source_time=None,
                dry_run=False,
            )
            return (await patch_document(command, service_of(catalog=services.catalog, **ports, **own))).etag

        versions, etag = [], None
        for number in range(1, 4):
            etag = await patch(DYNAMIC, "user_dynamic", "/content/preferences/-", f"p{number}", etag, f"k{number}")
            view = await get_document(DYNAMIC, services)
            versions.append(view.document)
        made = await patch(PROJECT, "project_doc", "/content/summary", "s", None, "made")
        ended = DeleteDocument(
            key=PROJECT, actor=ACTOR, precondition=IfMatch(made), idempotency_key="ended", note=None, dry_run=False
        )
        await delete_document(ended, service_of(**ports, **own))
        return versions
