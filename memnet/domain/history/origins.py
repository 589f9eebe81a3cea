"""The origin of every value in a document: the operation that put it there.

The operations of a document's records are made, in order, on a tree of `Traced` nodes beside the content. So
insertions, removals, moves and copies in arrays need no arithmetic of pointers. A value that a change leaves the same
keeps its origin, also if the change writes the array or the object around it again.
"""

from collections.abc import Iterator
from dataclasses import replace

from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.core.access import Reason
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.evidence import names_source
from memnet.domain.core.json_patch import Op, Pointer, pointer
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import Json
from memnet.domain.documents.entry import ALSO
from memnet.domain.history.origin import MAX_BEFORE, FurtherKind, Origin, Source, Traced, copied, traced
from memnet.domain.history.origin_links import Change, apply_merge, is_same_entry, matched, merges, taken_of
from memnet.domain.history.restored_origins import restore, without_restored

EVIDENCE_DEPTH = 2
"""The least depth of an entry below the document: /content has no evidence of its own."""


class Origins:
    """The origins of one document, change by change; the changes are already verified."""

    def __init__(self, content: Traced | None = None, *, sequence: int = 0) -> None:
        """Begin with what change `sequence` left; None: with a document that does not exist."""
        root = Origin(sequence=sequence, timestamp="", is_known=False)
        self._tree = Traced({} if content is None else {ROOT: content}, root)
        self.begins = sequence
        """The change that the tree began with; 0: the tree holds every change."""
        self.sequence = sequence
        """The newest change."""
        self.changes: list[Origin] = []
        """The changes that were taken, also those of which nothing is left."""

    @property
    def content(self) -> Traced | None:
        """The content as the newest change left it; None if the document is deleted."""
        found: Traced | None = self._tree.value.get(ROOT)
        return found

    def values(self) -> Iterator[tuple[Pointer, Traced]]:
        """Yield every node with its pointer in the content, in document order, containers first."""
        if self.content is not None:
            yield from self.content.nodes()

    def knows_before(self, node: Traced) -> bool:
        """Whether `was` says what there was before: the operation that put the value, here, is one of those read."""
        return node.origin.sequence > self.begins and not node.is_restored and not node.is_copied

    def take(self, record: Record) -> None:
        """Apply the next change, unsealed; one that the tree already holds is skipped."""
        if record["sequence"] <= self.sequence:
            return
        change = Change(_origin(record, self._tree))
        self.changes.append(change.origin)
        merging = merges(record["reason"], record["evidence"], self._tree)
        for index, op in enumerate(record["ops"]):
            self._apply(op, replace(change.origin, op_index=index, verb=op["op"]), change)
        change.link()
        for merge in merging:
            apply_merge(merge, self._tree)
        restore(record["reason"], record["evidence"], self._tree)
        self.sequence = record["sequence"]

    def _apply(self, op: Op, origin: Origin, change: Change) -> None:
        path = pointer(op["path"])
        match op["op"]:
            case "add" | "replace":
                self._put(path, op["value"], origin, change, is_added=op["op"] == "add")
            case "remove":
                change.removed.append(self._tree.remove(path))
            case "move":
                moved = self._tree.remove(pointer(op["from"]))
                change.removed.append(moved)
                self._tree.insert(path, moved)
            case "copy":
                source = self._tree.at(pointer(op["from"]))
                self._tree.insert(path, copied(source, Source(FurtherKind.COPIED, origin)))

    def _put(self, path: Pointer, value: Json, origin: Origin, change: Change, *, is_added: bool) -> None:
        parent, name = self._tree.at(path[:-1]), path[-1]
        inserts = is_added and isinstance(parent.value, list)
        exists = not inserts and (isinstance(parent.value, list) or name in parent.value)
        old = parent.value[int(name) if isinstance(parent.value, list) else name] if exists else None
        if len(path) > EVIDENCE_DEPTH and isinstance(parent.value, dict) and _is_evidence(value):
            _add_evidence(parent, origin, change)
        # A confirmation vouches for all that it writes, and another entry in the place of one is new.
        other = old is not None and isinstance(parent.value, list) and not is_same_entry(old, value)
        if old is None or other or change.origin.is_confirmed:
            new = traced(value, origin)
            new.was = _bounded(old)
            change.put.append(new)
        else:
            new = _renewed(old, value, origin, change)
        if exists:
            self._tree.replace(path, new)
        else:
            self._tree.insert(path, new)


def _add_evidence(entry: Traced, origin: Origin, change: Change) -> None:
    """A change that writes evidence into an entry states the entry again."""
    if entry.origin.sequence == origin.sequence:
        return
    change.kept.append(entry)
    if change.restates:
        for _, node in entry.nodes():
            node.rest_on([Source(FurtherKind.RESTATED, origin)])


def _renewed(old: Traced, value: Json, origin: Origin, change: Change) -> Traced:
    """Return `value`, which a change wrote over `old`: what is still the same keeps its origin."""
    if isinstance(value, dict) and isinstance(old.value, dict):
        change.removed += [child for name, child in old.children() if name not in value]
        old.value = {
            name: _renewed(old.value[name], child, origin, change) if name in old.value else _new(child, origin, change)
            for name, child in value.items()
        }
    elif isinstance(value, list) and isinstance(old.value, list):
        places = matched(value, [child.plain() for child in old.value])
        change.removed += [child for index, child in enumerate(old.value) if index not in places]
        old.value = [
            _new(child, origin, change) if place is None else _renewed(old.value[place], child, origin, change)
            for child, place in zip(value, places, strict=True)
        ]
    elif canonical(value) != canonical(old.plain()):
        change.replaced.append(old)
        new = _new(value, origin, change)
        new.was = _bounded(old)
        return new
    # What contains other values rests on what they rest on.
    if change.restates and not isinstance(old.value, dict | list):
        old.rest_on([Source(FurtherKind.RESTATED, origin)])
    return old


def _new(value: Json, origin: Origin, change: Change) -> Traced:
    new = traced(value, origin)
    change.put.append(new)
    return new


def _bounded(old: Traced | None) -> Traced | None:
    """Return the value before a new one, with those before it, MAX_BEFORE together: the oldest goes.

    Of values in a row on one conversation the oldest goes first. So a conversation that writes again and again does not
    hide what another one has said before.
    """
    if old is None:
        return None
    kept = [old, *old.before()]
    if len(kept) > MAX_BEFORE:
        again = (at for at in range(MAX_BEFORE, 0, -1) if kept[at].origin.shares_conversation(kept[at - 1].origin))
        gone = next(again, MAX_BEFORE)
        kept[gone - 1].was = kept[gone].was
    return old


def _is_evidence(value: Json) -> bool:
    """Whether a value is evidence: it names a source, or evidence of merged entries."""
    return isinstance(value, dict) and (names_source(value) or isinstance(value.get(ALSO), list))


def _origin(record: Record, tree: Traced) -> Origin:
    proposal: Json = {}
    if record["reason"] == Reason.CONFIRMATION:
        # A confirmation removes the pending item first (memnet.domain.documents.confirmation).
        taken = taken_of(tree.at(pointer(record["ops"][0]["path"])), record["evidence"])
        proposal = {} if taken is None else taken.plain()
    return Origin(
        sequence=record["sequence"],
        timestamp=record["timestamp"],
        change_id=record["change_id"],
        actor=record["actor"],
        application=record["application"],
        binding_id=record["binding_id"],
        profile_id=record["profile_id"],
        profile_version=record["profile_version"],
        reason=record["reason"],
        source_time=record["source_time"],
        confidence=record["confidence"],
        evidence=without_restored(record["evidence"]),
        proposed_by=proposal.get("proposed_by"),
        proposed_at=proposal.get("proposed_at"),
    )
