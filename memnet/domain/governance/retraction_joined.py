"""Part what consolidation has joined: a statement that took over others rests on what was said of it alone.

The others are closed beside it, with their own evidence (`replaced_by`). So nothing of them is lost if it goes, and it
does not stay because of them.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.access import Reason
from memnet.domain.core.json_patch import Pointer
from memnet.domain.core.scope import Json
from memnet.domain.documents.entry import evidence_of
from memnet.domain.documents.statement import statements_of, thing_of
from memnet.domain.governance.retraction_evidence import cited
from memnet.domain.governance.retraction_reach import Reach
from memnet.domain.history.origin import FurtherKind, Traced

Joined = Mapping[tuple[Pointer, Json], AbstractSet[bytes]]
"""What the statements cite that another one took over, by its section and its id."""


def part(content: Traced, reach: Reach, rules: Sequence[SectionUpkeep]) -> Joined:
    """Change the tree so that no statement rests on changes of those that it took over; return what they cite.

    It still rests on those of the source: a text that joins what the source said is one of its values.
    """
    found: dict[tuple[Pointer, Json], set[bytes]] = {}
    for rule in {rule.place: rule for rule in rules if rule.statements is not None}.values():
        statements = _statements(content, rule)
        for one in statements.values():
            link = one.value.get(statements_of(rule).replaced_field)
            by = None if link is None else statements.get(link.value)
            if by is None or thing_of(by.plain(), rule) == thing_of(one.plain(), rule):
                continue
            _unlink(by, one, reach)
            items = {cited(item) for item in evidence_of(one.plain(), rule)}
            found.setdefault((rule.place, link.value), set()).update(items)
    return found


def joins_source(node: Traced, reach: Reach) -> bool:
    """Whether upkeep put a value that it made of several, one of them of the source."""
    return node.origin.reason == Reason.COMPACTION and any(map(reach.withdraws, node.sources()))


def _statements(content: Traced, rule: SectionUpkeep) -> dict[Json, Traced]:
    """Return the statements of a section by their ids."""
    here: Traced | None = content
    for name in rule.place:
        here = here.value.get(name) if here is not None and isinstance(here.value, dict) else None
    entries = here.value if here is not None and isinstance(here.value, list) else []
    known = [(one.value.get(rule.id_field), one) for one in entries if isinstance(one.value, dict)]
    return {own.value: one for own, one in known if own is not None and isinstance(own.value, str)}


def _unlink(statement: Traced, other: Traced, reach: Reach) -> None:
    theirs = {origin.key for _, node in other.nodes() for origin in node.sources() if not reach.withdraws(origin)}
    for _, node in statement.nodes():
        node.further = tuple(
            one for one in node.further if one.kind is not FurtherKind.MERGED or one.origin.key not in theirs
        )
