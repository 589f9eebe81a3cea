"""Audit records of retractions, each with the sentence that the console says about it."""

from tests.console.change_cases import LIKES, Case, change, op

RETRACTIONS = {
    "taken back": Case(
        "memnet-worker removed the preference “Use charts.”, in retraction rtr-1.",
        "changed",
        change(
            op("remove", "/preferences/1"),
            reason="retraction",
            evidence={"retraction_id": "rtr-1"},
            actor="memnet-worker",
        ),
        LIKES,
    ),
    "brought back": Case(
        "memnet-worker added the preference “Be kind.”, in the undo of retraction rtr-1.",
        "changed",
        change(
            op("add", "/preferences/-", "Be kind."),
            reason="retraction",
            evidence={"retraction_id": "rtr-1", "restores": {"kind": "conversation", "conversation_id": "c1"}},
            actor="memnet-worker",
        ),
        LIKES,
    ),
}
