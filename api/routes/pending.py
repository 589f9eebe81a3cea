"""What waits for confirmation in a user's documents: HTTP in, one operation, HTTP out."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api import examples, json_answer, query
from api.admission import Admission, admit
from api.bodies import ConfirmBody, RejectBody
from api.direct_route import DirectRoute
from api.openapi import (
    ADMISSION_ERRORS,
    BODY_ERRORS,
    IDENTIFIER,
    USER_PARAMETERS,
    USER_PREFIX,
    Schema,
    answer,
    body,
    describe,
    parameter,
)
from api.preconditions import idempotency_key, pending_precondition
from api.request_body import read_body
from api.request_telemetry import note_result
from api.routes.documents_openapi import (
    CURSOR,
    DRY_RUN,
    GOVERNANCE_ERRORS,
    KEY,
    LIMIT,
    PRECONDITION_ERRORS,
    TEXT,
    WRITTEN,
)
from memnet.domain.core.access import ROLES
from memnet.domain.core.error_code import ErrorCode as E
from memnet.domain.core.identifiers import check_identifier
from memnet.domain.core.scope import DocumentKey, Json
from memnet.domain.documents.commands import ConfirmPending, RejectPending, WriteResult
from memnet.operations.documents.pending import ListedPending, confirm_pending, list_pending, reject_pending

router = APIRouter(prefix=USER_PREFIX, route_class=DirectRoute)

_TAG = "pending"
_ROW: Schema = {
    "type": "object",
    "required": ["namespace", "path", "pointer", "etag", "item"],
    "properties": {
        "namespace": TEXT,
        "path": TEXT,
        "pointer": {**TEXT, "description": "Where the item is in the document."},
        "etag": {**TEXT, "description": "The version that was read."},
        "item": {
            "type": "object",
            "description": "The item: what is proposed, by whom, on what, and by what evidence.",
        },
    },
}
_LISTED: Schema = {
    "type": "object",
    "required": ["pending", "next_cursor"],
    "properties": {"pending": {"type": "array", "items": _ROW}, "next_cursor": {"type": ["string", "null"]}},
}
_ONE = (
    *USER_PARAMETERS,
    parameter("path", "pending_id", IDENTIFIER, "The id of the pending item.", required=True),
    parameter("header", "If-Match", TEXT, "Decide on this version only. Without it: on the newest one."),
    KEY,
)
_LIST = describe(
    "list_pending",
    tag=_TAG,
    summary="List what waits for confirmation in all of a user's documents",
    parameters=(*USER_PARAMETERS, {**LIMIT, "description": "At most so many documents, and 25 at most."}, CURSOR),
    answers={200: answer("A page; it may be empty before the end.", _LISTED, examples.PENDING)},
    errors=ADMISSION_ERRORS | {E.MALFORMED_REQUEST, E.INVALID_CURSOR, E.HISTORY_CORRUPT},
)
_DECIDED = (
    ADMISSION_ERRORS
    | BODY_ERRORS
    | (PRECONDITION_ERRORS - {E.PRECONDITION_REQUIRED})
    | (GOVERNANCE_ERRORS - {E.DOCUMENT_EXISTS})
    | {E.PENDING_ITEM_NOT_FOUND}
)
_CONFIRM = describe(
    "confirm_pending",
    tag=_TAG,
    summary="Apply what a pending item proposes to the newest version, and take the item out",
    parameters=(*_ONE, DRY_RUN),
    body=body(ConfirmBody, confirm=examples.CONFIRM),
    answers={200: answer("Confirmed.", WRITTEN, examples.WRITTEN, etag=True)},
    errors=_DECIDED
    | {E.PROPOSER_CANNOT_CONFIRM, E.PENDING_TARGET_CHANGED, E.CONFIDENCE_TOO_LOW, E.EVIDENCE_REQUIRED}
    | {E.PATCH_NOT_APPLICABLE},
)
_REJECT = describe(
    "reject_pending",
    tag=_TAG,
    summary="Take a pending item out and change nothing else",
    parameters=_ONE,
    body=body(RejectBody, reject=examples.REJECT),
    answers={200: answer("Rejected.", WRITTEN, examples.WRITTEN, etag=True)},
    errors=_DECIDED,
)


@router.get("/pending", **_LIST)
async def list_(request: Request) -> Response:
    """List the items in the order of the documents' names, each with its document, its place and the ETag."""
    admission = await admit(request, "list_pending")
    page = await list_pending(
        admission.scope, admission.service, limit=query.limit(request), cursor=query.cursor(request)
    )
    rows = [_row(listed) for listed in page.items]
    return json_answer.answer(json_answer.dump({"pending": rows, "next_cursor": page.next_cursor}))


@router.post("/pending/{pending_id}:confirm", **_CONFIRM)
async def confirm(request: Request) -> Response:
    """Carry the proposed operation over to the newest version by what it means, and apply it in one change.

    An entry that is written gets this confidence, this evidence and the time of the confirmation, where its schema has
    them. 409 PENDING_TARGET_CHANGED if the entry was changed, is gone or cannot be told from another; `details` then
    hold `base`, `ours` and `theirs` if the token may read documents. Neither the proposer nor the principal that handed
    in the conversation behind the proposal can confirm, unless the profile lets anyone. A dry run answers the document
    as it would be, if the token may read documents.
    """
    admission = await admit(request, "confirm_pending")
    service = admission.service
    pending_id = check_identifier("pending_id", request.path_params["pending_id"])
    precondition, idempotency = pending_precondition(request.headers), idempotency_key(request.headers)
    sent = await read_body(request, ConfirmBody, max_bytes=service.settings.max_body_bytes)
    command = ConfirmPending(
        key=_key(admission, sent),
        actor=admission.actor,
        precondition=precondition,
        idempotency_key=idempotency,
        pending_id=pending_id,
        confidence=sent.confidence,
        evidence=sent.evidence_members(),
        values=(sent.value,) if "value" in sent.model_fields_set else (),
        dry_run=query.flag(request, "dry_run"),
    )
    result = await confirm_pending(command, service)
    return _decided(request, result, shown=bool(admission.actor.roles & ROLES["get_document"]))


@router.post("/pending/{pending_id}:reject", **_REJECT)
async def reject(request: Request) -> Response:
    """Take the item out; the history keeps it. The proposer withdraws its own item by this, too."""
    admission = await admit(request, "reject_pending")
    service = admission.service
    pending_id = check_identifier("pending_id", request.path_params["pending_id"])
    precondition, idempotency = pending_precondition(request.headers), idempotency_key(request.headers)
    sent = await read_body(request, RejectBody, max_bytes=service.settings.max_body_bytes)
    command = RejectPending(
        key=_key(admission, sent),
        actor=admission.actor,
        precondition=precondition,
        idempotency_key=idempotency,
        pending_id=pending_id,
        note=sent.note,
    )
    result = await reject_pending(command, service)
    return _decided(request, result)


def _key(admission: Admission, sent: ConfirmBody | RejectBody) -> DocumentKey:
    return DocumentKey(admission.scope, sent.namespace, sent.path)


def _row(listed: ListedPending) -> dict[str, Json]:
    return {
        "namespace": listed.key.namespace,
        "path": listed.key.path,
        "pointer": listed.waiting.pointer,
        "etag": listed.etag,
        "item": listed.waiting.item,
    }


def _decided(request: Request, result: WriteResult, *, shown: bool = False) -> Response:
    """Answer a decision; `shown`: on a dry run with the document as it would be."""
    note_result(request.scope, result)
    named = {"etag": result.etag, "change_id": result.change_id, "sequence": result.sequence}
    parts = {name: json_answer.dump(value) for name, value in named.items()}
    if result.dry_run:
        parts["dry_run"] = b"true"
    if shown and result.document is not None:
        parts["document"] = result.document
    response = json_answer.answer(json_answer.members(parts), etag=result.etag)
    if result.replayed:
        response.headers["Idempotency-Replayed"] = "true"
    return response
