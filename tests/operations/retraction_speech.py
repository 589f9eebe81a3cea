"""What is said in the walks of retractions: each value has a word of its own, so that its source is known."""

import asyncio
import re
from dataclasses import dataclass, replace
from typing import Any

import orjson

from memnet.adapters.memory.models import ScriptedModels
from memnet.domain.catalog.catalog import Catalog
from memnet.domain.governance.erasure import Whose
from memnet.domain.governance.source import Source, SourceKind
from memnet.ports import ModelAnswer, ModelOutcome
from tests.operations.replay_scenario import RecordingQueue, add, answer, proposed
from tests.operations.turn_search_scenario import SEARCHABLE, SPOKEN, catalog_of

HEARD = re.compile(r"heard (word\d+)")


def wide_catalog() -> Catalog:
    """The catalog of the searchable profile, with room for what a walk writes."""
    catalog = catalog_of(**{SPOKEN: SEARCHABLE})
    profile = catalog.profile(SPOKEN)
    body = orjson.loads(profile.model_dump_json(exclude_unset=True))
    for name in body["compaction_rules"]["user_dynamic"]:
        body["compaction_rules"]["user_dynamic"][name] = 2000
    for binding in body["document_bindings"]:
        binding["max_chars"] = 500_000
    made = type(profile).model_validate_json(orjson.dumps(body))
    return replace(catalog, profiles={**catalog.profiles, SPOKEN: made})


class Queue(RecordingQueue):
    """A queue that an erasure can empty."""

    async def purge(self, scope: Whose) -> int:
        self.sent.clear()
        return 0


class Hearing(ScriptedModels):
    """A model that proposes each word it hears, citing the message; sometimes a fact that must be confirmed."""

    def __init__(self, cites: dict[str, str]) -> None:
        super().__init__([])
        self._cites = cites

    async def answer(self, request: Any) -> ModelAnswer:
        await asyncio.sleep(0)
        words = dict.fromkeys(HEARD.findall(request.material))
        patches = []
        for word in words:
            section = "durable_facts" if int(word[4:]) % 3 == 0 else "preferences"
            ops = add(f"/{section}/-", f"Knows {word}")
            patches.append(proposed("user_dynamic", "user_dynamic.json", ops, cites=self._cites[word]))
        digest = {"text": f"The user spoke of {' '.join(words)}.", "keywords": ["speech"], "project_ids": []}
        return ModelAnswer(answer(*patches[:10], digest=digest), ModelOutcome.COMPLETE, "scripted")


@dataclass(frozen=True, slots=True)
class Said:
    """Who said a word, and where."""

    actor: str
    conversation_id: str
    at: str
    snapshot_id: str | None = None
    message_id: str | None = None
    replay_id: str | None = None

    def rests_on(self, source: Source) -> bool:
        """Whether the word rests on a source, by what the walk knows."""
        match source.kind:
            case SourceKind.CONVERSATION if source.message_ids is None:
                return source.conversation_id == self.conversation_id
            case SourceKind.CONVERSATION:
                is_here = source.conversation_id == self.conversation_id
                return is_here and self.message_id in (source.message_ids or ())
            case SourceKind.SNAPSHOT:
                named = (source.conversation_id, source.snapshot_id)
                return named == (self.conversation_id, self.snapshot_id)
            case SourceKind.REPLAY:
                return source.replay_id == self.replay_id
            case SourceKind.EVENT:
                return self.conversation_id == f"event {source.event_id}"
            case SourceKind.ACTOR:
                return source.acted(self.actor, self.at)
            case SourceKind.MODEL:
                return self.replay_id is not None
        return False
