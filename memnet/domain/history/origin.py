"""Where a value comes from: the operation that put it, the other changes that it rests on, and the values before it.

A document is traced as a tree of `Traced` nodes, one for each object, array and scalar of the content.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from memnet.domain.core.access import Reason
from memnet.domain.core.evidence import STATED_BY, names_source
from memnet.domain.core.json_patch import Pointer
from memnet.domain.core.scope import Json

MAX_SOURCES = 16
"""The further sources that a node keeps: the first one and the newest ones, of one conversation the fewest."""
MAX_BEFORE = 8
"""The values before that a node keeps: the newest ones, of one conversation the fewest."""
_ARRANGING = frozenset({Reason.COMPACTION, Reason.FRESHNESS, Reason.CONFIRMATION, Reason.REJECTION, Reason.RETRACTION})
"""The reasons of changes that arrange or admit what other changes have said."""


class FurtherKind(StrEnum):
    """How a value rests on a change other than the one that put it.

    RESTATED: the change wrote the same value again, or more evidence for its entry, from a source of its own.
    PROPOSED: the value was a proposal of that change, and the change that put it confirmed it.
    MERGED: the value is that of an entry which upkeep merged into this one.
    RETURNED: the value is a proposal that upkeep made of a stale entry, which that change had put.
    COPIED: the change copied the value to this place; the value does not rest on it.
    """

    RESTATED = "restated"
    PROPOSED = "proposed"
    MERGED = "merged"
    RETURNED = "returned"
    COPIED = "copied"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """One operation of a change; of a value older than the kept history only the time before which it was put."""

    sequence: int
    timestamp: str
    is_known: bool = True
    change_id: str | None = None
    actor: str | None = None
    application: str | None = None
    binding_id: str | None = None
    profile_id: str | None = None
    profile_version: str | None = None
    reason: str | None = None
    source_time: str | None = None
    confidence: float | None = None
    evidence: Mapping[str, Any] | None = None
    proposed_by: str | None = None
    """Of a confirmation: the principal that proposed the value."""
    proposed_at: str | None = None
    op_index: int = 0
    """The place of the operation in the record's `ops`."""
    verb: str = "add"

    @property
    def key(self) -> tuple[int, int]:
        """What identifies the operation in its document: the number of the change, and of the operation in it."""
        return self.sequence, self.op_index

    def repeats(self, other: "Origin") -> bool:
        """Whether it is the other operation, or one of the same principal on the same evidence."""
        same = self.has_source and (self.actor, self.reason, self.evidence) == (
            other.actor,
            other.reason,
            other.evidence,
        )
        return self.key == other.key or same

    def shares_conversation(self, other: "Origin") -> bool:
        """Whether both cite the same conversation."""
        cited = (self.evidence or {}).get("conversation_id")
        return cited is not None and cited == (other.evidence or {}).get("conversation_id")

    @property
    def is_confirmed(self) -> bool:
        """Whether the change was a confirmation."""
        return self.reason == Reason.CONFIRMATION

    @property
    def has_source(self) -> bool:
        """Whether the change cites a source of its own: a conversation, an event, a signed-in person."""
        evidence = dict(self.evidence or {})
        return names_source(evidence) or bool(evidence.get(STATED_BY))

    @property
    def states(self) -> bool:
        """Whether the change says something itself. A confirmation without a source of its own only admits it."""
        return self.reason not in _ARRANGING or (self.is_confirmed and self.has_source)


@dataclass(frozen=True, slots=True)
class Source:
    """A further change that a value rests on."""

    kind: FurtherKind
    origin: Origin


@dataclass(slots=True, eq=False)
class Traced:
    """A value and where it comes from. The origin of an object or array is the operation that put it, not one within.

    A move takes the origins along.
    """

    value: Any
    """A dict or a list of `Traced`, or a scalar."""
    origin: Origin
    further: tuple[Source, ...] = ()
    """The other changes that it rests on, the oldest first; those of a proposal or a merged entry are included."""
    was: "Traced | None" = None
    """What an operation replaced with this value, with its own origin and `was`; None: nothing, or it is not known
    (`Origins.knows_before`)."""
    is_restored: bool = False
    """Whether a retraction, or its undo, has put the value back with the origin that it had."""

    def sources(self) -> tuple[Origin, ...]:
        """Return every change that the value rests on: its origin and the further ones, closed over proposals.

        A change that only confirmed, merged or returned the value is none of them, if the one that said it is known.
        """
        said = [source.origin for source in self.further if source.kind is not FurtherKind.COPIED]
        own = [self.origin] if self.origin.states or not said else []
        return tuple({one.key: one for one in [*own, *said]}.values())

    def rest_on(self, sources: Sequence[Source]) -> None:
        """Add further sources; one that it already rests on, or one with the same evidence, is not added again."""
        for source in sources:
            known = [self.origin, *(other.origin for other in self.further)]
            if not any(source.origin.repeats(one) for one in known):
                self.further = (*self.further, source)
                if len(self.further) > MAX_SOURCES:
                    self._forget_one()

    def _forget_one(self) -> None:
        """Leave out the oldest source but the first, of those with a conversation of another one if there are any."""
        known = [self.origin, *(one.origin for one in self.further)]
        again = (
            at for at in range(1, len(self.further) - 1) if any(map(known[at + 1].shares_conversation, known[: at + 1]))
        )
        gone = next(again, 1)
        self.further = (*self.further[:gone], *self.further[gone + 1 :])

    @property
    def is_copied(self) -> bool:
        """Whether a change copied it to its place: what its operation replaced was at another one."""
        return any(source.kind is FurtherKind.COPIED for source in self.further)

    def before(self) -> Iterator["Traced"]:
        """Yield the values before it, the newest first, at most MAX_BEFORE."""
        earlier = self.was
        for _ in range(MAX_BEFORE):
            if earlier is None:
                return
            yield earlier
            earlier = earlier.was

    def newest(self) -> Origin:
        """Return the newest origin of the value and of everything within it."""
        return max((node.origin for _, node in self.nodes()), key=lambda one: one.key)

    def plain(self) -> Json:
        """Return the value without origins."""
        if isinstance(self.value, dict):
            return {name: child.plain() for name, child in self.value.items()}
        return [child.plain() for child in self.value] if isinstance(self.value, list) else self.value

    def at(self, path: Pointer) -> "Traced":
        """Return the value at a pointer that exists."""
        here = self
        for segment in path:
            here = here.value[int(segment) if isinstance(here.value, list) else segment]
        return here

    def insert(self, path: Pointer, new: "Traced") -> None:
        """Add a value at a pointer, as the operation `add` does: an array gets one more element."""
        parent, name = self.at(path[:-1]).value, path[-1]
        if isinstance(parent, list):
            parent.insert(len(parent) if name == "-" else int(name), new)
        else:
            parent[name] = new

    def replace(self, path: Pointer, new: "Traced") -> None:
        """Put a value in the place of the one at a pointer."""
        parent, name = self.at(path[:-1]).value, path[-1]
        parent[int(name) if isinstance(parent, list) else name] = new

    def remove(self, path: Pointer) -> "Traced":
        """Take out the value at a pointer, and return it."""
        parent, name = self.at(path[:-1]).value, path[-1]
        found: Traced = parent.pop(int(name) if isinstance(parent, list) else name)
        return found

    def nodes(self, place: Pointer = ()) -> Iterator[tuple[Pointer, "Traced"]]:
        """Yield this node and every node within it with its pointer, in document order, containers first."""
        yield place, self
        for name, child in self.children():
            yield from child.nodes((*place, name))

    def children(self) -> Sequence[tuple[str, "Traced"]]:
        """Return the nodes of the members, in name order, or of the elements, by their segments."""
        if isinstance(self.value, dict):
            # The order of insertion depends on where reading begins: a baseline holds names in order.
            return sorted(self.value.items())
        if isinstance(self.value, list):
            return [(str(index), child) for index, child in enumerate(self.value)]
        return ()


def traced(value: Json, origin: Origin, further: tuple[Source, ...] = ()) -> Traced:
    """Return the value with this origin everywhere."""
    if isinstance(value, dict):
        return Traced({name: traced(child, origin, further) for name, child in value.items()}, origin, further)
    if isinstance(value, list):
        return Traced([traced(child, origin, further) for child in value], origin, further)
    return Traced(value, origin, further)


def copied(node: Traced, source: Source | None = None) -> Traced:
    """Return a copy that later changes of either do not share; `source` is the change that copied it."""
    value = node.value
    if isinstance(value, dict):
        value = {name: copied(child, source) for name, child in value.items()}
    elif isinstance(value, list):
        value = [copied(child, source) for child in value]
    made = Traced(value, node.origin, node.further)
    if source is not None:
        made.rest_on([source])
    return made
