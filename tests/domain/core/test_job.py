"""Jobs: how they are named, and written as messages."""

import pytest

from memnet.domain.core.errors import InvalidIdentifier, MalformedRequest
from memnet.domain.core.job import MAX_ID, QUEUES, Job, JobKind, dump, load, message_id, session_id

REPLAY = Job(JobKind.REPLAY, "t1", "u1", "r1")
REINDEX = Job(JobKind.REINDEX, "t1", None, "i1")
UPKEEP = Job(JobKind.UPKEEP, None, None, "due-0a")


def test_every_kind_has_its_queue() -> None:
    assert QUEUES.keys() == set(JobKind)
    shared = {kind for kind in JobKind if list(QUEUES.values()).count(QUEUES[kind]) > 1}
    assert shared == {JobKind.REPLAY, JobKind.RETRACTION}, "they run in one session of the user"


@pytest.mark.parametrize("job", [REPLAY, REINDEX, UPKEEP])
def test_what_is_written_is_read(job: Job) -> None:
    assert load(dump(job)) == job


def test_a_job_is_readable_in_the_queue() -> None:
    assert dump(REPLAY) == b'{"job_id":"r1","kind":"replay","tenant_id":"t1","user_id":"u1"}'


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b'{"kind":"erase","tenant_id":"t","user_id":"u","job_id":"j"}',
        b'{"kind":"replay","tenant_id":"../t","user_id":"u","job_id":"j"}',
        b'{"kind":"replay","tenant_id":7,"user_id":"u","job_id":"j"}',
        b'{"kind":"replay","tenant_id":"t","user_id":"u"}',
        b'{"kind":"reindex","tenant_id":null,"user_id":null,"job_id":"j"}',
    ],
)
def test_what_is_no_job_is_said(data: bytes) -> None:
    with pytest.raises(MalformedRequest):
        load(data)


def test_a_tenants_job_is_about_no_user() -> None:
    assert session_id(REINDEX) == "t1"
    with pytest.raises(InvalidIdentifier):
        _ = REINDEX.scope


def test_a_shard_has_a_session_that_no_tenant_can_have() -> None:
    assert session_id(UPKEEP) == "upkeep:due-0a"
    assert message_id(UPKEEP, 7) == "upkeep::due-0a:7"
    with pytest.raises(InvalidIdentifier):
        Job(JobKind.REINDEX, "upkeep:due-0a", None, "x")
    with pytest.raises(InvalidIdentifier):
        _ = UPKEEP.scope


def test_a_message_id_identifies_the_job_and_the_attempt() -> None:
    assert message_id(REPLAY, 2) == "replay:t1/u1:r1:2"
    others = [
        Job(JobKind.CONFLICT, "t1", "u1", "r1"),
        Job(JobKind.REPLAY, "t2", "u1", "r1"),
        Job(JobKind.REPLAY, "t1", "u2", "r1"),
        Job(JobKind.REPLAY, "t1", "u1", "r2"),
    ]
    names = {message_id(job, attempt) for job in [REPLAY, *others] for attempt in (0, 1)}
    assert len(names) == 10


def test_long_ids_are_replaced_by_their_hashes() -> None:
    longest = [Job(JobKind.REPLAY, "t" * 128, "u" * 128, "j" * 127 + end) for end in "ab"]
    assert session_id(longest[0]) == session_id(longest[1])
    assert len({message_id(job, 0) for job in longest}) == 2
    for job in longest:
        assert len(session_id(job)) <= MAX_ID
        assert len(message_id(job, 0)) <= MAX_ID
    fits = Job(JobKind.REPLAY, "t" * 64, "u" * 63, "j")
    assert session_id(fits) == f"{fits.tenant_id}/{fits.user_id}"
