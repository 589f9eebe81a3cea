"""Where the values come from that a retraction leaves or puts back, so that it does not become their origin."""

from collections.abc import Iterator, Sequence

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.json_patch import Op, pointer
from memnet.domain.core.scope import Json
from memnet.domain.governance.retraction_reach import Reach
from memnet.domain.history.origin import Traced, copied, traced
from memnet.domain.history.restored_origins import OWN


def sources_of(content: Traced, ops: Sequence[Op], reach: Reach) -> list[Traced | None]:
    """Return for each operation of a plan the tree of its value; None if it has none or the value is new.

    No operation moves the place of a later one, so each pointer is that of `content`. A value comes from the one that
    was there, or from one before it that does not rest on the source.
    """
    return [_source(content, op, reach) for op in ops]


def _source(content: Traced, op: Op, reach: Reach) -> Traced | None:
    if op["op"] == "remove":
        return None
    try:
        node = content.at(pointer(op["path"])[1:])
    except (KeyError, IndexError, TypeError, ValueError):
        return None
    return _aligned(op["value"], node, reach)


def _aligned(value: Json, node: Traced, reach: Reach) -> Traced:
    """Return `value` with the origins that it and what is within it had at the place of `node`.

    What rests on the source alone, and is there because an entry cites another one, comes from the retraction.
    """
    known, data = [node, *node.before()], canonical(value)
    same = next((one for one in known if canonical(one.plain()) == data and not reach.voids(one)), None)
    if same is not None:
        return copied(same)
    like = next((one for one in known if type(one.value) is type(value)), None)
    if like is None or not isinstance(value, dict | list):
        return traced(value, OWN)
    own = Traced(None, OWN) if reach.voids(like) else Traced(None, like.origin, like.further)
    if isinstance(value, dict):
        own.value = {
            name: _aligned(child, like.value[name], reach) if name in like.value else traced(child, OWN)
            for name, child in value.items()
        }
    else:
        own.value = list(_elements(value, like.value, reach))
    return own


def _elements(values: Sequence[Json], nodes: Sequence[Traced], reach: Reach) -> Iterator[Traced]:
    """A plan only leaves elements out, so those that are left are in the order in which they were."""
    rest = iter(nodes)
    for value in values:
        found = (_aligned(value, node, reach) for node in rest)
        yield next((one for one in found if one.origin.key != OWN.key), traced(value, OWN))
