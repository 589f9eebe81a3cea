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
from memnet.domain.context import AssembleContext, ContextDocument
from memnet.domain.errors import ErrorCode as E
from memnet.operations.assemble_context import assemble_context

router = APIRouter(prefix=USER_PREFIX, route_class=DirectRoute)

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
                    "document": DOCUMENT,
                },
            },
        },
        "dropped_bindings": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["binding_id", "reason"],
                "properties": {"binding_id": TEXT, "reason": TEXT},
            },
        },
        "routing_debug": {"type": "object"},
    },
}
_DOCS = describe(
    "assemble_context",
    tag="context",
    summary="Assemble the documents an agent gets at the start of a conversation",
    parameters=USER_PARAMETERS,
    body=body(AssembleBody, by_text=examples.ASSEMBLE),
    answers={200: answer("The documents, most important first.", _ASSEMBLED, examples.ASSEMBLED)},
    errors=ADMISSION_ERRORS | BODY_ERRORS | {E.PROFILE_NOT_FOUND, E.PROFILE_FORBIDDEN},
)


@router.post("/context:assemble", **_DOCS)
async def assemble(request: Request) -> Response:
    """Collect the profile's documents by priority, route to the right one of a family, and say what was left out."""
    admission = await admit(request, "assemble_context")
    services = admission.services
    body = await read_body(request, AssembleBody, max_bytes=services.settings.max_body_bytes)
    command = AssembleContext(
        scope=admission.scope,
        actor=admission.actor,
        profile_id=body.profile_id,
        text=body.text(),
        explicit_ids=body.explicit_ids(),
        max_docs=body.max_docs,
        max_chars_total=body.max_chars_total,
    )
    context = await assemble_context(
        command,
        documents=services.documents,
        catalog=services.catalog,
        semantic_router=services.semantic_router,
    )
    parts = {
        "selected_project_id": json_answer.dump(context.selected.get("project_id")),
        "selected": json_answer.dump(context.selected),
        "documents": json_answer.elements([_document(document) for document in context.documents]),
        "dropped_bindings": json_answer.dump(context.dropped_bindings),
    }
    wanted = services.settings.routing_debug
    if wanted == "always" or (wanted == "on_request" and body.routing_debug):
        parts["routing_debug"] = json_answer.dump(context.routing_debug)
    return json_answer.answer(json_answer.members(parts))


def _document(document: ContextDocument) -> bytes:
    named: Mapping[str, str] = {
        "binding_id": document.binding_id,
        "namespace": document.namespace,
        "path": document.path,
        "etag": document.etag,
    }
    parts = {name: json_answer.dump(value) for name, value in named.items()}
    return json_answer.members({**parts, "document": document.document})
