"""Problems of the rules for recall, which stop the start: unknown names and parameters, and stages out of order."""

from typing import Any

import pytest

from memnet.catalog import CatalogError, load_catalog
from tests.profiles.conftest import Workshop

AT = "/recall/pipelines/p"
SEARCH, RANK, CUT, FLOOR = ({"stage": stage} for stage in ("search", "rank", "cut", "floor"))
KNOWN, RELEVANT, RECENT = ({"stage": stage} for stage in ("known", "relevant", "recent"))
ASKS = {"prompt_id": "planting", "prompt_version": "1.0.0"}
STAGES = "rewrite, search, rank, floor, signals, hops, weigh, claims, rerank, cut, known, relevant, recent"


def pipeline(*stages: Any, **members: Any) -> dict[str, Any]:
    rules = {"default": "p", "pipelines": {"p": list(stages)}, **members}
    return {"op": "add", "path": "/recall", "value": rules}


def rendering(*sections: Any) -> dict[str, Any]:
    given = [{"binding_id": "garden", "heading": "H", **section} for section in sections]
    return {"op": "add", "path": "/rendering", "value": given}


SOUND = [
    pipeline(SEARCH, RELEVANT),
    pipeline({"stage": "rewrite", **ASKS}, SEARCH, FLOOR, {"stage": "signals"}, {"stage": "hops"}, {"stage": "weigh"},
             {"stage": "rerank", **ASKS}, CUT, KNOWN, RELEVANT, RECENT),
    pipeline(KNOWN, RECENT),
    pipeline(RANK, {**KNOWN, "share": 0.1}, {**RELEVANT, "share": 0.7}, {**RECENT, "share": 0.2}),
    rendering({"section": "/plants"}, {"section": "/beds", "item": "{bed_id} of {size}"}, {"section": "/soil"}),
]  # fmt: skip

PROBLEMS = [
    # names
    pytest.param(pipeline(SEARCH, RELEVANT, default="q"), "/recall/default", "there is no pipeline q", "write p",
                 id="unknown default"),
    pytest.param(pipeline({"stage": "serch"}), f"{AT}/0", f"must be one of {STAGES}", "write search",
                 id="unknown stage"),
    pytest.param(pipeline({"take": 3}), f"{AT}/0", "lacks the member stage", "", id="no stage"),
    pytest.param(pipeline({"stage": "search", "fuson": "rrf"}, RELEVANT), f"{AT}/0/fuson",
                 "is not a member that a profile has", "write fusion", id="unknown parameter"),
    pytest.param(pipeline(SEARCH, {**RELEVANT, "share": 30}), f"{AT}/1/share", "must be at most 1.0",
                 "write a share of 1: 0.3", id="a percentage"),
    pytest.param(pipeline(), AT, "must have at least 1 item", "", id="no stages"),
    pytest.param(pipeline({"stage": "rewrite", **ASKS, "prompt_id": "plantin"}, SEARCH, RELEVANT), f"{AT}/0/prompt_id",
                 "there is no prompt plantin", "write planting, or add prompts/plantin/1.0.0.md", id="unknown prompt"),
    pytest.param(pipeline(SEARCH, {"stage": "rerank", **ASKS, "prompt_version": "2.0.0"}, RELEVANT),
                 f"{AT}/1/prompt_version", "prompt planting has no version 2.0.0",
                 "write 1.0.0, or add prompts/planting/2.0.0.md", id="unknown version of a prompt"),
    pytest.param(pipeline({**RANK, "ranker_id": "convers"}, RELEVANT), f"{AT}/0", "there is no ranker convers 1.0.0",
                 "write conversation 1.0.0", id="unknown ranker"),
    # order
    pytest.param(pipeline(SEARCH, CUT), AT, "writes nothing at its end", "end with known or relevant or recent",
                 id="writes nothing"),
    pytest.param(pipeline(SEARCH, RELEVANT, CUT, RELEVANT | {"stage": "recent"}), f"{AT}/1",
                 "writes before the last stage has ranked", "move it to the end", id="writes too early"),
    pytest.param(pipeline(CUT, SEARCH, RELEVANT), f"{AT}/0", "comes before anything is found",
                 "add search or rank before it", id="cut before search"),
    pytest.param(pipeline(RELEVANT), f"{AT}/0", "comes before anything is found", "add search or rank before it",
                 id="nothing is found"),
    pytest.param(pipeline(SEARCH, {"stage": "rewrite", **ASKS}, RELEVANT), f"{AT}/1",
                 "comes after search, which uses it", "move it to the beginning", id="rewrite after search"),
    pytest.param(pipeline(SEARCH, RANK, RELEVANT), f"{AT}/1", "ranks what a stage before it has ranked",
                 "keep search or rank", id="search and rank"),
    pytest.param(pipeline(SEARCH, CUT, CUT, RELEVANT), f"{AT}/2", "is the second cut of the pipeline",
                 "remove one of them", id="a stage twice"),
    pytest.param(pipeline(SEARCH, {**KNOWN, "share": 0.4}, {**RELEVANT, "share": 0.7}), AT,
                 "gives away shares of 1.1 in all", "write shares of at most 1 in all", id="shares above 1"),
    # rendering
    pytest.param(rendering({"section": "/plants", "binding_id": "gardn"}), "/rendering/0/binding_id",
                 "gardn is no binding of the profile", "write garden", id="unknown binding"),
    pytest.param(rendering({"section": "/plant"}), "/rendering/0/section", "schema garden 1.0.0 has no /plant",
                 "write /plants", id="unknown section"),
    pytest.param(rendering({"section": "/beds/*"}), "/rendering/0/section", "must be one pointer, without * and -", "",
                 id="pattern"),
    pytest.param(rendering({"section": "/beds", "item": "{bed} of {text}"}), "/rendering/0/item",
                 "the entries at /beds have no bed", "write {text}", id="unknown member"),
    pytest.param(rendering({"section": "/beds", "item": "a bed"}), "/rendering/0/item", "writes every entry the same",
                 "write {text}, or {member} for a member of the entries", id="no member"),
]  # fmt: skip


def problems(workshop: Workshop) -> list[tuple[str, str, str]]:
    try:
        load_catalog(workshop.profiles, workshop.schemas, workshop.prompts)
    except CatalogError as error:
        return [(one.pointer, one.reason.replace('"', ""), one.remedy) for one in error.problems]
    return []


@pytest.mark.parametrize("change", SOUND)
def test_sound_rules_have_no_problem(workshop: Workshop, change: dict[str, Any]) -> None:
    workshop.profile(change)
    assert problems(workshop) == []


@pytest.mark.parametrize(("change", "pointer", "reason", "remedy"), PROBLEMS)
def test_a_problem_is_reported_with_its_pointer_and_remedy(
    workshop: Workshop, change: dict[str, Any], pointer: str, reason: str, remedy: str
) -> None:
    workshop.profile(change)
    assert problems(workshop) == [(pointer, reason, remedy)]


def test_a_section_that_is_rendered_twice_is_a_fault(workshop: Workshop) -> None:
    workshop.profile(rendering({"section": "/plants"}, {"section": "/plants", "item": "- {text}"}))
    rendered = [("/rendering/0/section", "is rendered twice", "remove one of the two")]
    assert problems(workshop) == [*rendered, ("/rendering/1/section", "is rendered twice", "remove one of the two")]


def test_a_profile_without_rules_recalls_by_evidence(workshop: Workshop) -> None:
    catalog = load_catalog(workshop.profiles, workshop.schemas, workshop.prompts)
    rules = catalog.profile("gardener").recall
    stages = [rule.stage for rule in rules.pipelines[rules.default]]
    assert (rules.default, stages) == ("evidence", ["rank", "hops", "cut", "relevant"])
