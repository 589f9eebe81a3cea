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
    new_conflict,
)
from memnet.domain.replay.proposal import Request
from tests.domain.replay_samples import BASE, FIRST, OPS, SCOPE, details, proposal

NOW = datetime(2026, 2, 14, 20, tzinfo=UTC)
RETRY = Decision(Asked.RETRY, "carol", "2026-02-14T20:00:00.000000Z")


def created() -> Conflict:
    return new_conflict(proposal(), details(), 1, NOW)


def test_a_new_conflict_is_scheduled() -> None:
    conflict = created()
    assert (conflict.status, conflict.reason, conflict.attempts) == (ConflictStatus.OPEN, "changed", 0)
    assert from_text(conflict.next_attempt_at or "") == NOW + BACKOFF[0]
    assert conflict.job == Job(JobKind.CONFLICT, "t1", "u1", conflict.conflict_id)
    assert conflict.conflict_id == "cfl-rpl-1-1"


def test_each_failed_retry_is_followed_by_a_longer_delay_until_the_last() -> None:
    assert list(BACKOFF) == sorted(BACKOFF)
    conflict = created()
    for attempt, pause in enumerate(BACKOFF[1:], start=1):
        conflict = conflict.keep_open("gone", NOW, attempt=attempt)
        assert from_text(conflict.next_attempt_at or "") == NOW + pause
        assert (conflict.retry_number, conflict.reason) == (attempt + 1, "gone")
    conflict = conflict.keep_open("gone", NOW, attempt=len(BACKOFF))
    assert (conflict.next_attempt_at, conflict.attempts) == (None, len(BACKOFF))


@pytest.mark.parametrize("attempt", [None, 0, 2])
def test_an_attempt_that_is_not_scheduled_leaves_the_schedule(attempt: Any) -> None:
    conflict = created().keep_open("gone", NOW + timedelta(hours=1), attempt=attempt)
    assert (conflict.attempts, conflict.retry_number, conflict.next_attempt_at) == (1, 1, created().next_attempt_at)


def test_a_closed_conflict_has_no_next_attempt() -> None:
    done = created().resolve("change-1", NOW, redirected=True)
    assert (done.status, done.change_id, done.redirected, done.next_attempt_at) == (
        ConflictStatus.RESOLVED,
        "change-1",
        True,
        None,
    )
    gone = created().discard(Decision(Asked.DISCARD, "carol", RETRY.at, "no"))
    assert (gone.status, gone.next_attempt_at) == (ConflictStatus.DISCARDED, None)
    assert gone.members()["decisions"] == [{"asked": "discard", "by": "carol", "at": RETRY.at, "note": "no"}]


def test_the_newest_decisions_are_kept() -> None:
    conflict = created()
    for number in range(MAX_DECISIONS + 5):
        conflict = conflict.note(Decision(Asked.RETRY, f"user-{number}", RETRY.at))
    assert len(conflict.decisions) == MAX_DECISIONS
    assert conflict.decisions[-1].by == f"user-{MAX_DECISIONS + 4}"


def test_a_stored_record_is_read_back() -> None:
    conflict = created().send(Request(2, FIRST, OPS), NOW).note(RETRY)
    assert conflict.rebases == 2
    assert conflicts.load(conflicts.dump(conflict)) == conflict
    assert "sealed" not in conflict.members()


@pytest.mark.parametrize("request_", [None, Request(2, FIRST, OPS)])
def test_stored_versions_are_read_back(request_: Any) -> None:
    versions = Versions(proposal(), details(), request_)
    assert conflicts.load_versions(SCOPE, versions.dump()) == versions
    members = versions.members()
    assert (members["base"], members["ours"]) == ({"etag": FIRST, "content": BASE}, {"ops": OPS})
    assert members["theirs"]["content"]["summary"] == "Another"


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"proposal":{},"details":{},"request":null}'])
def test_other_bytes_are_refused(data: Any) -> None:
    with pytest.raises(HistoryCorrupt):
        conflicts.load(data)
    with pytest.raises(DecryptionFailed):
        conflicts.load_versions(SCOPE, data)


@pytest.mark.parametrize(("name", "value"), [("status", "asleep"), ("user_id", ".."), ("decisions", [{}]), ("more", 1)])
def test_altered_members_are_refused(name: str, value: object) -> None:
    members = orjson.loads(conflicts.dump(created()))
    with pytest.raises(HistoryCorrupt):
        conflicts.load(orjson.dumps({**members, name: value}))
