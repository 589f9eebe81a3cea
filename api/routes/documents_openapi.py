"""What the document routes take and answer."""

from typing import Any

from api import examples
from api.bodies import MAX_NOTE, PatchBody, ReplaceBody
from api.openapi import (
    ADMISSION_ERRORS,
    BODY_ERRORS,
    DOCUMENT_PARAMETERS,
    IDENTIFIER,
    USER_PARAMETERS,
    Schema,
    answer,
    body,
    parameter,
)
from api.preconditions import IF_MATCH_PATTERN
from api.query import CURSOR_PATTERN, DEFAULT_LIMIT, MAX_CURSOR, MAX_LENGTH, MAX_LIMIT
from memnet.domain.core.error_code import ErrorCode as E

TAG = "documents"
TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean", "default": False}

LIMIT = parameter(
    "query",
    "limit",
    {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
    "At most so many rows.",
)
CURSOR = parameter(
    "query",
    "cursor",
    {"type": "string", "minLength": 1, "maxLength": MAX_CURSOR, "pattern": CURSOR_PATTERN},
    "The next_cursor of the page before, of the same list.",
)
NAMESPACE = parameter("query", "namespace", IDENTIFIER, "Only this namespace.")
DRY_RUN = parameter("query", "dry_run", FLAG, "Decide the write, and write nothing.")
IF_MATCH = parameter(
    "header",
    "If-Match",
    {"type": "string", "pattern": IF_MATCH_PATTERN},
    "The ETag of the version that the change is meant for. Without this and without If-None-Match the answer is 428.",
)
IF_ABSENT = parameter(
    "header",
    "If-None-Match",
    {"type": "string", "enum": ["*"]},
    "Create the document; refused if it exists. Exactly one of this and If-Match is required.",
)
KEY = parameter(
    "header",
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"},
    "Names the change: the same request with the same key is applied once and answered alike. "
    "A key belongs to the token's principal and the document.",
    required=True,
)

DOCUMENT: Schema = {
    "type": "object",
    "required": ["doc_id", "schema_id", "schema_version", "created_at", "updated_at", "updated_by", "content"],
    "properties": {
        "doc_id": TEXT,
        "schema_id": TEXT,
        "schema_version": TEXT,
        "created_at": {"type": "string", "format": "date-time"},
        "updated_at": {"type": "string", "format": "date-time"},
        "updated_by": TEXT,
        "content": {},
    },
}
VIEW: Schema = {
    "type": "object",
    "required": ["etag", "document"],
    "properties": {"etag": TEXT, "document": DOCUMENT},
}
WRITTEN: Schema = {
    "type": "object",
    "required": ["etag", "change_id", "sequence"],
    "properties": {
        "etag": TEXT,
        "change_id": {**TEXT, "description": "Names the audit record of this change."},
        "sequence": {"type": "integer", "minimum": 1},
        "document": {
            **DOCUMENT,
            "description": "On a dry run, for a role that may read it: what would be stored.",
        },
        "redirected": {
            "type": "array",
            "items": {"type": "object"},
            "description": "What went to the pending section instead, for want of confidence.",
        },
        "dry_run": {"type": "boolean", "const": True},
    },
}
LISTED: Schema = {
    "type": "object",
    "required": ["documents", "next_cursor"],
    "properties": {
        "documents": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["namespace", "path", "etag", "updated_at", "size", "sequence"],
                "properties": {
                    "namespace": TEXT,
                    "path": TEXT,
                    "etag": TEXT,
                    "updated_at": {"type": "string", "format": "date-time"},
                    "size": {"type": "integer", "description": "Characters of the canonical JSON of the content."},
                    "sequence": {"type": "integer"},
                },
            },
        },
        "next_cursor": {"type": ["string", "null"]},
    },
}


PRECONDITION_ERRORS = frozenset(
    {
        E.MALFORMED_REQUEST,
        E.INVALID_PRECONDITION,
        E.IDEMPOTENCY_KEY_REQUIRED,
        E.PRECONDITION_REQUIRED,
        E.IDEMPOTENCY_KEY_REUSED,
        E.ERASURE_RUNNING,
        E.ETAG_MISMATCH,
        E.DOCUMENT_NOT_FOUND,
        E.HISTORY_CORRUPT,
        E.DECRYPTION_FAILED,
        E.VAULT_UNAVAILABLE,
        E.CATALOG_CONFLICT,
    }
)
GOVERNANCE_ERRORS = frozenset(
    {
        E.DOCUMENT_EXISTS,
        E.PROFILE_NOT_FOUND,
        E.PROFILE_FORBIDDEN,
        E.BINDING_NOT_FOUND,
        E.BINDING_MISMATCH,
        E.FIELD_DENIED,
        E.SCHEMA_VIOLATION,
        E.LIMIT_EXCEEDED,
        E.PATH_NOT_WRITABLE,
    }
)
PATCH_ERRORS = frozenset(
    {
        E.PATCH_MALFORMED,
        E.PATCH_NOT_APPLICABLE,
        E.PATCH_TEST_FAILED,
        E.CONFIDENCE_TOO_LOW,
        E.EVIDENCE_REQUIRED,
        E.ENTRY_EXPIRED,
        E.PENDING_ITEM_INVALID,
        E.PROPOSER_CANNOT_CONFIRM,
    }
)


def _written(description: str) -> Schema:
    described = answer(description, WRITTEN, examples.WRITTEN, etag=True)
    described["headers"]["Idempotency-Replayed"] = {
        "schema": {"type": "string", "enum": ["true"]},
        "description": "Present when this answers a repeated request.",
    }
    return described


CREATED = _written("Created.")
CHANGED = _written("Changed; or, on a dry run, what would come of it.")

LIST: dict[str, Any] = {
    "tag": TAG,
    "summary": "List a user's documents",
    "parameters": (
        *USER_PARAMETERS,
        NAMESPACE,
        parameter("query", "prefix", {"type": "string", "maxLength": MAX_LENGTH}, "The path starts with this."),
        LIMIT,
        CURSOR,
    ),
    "answers": {200: answer("A page of documents.", LISTED, examples.LISTED)},
    "errors": ADMISSION_ERRORS | {E.MALFORMED_REQUEST, E.INVALID_CURSOR},
}
GET: dict[str, Any] = {
    "tag": TAG,
    "summary": "Read a document",
    "parameters": (
        *DOCUMENT_PARAMETERS,
        parameter(
            "query",
            "as_of",
            {"type": "string", "maxLength": MAX_LENGTH},
            "An RFC 3339 time or a change_id: the version that was newest then, rebuilt from the audit records. "
            "Takes Memory.Audit or Memory.Admin, and no other role.",
        ),
        parameter("header", "If-Match", TEXT, "ETags (or *): answered with 412 if none of them is this version's."),
        parameter("header", "If-None-Match", TEXT, "ETags the caller has (or *): answered with 304 if one is it."),
    ),
    "answers": {
        200: answer("The document.", VIEW, {"etag": examples.ETAG, "document": examples.DOCUMENT}, etag=True),
        304: {"description": "The caller has this version.", "headers": {"ETag": {"schema": TEXT}}},
    },
    "errors": ADMISSION_ERRORS
    | {E.MALFORMED_REQUEST, E.DOCUMENT_NOT_FOUND, E.VERSION_NOT_FOUND, E.ETAG_MISMATCH}
    | {E.HISTORY_CORRUPT, E.VAULT_UNAVAILABLE},
}
PATCH: dict[str, Any] = {
    "tag": TAG,
    "summary": "Change parts of a document",
    "parameters": (*DOCUMENT_PARAMETERS, IF_MATCH, IF_ABSENT, KEY, DRY_RUN),
    "body": body(PatchBody, live_update=examples.PATCH, replay_update=examples.REPLAY),
    "answers": {200: CHANGED, 201: CREATED},
    "errors": ADMISSION_ERRORS | BODY_ERRORS | PRECONDITION_ERRORS | GOVERNANCE_ERRORS | PATCH_ERRORS,
}
PUT: dict[str, Any] = {
    "tag": TAG,
    "summary": "Replace or create a whole document",
    "parameters": (*DOCUMENT_PARAMETERS, IF_MATCH, IF_ABSENT, KEY, DRY_RUN),
    "body": body(ReplaceBody, migration=examples.PUT),
    "answers": {200: CHANGED, 201: CREATED},
    "errors": ADMISSION_ERRORS | BODY_ERRORS | PRECONDITION_ERRORS | GOVERNANCE_ERRORS,
}
DELETE: dict[str, Any] = {
    "tag": TAG,
    "summary": "Delete a document; its history stays",
    "parameters": (
        *DOCUMENT_PARAMETERS,
        {**IF_MATCH, "required": True, "description": "The ETag of the version that is deleted."},
        KEY,
        DRY_RUN,
        parameter("query", "reason", {"type": "string", "maxLength": MAX_NOTE}, "A note for the audit record."),
    ),
    "answers": {200: CHANGED},
    "errors": ADMISSION_ERRORS | PRECONDITION_ERRORS | {E.FIELD_DENIED},
}
