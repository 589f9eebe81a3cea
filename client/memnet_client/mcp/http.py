"""MCP over HTTP, as an endpoint of an application that authorizes each request for one user."""

import httpx2
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from memnet_client import AsyncMemnet, AsyncUser
from memnet_client.mcp.listing import Context
from memnet_client.mcp.server import RETRY, create_server

_USER = "memnet_client.mcp.user"
"""The member of the ASGI scope that holds the memory of the request's user."""
_MAY_CONSOLIDATE = "memnet_client.mcp.may_consolidate"
"""The member that says whether the request is offered memory_consolidate."""
_SECURITY = TransportSecuritySettings(enable_dns_rebinding_protection=False)
"""The SDK's check of Host and Origin is off: the application owns it."""
_ADDRESS = "http://memnet"
"""The address of the application in process. No name is resolved."""


class McpEndpoint:
    """Answers MCP requests, each about the memory of the user for whom it was authorized."""

    def __init__(self, max_body_bytes: int) -> None:
        """Raises PoisonedDescriptions."""
        self._server = create_server(_user_of, may_consolidate=_may_consolidate)
        self._max_body_bytes = max_body_bytes

    async def serve(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        *,
        app: ASGIApp,
        token: str,
        tenant: str,
        user_id: str,
        profile_id: str,
        may_consolidate: bool,
    ) -> None:
        """Answer one request with the protocol's answer or error.

        The tools send their requests to `app` in process, with the `token` of the caller. `may_consolidate`: whether
        the token has a role for it, so that the tool is offered.
        """
        # A manager per request: without sessions it holds nothing, and so nothing has to be started or stopped.
        manager = StreamableHTTPSessionManager(
            self._server,
            json_response=True,
            stateless=True,
            security_settings=_SECURITY,
            max_request_body_size=self._max_body_bytes,
        )
        transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport) as http, manager.run():
            client = AsyncMemnet(_ADDRESS, credential=token, tenant=tenant, profile=profile_id, http=http, retry=RETRY)
            scope[_USER] = client.user(user_id)
            scope[_MAY_CONSOLIDATE] = may_consolidate
            await manager.handle_request(scope, receive, send)


def _user_of(context: Context) -> AsyncUser:
    user: AsyncUser = _scope_of(context)[_USER]
    return user


def _may_consolidate(context: Context) -> bool:
    return bool(_scope_of(context)[_MAY_CONSOLIDATE])


def _scope_of(context: Context) -> Scope:
    request = context.request
    assert isinstance(request, Request)
    return request.scope
