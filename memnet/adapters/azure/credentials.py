"""How this service proves to Azure who it is: Entra ID, or the account key for the local emulator."""

import base64
import hmac
from typing import Any
from urllib.parse import urlsplit

from azure.core.credentials import AzureNamedKeyCredential
from azure.core.pipeline import PipelineRequest, PipelineResponse
from azure.core.pipeline.policies import AsyncBearerTokenCredentialPolicy, AsyncHTTPPolicy
from azure.core.rest import HttpRequest
from azure.identity.aio import DefaultAzureCredential

STORAGE_SCOPE = "https://storage.azure.com/.default"

Credential = DefaultAzureCredential | AzureNamedKeyCredential
Policy = AsyncHTTPPolicy[HttpRequest, Any]


def storage_credential(container_url: str, account_key: str | None) -> Credential:
    """Return the credential for this container: the key if there is one, else whatever Entra identity is at hand.

    DefaultAzureCredential finds a managed or workload identity in Azure and `az login` on a developer's machine.
    """
    if account_key is None:
        return DefaultAzureCredential()
    return AzureNamedKeyCredential(account_name(container_url), account_key)


def account_name(container_url: str) -> str:
    """Return the account: the first label of the host, or the first of two path segments (emulators)."""
    parts = urlsplit(container_url)
    segments = parts.path.strip("/").split("/")
    return segments[0] if len(segments) > 1 else (parts.hostname or "").partition(".")[0]


def storage_policy(credential: Credential) -> Policy:
    """Return the pipeline policy that authorizes each try of a request with `credential`."""
    if isinstance(credential, AzureNamedKeyCredential):
        return SharedKeyPolicy(credential)
    return AsyncBearerTokenCredentialPolicy(credential, STORAGE_SCOPE)


class SharedKeyPolicy(Policy):
    """Signs requests without query parameters by "Authorize with Shared Key" of the Blob service's REST reference.

    The SDK's own policy for it is not public. Of the standard headers it knows those that this adapter sends.
    """

    def __init__(self, credential: AzureNamedKeyCredential) -> None:
        """Take the account's name and its key (base64, as Azure shows it)."""
        super().__init__()
        name, key = credential.named_key
        self._account = name
        self._key = base64.b64decode(key)

    async def send(self, request: PipelineRequest[HttpRequest]) -> PipelineResponse[HttpRequest, Any]:
        """Add the Authorization header, and send the request on."""
        self._sign(request.http_request)
        return await self.next.send(request)

    def _sign(self, http: HttpRequest) -> None:
        headers = http.headers
        length = headers.get("Content-Length", "0")
        standard = (
            f"{http.method}\n\n\n{'' if length == '0' else length}\n\n{headers.get('Content-Type', '')}\n\n\n"
            f"{headers.get('If-Match', '')}\n{headers.get('If-None-Match', '')}\n\n\n"
        )
        own = "".join([f"{name}:{value}\n" for name, value in sorted(headers.items()) if name.startswith("x-ms-")])
        path = http.url[http.url.index("/", len("https://")) :]
        signature = hmac.digest(self._key, f"{standard}{own}/{self._account}{path}".encode(), "sha256")
        headers["Authorization"] = f"SharedKey {self._account}:{base64.b64encode(signature).decode()}"
