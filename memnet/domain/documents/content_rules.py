"""Refuse writes that bring in sensitive content, by value and in any field.

Only the values of the write are checked. A match that is stored already does not block other writes.
"""

from collections.abc import Iterator, Sequence

from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.sensitive_rules import STRICTEST, SensitiveContent
from memnet.domain.core.errors import FieldDenied
from memnet.domain.core.json_patch import Operation, Pointer, pointer_text
from memnet.domain.core.scope import Json
from memnet.domain.documents.commands import PatchDocument
from memnet.domain.documents.sensitive import kind_of
from memnet.domain.events.event import Event

_REFUSAL = "The content is sensitive, and the profile does not allow its kind."
MIN_INTEGER = 10**12
"""Shorter numbers cannot be card numbers."""


def check_patch(command: PatchDocument, ops: Sequence[Operation], rules: SensitiveContent) -> None:
    """Raise FieldDenied, with operation, place and kind, if the patch or its evidence holds sensitive content."""
    for index, op in enumerate(ops):
        if op.verb not in ("test", "remove"):
            for segment in op.path:
                _check_name(segment, rules, op_index=index)
            if "value" in op.body:
                _check(op.value, op.path, rules, op_index=index)
    _check(command.evidence, ("evidence",), rules)


def check_content(content: Json, rules: SensitiveContent) -> None:
    """Raise FieldDenied, with the place and the kind, if the content holds sensitive content."""
    _check(content, (ROOT,), rules)


def check_remarks(remarks: Json, rules: SensitiveContent) -> None:
    """Raise FieldDenied, with the place and the kind, if the note or evidence of a write holds sensitive content."""
    _check(remarks, (), rules)


def check_event(event: Event) -> None:
    """Raise FieldDenied, with the place and the kind, if an event holds sensitive content. An event has no profile."""
    evidence = event.evidence.members() if event.evidence else None
    texts = {"digest": event.digest, "keywords": event.keywords, "entities": event.entities, "evidence": evidence}
    _check(texts, (), STRICTEST)


def _check(value: Json, place: Pointer, rules: SensitiveContent, **details: int) -> None:
    texts = list(_texts(value, place))
    # All texts at once first, because nearly always nothing is found.
    if kind_of("\n".join(text for _, text in texts), rules) is None:
        return
    for where, text in texts:
        kind = kind_of(text, rules)
        if kind is not None:
            raise FieldDenied(_REFUSAL, **details, path=pointer_text(where), kind=kind)


def _check_name(name: str, rules: SensitiveContent, **details: int) -> None:
    kind = kind_of(name, rules)
    if kind is not None:
        # Without the path, which holds the value.
        raise FieldDenied(_REFUSAL, **details, kind=kind)


def _texts(value: Json, place: Pointer) -> Iterator[tuple[Pointer, str]]:
    """Every text in the value and its place; the place of a member's name is the object, whose names come first."""
    waiting = [(place, value)]
    while waiting:
        here, node = waiting.pop()
        if isinstance(node, dict):
            yield from ((here, name) for name in node)
            waiting += [((*here, name), child) for name, child in node.items()]
        elif isinstance(node, list):
            waiting += [((*here, str(index)), child) for index, child in enumerate(node)]
        elif isinstance(node, str):
            yield here, node
        elif isinstance(node, (int, float)) and abs(node) >= MIN_INTEGER and node % 1 == 0:
            yield here, str(abs(int(node)))
