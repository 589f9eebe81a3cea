"""The compact form of a tree of origins, as a baseline keeps it beside the content.

    { "changes": [ { the members of a change }, … ],
      "origins": [ [ change, op_index, verb ], … ],
      "traces":  [ [ origin, [ kind, origin ], … ], … ],
      "tree":    a trace for a value and everything within it that has the same one,
                 or [ trace, { name: tree, … } ] for an object whose other members have that trace,
                 or [ trace, [ tree, … ] ] for an array }

Numbers are places in the lists above. The values before are left out: a baseline holds nothing that the document does
not hold, so what was replaced ends with its record.
"""

from dataclasses import dataclass, field, fields
from typing import Any

from memnet.domain.core.scope import Json
from memnet.domain.history.origin import FurtherKind, Origin, Source, Traced

_OF_OPERATION = ("op_index", "verb")
_OF_CHANGE = tuple(one.name for one in fields(Origin) if one.name not in _OF_OPERATION)
_USUAL = {one.name: one.default for one in fields(Origin)}


def dump_origins(content: Traced) -> Json:
    """Return the compact form. Equal trees have equal forms, whatever the order of members."""
    table = _Table()
    tree = table.tree(content)
    return {"changes": table.changes, "origins": table.origins, "traces": table.traces, "tree": tree}


def load_origins(form: Json, content: Json) -> Traced:
    """Return the tree of a content. Raises ValueError if `form` is none of this content."""
    try:
        changes = [_known(members) for members in form["changes"]]
        origins = [
            Origin(**changes[_place(change)], op_index=_place(op_index), verb=str(verb))
            for change, op_index, verb in form["origins"]
        ]
        traces = [
            (
                origins[_place(first)],
                tuple(Source(FurtherKind(kind), origins[_place(origin)]) for kind, origin in others),
            )
            for first, *others in form["traces"]
        ]
        return _loaded(form["tree"], content, traces)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError("not a tree of origins") from error


@dataclass(slots=True)
class _Table:
    changes: list[dict[str, Any]] = field(default_factory=list)
    origins: list[list[Json]] = field(default_factory=list)
    traces: list[list[Json]] = field(default_factory=list)
    _changes: dict[int, int] = field(default_factory=dict)
    _origins: dict[tuple[int, int], int] = field(default_factory=dict)
    _traces: dict[tuple[Json, ...], int] = field(default_factory=dict)

    def tree(self, node: Traced) -> Json:
        own = self.trace(node)
        if isinstance(node.value, dict):
            members = {name: self.tree(node.value[name]) for name in sorted(node.value)}
            other = {name: tree for name, tree in members.items() if tree != own}
            return [own, other] if other else own
        if isinstance(node.value, list):
            elements = [self.tree(child) for child in node.value]
            return [own, elements] if any(tree != own for tree in elements) else own
        return own

    def trace(self, node: Traced) -> int:
        others = [(source.kind.value, self.origin(source.origin)) for source in node.further]
        key = (self.origin(node.origin), *others)
        if key not in self._traces:
            self._traces[key] = len(self.traces)
            self.traces.append([key[0], *([kind, origin] for kind, origin in others)])
        return self._traces[key]

    def origin(self, origin: Origin) -> int:
        if origin.key not in self._origins:
            self._origins[origin.key] = len(self.origins)
            self.origins.append([self.change(origin), origin.op_index, origin.verb])
        return self._origins[origin.key]

    def change(self, origin: Origin) -> int:
        if origin.sequence not in self._changes:
            self._changes[origin.sequence] = len(self.changes)
            members = {name: getattr(origin, name) for name in _OF_CHANGE}
            self.changes.append({name: value for name, value in members.items() if value != _USUAL[name]})
        return self._changes[origin.sequence]


def _known(members: Json) -> dict[str, Any]:
    if set(members) - set(_OF_CHANGE):
        raise TypeError
    return dict(members)


def _place(number: Json) -> int:
    if type(number) is not int or number < 0:
        raise TypeError
    return number


def _loaded(form: Json, content: Json, traces: list[tuple[Origin, tuple[Source, ...]]]) -> Traced:
    own, within = form if isinstance(form, list) else (form, {})
    origin, further = traces[_place(own)]
    if isinstance(content, dict):
        if not isinstance(within, dict) or within.keys() - content.keys():
            raise TypeError
        children = {name: _loaded(within.get(name, own), child, traces) for name, child in content.items()}
        return Traced(children, origin, further)
    if isinstance(content, list):
        forms = within or [own] * len(content)
        if not isinstance(forms, list) or len(forms) != len(content):
            raise TypeError
        return Traced([_loaded(one, child, traces) for one, child in zip(forms, content, strict=True)], origin, further)
    if isinstance(form, list):
        raise TypeError
    return Traced(content, origin, further)
