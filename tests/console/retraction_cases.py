"""Audit records of retractions, each with the sentence that the console says about it."""

from tests.console.change_cases import EMPTY, FACT, LIKES, Case, change, op

OPEN = {**EMPTY, "durable_facts": [FACT]}
CLOSED = {**EMPTY, "durable_facts": [{**FACT, "valid_until": "2026-03-02T09:00:00Z", "replaced_by": "f-2"}]}

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
    "opened again": Case(
        "memnet-worker opened the durable fact “Lives in Porto” again, in retraction rtr-1.",
        "changed",
        change(
            op("remove", "/durable_facts/0/replaced_by"),
            op("remove", "/durable_facts/0/valid_until"),
            reason="retraction",
            evidence={"retraction_id": "rtr-1"},
            actor="memnet-worker",
        ),
        CLOSED,
    ),
    "closed again": Case(
        "memnet-worker closed the durable fact “Lives in Porto”, which held until 2 March 2026, in the undo of"
        " retraction rtr-1.",
        "changed",
        change(
            op("add", "/durable_facts/0/valid_until", "2026-03-02T09:00:00Z"),
            op("add", "/durable_facts/0/replaced_by", "f-2"),
            reason="retraction",
            evidence={"retraction_id": "rtr-1", "restores": {"kind": "conversation", "conversation_id": "c1"}},
            actor="memnet-worker",
        ),
        OPEN,
    ),
}
