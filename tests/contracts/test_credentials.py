"""How the service proves to Azure Storage who it is."""

from typing import Any

import pytest
from azure.core.credentials import AccessTokenInfo, AzureNamedKeyCredential
from azure.core.pipeline import PipelineContext, PipelineRequest
from azure.core.pipeline.policies import AsyncBearerTokenCredentialPolicy
from azure.core.rest import HttpRequest
from azure.identity.aio import DefaultAzureCredential

from memnet.adapters.azure.blob_storage import open_container
from memnet.adapters.azure.credentials import account_name, storage_credential, storage_policy
from memnet.adapters.memory.clock import FrozenClock
from tests.contracts.test_azure_blob_storage import KEY


@pytest.mark.parametrize(
    ("url", "account"),
    [
        ("https://acme.blob.core.windows.net/memory", "acme"),
        ("http://127.0.0.1:10000/devstoreaccount1/memory", "devstoreaccount1"),
        ("http://127.0.0.1:10000/devstoreaccount1/memory/", "devstoreaccount1"),
    ],
)
def test_the_account_is_in_the_url(url: Any, account: Any) -> None:
    assert account_name(url) == account
    credential = storage_credential(url, KEY)
    assert isinstance(credential, AzureNamedKeyCredential)
    assert credential.named_key.name == account


async def test_without_a_key_entra_authorizes() -> None:
    credential = storage_credential("https://acme.blob.core.windows.net/memory", None)
    assert isinstance(credential, DefaultAzureCredential)
    await credential.close()


async def test_entra_tokens_are_for_storage_and_never_travel_in_clear() -> None:
    scopes: list[str] = []

    class Tokens:
        async def get_token_info(self, *wanted: str, options: Any = None) -> AccessTokenInfo:
            scopes.extend(wanted)
            return AccessTokenInfo("token", 4_000_000_000)

    policy = storage_policy(Tokens())  # type: ignore[arg-type]
    assert isinstance(policy, AsyncBearerTokenCredentialPolicy)
    request = PipelineRequest(HttpRequest("GET", "https://acme.blob.core.windows.net/m/a"), PipelineContext(None))
    await policy.on_request(request)
    assert request.http_request.headers["Authorization"] == "Bearer token"
    assert scopes == ["https://storage.azure.com/.default"]
    with pytest.raises(ValueError, match="HTTPS"):
        async with open_container(
            "http://127.0.0.1:1/account/container", account_key=None, timeout_seconds=1, clock=FrozenClock()
        ):
            pass
