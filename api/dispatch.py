"""Finds a request's route. Routes of one user are found by their resource, without a look at the other routes."""

from collections import defaultdict

from fastapi import APIRouter
from starlette.types import Receive, Scope, Send

from api.routing import DirectRoute

_RESOURCE = 6
"""The segment that names the resource in /v1/tenants/{tenant_id}/users/{user_id}/documents."""


class Dispatcher:
    """FastAPI's router, with a shortcut to the routes of one user: the router tries one route after the other."""

    def __init__(self, router: APIRouter) -> None:
        """Serve the routes that `router` has now."""
        self._router = router
        self._routes: defaultdict[tuple[str, str], list[DirectRoute]] = defaultdict(list)
        for route in router.routes:
            if isinstance(route, DirectRoute) and (resource := _resource(route.path)):
                for method in route.methods or ():
                    self._routes[method, resource].append(route)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request. Raises what the route raises, and HTTPException if there is none."""
        if scope["type"] == "http":
            path = scope["path"]
            for route in self._routes.get((scope["method"], _resource(path)), ()):
                found = route.path_regex.match(path)
                if found:
                    scope["route"], scope["path_params"] = route, found.groupdict()
                    await route.app(scope, receive, send)
                    return
        await self._router(scope, receive, send)


def _resource(path: str) -> str:
    """Return the segment, "" if the path is shorter."""
    segments = path.split("/", _RESOURCE + 1)
    return segments[_RESOURCE] if len(segments) > _RESOURCE else ""
