"""`memnet retract` on Azurite."""

import pytest

from tests.cli.conftest import OF_USER, Memnet

BY = ("--actor", "ops", "--reason", "It was poisoned.", "--key", "k1")


def test_a_conversation_is_planned_applied_and_listed(memnet: Memnet) -> None:
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
def test_a_source_that_is_none_is_refused(memnet: Memnet, named: tuple[str, ...]) -> None:
    refused = memnet("retract", "plan", *OF_USER, *named, *BY)
    assert refused.exit_code == 2
    assert memnet("retract", "list", *OF_USER).stdout == "0 retractions\n"
