"""The origins of the values that a retraction, or its undo, puts back: written with the change, read with its record.

    { "at": [ the pointer of a value in the version after the change, … ],
      "origins": the origins of these values, as of one array, in the form of memnet.domain.history.origin_table }

Without them a value that is put back would come from the retraction: blame would not name who said it, and a later
retraction would not find it.
"""

from collections.abc import Mapping, Sequence

from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.core.access import Reason
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import PatchMalformed
from memnet.domain.core.json_patch import Op, pointer, pointer_text
from memnet.domain.core.scope import Json
from memnet.domain.history.origin import Origin, Traced, traced
from memnet.domain.history.origin_table import dump_origins, load_origins

RESTORED = "restored"
"""The member of the evidence of a retraction and of its undo; no client can send a change with this reason."""
OWN = Origin(sequence=0, timestamp="", is_known=False)
"""In a tree of what is put back: this value is new, and comes from the change itself."""


def restored(content: Json, ops: Sequence[Op], sources: Sequence[Traced | None]) -> dict[str, Json] | None:
    """Return where the values come from that `ops` put back into `content`; None if they put none back.

    `sources` has for each operation (add, replace, remove) the tree of its value; None: the value is new.
    """
    tree = traced({ROOT: content}, OWN)
    placed: dict[int, Traced] = {}
    for op, source in zip(ops, sources, strict=True):
        path = pointer(op["path"])
        if op["op"] == "remove":
            tree.remove(path)
            continue
        new = traced(op["value"], OWN)
        place = tree.replace if op["op"] == "replace" else tree.insert
        place(path, new)
        if source is not None and _has_origin(source):
            placed[id(new)] = source
    found = [(place, node, placed[id(node)]) for place, node in tree.nodes() if id(node) in placed]
    # An operation after it may have changed it.
    kept = [(place, source) for place, node, source in found if canonical(node.plain()) == canonical(source.plain())]
    if not kept:
        return None
    return {
        "at": [pointer_text(place) for place, _ in kept],
        "origins": dump_origins(Traced([source for _, source in kept], OWN)),
    }


def restore(reason: str, evidence: Mapping[str, Json] | None, tree: Traced) -> None:
    """Give what a change put back the origins that it had; `tree` is the document after the change."""
    form = (evidence or {}).get(RESTORED) if reason == Reason.RETRACTION else None
    if form is None:
        return
    try:
        nodes = [tree.at(pointer(text)) for text in form["at"]]
        had = load_origins(form["origins"], [node.plain() for node in nodes])
    except (KeyError, IndexError, TypeError, ValueError, PatchMalformed):
        return
    for node, (_, source) in zip(nodes, had.children(), strict=True):
        _give(node, source)


def without_restored(evidence: Mapping[str, Json] | None) -> Mapping[str, Json] | None:
    """Return the evidence of a change without the origins of other values."""
    if evidence is None or RESTORED not in evidence:
        return evidence
    return {name: value for name, value in evidence.items() if name != RESTORED}


def _give(node: Traced, had: Traced) -> None:
    if had.origin.key != OWN.key:
        node.origin, node.further, node.is_restored = had.origin, had.further, True
        # What was there before it then; what the retraction has replaced is newer, unless this is the undo.
        node.was = next((one for one in node.before() if one.origin.key < had.origin.key), None)
    for (_, child), (_, source) in zip(node.children(), had.children(), strict=True):
        _give(child, source)


def _has_origin(source: Traced) -> bool:
    return any(node.origin.key != OWN.key for _, node in source.nodes())
