"""The record of a replay and its steps."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from memnet.domain.core.errors import HistoryCorrupt
from memnet.domain.replay import replay as replays
from memnet.domain.replay.replay import PatchResult, PatchStatus, Replay, ReplayStatus, new_replay
from tests.domain.replay_samples import snapshot

NOW = datetime(2026, 2, 14, 20, tzinfo=UTC)
LATER = NOW + timedelta(seconds=1)


def fate(number: int, status: PatchStatus = PatchStatus.APPLIED) -> PatchResult:
    return PatchResult(
        number=number, binding_id="b", namespace="n", path="d.json", status=status, message_ids=("m1",), confidence=0.5
    )


def running() -> Replay:
    return replays.started(new_replay(snapshot(), NOW), NOW)


def test_a_new_replay_waits() -> None:
    replay = new_replay(snapshot(), NOW)
    assert (replay.status, replay.attempts, replay.patches) == (ReplayStatus.QUEUED, 0, ())
    assert replay.replay_id == snapshot().replay_id
    assert replay.snapshot_uri == snapshot().uri
    assert not replay.finished


def test_each_start_counts() -> None:
    replay = replays.started(running(), LATER)
    assert (replay.status, replay.attempts) == (ReplayStatus.RUNNING, 2)
    assert replay.updated_at > replay.created_at


def test_fates_are_kept_in_the_order_of_the_plan() -> None:
    replay = replays.planned(
        running(), extraction={}, event_id=None, settled=[fate(3, PatchStatus.REJECTED)], sealed={"sealed": 1}, now=NOW
    )
    replay = replays.decided(replays.decided(replay, fate(1), NOW), fate(2), NOW)
    assert [one.number for one in replay.patches] == [1, 2, 3]


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([], ReplayStatus.SUCCEEDED),
        ([PatchStatus.APPLIED, PatchStatus.REDIRECTED], ReplayStatus.SUCCEEDED),
        ([PatchStatus.APPLIED, PatchStatus.REJECTED], ReplayStatus.PARTIAL),
        ([PatchStatus.CONFLICT], ReplayStatus.PARTIAL),
    ],
)
def test_what_was_rejected_or_is_in_conflict_makes_it_partial(statuses: Any, expected: Any) -> None:
    replay = running()
    for number, status in enumerate(statuses, start=1):
        replay = replays.decided(replay, fate(number, status), NOW)
    ended = replays.ended(replay, LATER)
    assert (ended.status, ended.finished) == (expected, True)


@pytest.mark.parametrize(
    ("status", "known", "outcome"),
    [
        (PatchStatus.APPLIED, {}, "applied"),
        (PatchStatus.APPLIED, {"rebased": True}, "rebased"),
        (PatchStatus.APPLIED, {"reason": "already_there", "rebased": True}, "already_there"),
        (PatchStatus.REDIRECTED, {"rebased": True}, "redirected"),
        (PatchStatus.CONFLICT, {"reason": "ETAG_MISMATCH", "rebased": True}, "conflict"),
        (PatchStatus.REJECTED, {"reason": "SCHEMA_VIOLATION"}, "rejected"),
    ],
)
def test_each_patch_has_one_outcome(status: Any, known: Any, outcome: Any) -> None:
    assert replace(fate(1, status), **known).outcome == outcome


@pytest.mark.parametrize(("seconds", "punctuality"), [(0, "in_time"), (300, "in_time"), (300.001, "late")])
def test_a_replay_is_in_time_within_five_minutes_of_its_snapshot(seconds: Any, punctuality: Any) -> None:
    end = NOW + timedelta(seconds=seconds)
    ended = replays.ended(running(), end)
    assert (ended.duration, ended.punctuality) == (timedelta(seconds=seconds), punctuality)
    assert replays.failed(running(), "UNAVAILABLE", end).punctuality == "failed"


def test_a_failed_one_says_why_and_keeps_what_was_decided_when_it_is_asked_for_again() -> None:
    replay = replays.failed(replays.decided(running(), fate(1), NOW), "UNAVAILABLE", LATER)
    assert (replay.finished, replay.reason) == (True, "UNAVAILABLE")
    again = replays.requeued(replay, LATER)
    assert (again.status, again.reason, len(again.patches)) == (ReplayStatus.QUEUED, None, 1)


def test_the_record_is_read_as_it_was_written() -> None:
    replay = replays.decided(running(), fate(1, PatchStatus.CONFLICT), NOW)
    replay = replays.prepared(replay, {"sealed": 1, "ciphertext": "x"}, LATER)
    replay = replays.decided(replay, replace(fate(2), rebased=True), LATER)
    assert replays.load(replays.dump(replay)) == replay


def test_what_is_sealed_is_not_told() -> None:
    replay = replays.prepared(running(), {"sealed": 1}, NOW)
    assert "sealed" not in replay.members()
    assert orjson.loads(replays.dump(replay))["sealed"] == {"sealed": 1}


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"tenant_id":1}'])
def test_other_bytes_are_refused(data: Any) -> None:
    with pytest.raises(HistoryCorrupt):
        replays.load(data)


@pytest.mark.parametrize(("name", "value"), [("status", "asleep"), ("patches", [{}]), ("tenant_id", ".."), ("more", 1)])
def test_altered_members_are_refused(name: str, value: Any) -> None:
    members = orjson.loads(replays.dump(running()))
    with pytest.raises(HistoryCorrupt):
        replays.load(orjson.dumps({**members, name: value}))
