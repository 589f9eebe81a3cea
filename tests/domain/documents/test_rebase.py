"""A patch carried over to another version: what means the same there, what is there already, what conflicts."""

import copy
from typing import Any

import pytest

from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.errors import PatchNotApplicable, PatchTestFailed
from memnet.domain.core.json_patch import apply
from memnet.domain.core.scope import Json
from memnet.domain.documents.rebase import ABSENT, ConflictCause, RebaseConflict, Rebased, rebase
from tests.domain import rebase_cases as cases
from tests.domain import rebase_member_cases as member_cases
from tests.domain.rebase_cases import add, holds, remove

GROUPS = {
    "append": cases.APPENDS,
    "index": cases.INDICES,
    "insert": cases.INSERTS,
    "member": member_cases.MEMBERS,
    "carried": member_cases.CARRIED,
}


def applied(ops: list[Any], content: Json) -> Json:
    return apply({"content": copy.deepcopy(content)}, copy.deepcopy(ops))["content"]


@pytest.mark.parametrize(
    ("ops", "base", "theirs", "expected"),
    [pytest.param(*case, id=f"{group}: {name}") for group, found in GROUPS.items() for name, *case in found],
)
def test_a_patch_is_carried_over_by_what_it_means(ops: Any, base: Any, theirs: Any, expected: Any) -> None:
    given = copy.deepcopy((ops, base, theirs))
    outcome = rebase(ops, base, theirs)
    assert (ops, base, theirs) == given
    if isinstance(outcome, RebaseConflict):
        assert (outcome.op_index, outcome.path, outcome.why, outcome.base, outcome.theirs) == expected
    else:
        assert (outcome.ops, outcome.already_there, applied(outcome.ops, theirs)) == expected


@pytest.mark.parametrize(
    ("ops", "refusal"),
    [
        ([add("/content/x", 1), remove("/content/y")], PatchNotApplicable),
        ([add("/content/x", 1), holds("/content/x", 2)], PatchTestFailed),
    ],
)
def test_what_never_applied_is_refused_with_its_index(ops: Any, refusal: Any) -> None:
    with pytest.raises(refusal) as caught:
        rebase(ops, {}, {"y": 1})
    assert caught.value.details["op_index"] == 1


def test_members_that_the_standard_does_not_define_stay() -> None:
    outcome = rebase([add("/content/a/-", 1) | {"note": "n"}], {"a": []}, {"a": [2]})
    assert outcome == Rebased([add("/content/a/-", 1) | {"note": "n"}], ())


def test_a_conflict_says_what_is_known_of_it_and_null_is_not_absent() -> None:
    assert RebaseConflict(2, "/content/a", ConflictCause.GONE, None, ABSENT).members() == {
        "op_index": 2,
        "path": "/content/a",
        "why": "gone",
        "base": None,
    }


@pytest.mark.parametrize(
    ("ops", "theirs", "supports"),
    [
        ([add("/content/a/-", "LIKES tea")], {"a": ["x", "Likes tea."]}, ("/content/a/1",)),
        ([cases.replace("/content/s", 2)], {"a": [], "s": 2}, ("/content/s",)),
        (
            [add("/content/a/-", cases.SAID)],
            {"a": [cases.F1, cases.SAID | {"evidence": cases.BOTH}]},
            ("/content/a/1",),
        ),
        ([remove("/content/s")], {"a": []}, ()),
    ],
)
def test_what_is_there_already_is_pointed_at(ops: Any, theirs: Any, supports: Any) -> None:
    assert rebase(ops, {"a": [], "s": 1}, theirs) == Rebased([], (0,), supports)


def test_the_rules_of_a_section_name_the_members_of_the_origin() -> None:
    note = {"words": "Likes tea.", "heard": "2026-01-01", "from": cases.E1}
    rule = SectionUpkeep(section="/a", text_field="words", verified_field="heard", evidence_field="from")
    later = add("/content/a/-", note | {"heard": "2026-02-01", "from": cases.E2})
    assert rebase([later], {"a": []}, {"a": [note]}, [rule]) == Rebased([add("/content/a/0/from", cases.BOTH)], ())
    assert rebase([later], {"a": []}, {"a": [note]}) == Rebased([later], ())
    differing = add("/content/a/-", note | {"heard": "2026-02-01", "x": 1})
    assert isinstance(rebase([differing], {"a": []}, {"a": [note]}, [rule]), RebaseConflict)
