"""Routes of documents."""

from fastapi import APIRouter
from starlette.responses import Response

from api import query
from api.authorization import UserCall, check_claimants
from api.bodies import MAX_NOTE, PatchBody, ReplaceBody
from api.json_response import encode, page_response, raw_object, raw_response
from api.openapi import DOCUMENT_PARAMETERS, Returned, parameter
from api.parameters import (
    CURSOR,
    DRY_RUN,
    IF_ABSENT,
    KEY,
    LIMIT,
    NAMESPACE,
    READ_IF_MATCH,
    READ_IF_NONE_MATCH,
    WRITE_IF_MATCH,
)
from api.preconditions import check_match, delete_precondition, idempotency_key, is_not_modified
from api.responses.documents import DocumentPage, DocumentView
from api.routing import user_routes
from api.write_requests import CHANGED, CREATED, GOVERNANCE_ERRORS, PRECONDITION_ERRORS, DocumentHead, write_response
from memnet.domain.core.access import Reason, permit, permit_ops
from memnet.domain.core.error_code import ErrorCode as E
from memnet.domain.documents.commands import DeleteDocument, PatchDocument, ReplaceDocument
from memnet.operations.documents.read import get_document, list_documents
from memnet.operations.documents.write import delete_document, patch_document, replace_document
from memnet.stores import ListedDocument

router = APIRouter()
route = user_routes(router, "documents")

DOCUMENT = "/documents/{namespace}/{path:path}"
_TEXT = {"type": "string", "maxLength": query.MAX_LENGTH}


@route(
    "GET",
    "/documents",
    "list_documents",
    summary="List documents",
    parameters=(NAMESPACE, parameter("query", "prefix", _TEXT, "Only paths with this prefix."), LIMIT, CURSOR),
    returns={200: Returned("A page of documents.", DocumentPage)},
    errors={E.MALFORMED_REQUEST, E.INVALID_CURSOR},
)
async def list_(call: UserCall) -> Response:
    """List a user's documents by name, without deleted ones. A page may be shorter than its limit."""
    page = await list_documents(
        call.scope,
        call.service,
        namespace=query.text(call.request, "namespace"),
        prefix=query.text(call.request, "prefix"),
        limit=query.limit(call.request),
        cursor=query.cursor(call.request),
    )
    return page_response("documents", [_row(listed) for listed in page.items], page.next_cursor)


@route(
    "GET",
    DOCUMENT,
    "get_document",
    summary="Get a document",
    parameters=(
        *DOCUMENT_PARAMETERS,
        parameter(
            "query",
            "as_of",
            _TEXT,
            "An RFC 3339 time or a change_id: the current version at that time. Requires Memory.Audit or Memory.Admin.",
        ),
        READ_IF_MATCH,
        READ_IF_NONE_MATCH,
    ),
    returns={200: Returned("The document.", DocumentView, etag=True), 304: Returned("Not modified.", etag=True)},
    errors={
        *(E.MALFORMED_REQUEST, E.DOCUMENT_NOT_FOUND, E.VERSION_NOT_FOUND, E.ETAG_MISMATCH),
        *(E.HISTORY_CORRUPT, E.VAULT_UNAVAILABLE),
    },
)
async def get(call: UserCall) -> Response:
    """Get the current version of a document or, with as_of, an earlier one, rebuilt from the audit records."""
    as_of = query.text(call.request, "as_of")
    view = await get_document(call.document_key(), call.service, as_of=as_of, actor=call.actor)
    check_match(call.request.headers, view.etag)
    if is_not_modified(call.request.headers, view.etag):
        return Response(status_code=304, headers={"ETag": view.etag})
    return raw_response(raw_object({"etag": encode(view.etag), "document": view.document}), etag=view.etag)


@route(
    "PATCH",
    DOCUMENT,
    "patch_document",
    body=PatchBody,
    head=DocumentHead.read,
    summary="Patch a document",
    parameters=(*DOCUMENT_PARAMETERS, WRITE_IF_MATCH, IF_ABSENT, KEY, DRY_RUN),
    returns={200: CHANGED, 201: CREATED},
    errors=PRECONDITION_ERRORS
    | GOVERNANCE_ERRORS
    | {E.PATCH_MALFORMED, E.PATCH_NOT_APPLICABLE, E.PATCH_TEST_FAILED, E.CONFIDENCE_TOO_LOW}
    | {E.CLAIMANT_NOT_ACCEPTED, E.CLAIMANT_NOT_FOUND, E.EVIDENCE_REQUIRED, E.ENTRY_EXPIRED}
    | {E.PENDING_ITEM_INVALID, E.PROPOSER_CANNOT_CONFIRM},
)
async def patch(call: UserCall, body: PatchBody, head: DocumentHead) -> Response:
    """Apply JSON Patch operations (RFC 6902) to a document, or create it from the binding's initial content."""
    reason = Reason(body.reason)
    permit(call.operation, call.actor, call.identity.tenants, call.scope.tenant_id, reason)
    permit_ops(body.ops, call.actor)
    command = PatchDocument(
        key=head.key,
        actor=call.actor,
        precondition=head.precondition,
        idempotency_key=head.idempotency_key,
        profile_id=body.profile_id,
        binding_id=body.binding_id,
        ops=body.ops,
        reason=reason,
        evidence=body.evidence_members(),
        confidence=body.confidence,
        source_time=body.source_time,
        dry_run=head.dry_run,
    )
    check_claimants(call, [body.claimant])
    return write_response(call, await patch_document(command, call.service, claimant=body.claimant))


@route(
    "PUT",
    DOCUMENT,
    "replace_document",
    body=ReplaceBody,
    head=DocumentHead.read,
    summary="Replace or create a document",
    parameters=(*DOCUMENT_PARAMETERS, WRITE_IF_MATCH, IF_ABSENT, KEY, DRY_RUN),
    returns={200: CHANGED, 201: CREATED},
    errors=PRECONDITION_ERRORS | GOVERNANCE_ERRORS,
)
async def put(call: UserCall, body: ReplaceBody, head: DocumentHead) -> Response:
    """Replace a whole document, for migrations and administration."""
    command = ReplaceDocument(
        key=head.key,
        actor=call.actor,
        precondition=head.precondition,
        idempotency_key=head.idempotency_key,
        profile_id=body.profile_id,
        binding_id=body.binding_id,
        schema_id=body.document.schema_id,
        schema_version=body.document.schema_version,
        content=body.document.content,
        note=body.reason,
        evidence=body.evidence_members(),
        dry_run=head.dry_run,
    )
    return write_response(call, await replace_document(command, call.service))


@route(
    "DELETE",
    DOCUMENT,
    "delete_document",
    summary="Delete a document",
    parameters=(
        *DOCUMENT_PARAMETERS,
        {**WRITE_IF_MATCH, "required": True, "description": "The ETag of the version to delete."},
        KEY,
        DRY_RUN,
        parameter("query", "reason", {"type": "string", "maxLength": MAX_NOTE}, "A note for the audit record."),
    ),
    returns={200: CHANGED},
    errors=PRECONDITION_ERRORS | {E.FIELD_DENIED},
)
async def delete(call: UserCall) -> Response:
    """Delete a document; its history remains. A body is ignored."""
    command = DeleteDocument(
        key=call.document_key(),
        actor=call.actor,
        precondition=delete_precondition(call.request.headers),
        idempotency_key=idempotency_key(call.request.headers),
        note=query.text(call.request, "reason", max_length=MAX_NOTE),
        dry_run=query.boolean(call.request, "dry_run"),
    )
    return write_response(call, await delete_document(command, call.service))


def _row(listed: ListedDocument) -> dict[str, object]:
    summary = listed.summary
    return {
        "namespace": listed.key.namespace,
        "path": listed.key.path,
        "etag": summary.etag,
        "updated_at": summary.updated_at,
        "size": summary.size,
        "sequence": summary.sequence,
    }
