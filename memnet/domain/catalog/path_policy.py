"""Where a binding may write: an allowlist of sections, a denylist of fields, both matched segment by segment.

Rules are JSON Pointers relative to `content`, a segment `*` standing for any one. Segments are compared after
unescaping, so no spelling of a pointer reaches beside its rule. A denied name is matched in any case.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import FieldDenied, PathNotWritable
from memnet.domain.core.json_patch import WITH_FROM, WITH_VALUE, Op, Pointer, pointer, pointer_text
from memnet.domain.core.scope import Json

ROOT = "content"


def content_pointer(text: str) -> Pointer:
    """The segments of an operation's pointer below /content. Raises PathNotWritable for anything outside of it."""
    segments = pointer(text)
    if not segments or segments[0] != ROOT:
        raise PathNotWritable("Operations reach only what lies below /content.", path=text)
    return segments[1:]


def lies_within(target: Pointer, rule: Pointer) -> bool:
    """Whether `target` is the place the rule names, or below it."""
    return len(target) >= len(rule) and all(_matches(r, t) for r, t in zip(rule, target, strict=False))


def touches(target: Pointer, rule: Pointer) -> bool:
    """Whether writing at `target` can change what the rule names: it lies within it, or contains it."""
    return all(_matches(r, t) for r, t in zip(rule, target, strict=False))


def places(value: Json, place: Pointer, rule: Pointer) -> Iterator[tuple[Pointer, Json]]:
    """Every place that the rule names below `place`, where `value` is, and what is there."""
    if len(rule) <= len(place) or not touches(place, rule):
        return
    found = [(place, value)]
    for segment in rule[len(place) :]:
        found = [
            ((*here, name), child) for here, node in found for name, child in _members(node) if _matches(segment, name)
        ]
    yield from found


def check_writable(ops: Sequence[Op], allowed: Iterable[str]) -> None:
    """Raise PathNotWritable for the first operation that writes, moves from or copies from outside the rules.

    `test` only reads, and may look anywhere below /content.
    """
    rules = [pointer(rule) for rule in allowed]
    for index, op in enumerate(ops):
        for text in [op["path"], op["from"]] if op["op"] in WITH_FROM else [op["path"]]:
            place = _content_pointer_of(index, text)
            if op["op"] != "test" and not any(lies_within(place, rule) for rule in rules):
                raise PathNotWritable(op_index=index, path=text)


def check_denied(ops: Sequence[Op], denied: Sequence[str], before: Json, after: Json) -> None:
    """Raise FieldDenied if a patch brings in a field the profile denies.

    What an operation carries is looked at where it would land. Where only the outcome tells (after move and copy, and
    for a rule about one element of an array, whose place others can take), no denied field may be in `after` that was
    not in `before`.
    """
    if not denied:
        return
    for index, op in enumerate(ops):
        if op["op"] in WITH_VALUE and op["op"] != "test":
            _refuse_any(_denied_in(op["value"], content_pointer(op["path"]), denied), index)
        elif op["op"] in WITH_FROM:
            _refuse_any(_denied_on(content_pointer(op["path"]), denied), index)
    if any(op["op"] in WITH_FROM for op in ops) or any(map(_names_an_element, denied)):
        had = Counter(canonical(value) for _, value in _denied_in(before, (), denied))
        has = Counter(canonical(value) for _, value in _denied_in(after, (), denied))
        if has - had:
            raise FieldDenied()


def check_content(content: Json, denied: Sequence[str]) -> None:
    """Raise FieldDenied, with the pointer, if `content` holds a denied field anywhere."""
    for place, _ in _denied_in(content, (), denied):
        raise FieldDenied(path=pointer_text((ROOT, *place)))


def _content_pointer_of(index: int, text: str) -> Pointer:
    try:
        return content_pointer(text)
    except PathNotWritable as error:
        raise PathNotWritable(error.message, op_index=index, path=text) from None


def _refuse_any(found: Iterator[tuple[Pointer, Json]], index: int) -> None:
    for place, _ in found:
        raise FieldDenied(op_index=index, path=pointer_text((ROOT, *place)))


def _denied_on(place: Pointer, denied: Sequence[str]) -> Iterator[tuple[Pointer, Json]]:
    """The place itself, if it is denied or lies in something denied."""
    for rule in denied:
        if rule.startswith("/"):
            denied_here = lies_within(place, pointer(rule))
        else:
            denied_here = rule.casefold() in {segment.casefold() for segment in place}
        if denied_here:
            yield place, None


def _denied_in(value: Json, place: Pointer, denied: Sequence[str]) -> Iterator[tuple[Pointer, Json]]:
    """Every denied field that `value`, landing at `place`, would be, be part of, or hold."""
    yield from _denied_on(place, denied)
    yield from _denied_by_name(value, place, {rule.casefold() for rule in denied if not rule.startswith("/")})
    for rule in denied:
        if rule.startswith("/"):
            yield from places(value, place, pointer(rule))


def _denied_by_name(value: Json, place: Pointer, names: set[str]) -> Iterator[tuple[Pointer, Json]]:
    waiting = [(place, value)]
    while waiting and names:
        here, node = waiting.pop()
        for name, child in _members(node):
            if isinstance(node, dict) and name.casefold() in names:
                yield (*here, name), child
            if isinstance(child, (dict, list)):
                waiting.append(((*here, name), child))


def _members(node: Json) -> Iterable[tuple[str, Json]]:
    if isinstance(node, dict):
        return node.items()
    return ((str(index), child) for index, child in enumerate(node)) if isinstance(node, list) else ()


def _names_an_element(rule: str) -> bool:
    return rule.startswith("/") and any(segment.isdecimal() for segment in pointer(rule))


def _matches(rule: str, segment: str) -> bool:
    return rule in ("*", segment)
