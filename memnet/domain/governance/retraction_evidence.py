"""The items of evidence, and what they point to."""

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.evidence import POINTERS
from memnet.domain.core.scope import Json
from memnet.domain.documents.entry import ALSO
from memnet.domain.governance.source import parts_of
from memnet.domain.history.origin import Origin, Traced


def cited(item: Json) -> bytes:
    """Return what an item of evidence points to."""
    return canonical([item.get(name) for name in POINTERS] if isinstance(item, dict) else item)


def items_of(node: Traced | None) -> list[tuple[Json, list[Traced]]]:
    """Return the items of evidence, each with its nodes; one item of anything that is no object; none without it."""
    if node is None:
        return []
    if not isinstance(node.value, dict):
        return [(node.plain(), [node])]
    also = node.value.get(ALSO)
    rest = list(also.value) if also is not None and isinstance(also.value, list) else []
    own = {name: child for name, child in node.value.items() if not (rest and name == ALSO)}
    first = [({name: child.plain() for name, child in own.items()}, list(own.values()))] if own else []
    return [*first, *((child.plain(), [child]) for child in rest)]


def parts_cited(origin: Origin) -> set[bytes]:
    """Return what a change cites."""
    return {cited(one) for one in parts_of(dict(origin.evidence or {}))}
