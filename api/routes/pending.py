"""Routes of pending items."""

from dataclasses import asdict

from fastapi import APIRouter
from starlette.responses import Response

from api import query
from api.authorization import UserCall
from api.bodies import ConfirmBody, RejectBody
from api.json_response import page_response
from api.openapi import IDENTIFIER, Returned, parameter
from api.parameters import CURSOR, DRY_RUN, KEY, LIMIT, TEXT
from api.responses.documents import PendingPage, Written
from api.routing import user_routes
from api.write_requests import GOVERNANCE_ERRORS, PRECONDITION_ERRORS, PendingHead, write_response
from memnet.domain.core.error_code import ErrorCode as E
from memnet.domain.core.scope import DocumentKey, Json
from memnet.domain.documents.commands import ConfirmPending, RejectPending
from memnet.operations.documents.pending import ListedPending, confirm_pending, list_pending, reject_pending

router = APIRouter()
route = user_routes(router, "pending")

_ONE = (
    parameter("path", "pending_id", IDENTIFIER, "The id of the pending item.", required=True),
    parameter("header", "If-Match", TEXT, "Decide on this version only. Without it: on the current one."),
    KEY,
)
_DECISION_ERRORS = (
    (PRECONDITION_ERRORS - {E.PRECONDITION_REQUIRED})
    | (GOVERNANCE_ERRORS - {E.DOCUMENT_EXISTS})
    | {E.PENDING_ITEM_NOT_FOUND}
)


@route(
    "GET",
    "/pending",
    "list_pending",
    summary="List pending items",
    parameters=({**LIMIT, "description": "Maximum number of documents to read; at most 25."}, CURSOR),
    returns={200: Returned("A page of items; it may be empty before the end.", PendingPage)},
    errors={E.MALFORMED_REQUEST, E.INVALID_CURSOR, E.HISTORY_CORRUPT},
)
async def list_(call: UserCall) -> Response:
    """List the pending items of all of a user's documents, by document name, each with its pointer and ETag.

    A question has in `existing` the open entry that it asks about, with its evidence, so that both sides can be
    compared.
    """
    limit, cursor = query.limit(call.request), query.cursor(call.request)
    page = await list_pending(call.scope, call.service, limit=limit, cursor=cursor)
    return page_response("pending", [_row(listed) for listed in page.items], page.next_cursor)


@route(
    "POST",
    "/pending/{pending_id}:confirm",
    "confirm_pending",
    body=ConfirmBody,
    head=PendingHead.read,
    summary="Confirm a pending item",
    parameters=(*_ONE, DRY_RUN),
    returns={200: Returned("Confirmed.", Written, etag=True)},
    errors=_DECISION_ERRORS
    | {E.PROPOSER_CANNOT_CONFIRM, E.PENDING_TARGET_CHANGED, E.CONFIDENCE_TOO_LOW, E.EVIDENCE_REQUIRED}
    | {E.PATCH_NOT_APPLICABLE},
)
async def confirm(call: UserCall, body: ConfirmBody, head: PendingHead) -> Response:
    """Apply the proposed operation to the current version and remove the item, in one change.

    The written entry gets this confidence, this evidence and the time of the confirmation, where its schema has them.
    409 PENDING_TARGET_CHANGED if the entry was changed or removed, or is ambiguous; `details` then has `base`, `ours`
    and `theirs` if the token may read documents. Neither a proposer nor the principal that submitted the conversation
    can confirm, unless the profile allows it. A dry run returns the resulting document if the token may read documents.

    An item that contradicts an open entry is a question: `take` says whether the proposed entry is right, the existing
    one, or both, and `choice` which of several proposed ones. What the user decides needs Memory.Write, and what the
    tenant decides Memory.Admin. 404 PENDING_ITEM_NOT_FOUND shows in `details` what was decided if someone else has
    answered.
    """
    command = ConfirmPending(
        key=DocumentKey(call.scope, body.namespace, body.path),
        actor=call.actor,
        precondition=head.precondition,
        idempotency_key=head.idempotency_key,
        pending_id=head.pending_id,
        confidence=body.confidence,
        evidence=body.evidence_members(),
        values=(body.value,) if "value" in body.model_fields_set else (),
        take=body.take,
        choice=1 if body.choice is None else body.choice,
        apart=body.apart,
        dry_run=query.boolean(call.request, "dry_run"),
    )
    return write_response(call, await confirm_pending(command, call.service))


@route(
    "POST",
    "/pending/{pending_id}:reject",
    "reject_pending",
    body=RejectBody,
    head=PendingHead.read,
    summary="Reject a pending item",
    parameters=_ONE,
    returns={200: Returned("Rejected.", Written, etag=True)},
    errors=_DECISION_ERRORS,
)
async def reject(call: UserCall, body: RejectBody, head: PendingHead) -> Response:
    """Remove the item; the history keeps it. A proposer can withdraw its own item."""
    command = RejectPending(
        key=DocumentKey(call.scope, body.namespace, body.path),
        actor=call.actor,
        precondition=head.precondition,
        idempotency_key=head.idempotency_key,
        pending_id=head.pending_id,
        note=body.note,
    )
    return write_response(call, await reject_pending(command, call.service))


def _row(listed: ListedPending) -> Json:
    return {
        "namespace": listed.key.namespace,
        "path": listed.key.path,
        "pointer": listed.waiting.pointer,
        "etag": listed.etag,
        "item": listed.waiting.item,
        "existing": None if listed.existing is None else asdict(listed.existing),
    }
