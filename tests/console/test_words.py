"""The console's words for entries, and what it takes from a token's claims."""

import json
from typing import Any

import pytest

from tests.console.node import results

SINCE, UNTIL = "2026-01-10T09:00:00Z", "2026-05-03T12:00:00Z"
ENTRY = {
    "namespace": "user",
    "path": "user_dynamic.json",
    "section": "durable_facts",
    "text": "Works from Lisbon",
    "state": "open",
    "confirmed": False,
    "confidence": 0.75,
    "recorded_at": "2026-02-14T23:59:00Z",
    "recorded_by": "svc-chat",
    "last_verified_at": "2026-02-02T09:00:00Z",
    "importance": 0.7,
    "live_importance": 0.5213,
    "uses": 3,
    "last_used_at": "2026-02-14T20:00:00Z",
    "evidence": {"conversation_id": "c1", "message_ids": ["m3", "m4"]},
}
CONFIRMED = {"text": "x", "confirmed": True, "state": "open"}
NOTHING = {
    "since": None,
    "by": None,
    "proposed": None,
    "confidence": None,
    "held": None,
    "verified": None,
    "cited": None,
    "worth": None,
    "used": None,
}
CALLS: list[tuple[list[Any], Any]] = [
    (
        ["entryParts", ENTRY],
        {
            "text": "Works from Lisbon",
            "since": "since 14 February 2026",
            "by": "by svc-chat",
            "proposed": None,
            "confidence": "likely (0.75)",
            "state": None,
            "held": None,
            "verified": "verified on 2 February 2026",
            "cited": "said in conversation c1, messages m3 and m4",
            "worth": "importance 0.7, now 0.52",
            "used": "used 3 times, last on 14 February 2026",
        },
    ),
    (
        ["entryParts", {**CONFIRMED, "recorded_before": "2026-03-01T00:00:00Z"}],
        {**NOTHING, "text": "x", "since": "since before 1 March 2026", "state": "confirmed"},
    ),
    (
        ["entryParts", {**CONFIRMED, "recorded_by": "maya", "application": "app", "proposed_by": "w"}],
        {**NOTHING, "text": "x", "by": "by maya through app", "proposed": "proposed by w", "state": "confirmed"},
    ),
    (["entryParts", {"text": "x", "state": "waiting"}], {**NOTHING, "text": "x", "state": "waits for confirmation"}),
    (["entryParts", {"text": "x", "state": "closed"}], {**NOTHING, "text": "x", "state": "no longer holds"}),
    (["used", {"uses": 1, "last_used_at": SINCE}], "used once, last on 10 January 2026"),
    (["used", {"uses": 0}], None),
    (["worth", {"importance": 0.5, "live_importance": 0.4999}], "importance 0.5"),
    (["period", {"valid_from": SINCE, "valid_until": UNTIL}], "from 10 January 2026 to 3 May 2026"),
    (["period", {"valid_from": SINCE}], "since 10 January 2026"),
    (["period", {"valid_until": UNTIL}], "until 3 May 2026"),
    (["period", {}], None),
    (["confidence", 1], "certain (1)"),
    (["confidence", 0.8], "confident (0.8)"),
    (["confidence", 0.3], "unsure (0.3)"),
    (["confidence", 0], "a guess (0)"),
    (["confidence", None], None),
    (["citation", {"conversation_id": "c1", "message_ids": ["m3"]}], "said in conversation c1, message m3"),
    (["citation", {"conversation_id": "c1"}], "said in conversation c1"),
    (["citation", {"message_ids": ["m3"]}], None),
    (["citation", None], None),
    (["day", "no time"], "no time"),
    (["moment", "2026-02-14T20:05:00Z"], "14 February 2026 at 20:05 UTC"),
    (["enumerate", ["a", "b", "c"]], "a, b and c"),
    (["title", "user_instructions"], "User instructions"),
    (["missingRole", ["Read", "Admin"]], "Your token has no role for this: ask for Memory.Read or Memory.Admin."),
    (["may", ["Memory.Read"], ["Read", "Admin"]], True),
    (["may", ["Memory.Audit"], ["Read", "Admin"]], False),
    (["rolesOf", {"roles": ["Memory.Admin", 7]}], ["Memory.Admin"]),
    # A delegated token has the roles of its scopes alone; with the operators' scope those of the person.
    (["rolesOf", {"scp": "openid Memory.Read", "roles": ["Memory.Admin"]}], ["Memory.Read"]),
    (["rolesOf", {"scp": "access", "roles": ["Memory.Admin"]}], ["Memory.Admin"]),
    (["rolesOf", {}], []),
]


@pytest.fixture(scope="module")
def returned() -> list[Any]:
    return results(*(call for call, _ in CALLS))


@pytest.mark.parametrize("index", range(len(CALLS)), ids=[json.dumps(call)[:60] for call, _ in CALLS])
def test_a_function_returns_its_words(returned: list[Any], index: int) -> None:
    assert returned[index] == CALLS[index][1]


def test_entries_keep_the_order_of_their_sections() -> None:
    entries = [{"section": name, "text": str(number)} for number, name in enumerate(("b", "a", "b"))]
    (sections,) = results(["bySection", entries])
    assert [(one["name"], [entry["text"] for entry in one["entries"]]) for one in sections] == [
        ("b", ["0", "2"]),
        ("a", ["1"]),
    ]


def listed(entry_id: str, state: str = "closed", **members: Any) -> dict[str, Any]:
    return {"namespace": "n", "path": "d.json", "entry_id": entry_id, "state": state, **members}


def ids(found: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    held = [(one["entry"]["entry_id"], [entry["entry_id"] for entry in one["earlier"]]) for one in found["held"]]
    return held, [entry["entry_id"] for entry in found["past"]]


def test_an_entry_is_shown_with_what_it_replaced_the_newest_first() -> None:
    entries = [
        listed("a", valid_until=SINCE, replaced_by="b"),
        listed("c", "open", replaces="b"),
        listed("b", valid_until=UNTIL, replaces="a"),
        listed("x", valid_until=SINCE),
        listed("y", valid_until=UNTIL),
        listed("w", "waiting"),
        {**listed("d", "open", chain=["b", "d"]), "path": "other.json"},
    ]
    (found,) = results(["histories", entries])
    assert ids(found) == ([("c", ["b", "a"]), ("w", []), ("d", [])], ["y", "x"])


def test_the_link_of_the_chain_is_enough_and_a_circle_ends() -> None:
    (by_chain,) = results(["histories", [listed("b", "open", chain=["a", "b"]), listed("a")]])
    assert ids(by_chain) == ([("b", ["a"])], [])
    circle = [listed("c", "open", replaces="a"), listed("a", replaces="b"), listed("b", replaces="a")]
    (found,) = results(["histories", circle])
    assert ids(found) == ([("c", ["a", "b"])], [])


def test_a_cited_message_is_shown_with_its_neighbours() -> None:
    messages = [{"message_id": f"m{number}"} for number in range(1, 7)]
    cited, none = results(["inContext", messages, ["m2", "m6"]], ["inContext", messages, ["m9"]])
    assert [(one["message"]["message_id"], one["cited"]) for one in cited] == [
        *(("m1", False), ("m2", True), ("m3", False)),
        *(("m5", False), ("m6", True)),
    ]
    assert [one["cited"] for one in none] == [False] * 6
