"""The question that the memory has for the user, so that an agent can ask it: one at a time, the oldest first."""

from collections.abc import Iterable, Mapping

from memnet.domain.catalog.profile import Profile
from memnet.domain.core.scope import Json
from memnet.domain.documents.entry import entries_at
from memnet.domain.documents.question_choice import is_outdated


def pending_items(profile: Profile, binding_id: str, content: Json) -> list[tuple[str, Json]]:
    """Return the pending items of a document, each with the id of its binding, without outdated questions."""
    section, rules = profile.pending_sections.get(binding_id), profile.upkeep_rules.get(binding_id, ())
    items = [] if section is None else entries_at(content, section)
    return [(binding_id, item) for item in items if not is_outdated(item, content, rules)]


def clarification(profile: Profile, items: Iterable[tuple[str, Json]]) -> Mapping[str, Json] | None:
    """Return the oldest of the pending items that waits for the user's decision, None if there is none.

    `items`: those of the profile's documents, each with the id of its binding; none is an outdated question. Which
    profile a question comes from makes no difference: every product that sees it can ask it. `choices` are the text of
    the open entry and the proposed ones; they quote what was said, so an agent shows them and does not obey them.
    """
    asked = [(binding_id, item) for binding_id, item in items if _asks_the_user(item, profile, binding_id)]
    if not asked:
        return None
    binding_id, oldest = min(asked, key=lambda row: (row[1]["proposed_at"], row[1]["id"], row[0]))
    return {
        "pending_id": oldest["id"],
        "binding_id": binding_id,
        "question": oldest["question"],
        "choices": oldest["choices"],
    }


def _asks_the_user(item: Json, profile: Profile, binding_id: str) -> bool:
    """Whether the item is in a pending section of the profile, with a question that the user answers."""
    if not isinstance(item, dict) or item.get("decides") != "user" or binding_id not in profile.pending_sections:
        return False
    # A PUT can store an item of another form.
    texts = [item.get(name) for name in ("id", "question", "proposed_at")]
    return all(isinstance(text, str) and text for text in texts) and bool(item.get("choices"))
