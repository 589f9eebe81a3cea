"""Routes of turns."""

from fastapi import APIRouter
from starlette.responses import Response

from api.authorization import UserCall, check_claimants
from api.bodies import TurnsBody
from api.json_response import json_response
from api.openapi import IDENTIFIER, Returned, parameter
from api.prefer_header import note_wait, wait_preference
from api.responses.turns import TurnsStored
from api.routing import user_routes
from memnet.domain.core.access import may_get_replay
from memnet.domain.core.error_code import ErrorCode as E
from memnet.operations.replay.turns import store_turns

router = APIRouter()
route = user_routes(router, "conversations")

_STORE = (
    parameter("path", "conversation_id", IDENTIFIER, "The client's id of the conversation.", required=True),
    parameter(
        "header",
        "Prefer",
        {"type": "string"},
        "`wait=N` (RFC 7240) with 1 to 60 seconds: answer when the replays have ended, or after N seconds.",
    ),
)


@route(
    "POST",
    "/conversations/{conversation_id}/turns",
    "store_turns",
    body=TurnsBody,
    summary="Submit turns",
    parameters=_STORE,
    returns={
        201: Returned(
            "Stored.",
            TurnsStored,
            replayed=True,
            headers={"Preference-Applied": "`wait=N`, if the request waited for the replays."},
        )
    },
    errors={
        *(E.PROFILE_FORBIDDEN, E.PROFILE_NOT_FOUND, E.TURNS_NOT_ACCEPTED, E.LIMIT_EXCEEDED, E.SNAPSHOT_EXISTS),
        *(E.SOURCE_RETRACTED, E.CLAIMANT_NOT_ACCEPTED, E.CLAIMANT_NOT_FOUND),
        *(E.DECRYPTION_FAILED, E.HISTORY_CORRUPT, E.ERASURE_RUNNING, E.VAULT_UNAVAILABLE),
    },
)
async def store(call: UserCall, body: TurnsBody) -> Response:
    """Store what was said, encrypted, and have a worker extract memory from it. The same turn again gets the same
    answer and retries a failed replay; another turn with its id is refused with 409. The replay is the job: get it with
    its replay_id, or wait for it with Prefer.
    """
    check_claimants(call, [turn.claimant for turn in body.turns])
    slot = call.request.scope["memnet.slot"]
    seconds = wait_preference(call.request)
    if seconds is not None and not slot.wait():
        seconds = None
    stored = await store_turns(
        call.scope,
        call.path("conversation_id"),
        body,
        call.service,
        actor=call.actor,
        wait_seconds=seconds,
        draining=slot.ends_waiting,
    )
    turns = [turn.members() for turn in stored.turns]
    if not may_get_replay(call.actor):
        turns = [{name: value for name, value in turn.items() if name != "replay"} for turn in turns]
    response = json_response({"turns": turns}, status=201, replayed=stored.replayed)
    note_wait(response, seconds)
    return response
