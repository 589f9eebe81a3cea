"""The errors of the fake: the service's codes, statuses and response shape."""

from typing import Any

STATUS = {
    400: "MALFORMED_REQUEST INVALID_IDENTIFIER INVALID_PRECONDITION INVALID_CURSOR IDEMPOTENCY_KEY_REQUIRED "
    "PATCH_MALFORMED",
    401: "UNAUTHENTICATED",
    403: "ROLE_REQUIRED TENANT_FORBIDDEN USER_FORBIDDEN PROFILE_FORBIDDEN PROPOSER_CANNOT_CONFIRM ORIGIN_FORBIDDEN "
    "SELF_ERASURE_FORBIDDEN",
    404: "ROUTE_NOT_FOUND DOCUMENT_NOT_FOUND VERSION_NOT_FOUND VALUE_NOT_FOUND PROFILE_NOT_FOUND BINDING_NOT_FOUND "
    "SCHEMA_NOT_FOUND "
    "PENDING_ITEM_NOT_FOUND REINDEX_NOT_FOUND SNAPSHOT_NOT_FOUND REPLAY_NOT_FOUND CONFLICT_NOT_FOUND "
    "ERASURE_NOT_FOUND USER_NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    408: "REQUEST_TIMEOUT",
    409: "IDEMPOTENCY_KEY_REUSED EVENT_EXISTS SNAPSHOT_EXISTS CONFLICT_CLOSED PENDING_TARGET_CHANGED ERASURE_RUNNING "
    "TENANT_ENDED TENANT_HELD",
    412: "ETAG_MISMATCH DOCUMENT_EXISTS",
    413: "BODY_TOO_LARGE",
    415: "UNSUPPORTED_MEDIA_TYPE",
    422: "ARCHIVE_INVALID BINDING_MISMATCH PATCH_NOT_APPLICABLE PATCH_TEST_FAILED PATH_NOT_WRITABLE FIELD_DENIED "
    "SCHEMA_VIOLATION LIMIT_EXCEEDED CONFIDENCE_TOO_LOW EVIDENCE_REQUIRED ENTRY_EXPIRED PENDING_ITEM_INVALID"
    " STATEMENT_CONTRADICTED TURNS_NOT_ACCEPTED PIPELINE_NOT_FOUND",
    428: "PRECONDITION_REQUIRED",
    429: "QUOTA_EXCEEDED",
    431: "HEADERS_TOO_LARGE",
    500: "INTERNAL HISTORY_CORRUPT DECRYPTION_FAILED",
    501: "TRANSFER_CODING_UNSUPPORTED",
    503: "UNAVAILABLE SEARCH_UNAVAILABLE CATALOG_CONFLICT VAULT_UNAVAILABLE OVERLOADED",
}
"""The codes of each status."""
STATUS_OF = {code: status for status, codes in STATUS.items() for code in codes.split()}


class Refusal(Exception):
    """A refused request; nothing has changed. `details` are sent to the client."""

    def __init__(
        self,
        code: str,
        message: str = "The fake refuses this request.",
        *,
        param: str | None = None,
        hint: str = "docs_url leads to the cause, an example and the fix.",
        **details: Any,
    ) -> None:
        super().__init__(code)
        self.code, self.message, self.details = code, message, details
        self.param, self.hint = param, hint
        self.status = STATUS_OF[code]
