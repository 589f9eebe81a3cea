"""Routes of a recall service: its health, turns, recall and search, a user's memories and erasure, and sessions."""

from typing import Annotated, Final

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from api import query
from api.authorization import UserCall, admit_user, authorize_tenant_of_token
from api.bodies import Body
from api.compat.routing import FreeMetadata, Identifier, Messages, Question, key_of, recall_for, route, turn_of
from api.json_response import json_response, page_response
from api.recall_rows import snippet
from api.request_body import read_body
from api.routes import health
from memnet.domain.core.access import may_get_replay, permit_own_erasure
from memnet.domain.core.errors import MalformedRequest
from memnet.domain.core.json_types import Integer
from memnet.domain.core.scope import MAX_SEGMENT, Json
from memnet.domain.events.event import Time
from memnet.domain.history.entries import Said
from memnet.domain.history.statements import EntryState
from memnet.domain.recall.candidate import Candidate
from memnet.domain.recall.packing import BUDGET
from memnet.domain.replay.replay import FINISHED, ReplayStatus
from memnet.domain.replay.turn import Turns
from memnet.operations.governance.erasure_request import request_erasure
from memnet.operations.governance.retract_conversation import retract_conversation
from memnet.operations.history.entry_filter import EntryFilter
from memnet.operations.history.list_entries import list_entries
from memnet.operations.replay.turns import store_turns

router = APIRouter()
WAIT_SECONDS: Final = 55
"""Clients of that service wait for the extraction, for 60 seconds at most."""
PAGES: Final = 8
"""How many pages of entries one answer has; clients of that service expect all of them."""
DELETED: Final = "The session was deleted."
"""The reason of a retraction that a client of that service asks for."""
EXTRACTED: Final = FINISHED - {ReplayStatus.FAILED, ReplayStatus.RETRACTED}


class TurnBody(Body):
    """A turn of a session."""

    session_id: Identifier
    user_id: Identifier
    messages: Messages
    timestamp: Time
    metadata: FreeMetadata = Field(default_factory=dict)


class RecallBody(Body):
    """A question in a session."""

    query: Question
    session_id: Identifier | None = None
    user_id: Identifier
    max_tokens: Annotated[Integer | None, Field(ge=1)] = None


class SearchBody(Body):
    """A question, in a session or in all of them."""

    query: Question
    session_id: Identifier | None = None
    user_id: Identifier
    limit: Annotated[Integer, Field(ge=1, le=100)] = 10


route(router, "GET", "/health", "health_ready")(health.ready)


@route(router, "POST", "/turns", "store_turns")
async def add_turn(request: Request) -> Response:
    """Store a turn and answer when its replay has ended, or after WAIT_SECONDS: then the answer says `degraded`.

    The answer has the replay if the caller may get it.
    """
    call = await authorize_tenant_of_token(request, "store_turns")
    settings = call.service.settings
    body = await read_body(request, TurnBody, max_bytes=settings.max_body_bytes)
    user = await admit_user(call, body.user_id)
    turn = turn_of(body.messages, timestamp=body.timestamp, metadata=body.metadata)
    slot = request.scope["memnet.slot"]
    stored = await store_turns(
        user.scope,
        body.session_id,
        Turns(profile_id=settings.compat_profile, turns=[turn]),
        user.service,
        actor=user.actor,
        wait_seconds=WAIT_SECONDS if slot.wait() else None,
        draining=slot.ends_waiting,
    )
    (kept,) = stored.turns
    replay = kept.replay or {}
    answer = {"id": kept.turn_id, "replay_id": kept.replay_id, "degraded": replay.get("status") not in EXTRACTED}
    if replay and may_get_replay(user.actor):
        answer["replay"] = replay
    return json_response(answer, status=201, replayed=stored.replayed)


@route(router, "POST", "/recall", "recall")
async def recall_context(request: Request) -> Response:
    """Answer with the text for a model, and a citation of each result in it. A cold user: both are empty."""
    call = await authorize_tenant_of_token(request, "recall")
    settings = call.service.settings
    body = await read_body(request, RecallBody, max_bytes=settings.max_body_bytes)
    user = await admit_user(call, body.user_id)
    recalled = await recall_for(
        user,
        body.query,
        conversation_id=body.session_id,
        max_tokens=body.max_tokens,
        pipeline=settings.compat_pipeline,
    )
    citations = [
        {"turn_id": _turn_id(one.candidate), "score": one.score, "snippet": snippet(one.candidate.text)}
        for one in recalled.results
    ]
    return json_response({"context": recalled.text, "citations": citations})


@route(router, "POST", "/search", "recall")
async def search(request: Request) -> Response:
    """Answer with what was found, best first, also what does not fit into the tokens of a recall."""
    call = await authorize_tenant_of_token(request, "recall")
    body = await read_body(request, SearchBody, max_bytes=call.service.settings.max_body_bytes)
    user = await admit_user(call, body.user_id)
    recalled = await recall_for(user, body.query, conversation_id=body.session_id)
    too_long = [one for one in recalled.left_out if one.reason == BUDGET]
    found = [(one.candidate, one.score) for one in recalled.results]
    found += [(one.candidate, one.score) for one in too_long]
    ranked = sorted(found, key=lambda one: (-one[1], one[0].key))[: body.limit]
    return json_response({"results": [_found(candidate, score) for candidate, score in ranked]})


@route(router, "GET", "/users/{user_id}/memories", "list_entries")
async def list_memories(request: Request) -> Response:
    """List a user's memories, also those that another one has replaced. `next_cursor` is null at the end."""
    user = await _user_of_path(request, "list_entries")
    only = EntryFilter(profile_id=user.service.settings.compat_profile, states=frozenset(EntryState))
    cursor, limit = query.cursor(request), query.limit(request)
    memories: list[Json] = []
    for _ in range(PAGES):
        page = await list_entries(user.scope, user.actor, user.service, only=only, limit=limit, cursor=cursor)
        memories += [_memory(listed.said) for listed in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    return page_response("memories", memories, cursor)


@route(router, "DELETE", "/users/{user_id}", "request_erasure")
async def erase(request: Request) -> Response:
    """Accept the erasure of everything stored about a user."""
    user = await _user_of_path(request, "request_erasure")
    if user.identity.user is not None:
        permit_own_erasure(user.scope.tenant_id, user.service.settings.self_erasure_tenants)
    status = await request_erasure(user.scope, user.service, idempotency_key=key_of(user), actor=user.actor)
    return json_response(status.to_json(), status=202)


@route(router, "DELETE", "/sessions/{session_id}", "retract_conversation")
async def delete_session(request: Request) -> Response:
    """Take a session back: its turns, and what was learnt from it alone. A worker does it.

    A session belongs to a user, whom the query parameter user_id names; for a signed-in user it is the user.
    """
    call = await authorize_tenant_of_token(request, "retract_conversation")
    user_id = query.text(request, "user_id", max_length=MAX_SEGMENT)
    if user_id is None:
        raise MalformedRequest("Name the user of the session in the query parameter user_id.", param="user_id")
    user = await admit_user(call, user_id)
    found = await retract_conversation(
        user.scope, call.path("session_id"), DELETED, user.service, actor=user.actor, idempotency_key=key_of(user)
    )
    return json_response(found.retraction.members(), status=202)


async def _user_of_path(request: Request, operation: str) -> UserCall:
    call = await authorize_tenant_of_token(request, operation)
    return await admit_user(call, call.path("user_id"))


def _turn_id(candidate: Candidate) -> str | None:
    """Return the id of the turn or snapshot that says it."""
    uri = candidate.snapshot_uri
    return None if uri is None else uri.rpartition("/")[2].removesuffix(".json")


def _found(candidate: Candidate, score: float) -> Json:
    return {
        "content": candidate.text,
        "score": score,
        "session_id": candidate.conversation_id,
        "turn_id": _turn_id(candidate),
        "timestamp": candidate.said_at,
        "metadata": {"kind": candidate.kind.value, "state": candidate.state.value},
    }


def _memory(said: Said) -> Json:
    evidence = said.evidence if isinstance(said.evidence, dict) else {}
    return {
        "id": said.entry_id,
        "type": said.section,
        "text": said.text,
        "value": said.value,
        "confidence": said.confidence,
        "active": said.state is EntryState.OPEN,
        "state": said.state.value,
        "valid_from": said.validity.valid_from,
        "valid_until": said.validity.valid_until,
        "supersedes": said.validity.replaces,
        "superseded_by": said.validity.replaced_by,
        "source_session": evidence.get("conversation_id"),
        "updated_at": said.origin.timestamp,
    }
