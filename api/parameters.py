"""Parameters that several routes share, as described in the OpenAPI document."""

from api.openapi import IDENTIFIER, Schema, parameter
from api.preconditions import IF_MATCH_PATTERN
from api.query import CURSOR_PATTERN, DEFAULT_LIMIT, MAX_CURSOR, MAX_LIMIT

TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean", "default": False}
TIME: Schema = {"type": "string", "format": "date-time"}

LIMIT = parameter(
    "query",
    "limit",
    {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
    "Maximum number of rows.",
)
CURSOR = parameter(
    "query",
    "cursor",
    {"type": "string", "minLength": 1, "maxLength": MAX_CURSOR, "pattern": CURSOR_PATTERN},
    "The next_cursor of the previous page of this list.",
)
NAMESPACE = parameter("query", "namespace", IDENTIFIER, "Only this namespace.")
DRY_RUN = parameter("query", "dry_run", FLAG, "Decide the write without storing it.")
WRITE_IF_MATCH = parameter(
    "header",
    "If-Match",
    {"type": "string", "pattern": IF_MATCH_PATTERN},
    "The ETag of the version to change. Without this and If-None-Match the answer is 428.",
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
    "A repeated request with the same key is applied once and gets the same answer. Keys are scoped to the principal "
    "and the document.",
    required=True,
)
READ_IF_MATCH = parameter("header", "If-Match", TEXT, "ETags (or *): 412 if none is the current one.")
READ_IF_NONE_MATCH = parameter("header", "If-None-Match", TEXT, "ETags (or *): 304 if one is the current one.")
