"""Proposals and the requests that are made of them."""

from memnet.domain.core.access import Reason
from memnet.domain.core.scope import Actor, ETag
from memnet.domain.documents.audit_record import lineage
from memnet.domain.documents.commands import IfAbsent, IfMatch
from memnet.domain.documents.rebase import rebase
from memnet.domain.replay.proposal import ConflictDetails, RebaseResult, Request, command, load_proposal, next_attempt
from tests.domain.replay_samples import BASE, FIRST, OPS, SCOPE, proposal

WORKER = Actor("memnet-worker", frozenset())
SECOND = ETag('"2-0123456789abcdef"')


def carried(theirs: object) -> RebaseResult:
    return RebaseResult(SECOND, theirs, rebase(OPS, BASE, theirs))


def test_a_request_repeats_its_key_and_a_rebased_one_has_its_lineage() -> None:
    first, third = Request(0, FIRST, OPS), Request(3, SECOND, OPS)
    assert first.idempotency_key(proposal()) == "rpl-1-1"
    assert third.idempotency_key(proposal()) == "rpl-1-1#rebase-3"
    assert lineage(third.idempotency_key(proposal())) == first.idempotency_key(proposal())
    assert lineage(first.idempotency_key(proposal())) is None


def test_the_patch_names_the_version_the_reason_and_the_evidence() -> None:
    made = command(proposal(source_time="2026-02-14T20:00:00.000000Z"), Request(0, FIRST, OPS), WORKER)
    assert (made.precondition, made.reason, made.actor) == (IfMatch(FIRST), Reason.REPLAY_UPDATE, WORKER)
    assert (made.evidence, made.confidence) == (proposal().evidence, 0.75)
    assert made.source_time == "2026-02-14T20:00:00.000000Z"
    assert command(proposal(), Request(0, None, OPS), WORKER).precondition == IfAbsent()


def test_a_version_that_parted_elsewhere_takes_the_next_request() -> None:
    assert next_attempt(carried({**BASE, "facets": {"x": 1}}), 1, most=1) == Request(1, SECOND, OPS)


def test_a_changed_target_is_a_dispute_that_says_where() -> None:
    found = next_attempt(carried({**BASE, "summary": "Another"}), 1, most=1)
    assert isinstance(found, ConflictDetails)
    assert (found.reason, found.etag, found.place["path"]) == ("changed", SECOND, "/content/summary")


def test_one_rebase_too_many_is_a_dispute_with_the_code() -> None:
    found = next_attempt(carried({**BASE, "facets": {"x": 1}}), 2, most=1, lost="ETAG_MISMATCH")
    assert isinstance(found, ConflictDetails)
    assert (found.reason, found.place) == ("ETAG_MISMATCH", None)


def test_what_stands_there_already_needs_no_request_however_late() -> None:
    assert next_attempt(carried({**BASE, "summary": OPS[0]["value"]}), 9, most=1, lost="ETAG_MISMATCH") is None


def test_a_proposal_is_read_as_it_was_written() -> None:
    assert load_proposal(SCOPE, proposal().members(), BASE) == proposal()
