"""A user of the personal memory whose statements repeat each other, on a storage that is counted and ended."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson

from memnet.adapters.process.remembered_vectors import RememberedVectors
from memnet.domain.catalog.catalog import Catalog
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.catalog.statement_rules import Consolidation
from memnet.domain.core.access import Reason
from memnet.domain.core.errors import ETagMismatch
from memnet.domain.core.scope import Actor, DocumentKey, UserScope
from memnet.domain.documents import envelope
from memnet.domain.documents.commands import IfAbsent, IfMatch, PatchDocument, ReplaceDocument, WriteResult
from memnet.operations.consolidation import consolidate_document
from memnet.operations.documents.write import patch_document, replace_document
from tests.domain.samples import CATALOG
from tests.operations.recall_scenario import EMPTY
from tests.operations.upkeep_marks_scenario import UpkeepWorld

PERSONAL = "personal-memory-v1"
ONE = UserScope("t1", "u1")
DOCUMENT = DocumentKey(ONE, "user", "personal.json")
WORKER, LIVE = Actor("memnet-worker", frozenset()), Actor("svc-live", frozenset())


def catalog_with(*, above: float = 0.6, prompt: bool = False, durable: bool = False, room: int = 1) -> Catalog:
    """The catalog whose personal memory consolidates facts; `room` multiplies the limits."""
    profile = CATALOG.profile(PERSONAL)
    rule = Consolidation(above=above, **({"prompt_id": "consolidation", "prompt_version": "1.0.0"} if prompt else {}))

    def changed(one: SectionUpkeep) -> SectionUpkeep:
        own = rule if one.section == "/facts" else None
        return one.model_copy(update={"consolidate": own, "place": one.place})

    limits = {name: limit * room for name, limit in profile.compaction_rules["personal"].items()}
    binding = profile.document_bindings[0].model_copy(update={"max_chars": 120_000 * room})
    body = profile.model_dump(mode="json", exclude_unset=True)
    body["document_bindings"][0]["max_chars"] = binding.max_chars
    body["compaction_rules"] = {"personal": limits}
    body["max_ops"] = 100
    body["upkeep_rules"]["personal"] = [
        changed(one).model_dump(mode="json", exclude_unset=True) for one in profile.upkeep_rules["personal"]
    ]
    if durable:
        body["durable_sections"] = {"personal": ["/facts"]}
    made = type(profile).model_validate_json(orjson.dumps(body))
    return replace(CATALOG, profiles={**CATALOG.profiles, PERSONAL: made})


def says(number: int, text: str = "The user lives in the city of Lisbon.", **members: Any) -> dict[str, Any]:
    """One of many statements of where the user lives, each about a thing of its own."""
    at = f"2026-01-{number % 28 + 1:02}T12:00:00.000000Z"
    found = {
        "id": f"s{number:03}",
        "text": text,
        "subject": "user",
        "attribute": f"attribute {number}",
        "value": "Lisbon",
        "confidence": 0.7 + number % 3 / 10,
        "evidence": {"conversation_id": f"c{number}", "message_ids": ["m1"], "at": at},
        "valid_from": at,
        "last_verified_at": at,
    }
    return {**found, **members}


class TopicEmbedder:
    """Texts with the same first word mean the same."""

    name, dimensions = "topics", 26

    def __init__(self) -> None:
        self.embedded: list[str] = []

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        self.embedded += texts
        return [[1.0 if ord(text[0].lower()) - 97 == place else 0.0 for place in range(26)] for text in texts]


class ConsolidationWorld(UpkeepWorld):
    """One process of a service."""

    def __init__(self, catalog: Catalog | None = None, *, models: Any = None, embedder: Any = None) -> None:
        super().__init__(catalog or catalog_with())
        vectors = None if embedder is None else RememberedVectors(embedder)
        self.service = replace(self.service, models=models, vectors=vectors)

    async def know(self, *facts: dict[str, Any]) -> None:
        """Store the document with these facts."""
        self.keys += 1
        command = ReplaceDocument(
            key=DOCUMENT,
            actor=LIVE,
            precondition=IfAbsent(),
            idempotency_key=f"key-{self.keys}",
            profile_id=PERSONAL,
            binding_id="personal",
            schema_id="memory.personal",
            schema_version="1.0.0",
            content={**EMPTY, "facts": list(facts)},
        )
        await replace_document(command, self.service)
        await self.drain()

    async def say(self, fact: dict[str, Any]) -> WriteResult:
        """Add a fact as a live writer does, over whichever version is there."""
        while True:
            command = PatchDocument(
                key=DOCUMENT,
                actor=LIVE,
                precondition=IfMatch((await self.head()).commit.etag),
                idempotency_key=f"say-{fact['id']}",
                profile_id=PERSONAL,
                binding_id="personal",
                ops=[{"op": "add", "path": "/content/facts/-", "value": fact}],
                reason=Reason.LIVE_UPDATE,
            )
            try:
                return await patch_document(command, self.service)
            except ETagMismatch:
                continue

    async def consolidate(self, **members: Any) -> Any:
        """Consolidate the document; return the result."""
        (result,) = await consolidate_document(DOCUMENT, self.service, **{"actor": WORKER, **members})
        return result

    async def head(self) -> Any:
        stored = await self.service.documents.get(DOCUMENT)
        assert stored is not None
        return envelope.load(stored.data)

    async def content(self) -> Any:
        return (await self.head()).content

    async def facts(self, *_: Any) -> list[dict[str, Any]]:  # type: ignore[override]
        return list((await self.content())["facts"])

    async def open(self) -> list[str]:
        return [entry["id"] for entry in await self.facts() if "valid_until" not in entry]
