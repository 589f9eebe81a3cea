"""Marks: how they are named, when they are ready, and which shard a user belongs to."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memnet.domain.core.errors import MalformedRequest
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import UserScope
from memnet.domain.upkeep.marks import (
    SETTLE,
    SHARDS,
    ChangedMark,
    DueMark,
    Work,
    changed_mark,
    day_after,
    due_mark,
    job_of,
    overdue_seconds,
    read_changed,
    read_due,
    rules_hash,
    shard_of,
    work_of,
)
from tests.domain.samples import CATALOG

ONE = UserScope("t1", "u1")
NOW = datetime(2026, 2, 14, 20, 59, 59, tzinfo=UTC)
LAST = datetime.max.replace(tzinfo=UTC)


def test_a_user_s_shard_never_changes() -> None:
    """The marks of a user would be lost in the old shard."""
    assert [shard_of(UserScope("t1", f"u{n}")) for n in range(4)] == ["17", "3b", "0e", "19"]


def test_the_shards_are_of_about_equal_size() -> None:
    sizes = Counter(shard_of(UserScope("t1", f"u{n}")) for n in range(6400))
    assert sizes.keys() == set(SHARDS)
    assert max(sizes.values()) < 2 * min(sizes.values())


def test_marks_have_the_documented_names() -> None:
    shard = shard_of(ONE)
    assert changed_mark(ONE, NOW).blob_name == f"changed/{shard}/t1/u1/20260214T20"
    assert due_mark(ONE, NOW).blob_name == f"due/20260214/{shard}/t1/u1"
    plus_two = NOW.astimezone(tz=None)
    assert changed_mark(ONE, plus_two) == changed_mark(ONE, NOW)


def test_what_is_named_is_read_and_nothing_else() -> None:
    changed, due = ChangedMark(ONE, "20260214T20"), DueMark(ONE, "20260214")
    assert (read_changed(changed.blob_name), read_due(due.blob_name)) == (changed, due)
    shard = shard_of(ONE)
    for name in (
        f"changed/{shard}/t1/u1/2026021420",
        f"changed/{shard}/t1/u1/20260214T2",
        f"changed/{shard}/t1/u1/20260214T20/x",
        f"changed/{shard}/t1/u1",
        f"changed/{shard}/t1/../20260214T20",
        "changed/00/t1/u1/20260214T20",
        f"due/2026-02-14/{shard}/t1/u1",
        f"due/20260214/{shard}/t1/u1/x",
        "due/20260214/00/t1/u1",
        f"due/20260214/{shard}/t1/-",
        "",
    ):
        assert (read_changed(name), read_due(name)) == (None, None), name


def test_a_changed_mark_is_ready_when_no_write_of_its_hour_can_arrive() -> None:
    mark = changed_mark(ONE, NOW)
    last = NOW + timedelta(seconds=1) + SETTLE
    assert not mark.is_ready(last - timedelta(microseconds=1))
    assert mark.is_ready(last)


def test_the_day_after_is_one_on_which_everything_of_a_day_has_expired() -> None:
    assert due_mark(ONE, day_after(NOW)).day == "20260215"
    assert due_mark(ONE, day_after(LAST)).day == "99991231"


def test_a_day_is_overdue_once_it_has_ended() -> None:
    assert overdue_seconds("20260214", NOW) == 0
    assert overdue_seconds("20260213", NOW) == pytest.approx(21 * 3600 - 1)


@pytest.mark.parametrize("work", list(Work))
def test_a_job_names_its_work_and_shard(work: Work) -> None:
    assert work_of(job_of(work, "3f")) == (work, "3f")


@pytest.mark.parametrize("job_id", ["due-40", "due", "due-", "x-00", "due-0A", "due-00-00"])
def test_another_job_is_refused(job_id: str) -> None:
    with pytest.raises(MalformedRequest):
        work_of(Job(JobKind.UPKEEP, None, None, job_id))
    with pytest.raises(MalformedRequest):
        work_of(Job(JobKind.REINDEX, "t1", None, "due-00"))


def test_the_hash_follows_the_rules_of_upkeep_and_no_others() -> None:
    profile = CATALOG.profile("project-copilot-v1")

    def changed(**members: object) -> str:
        profiles = {**CATALOG.profiles, profile.profile_id: profile.model_copy(update=members)}
        return rules_hash(replace(CATALOG, profiles=profiles))

    before = rules_hash(CATALOG)
    stricter = profile.retention_rules.model_copy(update={"events_days": 3})
    assert changed(guidance_sections={}) == changed(max_ops=7) == before
    assert changed(retention_rules=stricter) != before
    assert changed(upkeep_rules={}) != before
    ceilings = CATALOG.ceilings.model_copy(update={"events_max_days": 3})
    assert rules_hash(replace(CATALOG, ceilings=ceilings)) != before
