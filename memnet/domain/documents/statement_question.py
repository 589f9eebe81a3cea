"""Make a pending item of a statement that contradicts an open entry, with the question that decides it."""

import re
from typing import Literal

from memnet.domain.catalog.catalog import WriteRules
from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.json_patch import Op, Operation, addition, pointer_text
from memnet.domain.core.scope import Json
from memnet.domain.documents.commands import PatchDocument
from memnet.domain.documents.confidence import text_of
from memnet.domain.documents.pending_item import proposed_item
from memnet.domain.documents.statement import Entry, statements_of

MAX_QUOTED = 300
"""Characters of each statement that a question quotes."""
_PLACEHOLDER = re.compile(r"\{(old|new)\}(\.?)")
"""With the full stop behind it, which a text may end with, too."""


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
    decides: Literal["user", "tenant"] | None = None,
) -> Operation:
    """Return the operation that adds a pending item for `entry`, which contradicts `held`.

    `decides`: who answers it; None: as the rule says.
    """
    add: Op = {"op": "add", "path": pointer_text((ROOT, *rule.place, "-")), "value": entry}
    words = _words(entry, rule)
    item = proposed_item(command, add, content, words, pending_id=pending_id, proposed_at=proposed_at)
    asked = _asked(rules, rule, entry, held, decides or statements_of(rule).decides)
    return addition((ROOT, *rules.profile.pending[command.binding_id], "-"), item | asked)


def _words(entry: Entry, rule: SectionUpkeep) -> str:
    return text_of(entry.get(rule.text_field) or entry.get(statements_of(rule).value_field) or entry)


def _asked(rules: WriteRules, rule: SectionUpkeep, entry: Entry, held: Entry, decides: str | None) -> dict[str, Json]:
    """Return the question, its two answers and who decides, as far as the schema's pending items have these members."""
    statements, section = statements_of(rule), rules.profile.pending_sections[rules.binding.binding_id]
    members: dict[str, Json] = {"decides": decides}
    if statements.question is not None:
        texts = {"old": _words(held, rule)[:MAX_QUOTED], "new": _words(entry, rule)[:MAX_QUOTED]}
        members["choices"] = list(texts.values())
        members["question"] = _PLACEHOLDER.sub(
            lambda match: texts[match[1]].removesuffix(match[2]) + match[2], statements.question
        )
    return {
        name: value for name, value in members.items() if value is not None and rules.schema.has(f"{section}/-/{name}")
    }
