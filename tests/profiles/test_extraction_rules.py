"""What is wrong with a profile's rules for replays is said before any replay runs."""

import json
from typing import Any

import pytest

from memnet.domain.catalog.rules import RULES_CONFIDENCE
from memnet.settings import ROOT
from tests.profiles.conftest import Workshop

P = "profiles/gardener.json"
FACT = {"text": "$text", "id": "$id"}
SOUND: dict[str, Any] = {
    "prompt_id": "planting",
    "prompt_version": "1.0.0",
    "max_confidence": 0.75,
    "items": {"garden": {"/facts": FACT}},
    "cues": [{"says": "statement", "binding_id": "garden", "section": "/facts"}],
}


def put(path: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


def with_rules(workshop: Workshop, *changes: dict[str, Any]) -> list[tuple[str, str]]:
    """(pointer, reason) of what is wrong with the sound rules after these changes of the profile."""
    workshop.profile(put("/extraction", SOUND), put("/writable_path_rules/garden/-", "/facts"), *changes)
    found = workshop.problems()
    assert {file for file, _, _ in found} <= {P}
    return [(pointer, reason) for _, pointer, reason in found]


def test_sound_rules_have_no_problem(workshop: Workshop) -> None:
    assert with_rules(workshop) == []


ITEMS, FACTS, CUE = "/extraction/items/garden", "/extraction/items/garden/~1facts", "/extraction/cues/0"
DURABLE = "reaches min_confidence_for_durable_fact: a replay could write a durable fact without a confirmation"
WAITS = f"need a min_confidence_for_auto_apply above {RULES_CONFIDENCE}: their findings must be confirmed"
UNTYPED = "lets a replay fill {}, which the schema does not restrict to string, number, integer, boolean"
BEDS = [put("/writable_path_rules/garden/-", "/beds"), put("/extraction/items/garden/~1beds", {"bed_id": "$text"})]
BED = "/extraction/items/garden/~1beds"
NO_RULE = "writable_path_rules do not let garden write /soil/log"
PLACEHOLDERS = "$claimant, $confidence, $date, $evidence, $id, $said, $text, $time, $topic"

PROBLEMS = [
    pytest.param([put("/extraction/prompt_id", "weeding")], "/extraction/prompt_id", "there is no prompt weeding",
                 id="no such prompt"),
    pytest.param([put("/extraction/prompt_version", "2.0.0")], "/extraction/prompt_version",
                 "prompt planting has no version 2.0.0", id="no such version"),
    pytest.param([put("/extraction/judge", {"prompt_id": "weeding", "prompt_version": "1.0.0"})],
                 "/extraction/judge/prompt_id", "there is no prompt weeding", id="no such judge"),
    pytest.param([put("/extraction/max_confidence", 0.8)], "/extraction/max_confidence", DURABLE, id="confirms itself"),
    pytest.param([put("/confidence_rules/min_confidence_for_auto_apply", 0.5)], "/extraction/cues", WAITS,
                 id="cues that do not wait"),
    pytest.param([put(f"{FACTS}/when", "$now")], FACTS, f"$now is none of {PLACEHOLDERS}", id="unknown placeholder"),
    pytest.param([put(FACTS, {"id": "$id"})], FACTS, "has no place for the text: $text", id="no place for the text"),
    pytest.param([put("/extraction/items/park", {"/facts": FACT})], "/extraction/items/park/~1facts",
                 "park is no binding of the profile", id="items of no binding"),
    pytest.param([put(f"{ITEMS}/~1soil~1log", FACT)], f"{ITEMS}/~1soil~1log", NO_RULE, id="not writable"),
    pytest.param([put(f"{ITEMS}/~1soil~1ph", FACT)], f"{ITEMS}/~1soil~1ph",
                 "schema garden 1.0.0 has no array /soil/ph", id="no array"),
    pytest.param([put(f"{ITEMS}/~1plants", FACT)], f"{ITEMS}/~1plants",
                 "makes an entry that the schema refuses: must be a string", id="an entry the schema refuses"),
    pytest.param([put(f"{ITEMS}/~1waiting", FACT)], f"{ITEMS}/~1waiting",
                 "is in the pending section, to which only the service adds items", id="pending items"),
    pytest.param([put(f"{ITEMS}/~1facts~1*", FACT)], f"{ITEMS}/~1facts~1*",
                 "must be one pointer, without * and -", id="a pattern"),
    pytest.param([put(f"{FACTS}/size", "$said")], FACTS, UNTYPED.format("size"), id="a member of any type"),
    pytest.param([*BEDS, put(f"{BED}/names", "$said")], BED, UNTYPED.format("names"), id="an array to fill"),
    pytest.param([put(f"{FACTS}/about", {"size": "$said"})], FACTS, "has $said within a member", id="too deep"),
    pytest.param([*BEDS, put(f"{BED}/size", "$text")], BED,
                 "makes an entry that the schema refuses: /size must be a number", id="a text for a number"),
    pytest.param([put(f"{CUE}/binding_id", "park")], CUE, "park is no binding of the profile", id="cue of no binding"),
    pytest.param([put(f"{CUE}/section", "/soil/ph")], CUE, "schema garden 1.0.0 has no array /soil/ph",
                 id="cue of no array"),
    pytest.param([{"op": "remove", "path": "/extraction/items"}], CUE,
                 "makes an entry that the schema refuses: must be an object", id="cue whose text is no entry"),
    pytest.param([{"op": "remove", "path": "/pending_sections"}], f"{CUE}/binding_id",
                 "has no pending section for the findings of a cue", id="cue that cannot wait"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "pointer", "reason"), PROBLEMS)
def test_a_problem_is_reported_with_its_pointer(
    workshop: Workshop, changes: list[dict[str, Any]], pointer: str, reason: str
) -> None:
    assert (pointer, reason) in with_rules(workshop, *changes)


@pytest.mark.parametrize(
    "changes",
    [
        [put("/extraction/max_confidence", 0.79)],
        [put("/extraction/max_confidence", 1.0), {"op": "remove", "path": "/durable_sections"}],
        [put("/extraction/cues", []), put("/confidence_rules/min_confidence_for_auto_apply", 0.0)],
        [put(f"{CUE}/section", "/plants")],
        [*BEDS, put(f"{BED}/size", "$said"), put(f"{BED}/sun", "$said"), put(f"{BED}/names", ["$topic"])],
    ],
)
def test_what_only_looks_like_a_fault_is_none(workshop: Workshop, changes: list[dict[str, Any]]) -> None:
    assert with_rules(workshop, *changes) == []


@pytest.mark.parametrize("profile_id", ["project-copilot-v1", "support-desk-v1"])
def test_under_a_shipped_profile_no_replay_is_sure_enough_for_what_lasts(profile_id: str) -> None:
    profile = json.loads((ROOT / "profiles" / f"{profile_id}.json").read_text("utf-8"))
    thresholds, most = profile["confidence_rules"], profile["extraction"]["max_confidence"]

    assert thresholds["min_confidence_for_auto_apply"] <= most < thresholds["min_confidence_for_durable_fact"]
