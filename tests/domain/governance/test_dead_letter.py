"""The user of a dead letter."""

import base64
import json

import pytest

from memnet.domain.core.job import MAX_ID, Job, JobKind, dump, session_id, session_of
from memnet.domain.core.scope import UserScope
from memnet.domain.governance.dead_letter import is_about, letter_is_about

ANN = UserScope("t", "ann")
OTHERS = [UserScope("t", "ann2"), UserScope("t2", "ann"), UserScope("t", "Ann"), UserScope("ann", "t")]
HERS = Job(JobKind.REPLAY, "t", "ann", "r1")


def letter(**members: object) -> bytes:
    return json.dumps(members).encode()


@pytest.mark.parametrize("job", [HERS, Job(JobKind.CONFLICT, "t", "ann", "c1")])
def test_a_readable_job_counts_before_the_session(job: Job) -> None:
    for session in ("t/ann", None, "t/bob"):
        assert is_about(ANN, dump(job), session)
        assert not any(is_about(scope, dump(job), session) for scope in OTHERS)


def test_without_a_readable_job_the_session_counts() -> None:
    assert is_about(ANN, b"\xff", "t/ann")
    assert not is_about(ANN, b"\xff", None)
    assert not any(is_about(scope, b"\xff", "t/ann") for scope in OTHERS)


def test_a_job_of_the_tenant_is_of_no_user() -> None:
    assert not is_about(ANN, dump(Job(JobKind.REINDEX, "t", None, "ann")), "t")


def test_long_ids_have_the_session_of_their_jobs() -> None:
    longest = UserScope("t" * 128, "u" * 128)
    job = Job(JobKind.REPLAY, longest.tenant_id, longest.user_id, "r")
    assert session_of(longest.tenant_id, longest.user_id) == session_id(job)
    assert len(session_of(longest.tenant_id, longest.user_id)) <= MAX_ID
    assert session_of(ANN.tenant_id, ANN.user_id) == session_id(HERS) == "t/ann"


def test_a_letter_belongs_to_the_user_of_its_message() -> None:
    body = dump(HERS)
    assert letter_is_about(ANN, letter(session_id="t/ann", body=body.decode()))
    assert letter_is_about(ANN, letter(session_id=None, body_base64=base64.b64encode(body).decode()))
    assert letter_is_about(ANN, letter(session_id="t/ann", body="cut off {"))
    assert letter_is_about(ANN, letter(session_id="t/ann"))
    assert letter_is_about(ANN, letter(session_id="t/ann", body_base64=base64.b64encode(b"\xff").decode()))
    assert not letter_is_about(OTHERS[0], letter(session_id="t/ann", body=body.decode()))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"[]",
        b"7",
        b"{}",
        letter(session_id="t/ann", body=7),
        letter(session_id="t/ann", body_base64=None),
        letter(session_id=None, body="cut off {"),
        letter(session_id=["t/ann"], body="cut off {"),
        b'"t/ann"',
    ],
)
def test_an_unreadable_letter_belongs_to_no_user(data: bytes) -> None:
    assert not letter_is_about(ANN, data)
