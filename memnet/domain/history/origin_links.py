"""Link what one change put to what the same change took out: a confirmed proposal, a stale entry, merged entries."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from memnet.domain.core.access import Reason
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import PatchMalformed
from memnet.domain.core.json_patch import pointer
from memnet.domain.core.scope import Json
from memnet.domain.core.text import normalized_text
from memnet.domain.documents.array_matching import identifying_members, match_elements
from memnet.domain.documents.pending_item import ALTERNATIVES
from memnet.domain.documents.statement_question import CONTRADICTS
from memnet.domain.history.origin import FurtherKind, Origin, Source, Traced, copied

MERGED = "merged"
"""The member of the evidence of upkeep with one row for each entry that others were merged into: `from`, the pointers
of the others in the version before, and `into`, the pointer of the entry in the version after."""
_MERGING = frozenset({Reason.COMPACTION, Reason.RETRACTION})
"""The reasons of changes that may have such rows; no client can send them."""


@dataclass(slots=True)
class Change:
    """One change while its operations are made: what it put, kept and took out."""

    origin: Origin
    put: list[Traced] = field(default_factory=list)
    """The values that it put."""
    kept: list[Traced] = field(default_factory=list)
    """The entries that it wrote evidence into."""
    removed: list[Traced] = field(default_factory=list)
    replaced: list[Traced] = field(default_factory=list)
    """The values in whose place it put others, in a value that it wrote again."""

    @property
    def restates(self) -> bool:
        """Whether what it keeps rests on it, too. What the service only arranges is carried along."""
        return self.origin.states and self.origin.has_source

    def link(self) -> None:
        """Link the values that it put, once all operations are made."""
        items = [node for node in self.removed if _proposal(node) is not None]
        if self.origin.is_confirmed:
            for item in items:
                self._link_confirmed(item)
            return
        self._link_applied(items)
        self._link_returned()
        if self.origin.reason == Reason.ADMIN_MIGRATION:
            self._keep_migrated()

    def _link_confirmed(self, item: Traced) -> None:
        """What a confirmation writes rests on the proposal that it took.

        After the answer both, only the proposed entry does: what it writes into the other one rests on the answer.
        """
        taken = taken_of(item, self.origin.evidence)
        proposal = None if taken is None else _proposal(taken)
        if proposal is None:
            return
        nodes = [*self.put, *self.kept]
        if _is_question(item) and (self.origin.evidence or {}).get("take") == "both":
            nodes = [node for node in self.put if matched([node.plain()], [proposal.plain()]) == [0]]
        for node in nodes:
            rest_on_tree(node, proposal, FurtherKind.PROPOSED)

    def _link_applied(self, items: Sequence[Traced]) -> None:
        """A patch that removes a pending item and writes what it proposes confirms it, too."""
        for item in items:
            for proposal in filter(None, map(_proposal, _choices(item))):
                value = proposal.plain()
                for node in self.put:
                    if matched([node.plain()], [value]) == [0]:
                        rest_on_tree(node, proposal, FurtherKind.PROPOSED)

    def _link_returned(self) -> None:
        """A pending item that would restore what the same change removed returns it for confirmation."""
        waiting = [(node, proposal) for node in self.put if (proposal := _proposal(node)) is not None]
        if not waiting:
            return
        gone = {canonical(node.plain()): node for node in reversed(self.removed)}
        for item, proposal in waiting:
            entry = gone.get(canonical(proposal.plain()))
            if entry is not None:
                item.rest_on([Source(FurtherKind.RETURNED, origin) for origin in entry.sources()])
                rest_on_tree(proposal, entry, FurtherKind.RETURNED)

    def _keep_migrated(self) -> None:
        """A migration gives values another name or place: one that it takes out and puts unchanged is the same value.

        An equal number or boolean proves nothing, and is the migration's.
        """
        gone: dict[bytes, list[Traced]] = {}
        for taken in [*self.removed, *self.replaced]:
            for _, node in taken.nodes():
                gone.setdefault(canonical(node.plain()), []).append(node)
        for node in self.put:
            _keep(node, gone)


@dataclass(frozen=True, slots=True)
class Merge:
    """Entries that a change merges into another one."""

    entries: tuple[Traced, ...]
    """As they were before the change."""
    into: tuple[str, ...]
    """The pointer of the other one in the version after the change."""


def merges(reason: str, evidence: Mapping[str, Json] | None, tree: Traced) -> list[Merge]:
    """Return what a change of upkeep merges; `tree` is the document before it. Rows of another form are left out."""
    rows = (evidence or {}).get(MERGED) if reason in _MERGING else None
    return list(_rows(rows, tree)) if isinstance(rows, list) else []


def _rows(rows: Sequence[Json], tree: Traced) -> Iterator[Merge]:
    for row in rows:
        try:
            entries = tuple(copied(tree.at(pointer(text))) for text in row["from"])
            yield Merge(entries, pointer(row["into"]))
        except (KeyError, IndexError, TypeError, ValueError, PatchMalformed):
            continue


def apply_merge(merge: Merge, tree: Traced) -> None:
    """Let the entry rest on what the merged ones rest on; `tree` is the document after the change."""
    try:
        into = tree.at(merge.into)
    except (KeyError, IndexError, TypeError, ValueError):
        return
    for entry in merge.entries:
        rest_on_tree(into, entry, FurtherKind.MERGED)


def _keep(node: Traced, gone: Mapping[bytes, list[Traced]]) -> None:
    """Give a value, or what of it is there, the origin of an equal one in `gone`; each is used once."""
    equal = gone.get(canonical(node.plain())) if node.value and isinstance(node.value, dict | list | str) else None
    if equal:
        found = equal.pop(0)
        had = copied(found)
        node.value, node.origin, node.further, node.was = had.value, had.origin, had.further, found.was
        return
    for _, child in node.children():
        _keep(child, gone)


def rest_on_tree(node: Traced, other: Traced, kind: FurtherKind) -> None:
    """Let a value rest on what another one rests on: member by member, and where the other has none, as a whole."""
    node.rest_on([Source(kind, origin) for origin in other.sources()])
    theirs = dict(other.children())
    for name, child in node.children():
        rest_on_tree(child, theirs.get(name, other), kind)


def matched(elements: Sequence[Json], others: Sequence[Json]) -> list[int | None]:
    """Return for each of `elements` the index of the same element in `others`; None: it is new.

    As `match_elements`, and what is left by its text, if no other element has the same one: to the letter, or else in
    its normal form.
    """
    found = match_elements(elements, others)
    for text_of in (_text, normalized_text):
        left = [index for index, place in enumerate(found) if place is None]
        free = sorted(set(range(len(others))) - set(found))
        wanted, places = _by_text(elements, left, text_of), _by_text(others, free, text_of)
        for text, indices in wanted.items():
            if len(indices) == 1 and len(places.get(text, ())) == 1:
                found[indices[0]] = places[text][0]
    return found


def is_same_entry(old: Traced, value: Json) -> bool:
    """Whether a value written over an element of an array is the same entry: by its identifying members, or its text.

    Objects without either are; so are other values, which are compared themselves.
    """
    if not isinstance(value, dict) or not isinstance(old.value, dict):
        return True
    had = {name: child.value for name, child in old.value.items() if not isinstance(child.value, dict | list)}
    names, old_names = identifying_members(value, [value]), identifying_members(had, [had])
    if names or old_names:
        return {name: value[name] for name in names} == {name: had[name] for name in old_names}
    return normalized_text(value) == normalized_text(had)


def taken_of(item: Traced, evidence: Mapping[str, Json] | None) -> Traced | None:
    """Return the pending item, or that of its alternatives, whose proposal a confirmation with this evidence took.

    None: the confirmation kept the entry that the proposals contradict.
    """
    answer = evidence or {}
    if not _is_question(item):
        return item
    if answer.get("take") == "existing":
        return None
    choices, choice = _choices(item), answer.get("choice")
    return choices[choice - 1] if isinstance(choice, int) and 1 <= choice <= len(choices) else item


def _is_question(item: Traced) -> bool:
    return isinstance(item.value, dict) and CONTRADICTS in item.value


def _choices(item: Traced) -> list[Traced]:
    """Return a pending item and its alternatives, in the order of its choices."""
    others = item.value.get(ALTERNATIVES) if isinstance(item.value, dict) else None
    return [item, *(others.value if others is not None and isinstance(others.value, list) else [])]


def _by_text(
    elements: Sequence[Json], among: Sequence[int], text_of: Callable[[Json], str | None]
) -> Mapping[str, Sequence[int]]:
    found: dict[str, list[int]] = {}
    for index in among:
        text = text_of(elements[index]) if isinstance(elements[index], dict) else None
        if text is not None:
            found.setdefault(text, []).append(index)
    return found


def _text(element: Json) -> str | None:
    text = element.get("text")
    return text if isinstance(text, str) else None


def _proposal(node: Traced) -> Traced | None:
    """Return the value that a pending item proposes; None: the node is no pending item, or it proposes no value."""
    target = node.value.get("target") if isinstance(node.value, dict) and "proposed_by" in node.value else None
    return target.value.get("value") if target is not None and isinstance(target.value, dict) else None
