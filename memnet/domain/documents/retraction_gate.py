"""The gate of a retraction: its patch may only remove values, take evidence away, and put back what was there before.

It proves that from the versions alone, whatever the plan says. The schema, the limits and the denied fields of the
profile hold as for every other write.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from memnet.domain.catalog.catalog import WriteRules
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import PathNotWritable
from memnet.domain.core.json_patch import Pointer, pointer
from memnet.domain.core.scope import Json
from memnet.domain.documents.commands import PatchDocument
from memnet.domain.documents.entry import entries_at, open_entries
from memnet.domain.documents.envelope import Envelope
from memnet.domain.documents.statement import LACKS, kept_members
from memnet.domain.documents.statement_question import CONTRADICTS, asks_about, is_sound, question_section
from memnet.domain.documents.write_decision import Decision, decide_within

Known = AbstractSet[tuple[str, bytes]]
"""Scalars by the top-level member that they are or were below, as canonical JSON."""


def decide_retraction(
    command: PatchDocument,
    rules: WriteRules,
    current: Envelope,
    *,
    named: Sequence[str],
    known: Known,
    statements: Sequence[SectionUpkeep] = (),
) -> Decision:
    """Decide the patch of a retraction, or of its undo, on the version `current`.

    The operations may change only what is at or below the pointers `named`. Every scalar of the result is in the same
    top-level member now, or was: `known`. The ids and links that the service gives to `statements` may be new, and so
    may the words of a question, if they are those that the service would write about what is there.

    Raises PathNotWritable if they do something else, and what `decide_within` raises.
    """
    places = [pointer(text) for text in named]
    for op in command.ops:
        path = pointer(op["path"])
        if op["op"] not in ("add", "replace", "remove") or not any(path[: len(place)] == place for place in places):
            raise PathNotWritable("A retraction may change only what its plan names.")
    decision = decide_within(command, rules, current, [()], is_counted=False)
    section = rules.pending_section
    allowed = {*known, *_scalars(current.content, statements, section)}
    if any(found not in allowed for found in _scalars(decision.content, statements, section)):
        raise PathNotWritable("A retraction may not add a value that the document never had.")
    return decision


def _scalars(content: Json, statements: Sequence[SectionUpkeep], pending: str | None) -> Iterator[tuple[str, bytes]]:
    """Yield the scalars by top-level member, without what the service keeps in statements and in questions."""
    own = {
        (*rule.place, str(index), name)
        for rule in statements
        if rule.statements is not None
        for index in range(len(entries_at(content, rule.section)))
        for name in (*kept_members(rule), rule.id_field)
    }
    own |= set(_asking(content, statements, pending))
    for place, value in _leaves(content, ()):
        if place not in own and LACKS not in place:
            yield place[0] if place else "", canonical(value)


def scalars_of(content: Json) -> Known:
    """Return each scalar of a content by its top-level member."""
    return frozenset((place[0] if place else "", canonical(value)) for place, value in _leaves(content, ()))


def _asking(content: Json, statements: Sequence[SectionUpkeep], pending: str | None) -> Iterator[Pointer]:
    """Yield the places of the id and the words of each question that asks about the open entry that it names."""
    for index, item in enumerate([] if pending is None else entries_at(content, pending)):
        rule = question_section(item, statements)
        if pending is None or rule is None or not is_sound(item, statements):
            continue
        place = (*pointer(pending), str(index))
        yield (*place, "id")
        shown = (one for _, one in open_entries(content, rule) if one.get(rule.id_field) == item[CONTRADICTS])
        held = next(shown, None)
        if held is not None and canonical(asks_about(item, held, rule)) == canonical(item):
            yield from ((*place, name) for name in ("question", CONTRADICTS))
            yield (*place, "choices", "0")


def _leaves(value: Json, place: Pointer) -> Iterator[tuple[Pointer, Json]]:
    if isinstance(value, dict) and value:
        for name, child in value.items():
            yield from _leaves(child, (*place, name))
    elif isinstance(value, list) and value:
        for index, child in enumerate(value):
            yield from _leaves(child, (*place, str(index)))
    elif not isinstance(value, dict | list):
        yield place, value
