"""Find the operations of a replay that only add a source to an existing entry."""

from collections.abc import Sequence

from memnet.domain.catalog.upkeep_rules import SectionUpkeep
from memnet.domain.core.errors import PatchNotApplicable
from memnet.domain.core.json_patch import Operation, apply, pointer_text, resolve
from memnet.domain.core.scope import Json
from memnet.domain.documents.entry import covers, rule_of


def source_ops(ops: Sequence[Operation], state: Json, rules: Sequence[SectionUpkeep]) -> frozenset[int]:
    """Return the indices of such operations. All apply to `state` in turn, and change it."""
    found = set()
    for index, op in enumerate(ops):
        if _adds_source(op, state, rules):
            found.add(index)
        state = apply(state, [op.body])
    return frozenset(found)


def _adds_source(op: Operation, state: Json, rules: Sequence[SectionUpkeep]) -> bool:
    path = op.path
    rule = rule_of(path[1:-2], rules)
    if op.verb != "add" or path[-1:] != (rule.evidence_field,):
        return False
    try:
        entries, entry = (resolve(state, pointer_text(path[:-depth])) for depth in (2, 1))
    except PatchNotApplicable:
        return False
    if not (isinstance(entries, list) and isinstance(entry, dict)):
        return False
    return covers({**entry, rule.evidence_field: op.value}, entry, rule)
