"""The vault's REST API as an ASGI application: "Azure Key Vault REST API reference, Secrets"."""

import hmac
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import uuid4

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from local.emulators.key_vault.errors import VaultError, bad_parameter
from local.emulators.key_vault.store import Attributes, SecretStore, Version

API_VERSIONS: Final = ("7.4", "7.5", "7.6", "2025-07-01", "2026-04-01")
CHALLENGE: Final = 'Bearer authorization="https://login.microsoftonline.com/local", resource="https://vault.azure.net"'
"""The authentication challenge, as Azure sends it; the emulator accepts its one fixed token."""
NAME: Final = re.compile(r"[0-9a-zA-Z-]{1,127}")
MAX_VALUE: Final = 25_600
MAX_TAGS: Final = 15
MAX_TAG: Final = 256
MAX_PAGE: Final = 25
RECOVERABLE_DAYS: Final = 90


@dataclass(frozen=True)
class Call:
    """One authorized request with its body read."""

    request: Request
    content: bytes
    store: SecretStore

    @property
    def name(self) -> str:
        """The secret in the path. Raises VaultError."""
        name = str(self.request.path_params["name"])
        if not NAME.fullmatch(name):
            raise bad_parameter(f"The request URI contains an invalid name: {name}")
        return name

    @property
    def version(self) -> str:
        """The version in the path; "" is the newest."""
        return str(self.request.path_params.get("version", ""))

    @property
    def body(self) -> dict[str, Any]:
        """The JSON object in the body. Raises VaultError."""
        try:
            body = orjson.loads(self.content)
        except orjson.JSONDecodeError:
            body = None
        if not isinstance(body, dict):
            raise bad_parameter("The request body is not a JSON object.")
        return body

    @property
    def address(self) -> str:
        """The vault as the client calls it."""
        return str(self.request.base_url).rstrip("/")

    def number(self, parameter: str, default: int, least: int, most: int) -> int:
        """A query parameter that is a number. Raises VaultError."""
        text = self.request.query_params.get(parameter, str(default))
        if not text.isdecimal() or not least <= int(text) <= most:
            raise bad_parameter(f"{parameter} must be a number from {least} to {most}.")
        return int(text)


Handler = Callable[[Call], Response]
Listing = Callable[[int, int], list[tuple[int, Version]]]
Endpoint = Callable[[Request], Awaitable[Response]]


def create_app(store: SecretStore, token: str) -> Starlette:
    """Return the application; every request but `GET /_emulator/health` must carry `token`."""

    def route(path: str, handler: Handler, method: str) -> Route:
        return Route(path, _endpoint(handler, store, token), methods=[method])

    return Starlette(
        routes=[
            Route("/_emulator/health", _health),
            route("/secrets", _list_secrets, "GET"),
            route("/secrets/{name}", _set_secret, "PUT"),
            route("/secrets/{name}", _get_secret, "GET"),
            route("/secrets/{name}", _delete_secret, "DELETE"),
            route("/secrets/{name}/", _get_secret, "GET"),
            route("/secrets/{name}/", _update_secret, "PATCH"),
            route("/secrets/{name}/versions", _list_versions, "GET"),
            route("/secrets/{name}/{version}", _get_secret, "GET"),
            route("/secrets/{name}/{version}", _update_secret, "PATCH"),
            route("/deletedsecrets/{name}", _get_deleted, "GET"),
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])],
        exception_handlers={HTTPException: _unknown},
    )


def _endpoint(handler: Handler, store: SecretStore, token: str) -> Endpoint:
    async def answer(request: Request) -> Response:
        content = await request.body()
        try:
            _check_token(request, token)
            _check_version(request)
            response = handler(Call(request, content, store))
        except VaultError as error:
            response = _json(error.body(), error.status)
            if error.status == 401:
                response.headers["WWW-Authenticate"] = CHALLENGE
        response.headers["Cache-Control"] = "no-cache"
        response.headers["x-ms-request-id"] = str(uuid4())
        return response

    return answer


def _check_token(request: Request, token: str) -> None:
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if not given:
        raise VaultError(401, "Unauthorized", "Request is missing a Bearer or PoP token.")
    if scheme.lower() != "bearer" or not hmac.compare_digest(given.encode(), token.encode()):
        raise VaultError(401, "Unauthorized", "Error validating token: it is not the local vault's.")


def _check_version(request: Request) -> None:
    version = request.query_params.get("api-version")
    if version is None:
        raise bad_parameter("api-version must be specified")
    if version not in API_VERSIONS:
        known = ", ".join(API_VERSIONS)
        raise bad_parameter(f"The specified version ({version}) is not recognized. The emulator has {known}.")


async def _health(_request: Request) -> Response:
    return _json({"status": "ready"})


def _set_secret(call: Call) -> Response:
    value = call.body.get("value")
    if not isinstance(value, str):
        raise bad_parameter("Property value is required and must be a string.")
    if len(value.encode()) > MAX_VALUE:
        raise bad_parameter(f"The secret value is longer than {MAX_VALUE} bytes.")
    version = call.store.set(call.name, value, Attributes(**_attributes(call.body)))
    return _json(_bundle(call, version))


def _get_secret(call: Call) -> Response:
    version = call.store.get(call.name, call.version)
    if not version.enabled:
        raise VaultError(403, "Forbidden", "Operation get is not allowed on a disabled secret.", "SecretDisabled")
    return _json(_bundle(call, version))


def _update_secret(call: Call) -> Response:
    attributes = _attributes(call.body)
    version = call.store.update(call.name, call.version, lambda before: replace(before, **attributes))
    return _json({**_identified(call, version), **_described(version)})


def _delete_secret(call: Call) -> Response:
    call.store.delete(call.name)
    return _get_deleted(call)


def _get_deleted(call: Call) -> Response:
    since, version = call.store.get_deleted(call.name)
    return _json({**_identified(call, version), **_described(version), **_deletion(call, version, since)})


def _list_secrets(call: Call) -> Response:
    def item(call: Call, version: Version) -> dict[str, Any]:
        return {"id": f"{call.address}/secrets/{version.name}"}

    return _page(call, call.store.list_newest, item)


def _list_versions(call: Call) -> Response:
    return _page(call, lambda after, limit: call.store.list_versions(call.name, after, limit), _identified)


def _page(call: Call, listing: Listing, item: Callable[[Call, Version], dict[str, Any]]) -> Response:
    """One page of a list, without values; `nextLink` leads to the one after it."""
    limit = call.number("maxresults", MAX_PAGE, 1, MAX_PAGE)
    found = listing(call.number("$skiptoken", 0, 0, 2**53), limit + 1)
    rows = [{**item(call, version), **_described(version)} for _, version in found[:limit]]
    following = None
    if len(found) > limit:
        url = call.request.url.include_query_params(**{"$skiptoken": found[limit - 1][0], "maxresults": limit})
        following = str(url)
    return _json({"value": rows, "nextLink": following})


def _bundle(call: Call, version: Version) -> dict[str, Any]:
    return {"value": version.value, **_identified(call, version), **_described(version)}


def _identified(call: Call, version: Version) -> dict[str, Any]:
    return {"id": f"{call.address}/secrets/{version.name}/{version.version}"}


def _deletion(call: Call, version: Version, since: int) -> dict[str, Any]:
    return {
        "recoveryId": f"{call.address}/deletedsecrets/{version.name}",
        "deletedDate": since,
        "scheduledPurgeDate": since + RECOVERABLE_DAYS * 86_400,
    }


def _described(version: Version) -> dict[str, Any]:
    """The attributes of a version; absent members are left out."""
    times = {"nbf": version.not_before, "exp": version.expires}
    attributes = {
        "enabled": version.enabled,
        **{name: time for name, time in times.items() if time is not None},
        "created": version.created,
        "updated": version.updated,
        "recoveryLevel": "Recoverable+Purgeable",
        "recoverableDays": RECOVERABLE_DAYS,
    }
    named = {"contentType": version.content_type, "tags": version.tags}
    return {"attributes": attributes, **{name: value for name, value in named.items() if value is not None}}


def _attributes(body: dict[str, Any]) -> dict[str, Any]:
    """What the body says of the version, by the names of `Attributes`; what it does not say is left out."""
    given = body.get("attributes", {})
    if not isinstance(given, dict):
        raise bad_parameter("Property attributes has an invalid value.")
    named = {
        "enabled": (given.get("enabled"), bool),
        "not_before": (given.get("nbf"), int),
        "expires": (given.get("exp"), int),
        "content_type": (body.get("contentType"), str),
        "tags": (body.get("tags"), dict),
    }
    for name, (value, kind) in named.items():
        if value is not None and type(value) is not kind:
            raise bad_parameter(f"Property {name} has an invalid value.")
    _check_tags(body.get("tags") or {})
    return {name: value for name, (value, _) in named.items() if value is not None}


def _check_tags(tags: dict[str, Any]) -> None:
    if len(tags) > MAX_TAGS:
        raise bad_parameter(f"A secret can have at most {MAX_TAGS} tags.")
    for name, value in tags.items():
        if not isinstance(value, str) or max(len(name), len(value)) > MAX_TAG:
            raise bad_parameter(f"The name and the value of a tag are strings of at most {MAX_TAG} characters.")


def _json(body: object, status: int = 200) -> Response:
    return Response(orjson.dumps(body), status, media_type="application/json; charset=utf-8")


async def _unknown(request: Request, error: Exception) -> Response:
    """Answer a path or method that the emulator does not have."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    refusal = VaultError(
        status, "BadParameter", f"{request.method} {request.url.path} is not supported by the emulator."
    )
    return _json(refusal.body(), status)
