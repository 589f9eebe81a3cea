"""Audit records of questions, asked, joined and answered, each with the sentence that the console says about it."""

from typing import Any

from tests.console.change_cases import EMPTY, FACT, ITEM, Case, change, op

THERE = {**FACT, "id": "f-0", "text": "Lives in Bern"}
ASKED = "Earlier: Lives in Bern. Now: Lives in Porto. Which is right?"
BOTH_ASKED = "Earlier: Lives in Bern. Now: Lives in Porto / Lives in Rome. Which is right?"
QUESTION = {**ITEM, "contradicts": "f-0", "question": ASKED, "choices": ["Lives in Bern", "Lives in Porto"]}
ROME = {**FACT, "id": "f-2", "text": "Lives in Rome"}
OTHER = {**ITEM, "id": "p-2", "text": "Lives in Rome", "proposed_by": "memnet-worker", "on_behalf_of": "svc-chat"}
OTHER["target"] = {"op": "add", "path": "/content/durable_facts/-", "value": ROME}
JOINED = {
    **QUESTION,
    "question": BOTH_ASKED,
    "choices": [*QUESTION["choices"], "Lives in Rome"],
    "alternatives": [OTHER],
}
WAITS = {**EMPTY, "durable_facts": [THERE], "pending_confirmations": [QUESTION]}
TWO_WAIT = {**WAITS, "pending_confirmations": [JOINED]}
CLOSED_AT = "2026-02-15T09:00:00Z"
SURER = op("replace", "/durable_facts/0/confidence", 0.95)
STAYS = {"entry_id": "f-0", "op_index": 1, "verdict": "same"}


def answered(take: str, *ops: Any, settled: list[dict[str, Any]]) -> dict[str, Any]:
    return change(
        op("remove", "/pending_confirmations/0"),
        *ops,
        actor="anna",
        reason="confirmation",
        evidence={"conversation_id": "c9", "pending_id": "p-1", "take": take},
        settled=settled,
    )


QUESTIONS = {
    "a further answer": Case(
        f"svc-chat proposed the durable fact “Lives in Rome” as one more answer to “{BOTH_ASKED}”.",
        "changed",
        change(op("replace", "/pending_confirmations/0", JOINED)),
        WAITS,
    ),
    "the same answer again": Case(
        "svc-chat added a source to the proposal “Lives in Porto”.",
        "changed",
        change(op("add", "/pending_confirmations/0/evidence/also", [{"conversation_id": "c2"}])),
        WAITS,
    ),
    "another confidence of a proposal": Case(
        "svc-chat changed the proposal “Lives in Porto”.",
        "changed",
        change(op("replace", "/pending_confirmations/0/confidence", 0.5)),
        WAITS,
    ),
    "answered with a proposal": Case(
        f"anna answered “{BOTH_ASKED}” with the durable fact “Lives in Rome”, which memnet-worker for svc-chat proposed"
        " on 14 February 2026, in place of “Lives in Bern”, said in conversation c9.",
        "confirmed",
        answered(
            "proposed",
            op("add", "/durable_facts/0/valid_until", CLOSED_AT),
            op("add", "/durable_facts/0/replaced_by", "f-2"),
            op("add", "/durable_facts/-", {**ROME, "replaces": "f-0"}),
            settled=[{"entry_id": "f-2", "op_index": 1, "verdict": "superseded", "replaces": "f-0"}],
        ),
        TWO_WAIT,
    ),
    "answered with what is there": Case(
        f"anna answered “{BOTH_ASKED}” with the durable fact “Lives in Bern”, which stays, said in conversation c9.",
        "confirmed",
        answered("existing", SURER, settled=[STAYS]),
        TWO_WAIT,
    ),
    "answered with both": Case(
        f"anna answered “{ASKED}” with both: the durable fact “Lives in Bern” stays, beside the durable fact “Lives in"
        " Porto”, which svc-chat proposed on 14 February 2026, said in conversation c9.",
        "confirmed",
        answered(
            "both",
            SURER,
            op("add", "/durable_facts/-", FACT),
            settled=[STAYS, {"entry_id": "f-1", "op_index": 2, "verdict": "new"}],
        ),
        WAITS,
    ),
    "a question rejected": Case(
        "anna rejected the proposals “Lives in Porto” and “Lives in Rome”.",
        "rejected",
        change(op("remove", "/pending_confirmations/0"), actor="anna", reason="rejection"),
        TWO_WAIT,
    ),
}
