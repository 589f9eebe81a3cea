"""`memnet retract` on Azurite."""

import pytest

from memnet.settings import Settings
from tests.cli.conftest import OF_USER, Memnet

EARLY, LATE = "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"
BY = ("--actor", "ops", "--reason", "It was poisoned.", "--key", "k1")


def test_a_conversation_is_planned_applied_and_listed(memnet: Memnet, storage: Settings, history: list[bytes]) -> None:
    planned = memnet("retract", "plan", *OF_USER, "--conversation", "c1", *BY)
    assert planned.exit_code == 0, planned.output
    first, *_, last = planned.stdout.splitlines()
    retraction_id, status, *_ = first.split()
    assert (status, last.partition(" ")[0]) == ("planned", "tag")
    assert memnet("retract", "plan", *OF_USER, "--conversation", "c1", *BY).stdout == planned.stdout, "again"
    assert memnet("retract", "show", retraction_id, *OF_USER).stdout == planned.stdout
    wrong = memnet("retract", "apply", retraction_id, *OF_USER, "--tag", "other", "--actor", "ops")
    assert (wrong.exit_code, "ETAG_MISMATCH" in wrong.stderr) == (1, True)
    applied = memnet("retract", "apply", retraction_id, *OF_USER, "--tag", last.partition(" ")[2], "--actor", "ops")
    assert applied.exit_code == 0, applied.output
    assert " applying " in applied.stdout
    early = memnet("retract", "undo", retraction_id, *OF_USER, "--actor", "ops")
    assert (early.exit_code, "RETRACTION_CLOSED" in early.stderr) == (1, True)
    assert memnet("retract", "list", *OF_USER).stdout.splitlines()[-1] == "1 retraction"


def test_a_user_about_whom_nothing_is_stored_has_no_plan(memnet: Memnet, storage: Settings) -> None:
    refused = memnet("retract", "plan", *OF_USER, "--conversation", "c1", *BY)
    assert (refused.exit_code, "USER_NOT_FOUND" in refused.stderr) == (1, True)
    assert memnet("retract", "list", *OF_USER).stdout == "0 retractions\n"


@pytest.mark.parametrize(
    "named",
    [
        (),
        ("--snapshot", "s1"),
        ("--conversation", "c1", "--event", "e1"),
        ("--since", "2026-01-01T00:00:00Z"),
        ("--source-actor", "svc", "--since", "yesterday"),
    ],
)
def test_a_source_that_is_none_is_refused(memnet: Memnet, storage: Settings, named: tuple[str, ...]) -> None:
    refused = memnet("retract", "plan", *OF_USER, *named, *BY)
    assert refused.exit_code == 2
    assert memnet("retract", "list", *OF_USER).stdout == "0 retractions\n"


@pytest.mark.parametrize(
    ("named", "said"),
    [
        (("--prompt", "zz", *BY), "MALFORMED_REQUEST: prompt_sha256 must be"),
        (("--replay", "a/b", *BY), "INVALID_IDENTIFIER: This replay_id has"),
        (("--source-actor", "svc", "--since", LATE, "--until", EARLY, *BY), "MALFORMED_REQUEST: since must be before"),
        (("--conversation", "c1", *BY[:2], "--reason", "", *BY[4:]), "MALFORMED_REQUEST: The reason must have"),
        (("--conversation", "c1", *BY[:4], "--key", ""), "--key: must not be empty"),
    ],
)
def test_a_source_that_nothing_can_have_is_not_planned(
    memnet: Memnet, storage: Settings, named: tuple[str, ...], said: str
) -> None:
    """Its plan would say that nothing rests on the source."""
    refused = memnet("retract", "plan", *OF_USER, *named)
    assert (refused.exit_code in (1, 2), said in refused.stderr) == (True, True), refused.stderr
    assert memnet("retract", "list", *OF_USER).stdout == "0 retractions\n"
