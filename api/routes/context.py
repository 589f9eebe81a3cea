"""Context for an agent: HTTP in, one operation, HTTP out."""

from collections.abc import Mapping

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api import examples, json_answer
from api.admission import admit
from api.bodies import AssembleBody
from api.direct_route import DirectRoute
from api.openapi import ADMISSION_ERRORS, BODY_ERRORS, USER_PARAMETERS, USER_PREFIX, Schema, answer, body, describe
from api.request_body import read_body
from api.routes.documents_openapi import DOCUMENT, TEXT
from api.routes.events import UNTRUSTED_QUOTATION
from memnet.domain.context.context import (
    AssembleContext,
    ContextDocument,
    ContextEvents,
    Dropped,
    IncludeEvents,
    is_unreadable,
)
from memnet.domain.context.visible_content import GUIDANCE_NOTE
from memnet.domain.core.error_code import ErrorCode as E
from memnet.domain.core.metric import UNREADABLE_DOCUMENTS
from memnet.operations.context.assemble_context import assemble_context

router = APIRouter(prefix=USER_PREFIX, route_class=DirectRoute)

PROJECT_VARIABLE = "project_id"
"""The template variable whose id events know, too: among their `project_ids`."""

_ASSEMBLED: Schema = {
    "type": "object",
    "required": ["selected_project_id", "selected", "documents", "dropped_bindings"],
    "properties": {
        "selected_project_id": {"type": ["string", "null"], "description": "What `selected` says of project_id."},
        "selected": {
            "type": "object",
            "additionalProperties": TEXT,
            "description": "The id that was given or routed to, by the name of the profile's variable.",
        },
        "documents": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["binding_id", "namespace", "path", "etag", "document"],
                "properties": {
                    "binding_id": TEXT,
                    "namespace": TEXT,
                    "path": TEXT,
                    "etag": TEXT,
                    "left_out": {
                        "type": "array",
                        "items": TEXT,
                        "description": "The places of expired entries in the stored document. If it is sent, read the "
                        "document before you patch it by index.",
                    },
                    "document": DOCUMENT,
                },
            },
        },
        "guidance_note": {"type": "string", "description": "Only with guidance: what guidance is and is not."},
        "guidance": {
            "type": "array",
            "description": "The user's wishes, apart from the documents. Only if there are any.",
            "items": {
                "type": "object",
                "required": ["binding_id", "pointer", "entries"],
                "properties": {"binding_id": TEXT, "pointer": TEXT, "entries": {"type": "array"}},
            },
        },
        "dropped_bindings": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["binding_id", "reason"],
                "properties": {
                    "binding_id": TEXT,
                    "reason": {"type": "string", "enum": [reason.value for reason in Dropped]},
                },
            },
        },
        "routing_debug": {"type": "object"},
        "events": {
            "type": "array",
            "description": "Only if include_events is sent: whole events, best first.",
            "items": {
                "type": "object",
                "required": ["event_id", "timestamp", "digest", "untrusted_quotation", "score"],
                "properties": {
                    "event_id": TEXT,
                    "timestamp": TEXT,
                    "service_id": TEXT,
                    "source_type": TEXT,
                    "digest": TEXT,
                    "keywords": {"type": "array", "items": TEXT},
                    "entities": {"type": "array", "items": TEXT},
                    "project_ids": {"type": "array", "items": TEXT},
                    "snapshot_uri": TEXT,
                    "evidence": {"type": "object"},
                    "untrusted_quotation": UNTRUSTED_QUOTATION,
                    "score": {"type": "number"},
                },
            },
        },
        "dropped_events": {
            "type": "array",
            "description": "Only if include_events is sent: what was found and did not fit.",
            "items": {
                "type": "object",
                "required": ["event_id", "reason", "size"],
                "properties": {"event_id": TEXT, "reason": TEXT, "size": {"type": "integer"}},
            },
        },
        "events_error": {
            "type": "object",
            "description": "Why no event could be looked for; the documents are complete without them.",
            "required": ["code", "message"],
            "properties": {"code": TEXT, "message": TEXT},
        },
    },
}
_DOCS = describe(
    "assemble_context",
    tag="context",
    summary="Assemble the documents an agent gets at the start of a conversation",
    parameters=USER_PARAMETERS,
    body=body(AssembleBody, by_text=examples.ASSEMBLE, with_events=examples.ASSEMBLE_WITH_EVENTS),
    answers={200: answer("The documents, most important first.", _ASSEMBLED, examples.ASSEMBLED)},
    errors=ADMISSION_ERRORS | BODY_ERRORS | {E.PROFILE_NOT_FOUND, E.PROFILE_FORBIDDEN},
)


@router.post("/context:assemble", **_DOCS)
async def assemble(request: Request) -> Response:
    """Collect the profile's documents by priority, route to the right one of a family, and say what was left out."""
    admission = await admit(request, "assemble_context")
    service = admission.service
    body = await read_body(request, AssembleBody, max_bytes=service.settings.max_body_bytes)
    command = AssembleContext(
        scope=admission.scope,
        actor=admission.actor,
        profile_id=body.profile_id,
        text=body.text(),
        explicit_ids=body.explicit_ids(),
        max_docs=body.max_docs,
        max_chars_total=body.max_chars_total,
        include_events=_wish(body),
    )
    context = await assemble_context(command, service)
    for row in filter(is_unreadable, context.dropped_bindings):
        service.telemetry.record(UNREADABLE_DOCUMENTS, 1, profile_id=body.profile_id, binding_id=row["binding_id"])
    parts = {
        "selected_project_id": json_answer.dump(context.selected.get(PROJECT_VARIABLE)),
        "selected": json_answer.dump(context.selected),
        "documents": json_answer.elements([_document(document) for document in context.documents]),
        "dropped_bindings": json_answer.dump(context.dropped_bindings),
    }
    guidance = [section for document in context.documents for section in document.guidance]
    if guidance:
        parts |= {"guidance_note": json_answer.dump(GUIDANCE_NOTE), "guidance": json_answer.dump(guidance)}
    wanted = service.settings.routing_debug
    if wanted == "always" or (wanted == "on_request" and body.routing_debug):
        parts["routing_debug"] = json_answer.dump(context.routing_debug)
    if context.events is not None:
        parts |= _events(context.events)
    return json_answer.answer(json_answer.members(parts))


def _document(document: ContextDocument) -> bytes:
    named: Mapping[str, str] = {
        "binding_id": document.binding_id,
        "namespace": document.namespace,
        "path": document.path,
        "etag": document.etag,
    }
    parts = {name: json_answer.dump(value) for name, value in named.items()}
    if document.left_out:
        parts["left_out"] = json_answer.dump(document.left_out)
    return json_answer.members({**parts, "document": document.document})


def _wish(body: AssembleBody) -> IncludeEvents | None:
    wish = body.include_events
    if wish is None:
        return None
    return IncludeEvents(top_k=wish.top_k, max_chars=wish.max_chars, within=PROJECT_VARIABLE)


def _events(events: ContextEvents) -> dict[str, bytes]:
    parts = {"events": json_answer.elements(list(events.cited)), "dropped_events": json_answer.dump(events.dropped)}
    return parts if events.error is None else {**parts, "events_error": json_answer.dump(events.error)}
