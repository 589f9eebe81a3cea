"""Errors in HTTP: the status of each code, the error body and its headers."""

import logging
from collections.abc import Mapping
from types import MappingProxyType

import orjson
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Scope

from api import error_guide
from api.resource_metadata import metadata_url
from memnet.domain.core.error_code import ErrorCode
from memnet.domain.core.errors import Internal, MalformedRequest, MemnetError, MethodNotAllowed, RouteNotFound
from memnet.log_redaction import LogSafe, where

STATUS: Mapping[ErrorCode, int] = MappingProxyType(
    {
        ErrorCode.MALFORMED_REQUEST: 400,
        ErrorCode.INVALID_IDENTIFIER: 400,
        ErrorCode.INVALID_PRECONDITION: 400,
        ErrorCode.INVALID_CURSOR: 400,
        ErrorCode.IDEMPOTENCY_KEY_REQUIRED: 400,
        ErrorCode.PATCH_MALFORMED: 400,
        ErrorCode.UNAUTHENTICATED: 401,
        ErrorCode.ROLE_REQUIRED: 403,
        ErrorCode.TENANT_FORBIDDEN: 403,
        ErrorCode.USER_FORBIDDEN: 403,
        ErrorCode.ORIGIN_FORBIDDEN: 403,
        ErrorCode.SELF_ERASURE_FORBIDDEN: 403,
        ErrorCode.PROFILE_FORBIDDEN: 403,
        ErrorCode.PROPOSER_CANNOT_CONFIRM: 403,
        ErrorCode.PLANNER_CANNOT_APPLY: 403,
        ErrorCode.ROUTE_NOT_FOUND: 404,
        ErrorCode.USER_NOT_FOUND: 404,
        ErrorCode.DOCUMENT_NOT_FOUND: 404,
        ErrorCode.VERSION_NOT_FOUND: 404,
        ErrorCode.VALUE_NOT_FOUND: 404,
        ErrorCode.PROFILE_NOT_FOUND: 404,
        ErrorCode.BINDING_NOT_FOUND: 404,
        ErrorCode.SCHEMA_NOT_FOUND: 404,
        ErrorCode.PENDING_ITEM_NOT_FOUND: 404,
        ErrorCode.REINDEX_NOT_FOUND: 404,
        ErrorCode.SNAPSHOT_NOT_FOUND: 404,
        ErrorCode.REPLAY_NOT_FOUND: 404,
        ErrorCode.CONFLICT_NOT_FOUND: 404,
        ErrorCode.CLAIMANT_NOT_FOUND: 404,
        ErrorCode.ERASURE_NOT_FOUND: 404,
        ErrorCode.RETRACTION_NOT_FOUND: 404,
        ErrorCode.METHOD_NOT_ALLOWED: 405,
        ErrorCode.REQUEST_TIMEOUT: 408,
        ErrorCode.IDEMPOTENCY_KEY_REUSED: 409,
        ErrorCode.EVENT_EXISTS: 409,
        ErrorCode.SNAPSHOT_EXISTS: 409,
        ErrorCode.SOURCE_RETRACTED: 409,
        ErrorCode.CONFLICT_CLOSED: 409,
        ErrorCode.RETRACTION_CLOSED: 409,
        ErrorCode.PENDING_TARGET_CHANGED: 409,
        ErrorCode.ERASURE_RUNNING: 409,
        ErrorCode.TENANT_ENDED: 409,
        ErrorCode.TENANT_HELD: 409,
        ErrorCode.USER_HELD: 409,
        ErrorCode.ETAG_MISMATCH: 412,
        ErrorCode.DOCUMENT_EXISTS: 412,
        ErrorCode.BODY_TOO_LARGE: 413,
        ErrorCode.UNSUPPORTED_MEDIA_TYPE: 415,
        ErrorCode.ARCHIVE_INVALID: 422,
        ErrorCode.BINDING_MISMATCH: 422,
        ErrorCode.PATCH_NOT_APPLICABLE: 422,
        ErrorCode.PATCH_TEST_FAILED: 422,
        ErrorCode.PATH_NOT_WRITABLE: 422,
        ErrorCode.FIELD_DENIED: 422,
        ErrorCode.SCHEMA_VIOLATION: 422,
        ErrorCode.LIMIT_EXCEEDED: 422,
        ErrorCode.CONFIDENCE_TOO_LOW: 422,
        ErrorCode.EVIDENCE_REQUIRED: 422,
        ErrorCode.ENTRY_EXPIRED: 422,
        ErrorCode.PENDING_ITEM_INVALID: 422,
        ErrorCode.STATEMENT_CONTRADICTED: 422,
        ErrorCode.TURNS_NOT_ACCEPTED: 422,
        ErrorCode.CLAIMANT_NOT_ACCEPTED: 422,
        ErrorCode.PIPELINE_NOT_FOUND: 422,
        ErrorCode.PRECONDITION_REQUIRED: 428,
        ErrorCode.QUOTA_EXCEEDED: 429,
        ErrorCode.HEADERS_TOO_LARGE: 431,
        ErrorCode.TRANSFER_CODING_UNSUPPORTED: 501,
        ErrorCode.INTERNAL: 500,
        ErrorCode.HISTORY_CORRUPT: 500,
        ErrorCode.DECRYPTION_FAILED: 500,
        ErrorCode.UNAVAILABLE: 503,
        ErrorCode.SEARCH_UNAVAILABLE: 503,
        ErrorCode.VAULT_UNAVAILABLE: 503,
        ErrorCode.CATALOG_CONFLICT: 503,
        ErrorCode.OVERLOADED: 503,
    }
)

RETRY_AFTER_SECONDS = 1
"""The default Retry-After."""

_log = logging.getLogger("memnet.problems")


def answer(error: Exception, scope: Scope) -> Response:
    """Return the response to an error that was raised before the response was started."""
    if isinstance(error, MemnetError):
        return problem(error, scope)
    if isinstance(error, HTTPException):
        return _refused_by_router(error, scope)
    return _unexpected(error, scope)


def problem(error: MemnetError, scope: Scope) -> Response:
    """Return the response: {"error": {code, message, request_id, param?, hint, docs_url, details}}, and its headers.

    Stores the code in the request's `scope` for the log line.
    """
    scope["memnet.error"] = error.code
    param = _param(error, scope)
    body = error_guide.body(error.code, error.message, scope["memnet.request_id"], param, error.hint, error.details)
    return Response(
        orjson.dumps(body),
        status_code=STATUS[error.code],
        headers=_headers(error, scope),
        media_type="application/json",
    )


def _param(error: MemnetError, scope: Scope) -> str | None:
    """Return the error's param, else the header or parameter that every error of its code is about.

    The domain names each argument as a member of the body; the path or the query may have it instead.
    """
    if error.param is None:
        usual = error_guide.GUIDE[error.code].param
        return None if usual is None or usual.startswith("/") else usual
    name = error.param.removeprefix("/")
    elsewhere = {*scope.get("path_params", {}), *QueryParams(scope.get("query_string", b""))}
    return name if error.code is not ErrorCode.MALFORMED_REQUEST and name in elsewhere else error.param


def _unexpected(error: Exception, scope: Scope) -> Response:
    """Log the origin of a defect and answer 500. The exception's text may contain memory, so it is dropped."""
    kind, place = LogSafe(type(error).__name__), where(error)
    _log.error("unexpected %s in %s at %s", kind, scope["memnet.request_id"], place)
    scope["memnet.place"] = f"{kind} at {place}"
    return problem(Internal(), scope)


def _refused_by_router(error: HTTPException, scope: Scope) -> Response:
    """Translate Starlette's own errors: an unknown route or method."""
    if error.status_code == 404:
        return problem(RouteNotFound(), scope)
    if error.status_code == 405:
        response = problem(MethodNotAllowed(), scope)
        response.headers["Allow"] = ", ".join(_allowed_methods(scope))
        return response
    return problem(MalformedRequest() if error.status_code < 500 else Internal(), scope)


def _allowed_methods(scope: Scope) -> list[str]:
    """Return the methods of all routes with this path (RFC 9110, 15.5.6)."""
    methods: set[str] = set()
    for route in scope["app"].router.routes:
        if route.matches(scope)[0] is not Match.NONE:
            methods |= getattr(route, "methods", None) or set()
    return sorted(methods | ({"HEAD"} if "GET" in methods else set()))


def _headers(error: MemnetError, scope: Scope) -> dict[str, str]:
    status = STATUS[error.code]
    if status == 401:
        return {"WWW-Authenticate": _challenge(error.details.get("reason"), scope)}
    if error.code in (ErrorCode.ROLE_REQUIRED, ErrorCode.TENANT_FORBIDDEN):
        return {"WWW-Authenticate": 'Bearer error="insufficient_scope"'}
    if status in (429, 503):
        return {"Retry-After": str(error.details.get("retry_after", RETRY_AFTER_SECONDS))}
    return {}


def _challenge(reason: str | None, scope: Scope) -> str:
    """RFC 6750, section 3: no error code for a request without a token. RFC 9728, section 5.1: `resource_metadata`."""
    metadata = metadata_url(scope["app"].state.service.settings)
    parameters = [
        *(('error="invalid_token"', f'error_description="{reason}"') if reason else ()),
        *((f'resource_metadata="{metadata}"',) if metadata else ()),
    ]
    return " ".join(["Bearer", ", ".join(parameters)]).strip()
