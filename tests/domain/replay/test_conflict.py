"""The record of a conflict and its steps."""

from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from memnet.domain.core.errors import DecryptionFailed, HistoryCorrupt
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.timestamps import from_text
from memnet.domain.replay import conflict as conflicts
from memnet.domain.replay.conflict import (
    BACKOFF,
    MAX_DECISIONS,
    Asked,
    Conflict,
    ConflictStatus,
    Decision,
    Versions,
    asked_for,
    discarded,
    new_conflict,
    resolved,
    sending,
    still_open,
)
from memnet.domain.replay.proposal import Request
from tests.domain.replay_samples import BASE, FIRST, OPS, SCOPE, dispute, proposal

NOW = datetime(2026, 2, 14, 20, tzinfo=UTC)
RETRY = Decision(Asked.RETRY, "carol", "2026-02-14T20:00:00.000000Z")


def opened() -> Conflict:
    return new_conflict(proposal(), dispute(), 1, NOW)


def test_a_new_conflict_is_tried_again_soon() -> None:
    conflict = opened()
    assert (conflict.status, conflict.reason, conflict.attempts) == (ConflictStatus.OPEN, "changed", 0)
    assert from_text(conflict.next_attempt_at or "") == NOW + BACKOFF[0]
    assert conflict.job == Job(JobKind.CONFLICT, "t1", "u1", conflict.conflict_id)
    assert conflict.conflict_id == "cfl-rpl-1-1"


def test_each_retry_in_vain_waits_longer_until_it_rests() -> None:
    assert list(BACKOFF) == sorted(BACKOFF)
    conflict = opened()
    for attempt, pause in enumerate(BACKOFF[1:], start=1):
        conflict = still_open(conflict, "gone", NOW, attempt=attempt)
        assert from_text(conflict.next_attempt_at or "") == NOW + pause
        assert (conflict.scheduled, conflict.reason) == (attempt + 1, "gone")
    conflict = still_open(conflict, "gone", NOW, attempt=len(BACKOFF))
    assert (conflict.next_attempt_at, conflict.attempts) == (None, len(BACKOFF))


@pytest.mark.parametrize("attempt", [None, 0, 2])
def test_a_try_that_is_not_the_scheduled_one_leaves_the_schedule(attempt: Any) -> None:
    conflict = still_open(opened(), "gone", NOW + timedelta(hours=1), attempt=attempt)
    assert (conflict.attempts, conflict.scheduled, conflict.next_attempt_at) == (1, 1, opened().next_attempt_at)


def test_what_is_closed_is_not_tried_again() -> None:
    done = resolved(opened(), "change-1", NOW, redirected=True)
    assert (done.status, done.change_id, done.redirected, done.next_attempt_at) == (
        ConflictStatus.RESOLVED,
        "change-1",
        True,
        None,
    )
    gone = discarded(opened(), Decision(Asked.DISCARD, "carol", RETRY.at, "no"))
    assert (gone.status, gone.next_attempt_at) == (ConflictStatus.DISCARDED, None)
    assert gone.members()["decisions"] == [{"asked": "discard", "by": "carol", "at": RETRY.at, "note": "no"}]


def test_the_newest_decisions_are_kept() -> None:
    conflict = opened()
    for number in range(MAX_DECISIONS + 5):
        conflict = asked_for(conflict, Decision(Asked.RETRY, f"user-{number}", RETRY.at))
    assert len(conflict.decisions) == MAX_DECISIONS
    assert conflict.decisions[-1].by == f"user-{MAX_DECISIONS + 4}"


def test_the_record_is_read_as_it_was_written() -> None:
    conflict = asked_for(sending(opened(), Request(2, FIRST, OPS), NOW), RETRY)
    assert conflict.rebases == 2
    assert conflicts.load(conflicts.dump(conflict)) == conflict
    assert "sealed" not in conflict.members()


@pytest.mark.parametrize("request_", [None, Request(2, FIRST, OPS)])
def test_the_versions_are_read_as_they_were_written(request_: Any) -> None:
    versions = Versions(proposal(), dispute(), request_)
    assert conflicts.load_versions(SCOPE, versions.dump()) == versions
    told = versions.members()
    assert (told["base"], told["ours"]) == ({"etag": FIRST, "content": BASE}, {"ops": OPS})
    assert told["theirs"]["content"]["summary"] == "Another"


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"proposal":{},"dispute":{},"request":null}'])
def test_other_bytes_are_refused(data: Any) -> None:
    with pytest.raises(HistoryCorrupt):
        conflicts.load(data)
    with pytest.raises(DecryptionFailed):
        conflicts.load_versions(SCOPE, data)


def test_altered_members_are_refused() -> None:
    members = orjson.loads(conflicts.dump(opened()))
    for change in ({"status": "asleep"}, {"user_id": ".."}, {"decisions": [{}]}, {"more": 1}):
        with pytest.raises(HistoryCorrupt):
            conflicts.load(orjson.dumps({**members, **change}))
