"""Turns: parts of conversations, submitted when they are said."""

from memnet_client.testing.call import Answer, Call, check_identifier
from memnet_client.testing.claimants import code_of
from memnet_client.testing.conversations import keep_snapshot, queue_replay
from memnet_client.testing.json_patch import Json, digest
from memnet_client.testing.refusals import Refusal
from memnet_client.testing.state import moment_of, text_of

MAX_TURNS = 100


def store_turns(call: Call) -> Answer:
    """Store turns and queue their replays; the same turns again change nothing."""
    body, conversation_id = call.body, check_identifier("conversation_id", call.path["conversation_id"])
    profile = call.profile(body["profile_id"])
    turns = body["turns"]
    if not 1 <= len(turns) <= MAX_TURNS or any(not turn["messages"] for turn in turns):
        raise Refusal("MALFORMED_REQUEST", "A request has 1 to 100 turns, each with messages.")
    if any(turn.get("turn_id") is None and turn.get("timestamp") is None for turn in turns):
        raise Refusal("MALFORMED_REQUEST", "A turn requires turn_id or timestamp.")
    if profile.body.get("turns") is None:
        raise Refusal("TURNS_NOT_ACCEPTED", "The profile has no rules for turns.", param="/profile_id")
    rows: list[Json] = []
    others, is_new = [], False
    codes = [
        code_of(
            call,
            turn.get("claimant"),
            profile,
            [one["binding_id"] for one in profile.bindings],
            f"/turns/{number}/claimant",
        )
        for number, turn in enumerate(turns)
    ]
    for turn, code in zip(turns, codes, strict=True):
        said = {name: value for name, value in turn.items() if name != "claimant"}
        turn_id = turn.get("turn_id") or f"trn-{digest([profile.profile_id, call.principal, said, code])[:32]}"
        check_identifier("turn_id", turn_id)
        messages = _messages(call, conversation_id, turn, turn_id)
        details = {name: turn.get(name) for name in ("topic", "metadata")} | {"claimed_by": code}
        stored = keep_snapshot(call, conversation_id, turn_id, profile, messages, **details)
        if stored is None:
            others.append(turn_id)
            continue
        snapshot, created = stored
        is_new = is_new or created
        queued = queue_replay(call.world, call.memory.replays, snapshot)
        row = {name: snapshot[name] for name in ("snapshot_uri", "replay_id")}
        rows.append({"turn_id": turn_id, **row, "queued": queued})
    if others:
        raise Refusal("SNAPSHOT_EXISTS", "A turn_id is used by a different turn.", turn_ids=others, stored=rows)
    return Answer({"turns": rows}, 201, {} if is_new else {"Idempotency-Replayed": "true"})


def _messages(call: Call, conversation_id: str, turn: Json, turn_id: str) -> list[Json]:
    """Return the messages with their ids and times; a repeated turn keeps the times that the request leaves out."""
    known = call.memory.snapshots.get((conversation_id, turn_id), {"messages": []})["messages"]
    now, messages = call.world.ticks.now(), []
    for number, message in enumerate(turn["messages"]):
        given = message.get("timestamp") or turn.get("timestamp")
        stored = known[number]["timestamp"] if number < len(known) else now
        messages.append(
            {
                "message_id": message.get("message_id") or f"{turn_id}-{number + 1}",
                **{name: message[name] for name in ("role", "name", "content") if message.get(name) is not None},
                "timestamp": text_of(moment_of(given)) if given else stored,
            }
        )
    return messages
