"""The OpenAPI document: each route says what it takes and answers; the error half is derived from the error codes."""

from collections.abc import Collection, Mapping
from inspect import getdoc
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import BaseModel

from api.bodies import (
    AssembleBody,
    ConfirmBody,
    EventBody,
    HoldBody,
    PatchBody,
    RejectBody,
    ReplaceBody,
    RetentionBody,
    SearchBody,
    SnapshotBody,
)
from api.problems import STATUS
from memnet.domain.core.error_code import ErrorCode
from memnet.domain.core.errors import MemnetError
from memnet.domain.core.identifiers import MAX_PATH, SEGMENT

USER_PREFIX = "/v1/tenants/{tenant_id}/users/{user_id}"
Schema = dict[str, Any]

ADMISSION_ERRORS = frozenset(
    {
        ErrorCode.UNAUTHENTICATED,
        ErrorCode.INVALID_IDENTIFIER,
        ErrorCode.TENANT_FORBIDDEN,
        ErrorCode.ROLE_REQUIRED,
        ErrorCode.QUOTA_EXCEEDED,
        ErrorCode.INTERNAL,
        ErrorCode.UNAVAILABLE,
        ErrorCode.OVERLOADED,
    }
)
"""What every route below a user can answer, before or whatever it does."""

ROLE_ERRORS = ADMISSION_ERRORS - {ErrorCode.INVALID_IDENTIFIER, ErrorCode.TENANT_FORBIDDEN}
"""The same for routes that concern no tenant."""

BODY_ERRORS = frozenset(
    {
        ErrorCode.MALFORMED_REQUEST,
        ErrorCode.REQUEST_TIMEOUT,
        ErrorCode.BODY_TOO_LARGE,
        ErrorCode.UNSUPPORTED_MEDIA_TYPE,
    }
)

ERROR: Schema = {
    "type": "object",
    "required": ["error"],
    "additionalProperties": False,
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "request_id", "details"],
            "additionalProperties": False,
            "properties": {
                "code": {"type": "string", "enum": sorted(ErrorCode)},
                "message": {"type": "string"},
                "request_id": {"type": "string"},
                "details": {"type": "object"},
            },
        }
    },
}


def describe(
    operation_id: str,
    *,
    tag: str,
    summary: str,
    answers: Mapping[int, Schema],
    errors: Collection[ErrorCode],
    parameters: Collection[Schema] = (),
    body: Schema | None = None,
) -> dict[str, Any]:
    """Build the arguments of a router's method decorator from what the route takes and answers."""
    responses = {str(status): answer for status, answer in answers.items()}
    # What is refused while a user's memory is erased is refused for a tenant that has ended, too.
    errors = {*errors, *({ErrorCode.TENANT_ENDED} if ErrorCode.ERASURE_RUNNING in errors else ())}
    for status in sorted({STATUS[code] for code in errors}):
        responses[str(status)] = _error_answer([code for code in errors if STATUS[code] == status])
    extra: Schema = {"parameters": list(parameters), "responses": responses}
    if body is not None:
        extra["requestBody"] = body
    return {"operation_id": operation_id, "summary": summary, "tags": [tag], "openapi_extra": extra}


def answer(description: str, schema: Schema, example: object = None, *, etag: bool = False) -> Schema:
    """Describe a JSON answer."""
    content: Schema = {"schema": schema}
    if example is not None:
        content["example"] = example
    headers = {"ETag": {"schema": {"type": "string"}, "description": "The version's entity tag."}} if etag else {}
    return {"description": description, "content": {"application/json": content}, "headers": headers}


def body(model: type[BaseModel], **examples: object) -> Schema:
    """Describe a JSON request body, with named examples."""
    content = {
        "schema": {"$ref": f"#/components/schemas/{model.__name__}"},
        "examples": {name: {"value": value} for name, value in examples.items()},
    }
    return {"required": True, "content": {"application/json": content}}


def parameter(place: str, name: str, schema: Schema, description: str, *, required: bool = False) -> Schema:
    """Describe a parameter in the path, the query or a header."""
    return {"in": place, "name": name, "required": required, "schema": schema, "description": description}


IDENTIFIER: Schema = {"type": "string", "pattern": f"^{SEGMENT.pattern}$"}
PATH: Schema = {"type": "string", "maxLength": MAX_PATH, "pattern": rf"^{SEGMENT.pattern}(/{SEGMENT.pattern}){{0,7}}$"}
TENANT_PREFIX = "/v1/tenants/{tenant_id}"
TENANT_PARAMETERS = (parameter("path", "tenant_id", IDENTIFIER, "One of the tenants in the token.", required=True),)
USER_PARAMETERS = (
    *TENANT_PARAMETERS,
    parameter("path", "user_id", IDENTIFIER, "Whose memory it is.", required=True),
)
DOCUMENT_PARAMETERS = (
    *USER_PARAMETERS,
    parameter("path", "namespace", IDENTIFIER, "The document's namespace.", required=True),
    parameter(
        "path",
        "path",
        PATH,
        "The document's path in the namespace: 1 to 8 segments, together 512 characters at most.",
        required=True,
    ),
)


def install(app: FastAPI) -> None:
    """Have `app` serve its OpenAPI document with the shared schemas and the bearer scheme in it."""

    def document() -> Schema:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]  # FastAPI's documented way to extend it


def _document(app: FastAPI) -> Schema:
    schema = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    schema["components"] = {
        "schemas": {"Error": ERROR, **_body_schemas()},
        "securitySchemes": {
            "bearer": {
                "type": "http",
                "scheme": "bearer",
                "bearerFormat": "JWT",
                "description": "An RS256 access token of the configured issuer, for the configured audience.",
            }
        },
    }
    for route in app.routes:
        if isinstance(route, APIRoute):
            for method in route.methods or ():
                operation = schema["paths"][route.path_format][method.lower()]
                # Once more, because FastAPI drops nulls on the way, also those in examples.
                operation.update(route.openapi_extra or {})
                if route.path.startswith("/v1/"):
                    operation["security"] = [{"bearer": []}]
    return schema


def _body_schemas() -> Schema:
    schemas: Schema = {}
    models = (
        *(PatchBody, ReplaceBody, ConfirmBody, RejectBody, AssembleBody),
        *(EventBody, SearchBody, SnapshotBody, RetentionBody, HoldBody),
    )
    for model in models:
        schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas.update(schema.pop("$defs", {}))
        schemas[model.__name__] = schema
    return schemas


def _error_answer(codes: list[ErrorCode]) -> Schema:
    lines = [f"`{code}`: {MESSAGES[code]}" for code in sorted(codes)]
    schema = {"$ref": "#/components/schemas/Error"}
    return {"description": "\n\n".join(lines), "content": {"application/json": {"schema": schema}}}


def _messages() -> dict[ErrorCode, str]:
    kinds = [kind for child in MemnetError.__subclasses__() for kind in (child, *child.__subclasses__())]
    return {kind.code: " ".join((getdoc(kind) or "").split()) for kind in kinds}


MESSAGES: Mapping[ErrorCode, str] = _messages()
"""Each code's message: the docstring of its class."""
