"""The documents of a user: HTTP in, one operation, HTTP out."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api import json_answer, query
from api.admission import admit, document_key
from api.bodies import MAX_NOTE, PatchBody, ReplaceBody
from api.direct_route import DirectRoute
from api.openapi import USER_PREFIX, describe
from api.preconditions import check_match, delete_precondition, idempotency_key, is_not_modified, write_precondition
from api.request_body import read_body
from api.request_telemetry import note_binding, note_result
from api.routes import documents_openapi as docs
from memnet.domain.core.access import may_read, permit_ops
from memnet.domain.core.reason import Reason
from memnet.domain.core.scope import Actor
from memnet.domain.documents.commands import DeleteDocument, PatchDocument, ReplaceDocument, WriteResult
from memnet.operations.documents.read import get_document, list_documents
from memnet.operations.documents.write import delete_document, patch_document, replace_document
from memnet.stores import ListedDocument

router = APIRouter(prefix=USER_PREFIX, route_class=DirectRoute)
DOCUMENT = "/documents/{namespace}/{path:path}"


@router.get("/documents", **describe("list_documents", **docs.LIST))
async def list_(request: Request) -> Response:
    """List a user's documents in name order, deleted ones left out. A page may be shorter than its limit."""
    admission = await admit(request, "list_documents")
    page = await list_documents(
        admission.scope,
        admission.service,
        namespace=query.text(request, "namespace"),
        prefix=query.text(request, "prefix"),
        limit=query.limit(request),
        cursor=query.cursor(request),
    )
    rows = [_row(listed) for listed in page.items]
    return json_answer.answer(json_answer.dump({"documents": rows, "next_cursor": page.next_cursor}))


@router.get(DOCUMENT, **describe("get_document", **docs.GET))
async def get(request: Request) -> Response:
    """Read one document as it is now or, with as_of, as it was then."""
    admission = await admit(request, "get_document", history="as_of" in request.query_params)
    view = await get_document(document_key(request, admission), admission.service, as_of=query.text(request, "as_of"))
    check_match(request.headers, view.etag)
    if is_not_modified(request.headers, view.etag):
        return Response(status_code=304, headers={"ETag": view.etag})
    body = json_answer.members({"etag": json_answer.dump(view.etag), "document": view.document})
    return json_answer.answer(body, etag=view.etag)


@router.patch(DOCUMENT, **describe("patch_document", **docs.PATCH))
async def patch(request: Request) -> Response:
    """Change parts of a document by JSON Patch (RFC 6902), or create it from the binding's initial content."""
    admission = await admit(request, "patch_document")
    service = admission.service
    key = document_key(request, admission)
    precondition, idempotency = write_precondition(request.headers), idempotency_key(request.headers)
    dry_run = query.flag(request, "dry_run")
    body = await read_body(request, PatchBody, max_bytes=service.settings.max_body_bytes)
    note_binding(request.scope, service.catalog, body.profile_id, body.binding_id)
    reason = Reason(body.reason)
    admission.permit_reason("patch_document", reason)
    permit_ops(body.ops, admission.actor)
    command = PatchDocument(
        key=key,
        actor=admission.actor,
        precondition=precondition,
        idempotency_key=idempotency,
        profile_id=body.profile_id,
        binding_id=body.binding_id,
        ops=body.ops,
        reason=reason,
        evidence=body.evidence_members(),
        confidence=body.confidence,
        source_time=body.source_time,
        dry_run=dry_run,
    )
    result = await patch_document(command, service)
    return _written(request, result, admission.actor)


@router.put(DOCUMENT, **describe("replace_document", **docs.PUT))
async def put(request: Request) -> Response:
    """Put a whole document in place, for migrations and administration."""
    admission = await admit(request, "replace_document")
    service = admission.service
    key = document_key(request, admission)
    precondition, idempotency = write_precondition(request.headers), idempotency_key(request.headers)
    dry_run = query.flag(request, "dry_run")
    body = await read_body(request, ReplaceBody, max_bytes=service.settings.max_body_bytes)
    note_binding(request.scope, service.catalog, body.profile_id, body.binding_id)
    command = ReplaceDocument(
        key=key,
        actor=admission.actor,
        precondition=precondition,
        idempotency_key=idempotency,
        profile_id=body.profile_id,
        binding_id=body.binding_id,
        schema_id=body.document.schema_id,
        schema_version=body.document.schema_version,
        content=body.document.content,
        note=body.reason,
        evidence=body.evidence_members(),
        dry_run=dry_run,
    )
    result = await replace_document(command, service)
    return _written(request, result, admission.actor)


@router.delete(DOCUMENT, **describe("delete_document", **docs.DELETE))
async def delete(request: Request) -> Response:
    """End a document; its history stays. A body is ignored."""
    admission = await admit(request, "delete_document")
    service = admission.service
    command = DeleteDocument(
        key=document_key(request, admission),
        actor=admission.actor,
        precondition=delete_precondition(request.headers),
        idempotency_key=idempotency_key(request.headers),
        note=query.text(request, "reason", max_length=MAX_NOTE),
        dry_run=query.flag(request, "dry_run"),
    )
    result = await delete_document(command, service)
    return _written(request, result, admission.actor)


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


def _written(request: Request, result: WriteResult, actor: Actor) -> Response:
    """Answer a write. A repeated request gets the first answer and a header that says so.

    The document of a dry run goes only to an `actor` that may read it.
    """
    note_result(request.scope, result)
    parts = {
        "etag": json_answer.dump(result.etag),
        "change_id": json_answer.dump(result.change_id),
        "sequence": json_answer.dump(result.sequence),
    }
    if result.redirected:
        parts["redirected"] = json_answer.dump(result.redirected)
    if result.dry_run:
        parts["dry_run"] = b"true"
    if result.document is not None and may_read(actor):
        parts["document"] = result.document
    status = 201 if result.created and not result.dry_run else 200
    response = json_answer.answer(json_answer.members(parts), status=status, etag=result.etag)
    if result.replayed:
        response.headers["Idempotency-Replayed"] = "true"
    return response
