"""The route of entries: what is remembered of a user, with its origin."""

import re

from fastapi import APIRouter
from starlette.responses import Response

from api import query
from api.authorization import UserCall
from api.json_response import page_response
from api.openapi import IDENTIFIER, Returned, parameter
from api.parameters import CURSOR, LIMIT, TEXT
from api.responses.entries import EntryPage
from api.routing import user_routes
from memnet.domain.core.error_code import ErrorCode as E
from memnet.domain.core.errors import MalformedRequest
from memnet.domain.core.json_types import present
from memnet.domain.core.scope import Json, check_identifier
from memnet.operations.history.entry_filter import CURRENT, STATES, EntryFilter, ListedEntry
from memnet.operations.history.list_entries import list_entries

SECTION = re.compile(r"(/([^~/]|~[01])*)+")
router = APIRouter()
route = user_routes(router, "entries")


@route(
    "GET",
    "/entries",
    "list_entries",
    summary="List entries with their origins",
    parameters=(
        parameter("query", "profile_id", IDENTIFIER, "Only the documents of this profile."),
        parameter("query", "binding_id", IDENTIFIER, "Only the documents of this binding."),
        parameter("query", "section", TEXT, "Only this section, a JSON Pointer relative to the content: `/notes`."),
        parameter(
            "query",
            "state",
            {"type": "string", "enum": list(STATES)},
            "Only entries in this state. Without it: open and waiting ones.",
        ),
        {
            **LIMIT,
            "description": "Maximum number of documents to read, then of events; at most 25.",
        },
        CURSOR,
    ),
    returns={200: Returned("A page of entries; it may be empty before the end.", EntryPage)},
    errors={
        *(E.MALFORMED_REQUEST, E.INVALID_CURSOR, E.PROFILE_NOT_FOUND, E.PROFILE_FORBIDDEN, E.BINDING_NOT_FOUND),
        *(E.HISTORY_CORRUPT, E.VAULT_UNAVAILABLE),
    },
)
async def list_(call: UserCall) -> Response:
    """List what a user's documents say, entry by entry: text, section, evidence, and the change that put it there.

    An entry is an element of an array, or a member of an object, in a top-level member of the content. Its origin is
    the change that wrote its text: a later source, verification or confidence does not replace it. A confirmation
    names the proposer, too. A closed statement in an event has `recorded_before` instead. The history
    of each document is verified from its newest baseline on.

    An entry is `open` if it holds, `closed` if it is a statement that has held, and `waiting` if it waits for
    confirmation. Closed statements that upkeep moved to events come after those of the documents, with `event_id` and
    without `pointer` and `etag`. `chain` has the ids of the statements that replaced one another.

    `uses` and `last_used_at` may lack the recalls of the last seconds: they are written every 10 seconds.
    """
    page = await list_entries(
        call.scope,
        call.actor,
        call.service,
        only=_filter(call),
        limit=query.limit(call.request),
        cursor=query.cursor(call.request),
    )
    return page_response("entries", [_row(listed) for listed in page.items], page.next_cursor)


def _filter(call: UserCall) -> EntryFilter:
    """Read the filter. Raises MalformedRequest, InvalidIdentifier."""
    named = {name: query.text(call.request, name) for name in ("profile_id", "binding_id")}
    ids = {name: None if value is None else check_identifier(name, value) for name, value in named.items()}
    section, state = query.text(call.request, "section", max_length=512), query.text(call.request, "state")
    if section is not None and not SECTION.fullmatch(section):
        raise MalformedRequest("The query parameter section must be a JSON Pointer such as /notes.", param="section")
    if state is not None and state not in STATES:
        raise MalformedRequest(f"The query parameter state must be one of {', '.join(STATES)}.", param="state")
    return EntryFilter(**ids, section=section, states=CURRENT if state is None else STATES[state])


def _row(listed: ListedEntry) -> Json:
    said, origin = listed.said, listed.said.origin
    rules, valid = said.rules, said.validity
    waiting = said.value if said.is_pending and isinstance(said.value, dict) else {}
    return present(
        namespace=listed.key.namespace,
        path=listed.key.path,
        etag=listed.etag,
        event_id=listed.event_id,
        entry_id=said.entry_id,
        state=said.state.value,
        profile_id=rules and rules.profile.profile_id,
        binding_id=rules and rules.binding.binding_id,
        writable=said.is_writable,
        section=said.section,
        pointer=said.pointer,
        text=said.text,
        value=said.value,
        members=said.members,
        valid_from=valid.valid_from,
        valid_until=valid.valid_until,
        replaces=valid.replaces,
        replaced_by=valid.replaced_by,
        chain=list(valid.chain) or None,
        question=waiting.get("question"),
        decides=waiting.get("decides"),
        confidence=said.confidence,
        importance=said.importance,
        live_importance=listed.live_importance,
        uses=listed.uses,
        last_used_at=listed.last_used_at,
        last_verified_at=said.last_verified_at,
        expires_at=said.expires_at,
        evidence=said.evidence,
        confirmed=origin.is_confirmed,
        recorded_at=origin.timestamp if origin.is_known else None,
        recorded_before=None if origin.is_known else origin.timestamp,
        recorded_by=origin.actor,
        application=origin.application,
        recorded_under=origin.profile_id,
        change_id=origin.change_id,
        reason=origin.reason,
        proposed_by=origin.proposed_by,
        proposed_at=origin.proposed_at,
    )
