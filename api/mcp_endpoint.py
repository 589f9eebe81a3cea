"""The MCP endpoints (Model Context Protocol): one user's memory as tools, resources and prompts for a host of models.

The path or, for signed-in users, the token names the user. The tools send ordinary requests to this application in
process, with the caller's token: so tokens, roles, quota, audit and errors are written once. Each such request is bound
to the user who was authorized, and runs under the slot of the request of the host.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from fastapi import FastAPI
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from api.authorization import BOUND, UserCall, authorize_own, authorize_user
from api.request_body import read_json_bytes
from memnet.domain.core.access import ROLES
from memnet.domain.core.errors import OriginForbidden
from memnet.domain.core.scope import check_identifier
from memnet.settings import Settings
from memnet_client.mcp.http import McpEndpoint

USER_PATH: Final = "/v1/tenants/{tenant_id}/users/{user_id}/mcp/{profile_id}"
OWN_PATH: Final = "/mcp/{profile_id}"
OPERATION: Final = "assemble_context"
"""The operation whose roles a host needs to connect. Each tool needs those of its own requests in addition."""
CONSOLIDATE: Final = "consolidate_documents"
"""The operation whose roles a host needs to be offered memory_consolidate."""


def install(app: FastAPI) -> None:
    """Add the endpoints. They are not part of the OpenAPI document: the protocol describes itself.

    The only method is POST: without sessions, GET and DELETE have no meaning (MCP 2025-11-25, Streamable HTTP).
    """
    mcp = McpEndpoint(app.state.service.settings.max_body_bytes)
    for path, authorize in ((USER_PATH, authorize_user), (OWN_PATH, authorize_own)):
        app.router.routes.append(Route(path, _Endpoint(app, mcp, path, authorize), methods=["POST"]))


class _Endpoint:
    def __init__(
        self, app: FastAPI, mcp: McpEndpoint, path: str, authorize: Callable[[Request, str], Awaitable[UserCall]]
    ) -> None:
        self.path = path
        self._app = app
        self._mcp = mcp
        self._authorize = authorize

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = self  # for the log
        request = Request(scope, receive, send)
        call = await self._authorize(request, OPERATION)
        settings = call.service.settings
        _check_origin(request, settings)
        profile_id = check_identifier("profile_id", call.path("profile_id"))
        body = await read_json_bytes(request, max_bytes=settings.max_body_bytes)
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def received() -> Message:
            return messages.pop() if messages else await receive()

        async def bound(scope: Scope, receive: Receive, send: Send) -> None:
            await self._app({**scope, BOUND: (call.scope.tenant_id, call.scope.user_id)}, receive, send)

        await self._mcp.serve(
            scope,
            received,
            send,
            app=bound,
            token=request.headers["authorization"].partition(" ")[2].strip(),
            tenant=call.scope.tenant_id,
            user_id=call.scope.user_id,
            profile_id=profile_id,
            may_consolidate=bool(ROLES[CONSOLIDATE] & call.actor.roles),
        )


def _check_origin(request: Request, settings: Settings) -> None:
    """Refuse pages of other origins (MCP 2025-11-25, Streamable HTTP, security warning). Raises OriginForbidden."""
    origin = request.headers.get("origin")
    allowed = settings.mcp_origins.split(",") if settings.mcp_origins else []
    if origin is not None and origin not in allowed:
        raise OriginForbidden
