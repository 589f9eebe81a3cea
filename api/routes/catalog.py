"""Routes of profiles and schemas."""

from fastapi import APIRouter
from starlette.responses import Response

from api import query
from api.authorization import ServiceCall
from api.json_response import encode, page_response, raw_object, raw_response
from api.openapi import IDENTIFIER, Returned, parameter
from api.parameters import CURSOR, LIMIT, READ_IF_MATCH, READ_IF_NONE_MATCH
from api.preconditions import check_match, is_not_modified
from api.responses.service import BindingRow, ProfilePage, ProfileView, SchemaView
from api.routing import service_routes
from memnet.domain.catalog.profile import Profile
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.error_code import ErrorCode as E
from memnet.domain.core.scope import ETag, check_identifier
from memnet.operations.catalog import get_profile, get_schema, list_profiles

router = APIRouter()
route = service_routes(router, "catalog")

_NOT_MODIFIED = Returned("Not modified.", etag=True)


@route(
    "GET",
    "/profiles",
    "list_profiles",
    summary="List profiles",
    parameters=(LIMIT, CURSOR),
    returns={200: Returned("A page of profiles.", ProfilePage)},
    errors={E.MALFORMED_REQUEST, E.INVALID_CURSOR},
)
async def list_(call: ServiceCall) -> Response:
    """List profiles by id with their bindings. A profile with allowed_principals is visible to these principals, and
    to administrators and auditors.
    """
    limit, cursor = query.limit(call.request), query.cursor(call.request)
    page = await list_profiles(call.actor, call.service, limit=limit, cursor=cursor)
    return page_response("profiles", [_row(profile) for profile in page.items], page.next_cursor)


@route(
    "GET",
    "/profiles/{profile_id}",
    "get_profile",
    summary="Get a profile",
    parameters=(
        parameter("path", "profile_id", IDENTIFIER, "The id of the profile.", required=True),
        READ_IF_MATCH,
        READ_IF_NONE_MATCH,
    ),
    returns={200: Returned("The profile.", ProfileView, etag=True), 304: _NOT_MODIFIED},
    errors={E.INVALID_IDENTIFIER, E.PROFILE_NOT_FOUND, E.PROFILE_FORBIDDEN, E.ETAG_MISMATCH},
)
async def get(call: ServiceCall) -> Response:
    """Get a profile as this process applies it: limits, writable paths, thresholds and maintenance rules."""
    profile_id = check_identifier("profile_id", call.path("profile_id"))
    body = _canonical(await get_profile(profile_id, call.actor, call.service))
    return _response(call, _etag(body), {"profile": body})


@route(
    "GET",
    "/schemas/{schema_id}/{schema_version}",
    "get_schema",
    summary="Get a version of a schema",
    parameters=(
        parameter("path", "schema_id", IDENTIFIER, "The id of the schema.", required=True),
        parameter("path", "schema_version", IDENTIFIER, "The version.", required=True),
        READ_IF_MATCH,
        READ_IF_NONE_MATCH,
    ),
    returns={200: Returned("The schema.", SchemaView, etag=True), 304: _NOT_MODIFIED},
    errors={E.INVALID_IDENTIFIER, E.SCHEMA_NOT_FOUND, E.ETAG_MISMATCH},
)
async def get_schema_(call: ServiceCall) -> Response:
    """Get a version of a schema. Released versions never change."""
    schema = await get_schema(
        check_identifier("schema_id", call.path("schema_id")),
        check_identifier("schema_version", call.path("schema_version")),
        call.service,
    )
    named = {"schema_id": encode(schema.schema_id), "schema_version": encode(schema.version)}
    return _response(call, ETag(f'"{schema.digest}"'), {**named, "schema": canonical(schema.body)})


def _response(call: ServiceCall, etag: ETag, parts: dict[str, bytes]) -> Response:
    check_match(call.request.headers, etag)
    if is_not_modified(call.request.headers, etag):
        return Response(status_code=304, headers={"ETag": etag})
    return raw_response(raw_object({"etag": encode(etag), **parts}), etag=etag)


def _row(profile: Profile) -> dict[str, object]:
    shown = set(BindingRow.model_fields)
    return {
        "profile_id": profile.profile_id,
        "version": profile.version,
        "extends": profile.extends,
        "etag": _etag(_canonical(profile)),
        "document_bindings": [one.model_dump(mode="json", include=shown) for one in profile.document_bindings],
    }


def _canonical(profile: Profile) -> bytes:
    return canonical(profile.model_dump(mode="json"))


def _etag(body: bytes) -> ETag:
    return ETag(f'"{sha256_hex(body)}"')
