"""A patch carried over to another version: what means the same there, what is there already, what conflicts."""

import copy
from typing import Any

import pytest

from memnet.domain.document import Json
from memnet.domain.errors import PatchNotApplicable, PatchTestFailed
from memnet.domain.patch import apply, check_form
from memnet.domain.rebase import ABSENT, Changed, Translated, Why, rebase
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
    return apply({"content": copy.deepcopy(content)}, check_form(copy.deepcopy(ops)))["content"]


@pytest.mark.parametrize(
    ("ops", "base", "theirs", "expected"),
    [pytest.param(*case, id=f"{group}: {name}") for group, found in GROUPS.items() for name, *case in found],
)
def test_a_patch_is_carried_over_by_what_it_means(ops: Any, base: Any, theirs: Any, expected: Any) -> None:
    given = copy.deepcopy((ops, base, theirs))
    outcome = rebase(ops, base, theirs)
    assert (ops, base, theirs) == given
    if isinstance(outcome, Changed):
        assert (outcome.op_index, outcome.path, outcome.why, outcome.base, outcome.theirs) == expected
    else:
        assert (outcome.ops, outcome.already_there, applied(outcome.ops, theirs)) == expected


def test_nothing_is_carried_over_as_nothing() -> None:
    assert rebase([], {"a": 1}, {"a": 2}) == Translated([], ())


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
    assert outcome == Translated([add("/content/a/-", 1) | {"note": "n"}], ())


def test_a_conflict_says_what_is_known_of_it_and_null_is_not_absent() -> None:
    assert Changed(2, "/content/a", Why.GONE, None, ABSENT).members() == {
        "op_index": 2,
        "path": "/content/a",
        "why": "gone",
        "base": None,
    }
