"""Make a pending item of a statement that contradicts an open entry, with the question that decides it.

A question has one item, however many statements contradict the entry while it waits: each further value joins the item
as one more choice. Choices are only ever appended, so an index into them means the same for as long as the item waits.
"""

import re
from collections.abc import Sequence
from typing import Any, Final, Literal

from memnet.domain.catalog.catalog import WriteRules
from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.errors import PatchMalformed
from memnet.domain.core.json_patch import Op, Operation, addition, pointer, pointer_text
from memnet.domain.core.scope import Json
from memnet.domain.documents.commands import PatchDocument
from memnet.domain.documents.confidence import text_of
from memnet.domain.documents.entry import rule_of
from memnet.domain.documents.pending_item import ALSO_PROPOSED_BY, ALTERNATIVES, proposals_of, proposed_item
from memnet.domain.documents.statement import Entry, Thing, statements_of, thing_of, value_of

MAX_CHOICES: Final = 8
"""Choices of a question, the open entry among them."""
MAX_PROPOSERS: Final = 20
MAX_QUOTED = 300
"""Characters of each statement that a question quotes."""
MAX_QUOTED_TOGETHER = 900
CONTRADICTS: Final = "contradicts"
"""The member of a pending item with the id of the open entry that its statement contradicts."""
Decides = Literal["user", "tenant"]
_PLACEHOLDER = re.compile(r"\{(old|new)\}(\.?)")
"""With the full stop behind it, which a text may end with, too."""
QUESTION: Final = (CONTRADICTS, "question", "choices", "decides")
"""The members of a pending item that ask."""
OF_QUESTION: Final = (*QUESTION, ALTERNATIVES, ALSO_PROPOSED_BY)
"""The members that belong to the question and not to one of its statements."""


def proposal(
    command: PatchDocument,
    rules: WriteRules,
    rule: SectionUpkeep,
    entry: Entry,
    held: Entry,
    *,
    content: Json,
    pending_id: str,
    proposed_at: str,
    decides: Decides | None = None,
) -> Operation:
    """Return the operation that adds a pending item for `entry`, which contradicts `held`.

    `decides`: who answers; None: whom the rule of the section names.
    """
    add: Op = {"op": "add", "path": pointer_text((ROOT, *rule.place, "-")), "value": entry}
    item = proposed_item(command, add, content, _words(entry, rule), pending_id=pending_id, proposed_at=proposed_at)
    members = _asked(rules, rule, entry, held, decides or statements_of(rule).decides)
    return addition((ROOT, *rules.profile.pending[command.binding_id], "-"), item | members)


def _words(entry: Entry, rule: SectionUpkeep) -> str:
    return text_of(entry.get(rule.text_field) or entry.get(statements_of(rule).value_field) or entry)


def asks_about(question: dict[str, Any], held: Entry | None, rule: SectionUpkeep) -> dict[str, Any]:
    """Return a question as it asks about `held`, the open entry that its statements contradict: its id, and the words.

    None: nothing is open about it. Then no words are left, and so no agent asks it; its proposals still wait.
    """
    made = {name: value for name, value in question.items() if name not in ("question", "choices")}
    if held is None:
        return made
    made[CONTRADICTS] = held.get(rule.id_field)
    template = statements_of(rule).question
    if template is not None:
        said = [held, *(one["target"]["value"] for one in proposals_of(question))]
        made["choices"] = [_words(entry, rule)[:MAX_QUOTED] for entry in said]
        made["question"] = _worded(template, made["choices"])
    return made


def _asked(
    rules: WriteRules, rule: SectionUpkeep, entry: Entry, held: Entry, decides: Decides | None
) -> dict[str, Json]:
    """Return the question, its answers and who decides, as far as the schema's pending items have these members."""
    template, section = statements_of(rule).question, rules.profile.pending_sections[rules.binding.binding_id]
    members: dict[str, Json] = {"decides": decides, CONTRADICTS: held.get(rule.id_field)}
    if template is not None:
        members["choices"] = [_words(held, rule)[:MAX_QUOTED], _words(entry, rule)[:MAX_QUOTED]]
        members["question"] = _worded(template, members["choices"])
    return {
        name: value for name, value in members.items() if value is not None and rules.schema.has(f"{section}/-/{name}")
    }


def _worded(template: str, choices: Sequence[str]) -> str:
    """Return the question; it names every proposed text, as far as it has room."""
    old, *new = choices
    together = " / ".join(new)
    texts = {"old": old, "new": together if len(together) <= MAX_QUOTED_TOGETHER else new[0]}
    return _PLACEHOLDER.sub(lambda match: texts[match[1]].removesuffix(match[2]) + match[2], template)


def section_of(item: Json, rules: Sequence[SectionUpkeep]) -> SectionUpkeep | None:
    """Return the rule of the statements that a pending item adds to; None: it adds no statement."""
    target = item.get("target") if isinstance(item, dict) else None
    if not isinstance(target, dict) or target.get("op") != "add" or not isinstance(target.get("value"), dict):
        return None
    try:
        place = pointer(str(target.get("path")))
    except PatchMalformed:
        return None
    rule = rule_of(place[1:-1], rules)
    return rule if rule.statements is not None and place[-1:] == ("-",) else None


def question_section(item: Json, rules: Sequence[SectionUpkeep]) -> SectionUpkeep | None:
    """Return the rule of the statements that a question is about; None: the item is no question."""
    return section_of(item, rules) if isinstance(item, dict) and CONTRADICTS in item else None


def is_sound(question: dict[str, Any], rules: Sequence[SectionUpkeep]) -> bool:
    """Return whether every proposal of a question adds a statement to one section; a PUT can store another item."""
    rule = section_of(question, rules)
    return rule is not None and all(section_of(one, rules) == rule for one in proposals_of(question))


def find_question(item: Json, waiting: Sequence[Json], rules: Sequence[SectionUpkeep]) -> int | None:
    """Return the index of the waiting item that asks about the same thing; None: there is none, or `item` asks nothing.

    Who proposed it and under which profile makes no difference: a question about one thing is asked once.
    """
    rule = question_section(item, rules)
    if rule is None:
        return None
    for index, other in enumerate(waiting):
        is_of_section = question_section(other, rules) == rule and is_sound(other, rules)
        if is_of_section and _thing(other, rule) == _thing(item, rule):
            return index
    return None


def _thing(item: dict[str, Any], rule: SectionUpkeep) -> Thing:
    return thing_of(item["target"]["value"], rule)


def choice_of(question: Json, item: Json, rule: SectionUpkeep) -> int | None:
    """Return the index, from 0, of the statement of a question that says what `item` says; None: it is another one."""
    said = value_of(item["target"]["value"], rule)
    proposals = proposals_of(question)
    return next((n for n, one in enumerate(proposals) if value_of(one["target"]["value"], rule) == said), None)


def with_proposal(question: dict[str, Any], number: int, joint: dict[str, Any]) -> dict[str, Any]:
    """Return the question with its statement `number`, from 0, replaced."""
    if number == 0:
        return {**question, **joint}
    others = list(question[ALTERNATIVES])
    others[number - 1] = _statement(joint)
    return {**question, ALTERNATIVES: others}


def _statement(item: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in OF_QUESTION}


def with_choice(question: dict[str, Any], item: dict[str, Any]) -> dict[str, Any] | None:
    """Return the question with the statement of `item` as its last choice; None: it has no room."""
    others = [*question.get(ALTERNATIVES, ()), _statement(item)]
    if len(others) + 2 > MAX_CHOICES:
        return None
    choices = {"choices": [*question["choices"], item["choices"][1]]} if "choices" in question else {}
    return {**question, ALTERNATIVES: others, **choices}


def asked_again(
    question: dict[str, Any], before: dict[str, Any], item: dict[str, Any], template: str | None
) -> dict[str, Any] | None:
    """Return the question as it waits after the statement of `item` joined it; None: too many have proposed.

    `before`: the question until then; `template`: its words, with {old} and {new}. If another entry is open now, the
    question is a new one: it gets the id of `item`, so that an answer to the old one applies to nothing. Once the
    tenant has to decide about a statement of it, the question is the tenant's.
    """
    known: list[Json] = [*before.get(ALSO_PROPOSED_BY, ())]
    for one in (item["proposed_by"], item["on_behalf_of"]):
        if one is not None and one not in (before.get("proposed_by"), before.get("on_behalf_of"), *known):
            known.append(one)
    if len(known) > MAX_PROPOSERS:
        return None
    made = {**question, ALSO_PROPOSED_BY: known} if known else question
    if item.get("decides") == "tenant":
        made = {**made, "decides": "tenant"}
    if item[CONTRADICTS] != before[CONTRADICTS] or ("choices" in item and "choices" not in before):
        made = {**made, "id": item["id"], CONTRADICTS: item[CONTRADICTS]}
        if "choices" in item:
            said = [str(one.get("text", ""))[:MAX_QUOTED] for one in proposals_of(made)]
            made["choices"] = [item["choices"][0], *said]
    if template is not None and "choices" in made and made["choices"] != before.get("choices"):
        made = {**made, "question": _worded(template, made["choices"])}
    return made
