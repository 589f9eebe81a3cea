"""The history in words: each kind of audit record gives its sentence."""

import json
from typing import Any

import pytest

from memnet.domain.core.access import Reason
from tests.console.change_cases import CASES, EMPTY, LIKES, change, op
from tests.console.node import run
from tests.console.question_cases import QUESTIONS
from tests.console.retraction_cases import RETRACTIONS

ALL = CASES | QUESTIONS | RETRACTIONS


def sentences(*cases: dict[str, Any]) -> list[list[dict[str, str]]]:
    """What the console says about the records of each case."""
    said: list[list[dict[str, str]]] = json.loads(run("sentences.mjs", json.dumps(cases)))
    return said


@pytest.fixture(scope="module")
def said() -> dict[str, dict[str, str]]:
    told = sentences(*({"records": case.records} for case in ALL.values()))
    return {name: found[-1] for name, found in zip(ALL, told, strict=True)}


@pytest.mark.parametrize("name", ALL)
def test_a_change_is_a_sentence(said: dict[str, dict[str, str]], name: str) -> None:
    assert said[name] == {"kind": ALL[name].kind, "text": ALL[name].text}


def test_every_reason_has_a_case() -> None:
    assert {case.record["reason"] for case in ALL.values()} == set(Reason)


def test_the_content_after_the_first_stored_record_is_enough() -> None:
    records = [
        change(op("add", "/preferences/-", "Use charts."), sequence=7),
        change(op("remove", "/preferences/0"), sequence=8),
    ]
    (told,) = sentences({"records": records, "first": LIKES})
    assert [one["text"] for one in told] == [
        "svc-chat changed the document in preferences. The version before is not stored.",
        "svc-chat removed the preference “Answer briefly.”.",
    ]


def test_an_erased_record_and_a_missing_one_leave_the_next_without_its_old_value() -> None:
    whole = change(op("add", "", EMPTY), sequence=4, reason="admin_migration")
    added = change(op("add", "/preferences/-", "Be kind."), sequence=5)
    for unread in (change(sequence=3) | {"ops": None}, change(op("test", ""), sequence=2)):
        removed = change(op("remove", "/preferences/0"), sequence=4)
        (told,) = sentences({"records": [change(op("add", "", LIKES), sequence=1), unread, removed]})
        assert told[-1]["text"].endswith("The version before is not stored.")
    (told,) = sentences({"records": [change(sequence=3) | {"ops": None}, whole, added]})
    assert [one["text"] for one in told[1:]] == [
        "svc-chat replaced the whole document.",
        "svc-chat added the preference “Be kind.”.",
    ]


def test_altered_records_are_described_without_their_content() -> None:
    broken = change(op("remove", "/nowhere/0"))
    (told,) = sentences({"records": [change(op("add", "", EMPTY), sequence=1), broken]})
    assert told[-1]["text"] == "svc-chat changed the document in nowhere. The version before is not stored."
