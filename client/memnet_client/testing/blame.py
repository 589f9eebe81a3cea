"""Where the values of a document come from: the operations of all changes, made on a tree of values with their change.

Of the further changes that a value rests on, the fake knows the proposal behind a confirmation only.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from memnet_client.testing.call import Answer, Call
from memnet_client.testing.documents import version_at
from memnet_client.testing.json_patch import ROOT, Json, Pointer, canonical, pointer, pointer_text
from memnet_client.testing.refusals import Refusal


@dataclass(frozen=True)
class Operation:
    """One operation of a change, and the item that the change confirmed."""

    record: Json
    index: int
    item: "Node | None" = None


@dataclass
class Node:
    """A value, a dict or a list of nodes, with the operation that put it and the node that it replaced."""

    value: Json
    by: Operation
    was: "Node | None" = None

    def plain(self) -> Json:
        """Return the value."""
        if isinstance(self.value, dict):
            return {name: child.plain() for name, child in self.value.items()}
        return [child.plain() for child in self.value] if isinstance(self.value, list) else self.value

    def children(self) -> list[tuple[str, "Node"]]:
        """Return the members or elements."""
        if isinstance(self.value, dict):
            return list(self.value.items())
        return [(str(index), child) for index, child in enumerate(self.value)] if isinstance(self.value, list) else []

    def at(self, place: Pointer) -> "Node":
        """Return the value at a pointer. Raises KeyError."""
        return self if not place else dict(self.children())[place[0]].at(place[1:])


def get_blame(call: Call) -> Answer:
    """List the values at the pointer that have different origins."""
    stored, as_of = call.memory.documents.get(call.place()), call.query("as_of")
    if stored is None or (as_of is None and not stored.exists):
        raise Refusal("DOCUMENT_NOT_FOUND", "There is no such document.")
    version = stored.newest if as_of is None else version_at(stored, as_of)
    text = call.query("pointer") or f"/{ROOT}"
    if text.split("/")[:2] != ["", ROOT]:
        message = "The query parameter pointer must be a JSON Pointer in the document, such as /content/notes/0."
        raise Refusal("MALFORMED_REQUEST", message, param="pointer")
    tree = Node({}, Operation({}, 0))
    records = stored.records[: version.sequence]
    for record in records:
        _take(tree, record)
    try:
        rows = list(_rows(pointer(text), tree.at(pointer(text))))
    except KeyError:
        raise Refusal("VALUE_NOT_FOUND", "The document has no value at this pointer.", pointer=text) from None
    page = call.page("values", rows)
    return Answer({"etag": version.etag, "change_id": records[-1]["change_id"], **page.body})


def _take(tree: Node, record: Json) -> None:
    confirms = record["reason"] == "confirmation"
    item = tree.at(pointer(record["ops"][0]["path"])) if confirms else None
    for index, op in enumerate(record["ops"]):
        by, place = Operation(record, index, item), pointer(op["path"])
        match op["op"]:
            case "add" | "replace":
                _put(tree, place, op, by)
            case "remove":
                _remove(tree, place)
            case "move":
                _insert(tree, place, _remove(tree, pointer(op["from"])))
            case "copy":
                _insert(tree, place, _copied(tree.at(pointer(op["from"]))))


def _put(tree: Node, place: Pointer, op: Json, by: Operation) -> None:
    parent, name = tree.at(place[:-1]), place[-1]
    known = dict(parent.children())
    if name not in known or (op["op"] == "add" and isinstance(parent.value, list)):
        _insert(tree, place, _made(op["value"], by))
    elif isinstance(parent.value, list):
        parent.value[int(name)] = _over(known[name], op["value"], by)
    else:
        parent.value[name] = _over(known[name], op["value"], by)


def _made(value: Json, by: Operation, was: Node | None = None) -> Node:
    if isinstance(value, dict):
        return Node({name: _made(child, by) for name, child in value.items()}, by, was)
    return Node([_made(child, by) for child in value], by, was) if isinstance(value, list) else Node(value, by, was)


def _over(old: Node, value: Json, by: Operation) -> Node:
    """Return the value written over another one: what is the same keeps its operation, but in a confirmation."""
    if by.item is not None:
        return _made(value, by, old)
    if canonical(old.plain()) == canonical(value):
        return old
    if isinstance(old.value, dict) and isinstance(value, dict):
        known = old.value
        made = {name: _over(known[name], one, by) if name in known else _made(one, by) for name, one in value.items()}
        return Node(made, old.by, old.was)
    if isinstance(old.value, list) and isinstance(value, list):
        same = {canonical(child.plain()): child for child in reversed(old.value)}
        return Node([same.get(canonical(one)) or _made(one, by) for one in value], old.by, old.was)
    return _made(value, by, old)


def _insert(tree: Node, place: Pointer, node: Node) -> None:
    parent, name = tree.at(place[:-1]).value, place[-1]
    if isinstance(parent, list):
        parent.insert(len(parent) if name == "-" else int(name), node)
    else:
        parent[name] = node


def _remove(tree: Node, place: Pointer) -> Node:
    parent, name = tree.at(place[:-1]).value, place[-1]
    found: Node = parent.pop(int(name) if isinstance(parent, list) else name)
    return found


def _copied(node: Node) -> Node:
    if isinstance(node.value, dict):
        return Node({name: _copied(child) for name, child in node.value.items()}, node.by)
    return Node([_copied(one) for one in node.value] if isinstance(node.value, list) else node.value, node.by)


def _rows(place: Pointer, node: Node) -> Iterator[Json]:
    within = [row for name, child in node.children() for row in _differing((*place, name), child, node)]
    yield {
        "pointer": pointer_text(place),
        **({} if within else {"value": node.plain()}),
        **_origin(node.by),
        "further": [] if node.by.item is None else [{"kind": "proposed", **_origin(node.by.item.by)}],
        "before": [{"value": earlier.plain(), **_origin(earlier.by)} for earlier in _before(node)],
        "before_known": True,
    }
    yield from within


def _differing(place: Pointer, node: Node, above: Node) -> Iterator[Json]:
    if (node.by.record, node.by.index) != (above.by.record, above.by.index) or node.was is not None:
        yield from _rows(place, node)
    else:
        for name, child in node.children():
            yield from _differing((*place, name), child, node)


def _before(node: Node) -> Iterator[Node]:
    while node.was is not None:
        node = node.was
        yield node


def _origin(by: Operation) -> Json:
    record, item = by.record, None if by.item is None else by.item.plain()
    members = {
        "confirmed": item is not None,
        "op_index": by.index,
        "op": record["ops"][by.index]["op"],
        "recorded_at": record["timestamp"],
        "recorded_by": record["actor"],
        "proposed_by": item and item.get("proposed_by"),
        "proposed_at": item and item.get("proposed_at"),
    }
    same = ("change_id", "sequence", "application", "reason", "profile_id", "profile_version", "binding_id")
    members |= {name: record.get(name) for name in (*same, "confidence", "source_time", "evidence")}
    return {name: value for name, value in members.items() if value is not None}
