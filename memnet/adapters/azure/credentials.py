"""How this service proves to Azure who it is: Entra ID, or the account key for the local emulator."""

import base64
import hashlib
import hmac
from urllib.parse import parse_qsl, urlsplit

from azure.core.credentials import AzureNamedKeyCredential
from azure.core.pipeline import PipelineRequest
from azure.core.pipeline.policies import AsyncBearerTokenCredentialPolicy, SansIOHTTPPolicy
from azure.core.rest import AsyncHttpResponse, HttpRequest
from azure.identity.aio import DefaultAzureCredential

STORAGE_SCOPE = "https://storage.azure.com/.default"

Credential = DefaultAzureCredential | AzureNamedKeyCredential
Policy = SansIOHTTPPolicy[HttpRequest, AsyncHttpResponse]


def storage_credential(container_url: str, account_key: str | None) -> Credential:
    """Return the credential for this container: the key if there is one, else whatever Entra identity is at hand.

    DefaultAzureCredential finds a managed or workload identity in Azure and `az login` on a developer's machine. Raises
    ValueError for an Entra identity over plain http, which would send its tokens in clear.
    """
    if account_key is None:
        if urlsplit(container_url).scheme != "https":
            raise ValueError("an Entra identity needs HTTPS")
        return DefaultAzureCredential()
    return AzureNamedKeyCredential(account_name(container_url), account_key)


def account_name(container_url: str) -> str:
    """Return the account: the first label of the host, or the first of two path segments (emulators)."""
    parts = urlsplit(container_url)
    segments = parts.path.strip("/").split("/")
    return segments[0] if len(segments) > 1 else (parts.hostname or "").partition(".")[0]


def storage_policy(
    credential: Credential,
) -> "AsyncBearerTokenCredentialPolicy[HttpRequest, AsyncHttpResponse] | SharedKeyPolicy":
    """Return the pipeline policy that authorizes each try of a request with `credential`."""
    if isinstance(credential, AzureNamedKeyCredential):
        return SharedKeyPolicy(credential)
    return AsyncBearerTokenCredentialPolicy(credential, STORAGE_SCOPE)


class SharedKeyPolicy(Policy):
    """Signs requests by "Authorize with Shared Key" of the Blob service's REST reference.

    The SDK's own policy for it is not public.
    """

    _SIGNED_HEADERS = (
        "Content-Encoding",
        "Content-Language",
        "Content-Length",
        "Content-MD5",
        "Content-Type",
        "Date",
        "If-Modified-Since",
        "If-Match",
        "If-None-Match",
        "If-Unmodified-Since",
        "Range",
    )

    def __init__(self, credential: AzureNamedKeyCredential) -> None:
        """Take the account's name and its key (base64, as Azure shows it)."""
        super().__init__()
        name, key = credential.named_key
        self._account = name
        self._key = base64.b64decode(key)

    def on_request(self, request: PipelineRequest[HttpRequest]) -> None:
        """Add the Authorization header."""
        http = request.http_request
        headers = {name.lower(): value for name, value in http.headers.items()}
        if headers.get("content-length") == "0":
            del headers["content-length"]
        standard = "\n".join(headers.get(name.lower(), "") for name in self._SIGNED_HEADERS)
        own = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers) if name.startswith("x-ms-"))
        url = urlsplit(http.url)
        query = "".join(f"\n{name.lower()}:{value}" for name, value in sorted(parse_qsl(url.query)))
        text = f"{http.method}\n{standard}\n{own}/{self._account}{url.path}{query}"
        signature = base64.b64encode(hmac.digest(self._key, text.encode(), hashlib.sha256)).decode()
        http.headers["Authorization"] = f"SharedKey {self._account}:{signature}"
