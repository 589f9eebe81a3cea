"""Calls on conversations, conflicts and one user's governance: one function per operation, as in `memory_calls`."""

import pytest

from memnet_client import errors
from tests.client.contract.memory_calls import OPERATOR, SAID, propose
from tests.client.contract.sides import PERSONAL, Side

TALK = [
    {"message_id": "m1", "role": "user", "content": "I prefer charts to tables.", "timestamp": "2026-02-14T20:00:00Z"},
    {"message_id": "m2", "role": "assistant", "content": "Noted.", "timestamp": "2026-02-14T20:00:05Z"},
]
ENDED = ("succeeded", "partial")


def store_snapshot(side: Side) -> None:
    """Submit a conversation, once, also at the end of a `with` block."""
    maya = side.user()
    first = maya.hand_in("c1", TALK, snapshot_id="s1")
    assert maya.hand_in("c1", TALK, snapshot_id="s1").replay_id == first.replay_id
    with pytest.raises(errors.SnapshotExists):
        maya.hand_in("c1", TALK[:1], snapshot_id="s1")
    with pytest.raises(errors.MalformedRequest):
        maya.hand_in("c1", [])
    with pytest.raises(errors.InvalidIdentifier):
        maya.hand_in("../c1", TALK)
    with maya.conversation("c2") as talk:
        talk.user("I prefer short answers.")
        talk.assistant("Fine.")
    assert talk.replay.status == "queued"


def store_turns(side: Side) -> None:
    """Submit turns, once, and only with a profile that accepts them."""
    maya = side.client().user(side.user_id, profile=PERSONAL)
    said = {"messages": [{"role": "user", "name": "Maya", "content": "I moved to Berlin."}]}
    first, second = maya.store_turns("c1", [{"turn_id": "t1", **said}, {"timestamp": "2026-02-14T20:00:00Z", **said}])
    assert (first.snapshot_id, first.status) == ("t1", "queued")
    assert second.snapshot_id.startswith("trn-")
    assert [one.replay_id for one in maya.store_turns("c1", [{"turn_id": "t1", **said}])] == [first.replay_id]
    other = {"messages": [{"role": "user", "content": "I moved to Lisbon."}]}
    with pytest.raises(errors.SnapshotExists) as refused:
        maya.store_turns("c1", [{"turn_id": "t1", **other}, {"turn_id": "t2", **other}])
    assert refused.value.details["turn_ids"] == ["t1"]
    assert [row["turn_id"] for row in refused.value.details["stored"]] == ["t2"]
    with pytest.raises(errors.MalformedRequest):
        maya.store_turns("c1", [said])
    with pytest.raises(errors.TurnsNotAccepted):
        side.user().store_turns("c1", [{"turn_id": "t1", **said}])


def list_conversations(side: Side) -> None:
    """List what was submitted, without its content."""
    maya = side.user()
    first, second = maya.hand_in("c1", TALK, snapshot_id="s1").wait(), maya.hand_in("c2", TALK, snapshot_id="s2")
    newest, oldest = side.user("auditor", ["Memory.Audit"]).conversations()
    assert (newest["conversation_id"], newest["replay_id"]) == ("c2", second.replay_id)
    named = {"conversation_id": "c1", "snapshot_id": "s1", "service_id": "my-agent", "status": first.status}
    assert named.items() <= oldest.items()
    maya.hand_in("c1", TALK[:1], snapshot_id="s2")
    auditor = side.user("auditor", ["Memory.Audit"])
    assert {row["conversation_id"]: row["snapshots"] for row in auditor.conversations()} == {"c1": 2, "c2": 1}
    assert {row["snapshot_id"] for row in auditor.conversations(conversation_id="c1")} == {"s1", "s2"}
    with pytest.raises(errors.RoleRequired):
        list(side.user("writer", ["Memory.Write"]).conversations())


def read_snapshot(side: Side) -> None:
    """Read a conversation as an auditor."""
    replay = side.user().hand_in("c1", TALK)
    auditor = side.user("auditor", ["Memory.Audit"])
    found = auditor.snapshot("c1", replay.snapshot_id)
    assert [message["content"] for message in found["messages"]] == [message["content"] for message in TALK]
    with pytest.raises(errors.SnapshotNotFound):
        auditor.snapshot("c1", "unknown")
    with pytest.raises(errors.RoleRequired):
        side.user().snapshot("c1", replay.snapshot_id)


def list_snapshot_reads(side: Side) -> None:
    """List who read a conversation."""
    replay = side.user().hand_in("c1", TALK)
    auditor = side.user("auditor", ["Memory.Audit"])
    auditor.snapshot("c1", replay.snapshot_id)
    (read,) = auditor.snapshot_reads()
    assert (read["principal"], read["snapshot_id"]) == ("auditor", replay.snapshot_id)


def get_replay(side: Side) -> None:
    """Wait for a replay."""
    maya = side.user()
    replay = maya.hand_in("c1", TALK).wait()
    assert replay.status in ENDED
    assert maya.replay(replay.replay_id).status == replay.status
    with pytest.raises(errors.ReplayNotFound):
        maya.replay("rpl-unknown")


def list_replays(side: Side) -> None:
    """List all replays, and find one by its snapshot."""
    maya = side.user()
    first, second = maya.hand_in("c1", TALK, snapshot_id="s1"), maya.hand_in("c2", TALK, snapshot_id="s2")
    assert {replay.replay_id for replay in maya.replays()} == {first.replay_id, second.replay_id}
    assert maya.replay_of("c2", "s2").replay_id == second.replay_id
    with pytest.raises(errors.ReplayNotFound):
        maya.replay_of("c2", "s1")


def retry_replay(side: Side) -> None:
    """Retry a replay that has not failed, which changes nothing."""
    replay = side.user().hand_in("c1", TALK).wait()
    worker = side.user("worker", ["Memory.Replay"])
    assert worker.retry_replay(replay.replay_id).status == replay.status
    with pytest.raises(errors.ReplayNotFound):
        worker.retry_replay("rpl-unknown")
    with pytest.raises(errors.RoleRequired):
        side.user().retry_replay(replay.replay_id)


def list_conflicts(side: Side) -> None:
    """List conflicts by their status."""
    conflict_id, operator = dispute(side), side.user(*OPERATOR)
    (conflict,) = operator.conflicts()
    assert (conflict["conflict_id"], conflict["status"]) == (conflict_id, "open")
    assert list(operator.conflicts(status="discarded")) == []
    with pytest.raises(errors.RoleRequired):
        list(side.user().conflicts())


def retry_conflict(side: Side) -> None:
    """Retry a conflict that the document still refuses."""
    conflict_id, operator = dispute(side), side.user(*OPERATOR)
    retried = operator.retry_conflict(conflict_id)
    assert (retried["status"], retried["decisions"][-1]["asked"]) == ("open", "retry")
    with pytest.raises(errors.ConflictNotFound):
        operator.retry_conflict("cfl-unknown")


def discard_conflict(side: Side) -> None:
    """Close a conflict."""
    conflict_id, operator = dispute(side), side.user(*OPERATOR)
    assert operator.discard_conflict(conflict_id, note="Old.")["status"] == "discarded"
    with pytest.raises(errors.ConflictClosed):
        operator.retry_conflict(conflict_id)
    with pytest.raises(errors.ConflictNotFound):
        operator.discard_conflict("cfl-unknown")


def get_blame(side: Side) -> None:
    """Get who wrote a value, what it replaced, and who proposed what was confirmed."""
    maya, auditor = side.user(), side.user("auditor", ["Memory.Audit"])
    first = maya.append("user_dynamic", "/preferences", "Answer briefly.", evidence=SAID)
    maya.append("user_dynamic", "/preferences", "Use charts.", evidence=SAID)
    maya.update("user_dynamic", lambda content: {**content, "preferences": ["Use charts.", "Answer in full."]})
    rows = list(auditor.blame("user_dynamic", "/preferences"))
    assert rows[0]["pointer"] == "/content/preferences"
    found = {row["value"]: row for row in rows if "value" in row}
    assert found["Use charts."]["recorded_by"] == "my-agent"
    assert found["Use charts."]["evidence"]["conversation_id"] == "c1"
    (then,) = [row for row in auditor.blame("user_dynamic", as_of=first.change_id) if "preferences/0" in row["pointer"]]
    assert (then["value"], then["change_id"], then["before_known"]) == ("Answer briefly.", first.change_id, True)
    propose(maya)
    (item,) = maya.pending()
    done = side.user("reviewer").confirm(item, evidence=SAID)
    fact = next(iter(auditor.blame("user_dynamic", "/durable_facts/0/text")))
    assert (fact["value"], fact["change_id"], fact["recorded_by"]) == ("Lives in Bern.", done.change_id, "reviewer")
    assert (fact["confirmed"], fact["proposed_by"], fact["further"][0]["kind"]) == (True, "my-agent", "proposed")
    with pytest.raises(errors.ValueNotFound):
        list(auditor.blame("user_dynamic", "/preferences/7"))
    with pytest.raises(errors.RoleRequired):
        list(maya.blame("user_dynamic"))


def list_audit(side: Side) -> None:
    """List the records of all documents, and of one."""
    maya, auditor = side.user(), side.user("auditor", ["Memory.Audit"])
    change = maya.append("user_dynamic", "/preferences", "Answer briefly.", key="k1")
    maya.update("project_doc", lambda content: {**content, "summary": "Maps."}, project_id="atlas")
    records = list(auditor.audit())
    assert [record["path"] for record in records] == ["atlas.json", "user_dynamic.json"]
    (one,) = auditor.audit(namespace="user", path="user_dynamic.json")
    assert (one["change_id"], one["idempotency_key"], one["actor"]) == (change.change_id, "k1", "my-agent")
    with pytest.raises(errors.MalformedRequest):
        list(auditor.audit(path="user_dynamic.json"))
    with pytest.raises(errors.RoleRequired):
        list(maya.audit())


def consolidate_documents(side: Side) -> None:
    """Report what would become one: nothing in a document without such rules."""
    maya = side.user(*OPERATOR)
    maya.append("user_dynamic", "/preferences", "Answer briefly.")
    assert maya.consolidate(dry_run=True) == {"dry_run": True, "documents": []}
    assert maya.consolidate() == {"dry_run": False, "documents": []}
    with pytest.raises(errors.RoleRequired):
        side.user().consolidate()


def apply_retention(side: Side) -> None:
    """Count what retention would delete, and delete nothing."""
    maya = side.user(*OPERATOR)
    maya.append("user_dynamic", "/preferences", "Answer briefly.")
    counted = maya.apply_retention(dry_run=True)
    assert (counted["dry_run"], counted["counts"]["audit"]["removed"]) == (True, 0)
    assert maya.apply_retention()["counts"]["audit"] == counted["counts"]["audit"]
    with pytest.raises(errors.RoleRequired):
        side.user().apply_retention()


def place_hold(side: Side) -> None:
    """Place a hold, which keeps memory from an erasure."""
    maya = side.user(*OPERATOR)
    maya.append("user_dynamic", "/preferences", "Answer briefly.")
    assert maya.place_hold("Case 7.")["held"] is True
    kept = maya.erase(key="e1")
    assert (kept["status"], kept["receipt"]["remaining"][0]["reason"]) == ("partial", "legal_hold")
    assert maya.read("user_dynamic") is not None


def get_hold(side: Side) -> None:
    """Read a hold and its history."""
    maya = side.user(*OPERATOR)
    assert maya.hold() == {"held": False, "holds": [], "changes": []}
    maya.place_hold("Case 7.")
    (hold,) = maya.hold()["holds"]
    assert (hold["covers"], hold["reason"], hold["actor"]) == ("user", "Case 7.", "operator")
    with pytest.raises(errors.RoleRequired):
        side.user().hold()


def release_hold(side: Side) -> None:
    """Lift a hold."""
    maya = side.user(*OPERATOR)
    maya.place_hold("Case 7.")
    lifted = maya.release_hold("Closed.")
    assert (lifted["held"], [change["action"] for change in lifted["changes"]]) == (False, ["placed", "released"])
    with pytest.raises(errors.MalformedRequest):
        maya.release_hold("")


def request_erasure(side: Side) -> None:
    """Erase a user; while that runs, writes are refused."""
    maya = side.user(*OPERATOR)
    maya.append("user_dynamic", "/preferences", "Answer briefly.")
    running = maya.erase(key="e1")
    assert (running["status"], maya.erase(key="e1")["erasure_id"]) == ("running", running["erasure_id"])
    with pytest.raises(errors.ErasureRunning):
        maya.append("user_dynamic", "/preferences", "Use metric units.")
    with pytest.raises(errors.ErasureRunning):
        maya.erase(key="e2")
    with pytest.raises(errors.RoleRequired):
        side.user().erase()


def get_erasure(side: Side) -> None:
    """Read the progress of an erasure."""
    maya = side.user(*OPERATOR)
    erasure = maya.erase()
    found = maya.erasure(erasure["erasure_id"])
    assert (found["erasure_id"], found["accepted_at"]) == (erasure["erasure_id"], erasure["accepted_at"])
    assert found["status"] in ("running", "complete")
    with pytest.raises(errors.ErasureNotFound):
        maya.erasure("unknown")


def dispute(side: Side) -> str:
    """Have a conflict about a project; return its id."""
    side.user().update("project_doc", lambda content: {**content, "summary": "Maps."}, project_id="atlas")
    return side.open_conflict()
