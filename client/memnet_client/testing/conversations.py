"""Snapshots of conversations, and the replays that learn from them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Literal

from memnet_client.testing.call import Answer, Call, check_identifier
from memnet_client.testing.commits import Target
from memnet_client.testing.conflicts import RACES, WORKER, attempt, keep
from memnet_client.testing.json_patch import Json, canonical, digest
from memnet_client.testing.patches import Patch
from memnet_client.testing.refusals import Refusal
from memnet_client.testing.rules import Profile, place_of
from memnet_client.testing.state import World, moment_of, text_of

UNFINISHED = ("queued", "running")


@dataclass(frozen=True)
class Learnt:
    """A patch that a replay applies: JSON Patch operations on a binding's document."""

    binding: str
    ops: Sequence[Json]
    confidence: float = 0.75
    message_ids: Sequence[str] = ()
    ids: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """How a replay ends."""

    status: Literal["succeeded", "failed"] = "succeeded"
    patches: Sequence[Learnt] = ()
    digest: str | None = None
    reason: str | None = None


def store_snapshot(call: Call) -> Answer:
    """Store a conversation and queue its replay; the same conversation again retries a failed replay."""
    body, conversation_id = call.body, check_identifier("conversation_id", call.path["conversation_id"])
    profile = call.profile(body["profile_id"])
    messages = [{**message, "timestamp": text_of(moment_of(message["timestamp"]))} for message in body["messages"]]
    if not messages or len({message["message_id"] for message in messages}) != len(messages):
        raise Refusal("MALFORMED_REQUEST", "A conversation needs messages with unique ids.")
    content = [profile.profile_id, call.principal, messages]
    snapshot_id = check_identifier("snapshot_id", body.get("snapshot_id") or f"snp-{digest(content)[:32]}")
    stored = keep_snapshot(call, conversation_id, snapshot_id, profile, messages)
    if stored is None:
        raise Refusal("SNAPSHOT_EXISTS", "This snapshot_id is used by a different conversation.")
    snapshot, is_new = stored
    queued = queue_replay(call.world, call.memory.replays, snapshot)
    answer = {name: snapshot[name] for name in ("snapshot_id", "snapshot_uri", "replay_id")} | {"queued": queued}
    replayed = {} if is_new else {"Idempotency-Replayed": "true"}
    return Answer(answer, 202, {"Location": f"/v1/{call.prefix}replays/{snapshot['replay_id']}", **replayed})


def keep_snapshot(
    call: Call, conversation_id: str, snapshot_id: str, profile: Profile, messages: Sequence[Json], **turn: Json
) -> tuple[Json, bool] | None:
    """Store a snapshot; return it and whether it is new. None: another one has the id.

    `turn` are the topic and metadata of a turn.
    """
    uri = f"blob://{call.prefix}snapshots/{conversation_id}/{snapshot_id}.json"
    snapshot = {
        "conversation_id": conversation_id,
        "snapshot_id": snapshot_id,
        "snapshot_uri": uri,
        "replay_id": f"rpl-{digest(uri)[:32]}",
        "profile_id": profile.profile_id,
        "profile_version": profile.body["version"],
        "profile_sha256": profile.sha256,
        "service_id": call.principal,
        "is_turn": bool(turn),
        "topic": turn.get("topic"),
        "metadata": turn.get("metadata") or {},
        "claimed_by": turn.get("claimed_by"),
        "messages": messages,
    }
    known = call.memory.snapshots.setdefault((conversation_id, snapshot_id), snapshot)
    return (known, known is snapshot) if canonical(known) == canonical(snapshot) else None


def queue_replay(world: World, replays: dict[str, Json], snapshot: Json) -> bool:
    """Create the replay, or queue a failed one; return whether it is unfinished."""
    now = world.ticks.now()
    members = ("replay_id", "conversation_id", "snapshot_id", "snapshot_uri", "service_id", "profile_id", "is_turn")
    new = {
        **{name: snapshot[name] for name in members},
        "status": "queued",
        "attempts": 0,
        "reason": None,
        "event_id": None,
        "extraction": None,
        "due_at": None,
        "covers": [],
        "covered_by": None,
        "skipped": None,
        "planned_at": None,
        "model_tokens": None,
        "created_at": now,
        "updated_at": now,
        "patches": [],
    }
    replay = replays.setdefault(snapshot["replay_id"], new)
    _requeue(replay, now)
    return replay["status"] in UNFINISHED


def _requeue(replay: Json, now: str) -> None:
    if replay["status"] == "failed":
        replay.update(status="queued", reason=None, updated_at=now)


def read_snapshot(call: Call) -> Answer:
    """Return the conversation as submitted, and record the reader."""
    named = call.path["conversation_id"], call.path["snapshot_id"]
    snapshot = call.memory.snapshots.get(named)
    if snapshot is None:
        raise Refusal("SNAPSHOT_NOT_FOUND", "There is no such snapshot.")
    now = call.world.ticks.now()
    access = {
        "operation": "read_snapshot",
        "application": None,
        "access_id": f"{now.replace('-', '').replace(':', '')}-{call.world.ticks.new_id()}",
        "accessed_at": now,
        "principal": call.principal,
        "roles": sorted(call.identity.roles),
        "conversation_id": named[0],
        "snapshot_id": named[1],
        "snapshot_uri": snapshot["snapshot_uri"],
    }
    call.memory.accesses.append(access)
    return Answer({name: value for name, value in snapshot.items() if name != "claimed_by"})


def list_conversations(call: Call) -> Answer:
    """List the newest snapshot of each conversation, or all of one conversation, the one submitted last first."""
    shown = ("conversation_id", "snapshot_id", "snapshot_uri", "created_at", "replay_id", "service_id", "profile_id")
    rows = [
        {name: row[name] for name in (*shown, "status", "is_turn")}
        for snapshot in reversed(call.memory.snapshots.values())
        for row in [snapshot | call.memory.replays[snapshot["replay_id"]]]
    ]
    wanted = call.query("conversation_id")
    if wanted is not None:
        check_identifier("conversation_id", wanted)
        return call.page("conversations", [row for row in rows if row["conversation_id"] == wanted], most=100)
    counts = Counter(row["conversation_id"] for row in rows)
    newest: dict[str, Json] = {}
    for row in rows:
        name = row["conversation_id"]
        newest.setdefault(name, row | {"snapshots": counts[name]})
    return call.page("conversations", list(newest.values()), most=100)


def list_snapshot_reads(call: Call) -> Answer:
    """List who read which snapshot, oldest first."""
    return call.page("accesses", call.memory.accesses)


def list_replays(call: Call) -> Answer:
    """List the replays by id; each finishes first."""
    wanted = {name: value for name in ("conversation_id", "snapshot_id") if (value := call.query(name)) is not None}
    found = [one for _, one in sorted(call.memory.replays.items()) if wanted.items() <= one.items()]
    return call.page("replays", [_view(call, replay) for replay in found], most=25)


def get_replay(call: Call) -> Answer:
    """Get a replay; it finishes first."""
    return Answer(_view(call, _replay(call)))


def retry_replay(call: Call) -> Answer:
    """Queue a failed replay again."""
    replay = _replay(call)
    _requeue(replay, call.world.ticks.now())
    return Answer(deepcopy(replay), 202)


def _replay(call: Call) -> Json:
    replay_id = check_identifier("replay_id", call.path["replay_id"])
    if replay_id not in call.memory.replays:
        raise Refusal("REPLAY_NOT_FOUND", "There is no such replay.")
    return call.memory.replays[replay_id]


def _view(call: Call, replay: Json) -> Json:
    outcomes = call.world.outcomes
    if replay["status"] in UNFINISHED and (call.world.replays_finish or outcomes):
        outcome = outcomes.pop(0) if outcomes else Outcome()
        finish(call.world, call.path["tenant_id"], call.path["user_id"], replay, outcome)
    view = deepcopy(replay)
    for patch in view["patches"]:
        conflict = call.memory.conflicts.get(patch.get("conflict_id", ""))
        if conflict is not None:
            patch["conflict_status"] = conflict.view["status"]
            patch |= {} if conflict.view["change_id"] is None else {"change_id": conflict.view["change_id"]}
    return view


def finish(world: World, tenant_id: str, user_id: str, replay: Json, outcome: Outcome) -> None:
    """End a replay: write its event, apply its patches under the rules of the profile, keep conflicts."""
    memory = world.user(tenant_id, user_id)
    replay["attempts"] += 1
    if outcome.status == "succeeded":
        if outcome.digest is not None:
            replay["event_id"] = f"memnet-{replay['replay_id']}"
            memory.events[replay["event_id"]] = _event(tenant_id, user_id, replay, outcome.digest, world.ticks.now())
        replay["patches"] = [
            _applied(world, tenant_id, user_id, replay, index, learnt)
            for index, learnt in enumerate(outcome.patches, start=1)
        ]
    lacking = any(patch["status"] in ("conflict", "rejected") for patch in replay["patches"])
    status = "partial" if lacking and outcome.status == "succeeded" else outcome.status
    replay.update(status=status, reason=outcome.reason, updated_at=world.ticks.now())


def _event(tenant_id: str, user_id: str, replay: Json, text: str, now: str) -> Json:
    return {
        "event_id": replay["event_id"],
        "tenant_id": tenant_id,
        "user_id": user_id,
        "service_id": WORKER,
        "timestamp": now,
        "source_type": "conversation",
        "digest": text,
        "keywords": [],
        "entities": [],
        "project_ids": [],
        "snapshot_uri": replay["snapshot_uri"],
        "evidence": {"conversation_id": replay["conversation_id"]},
    }


def _applied(world: World, tenant_id: str, user_id: str, replay: Json, index: int, learnt: Learnt) -> Json:
    """Apply one patch and return its result."""
    profile = world.profiles[replay["profile_id"]]
    binding = profile.binding(learnt.binding)
    place = place_of(binding, learnt.ids)
    if place is None:
        raise LookupError(f"The document of {learnt.binding} needs its id.")
    snapshot = world.user(tenant_id, user_id).snapshots[replay["conversation_id"], replay["snapshot_id"]]
    patch = Patch(
        profile=profile,
        binding=binding,
        ops=deepcopy(list(learnt.ops)),
        reason="replay_update",
        principal=WORKER,
        evidence={
            "conversation_id": replay["conversation_id"],
            "message_ids": list(learnt.message_ids),
            "snapshot_uri": replay["snapshot_uri"],
        },
        confidence=learnt.confidence,
        on_behalf_of=snapshot["service_id"],
    )
    row: Json = {
        "index": index,
        "binding_id": learnt.binding,
        "namespace": place[0],
        "path": place[1],
        "message_ids": list(learnt.message_ids),
        "confidence": learnt.confidence,
    }
    one = Target(tenant_id, user_id, place, world.user(tenant_id, user_id))
    try:
        return {**row, **attempt(world, one, patch, f"{replay['replay_id']}-{index}")}
    except Refusal as refusal:
        if refusal.code not in RACES:
            return {**row, "status": "rejected", "reason": refusal.code}
    conflict = keep(world, one, patch, replay, index)
    return {**row, "status": "conflict", "reason": conflict["reason"], "conflict_id": conflict["conflict_id"]}
