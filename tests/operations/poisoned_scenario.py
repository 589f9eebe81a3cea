"""One user and twenty conversations over four documents of three profiles; one of the conversations is poisoned.

What only the poisoned conversation says has the word `WORD`. The same history without it is the oracle: all times, and
all that the other conversations say, are the same in both.
"""

from collections.abc import Awaitable, Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from memnet.adapters.memory.clock import FrozenClock
from memnet.adapters.memory.ids import SequentialIds
from memnet.adapters.memory.models import ScriptedModels
from memnet.domain.catalog.catalog import Catalog
from memnet.domain.core.access import Reason
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import ETagMismatch
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import Actor, DocumentKey, Json
from memnet.domain.core.timestamps import to_text
from memnet.domain.documents import envelope
from memnet.domain.documents.commands import (
    ConfirmPending,
    IfAbsent,
    IfExists,
    IfMatch,
    PatchDocument,
    ReplaceDocument,
    WriteResult,
)
from memnet.domain.documents.envelope import Envelope
from memnet.domain.events.event import Event
from memnet.domain.replay.replay import Replay
from memnet.domain.replay.snapshot import Conversation, Message
from memnet.domain.replay.turn import Turns
from memnet.operations.documents.pending import confirm_pending
from memnet.operations.documents.write import patch_document, replace_document
from memnet.operations.events.write_event import write_event
from memnet.operations.replay.snapshots import store_snapshot
from memnet.operations.replay.turns import store_turns
from memnet.ports import ModelAnswer, ModelRequest
from tests.memory_blobs import storage_of
from tests.operations.migration_scenario import at_version, example
from tests.operations.replay_scenario import answer
from tests.operations.turn_search_scenario import ONE
from tests.operations.withdrawn_scenario import WithdrawnWorld, drain

POISON, WORD = "c7", "Mallory"
COPILOT, PERSONAL_MEMORY, LEGACY = "project-copilot-v1", "personal-memory-v1", "legacy-v1"
PERSONAL = DocumentKey(ONE, "user", "personal.json")
DYNAMIC = DocumentKey(ONE, "user", "user_dynamic.json")
STATIC = DocumentKey(ONE, "user", "user_static.json")
ALPHA = DocumentKey(ONE, "projects", "alpha.json")
BETA = DocumentKey(ONE, "projects", "beta.json")
OLD = DocumentKey(ONE, "user", "global.json")
DOCUMENTS = (PERSONAL, DYNAMIC, STATIC, ALPHA, BETA, OLD)
BOUND = {
    PERSONAL: (PERSONAL_MEMORY, "personal"),
    DYNAMIC: (COPILOT, "user_dynamic"),
    ALPHA: (COPILOT, "project_doc"),
    BETA: (COPILOT, "project_doc"),
    OLD: (LEGACY, "global"),
}
LIVE, REVIEWER, UPKEEP = (Actor(name, frozenset()) for name in ("svc-live", "reviewer", "memnet-worker"))
DAY = timedelta(days=1)
Call = Callable[[], Awaitable[Any]]


def old_catalog() -> Catalog:
    """The catalog of the time before the migration, whose old document is written under its old members."""
    catalog = at_version("0.9.0")
    rules = {"writable_path_rules": {"global": ("/likes",)}}
    legacy = catalog.profile(LEGACY).model_copy(update=rules)
    return replace(catalog, profiles={**catalog.profiles, LEGACY: legacy})


class Interrupted(ScriptedModels):
    """A model that answers after something else has happened."""

    def __init__(self, text: str, meanwhile: Call | None) -> None:
        super().__init__([text])
        self._meanwhile = meanwhile

    async def answer(self, request: ModelRequest) -> ModelAnswer:
        if self._meanwhile is not None:
            meanwhile, self._meanwhile = self._meanwhile, None
            await meanwhile()
        return await super().answer(request)


@dataclass
class PoisonedWorld(WithdrawnWorld):
    """The storage of the user; `poisoned`: whether the poisoned conversation takes place."""

    poisoned: bool = True
    catalog: Catalog = field(default_factory=example)
    number: int = 0

    def copy(self) -> "PoisonedWorld":
        """Return the same world again, in new processes; what is done to one does not show in the other."""
        ids, storage = SequentialIds(), storage_of(self.service.records)
        ids._made = self.ids._made
        made = PoisonedWorld(
            clock=FrozenClock(self.clock.now()),
            index=deepcopy(self.index),
            ids=ids,
            catalog=self.catalog,
            poisoned=self.poisoned,
            number=self.number,
        )
        other = storage_of(made.service.records)
        other._blobs, other._writes = dict(storage._blobs), storage._writes
        made.keys._versions = deepcopy(self.keys._versions)
        made.service = made.process()
        return made

    async def talk(
        self, conversation_id: str, snapshot_id: str, *patches: Any, meanwhile: Call | None = None
    ) -> Replay:
        """Store a conversation in which the user says what the model then proposes, and replay it."""
        texts = [_text(patch) for patch in patches]
        self.clock.advance(DAY)
        job = await self.submit(conversation_id, snapshot_id, *texts, profile_id=_profile_of(patches[0]))
        digest = {"text": " ".join(texts), "keywords": [conversation_id], "project_ids": []}
        models = Interrupted(answer(*patches, digest=digest), meanwhile)
        try:
            return await self.work(job, replace(self.service, models=models))
        finally:
            await drain(self.service)

    async def submit(self, conversation_id: str, snapshot_id: str, *texts: str, profile_id: str = COPILOT) -> Job:
        """Store a conversation of one message."""
        message = Message.model_validate(
            {
                "message_id": "m1",
                "role": "user",
                "content": ". ".join(texts),
                "timestamp": to_text(self.clock.now()),
            }
        )
        body = Conversation(snapshot_id=snapshot_id, profile_id=profile_id, messages=[message])
        stored = await store_snapshot(ONE, conversation_id, body, self.service, actor=LIVE)
        return Job(JobKind.REPLAY, ONE.tenant_id, ONE.user_id, stored.replay_id)

    async def turn(self, conversation_id: str, turn_id: str, text: str) -> Job:
        """Store a turn."""
        said = {"role": "user", "content": text}
        turn = {"turn_id": turn_id, "timestamp": to_text(self.clock.now()), "messages": [said]}
        body = Turns.model_validate({"profile_id": PERSONAL_MEMORY, "turns": [turn]})
        (stored,) = (await store_turns(ONE, conversation_id, body, self.service, actor=LIVE)).turns
        await drain(self.service)
        return Job(JobKind.REPLAY, ONE.tenant_id, ONE.user_id, stored.replay_id)

    async def write(
        self, key: DocumentKey, conversation_id: str, *ops: Any, catalog: Catalog | None = None, **members: Any
    ) -> WriteResult:
        """A live writer patches a document on the evidence of a conversation, over whichever version is there."""
        self.number += 1
        profile_id, binding_id = BOUND[key]
        given: dict[str, Any] = {
            "key": key,
            "actor": LIVE,
            "idempotency_key": f"live-{self.number}",
            "profile_id": profile_id,
            "binding_id": binding_id,
            "ops": list(ops),
            "reason": Reason.LIVE_UPDATE,
            "evidence": {"conversation_id": conversation_id, "message_ids": ["m1"]},
            "confidence": 0.9,
        } | members
        service = self.service if catalog is None else replace(self.service, catalog=catalog)
        while True:
            head = await self.head(key)
            precondition = IfAbsent() if head is None else IfMatch(head.commit.etag)
            try:
                return await patch_document(PatchDocument(**given, precondition=precondition), service)
            except ETagMismatch:
                continue

    def entry(self, text: str, conversation_id: str, confidence: float) -> dict[str, Any]:
        """A durable fact, as a live writer puts it."""
        evidence = {"conversation_id": conversation_id, "message_ids": ["m1"]}
        own = {"id": f"{conversation_id}-1", "text": text, "confidence": confidence, "evidence": evidence}
        return {**own, "last_verified_at": to_text(self.clock.now())}

    async def put(self, key: DocumentKey, binding_id: str, schema: str, content: Json, **members: Any) -> None:
        """Create a document."""
        catalog = members.pop("catalog", self.catalog)
        named = {"profile_id": COPILOT, "schema_version": "1.0.0"} | members
        command = ReplaceDocument(
            key=key,
            actor=LIVE,
            precondition=IfAbsent(),
            idempotency_key=f"put-{key.path}",
            binding_id=binding_id,
            schema_id=schema,
            content=content,
            **named,
        )
        await replace_document(command, replace(self.service, catalog=catalog))

    async def confirm(self, key: DocumentKey, *texts: str, cites: str | None = None) -> None:
        """A reviewer confirms the pending items with these texts, on the evidence of a conversation if one is named."""
        section = "pending_confirmations" if key == DYNAMIC else "to_confirm"
        waiting = [item for item in (await self.content(key))[section] if item["text"] in texts]
        assert len(waiting) == len(texts), [item["text"] for item in (await self.content(key))[section]]
        for item in waiting:
            command = ConfirmPending(
                key=key,
                actor=REVIEWER,
                precondition=IfExists(),
                idempotency_key=item["id"],
                pending_id=item["id"],
                confidence=0.95,
                evidence=None if cites is None else {"conversation_id": cites, "message_ids": ["m1"]},
            )
            await confirm_pending(command, self.service)

    async def happen(self, event_id: str, conversation_id: str, digest: str) -> None:
        """Store an event."""
        members = {
            "event_id": event_id,
            "service_id": "svc-live",
            "timestamp": to_text(self.clock.now()),
            "source_type": "note",
            "digest": digest,
            "evidence": {"conversation_id": conversation_id, "message_ids": ["m1"]},
        }
        await write_event(ONE, Event.model_validate(members), self.service)
        await drain(self.service)

    async def indexed(self) -> list[str]:
        """The documents of the serving index, as JSON."""
        layout = await self.service.search.register.recent()
        assert layout is not None
        return [canonical(dict(row)).decode() for row in self.index._indexes[layout.serving.name].values()]

    async def head(self, key: DocumentKey) -> Envelope | None:
        stored = await self.service.documents.get(key)
        return None if stored is None else envelope.load(stored.data)

    async def content(self, key: DocumentKey) -> Any:
        head = await self.head(key)
        return None if head is None else head.content


def _text(patch: Any) -> str:
    """What a proposed patch says."""
    said = patch["entry"]["text"] if "entry" in patch else patch["ops"][0]["value"]
    about = "About alpha: " if patch["target_binding_id"] == "project_doc" else ""
    return about + str(said).removesuffix(".")


def _profile_of(patch: Any) -> str:
    return PERSONAL_MEMORY if patch["target_binding_id"] == "personal" else COPILOT
