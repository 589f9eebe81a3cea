"""Connect to Azure OpenAI, or any endpoint with OpenAI's API."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from urllib.parse import urlsplit

from azure.identity.aio import DefaultAzureCredential, get_bearer_token_provider
from openai import APIStatusError, AsyncOpenAI, DefaultAsyncHttpxClient

SCOPE = "https://cognitiveservices.azure.com/.default"
AZURE_HOSTS = (".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com")
"""Hosts that an Entra token may be sent to."""

UNREADABLE = (ValueError, TypeError, AttributeError, LookupError)
"""The exceptions for an unreadable response, which the client does not check."""


@asynccontextmanager
async def open_client(
    url: str, *, key: str | None, timeout_seconds: float, max_retries: int
) -> AsyncIterator[AsyncOpenAI]:
    """Connect to the API at `url` with its key or, on Azure without one, an Entra identity.

    `timeout_seconds` bounds one try. Nothing is sent before the first call, nothing follows a redirect, and nothing
    is taken from the environment. Raises ValueError if neither a key nor an Entra token can be sent there.
    """
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(
            # Without trust_env=False proxies and .netrc come from the environment, past memnet/settings.py.
            DefaultAsyncHttpxClient(trust_env=False, follow_redirects=False, timeout=timeout_seconds)
        )
        if key is None:
            if not is_azure(url):
                raise ValueError("needs a key: an Entra token is sent to Azure's hosts over https alone")
            credential = await stack.enter_async_context(DefaultAzureCredential())
            client = AsyncOpenAI(
                api_key=get_bearer_token_provider(credential, SCOPE),
                base_url=url,
                http_client=http,
                max_retries=max_retries,
            )
        else:
            client = AsyncOpenAI(api_key=key, base_url=url, http_client=http, max_retries=max_retries)
        # The client has read these from the environment. OPENAI_CUSTOM_HEADERS has no public way out.
        client.organization = client.project = client.admin_api_key = client.webhook_secret = None
        client._custom_headers = {}
        yield client


def is_azure(url: str) -> bool:
    """Return whether `url` belongs to Azure, so that an Entra token may be sent to it."""
    parts = urlsplit(url)
    return parts.scheme == "https" and (parts.hostname or "").endswith(AZURE_HOSTS)


def describe(error: BaseException) -> str:
    """Describe a failure without its text and its body, which may quote the request or the key."""
    response = error.response if isinstance(error, APIStatusError) else None
    status = response.status_code if response is not None else None
    request_id = response.headers.get("x-request-id") if response is not None else None
    return f"{type(error).__name__} status={status} request={request_id}"
