"""The shortcut to a route finds the route that the router would have found, and only that."""

import re
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from api.dispatch import Dispatcher
from api.routing import DirectRoute
from tests.api.conftest import USER, code

VALUES = ("x", "documents", "a:confirm", "events:search", "a b", "ä")
"""Path parameters, some of which look like parts of other routes."""
METHODS = ("GET", "PUT", "POST", "PATCH", "DELETE", "OPTIONS", "BREW")


def paths(app: FastAPI) -> set[str]:
    """Paths of every route with each of the values, longer and shorter ones, and some that no route has."""
    found = {"/", "/v1", "/v1/a/b/c/d/documents", "/v1/tenants/t/users/u//x", f"{USER}/documents/a/b/c/d", f"{USER}/\n"}
    for route in app.routes:
        for value in VALUES:
            path = re.sub(r"\{[^}]*\}", value, getattr(route, "path", ""))
            found |= {path, f"{path}/", f"{path}/y", f"{path}\n", path.rpartition("/")[0]}
    return found


async def chosen(app: Any, method: str, path: str) -> Any:
    """The route that serves a request, without serving it; None for an unknown path or method."""
    scope: Scope = {"type": "http", "method": method, "path": path, "root_path": "", "app": app}
    try:
        await app(scope, None, None)
    except Served as served:
        return served.args
    except HTTPException:
        return None
    raise AssertionError("nothing was served")


class Served(Exception):
    """Raised with the route and the path's parameters."""


@pytest.fixture
def routes(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> list[DirectRoute]:
    """The application's own routes, each of which only says that it was chosen."""
    own = [route for route in app.routes if isinstance(route, DirectRoute)]
    app.router.routes[:] = own
    for route in own:

        async def serve(scope: Scope, receive: Receive, send: Send, route: DirectRoute = route) -> None:
            assert scope["route"] is route
            raise Served(route.operation_id, scope["path_params"])

        monkeypatch.setattr(route, "app", serve)
    return own


async def test_every_request_gets_the_route_that_the_router_finds(app: FastAPI, routes: list[DirectRoute]) -> None:
    dispatcher, reached = Dispatcher(app.router), set()
    for path in paths(app):
        for method in METHODS:
            expected = await chosen(app.router, method, path)
            assert await chosen(dispatcher, method, path) == expected, (method, path)
            reached.add(expected and expected[0])
    assert reached == {None, *(route.operation_id for route in routes)}


async def test_the_routes_of_a_user_are_found_without_the_router(app: FastAPI, routes: list[DirectRoute]) -> None:
    dispatcher = Dispatcher(app.router)
    app.router.routes.clear()
    of_users = [route for route in routes if route.path.startswith("/v1/tenants/{tenant_id}/users/{user_id}/")]
    assert len(of_users) > 20
    for route in of_users:
        for method in route.methods or ():
            assert (await chosen(dispatcher, method, re.sub(r"\{[^}]*\}", "x", route.path)))[0] == route.operation_id


async def test_a_method_that_only_other_routes_of_the_resource_have_is_refused(client: httpx.AsyncClient) -> None:
    response = await client.patch(f"{USER}/documents")
    assert (response.status_code, code(response)) == (405, "METHOD_NOT_ALLOWED")
    assert response.headers["Allow"] == "GET, HEAD"
