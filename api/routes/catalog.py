"""The profiles and schemas that the service works by: HTTP in, one operation, HTTP out."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api import examples, json_answer, query
from api.admission import admit_anywhere
from api.direct_route import DirectRoute
from api.openapi import IDENTIFIER, ROLE_ERRORS, Schema, answer, describe, parameter
from api.preconditions import check_match, is_not_modified
from api.routes.documents_openapi import CURSOR, LIMIT, TEXT
from memnet.domain.catalog.profile import Profile
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.error_code import ErrorCode as E
from memnet.domain.core.identifiers import check_identifier
from memnet.domain.core.scope import ETag
from memnet.operations.catalog.catalog import get_profile, get_schema, list_profiles

router = APIRouter(prefix="/v1", route_class=DirectRoute)

_OPTIONAL: Schema = {"type": ["string", "null"]}
_BINDING: Schema = {
    "type": "object",
    "required": ["binding_id", "namespace", "schema_id", "schema_version", "max_chars"],
    "properties": {
        "binding_id": TEXT,
        "namespace": TEXT,
        "path": _OPTIONAL,
        "path_template": {**_OPTIONAL, "description": "One of the two is null."},
        "schema_id": TEXT,
        "schema_version": TEXT,
        "max_chars": {"type": "integer", "description": "The document's budget."},
        "read_priority": {"type": "integer"},
        "write_mode": TEXT,
    },
}
_LISTED: Schema = {
    "type": "object",
    "required": ["profiles", "next_cursor"],
    "properties": {
        "profiles": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["profile_id", "version", "etag", "document_bindings"],
                "properties": {
                    "profile_id": TEXT,
                    "version": TEXT,
                    "etag": TEXT,
                    "document_bindings": {"type": "array", "items": _BINDING},
                },
            },
        },
        "next_cursor": {"type": ["string", "null"]},
    },
}
_PROFILE: Schema = {
    "type": "object",
    "required": ["etag", "profile"],
    "properties": {
        "etag": TEXT,
        "profile": {
            "type": "object",
            "required": ["profile_id", "version", "document_bindings"],
            "description": "As in its file, with what was left out filled in; docs/profiles.md explains every member.",
        },
    },
}
_SCHEMA: Schema = {
    "type": "object",
    "required": ["etag", "schema_id", "schema_version", "schema"],
    "properties": {
        "etag": TEXT,
        "schema_id": TEXT,
        "schema_version": TEXT,
        "schema": {"type": "object", "description": "JSON Schema, Draft 2020-12."},
    },
}
_IF_NONE_MATCH = parameter("header", "If-None-Match", TEXT, "ETags the caller has: answered with 304 if one is it.")
_IF_MATCH = parameter("header", "If-Match", TEXT, "ETags (or *): answered with 412 if none of them is this one's.")
_NOT_MODIFIED: Schema = {"description": "The caller has it.", "headers": {"ETag": {"schema": TEXT}}}
_LIST = describe(
    "list_profiles",
    tag="catalog",
    summary="List the profiles and what they bind",
    parameters=(LIMIT, CURSOR),
    answers={200: answer("A page of profiles.", _LISTED, examples.PROFILES)},
    errors=ROLE_ERRORS | {E.MALFORMED_REQUEST, E.INVALID_CURSOR},
)
_GET = describe(
    "get_profile",
    tag="catalog",
    summary="Read a profile",
    parameters=(parameter("path", "profile_id", IDENTIFIER, "Which one.", required=True), _IF_MATCH, _IF_NONE_MATCH),
    answers={200: answer("The profile.", _PROFILE, examples.PROFILE, etag=True), 304: _NOT_MODIFIED},
    errors=ROLE_ERRORS | {E.INVALID_IDENTIFIER, E.PROFILE_NOT_FOUND, E.PROFILE_FORBIDDEN, E.ETAG_MISMATCH},
)
_GET_SCHEMA = describe(
    "get_schema",
    tag="catalog",
    summary="Read a version of a schema",
    parameters=(
        parameter("path", "schema_id", IDENTIFIER, "Which schema.", required=True),
        parameter("path", "schema_version", IDENTIFIER, "Which version of it.", required=True),
        _IF_MATCH,
        _IF_NONE_MATCH,
    ),
    answers={200: answer("The schema.", _SCHEMA, examples.SCHEMA, etag=True), 304: _NOT_MODIFIED},
    errors=ROLE_ERRORS | {E.INVALID_IDENTIFIER, E.SCHEMA_NOT_FOUND, E.ETAG_MISMATCH},
)


@router.get("/profiles", **_LIST)
async def list_(request: Request) -> Response:
    """List them in the order of their ids. One that is for certain principals is shown to them and to administrators
    and auditors.
    """
    admission = await admit_anywhere(request, "list_profiles")
    page = await list_profiles(
        actor=admission.actor,
        limit=query.limit(request),
        cursor=query.cursor(request),
        catalog=admission.service.catalog,
    )
    rows = [_row(profile) for profile in page.items]
    return json_answer.answer(json_answer.dump({"profiles": rows, "next_cursor": page.next_cursor}))


@router.get("/profiles/{profile_id}", **_GET)
async def get(request: Request) -> Response:
    """Read a profile as this process works by it: the budgets, the writable places, the thresholds, the upkeep."""
    admission = await admit_anywhere(request, "get_profile")
    profile = await get_profile(
        check_identifier("profile_id", request.path_params["profile_id"]),
        actor=admission.actor,
        catalog=admission.service.catalog,
    )
    body = _canonical(profile)
    return _answer(request, _etag(body), {"profile": body})


@router.get("/schemas/{schema_id}/{schema_version}", **_GET_SCHEMA)
async def get_schema_(request: Request) -> Response:
    """Read a schema version. A released one never changes."""
    admission = await admit_anywhere(request, "get_schema")
    schema = await get_schema(
        check_identifier("schema_id", request.path_params["schema_id"]),
        check_identifier("schema_version", request.path_params["schema_version"]),
        catalog=admission.service.catalog,
    )
    named = {"schema_id": json_answer.dump(schema.schema_id), "schema_version": json_answer.dump(schema.version)}
    return _answer(request, ETag(f'"{schema.digest}"'), {**named, "schema": canonical(schema.body)})


def _answer(request: Request, etag: ETag, parts: dict[str, bytes]) -> Response:
    check_match(request.headers, etag)
    if is_not_modified(request.headers, etag):
        return Response(status_code=304, headers={"ETag": etag})
    return json_answer.answer(json_answer.members({"etag": json_answer.dump(etag), **parts}), etag=etag)


def _row(profile: Profile) -> dict[str, object]:
    return {
        "profile_id": profile.profile_id,
        "version": profile.version,
        "etag": _etag(_canonical(profile)),
        "document_bindings": [
            binding.model_dump(mode="json", include=set(_BINDING["properties"]))
            for binding in profile.document_bindings
        ],
    }


def _canonical(profile: Profile) -> bytes:
    return canonical(profile.model_dump(mode="json"))


def _etag(body: bytes) -> ETag:
    return ETag(f'"{sha256_hex(body)}"')
