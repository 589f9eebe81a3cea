"""A workspace on memory adapters: colleagues with a memory of their own, who state things live and in turns."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from memnet.adapters.memory.models import ScriptedModels
from memnet.adapters.process.background import BackgroundTasks
from memnet.domain.core.access import Reason, Role
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.claimant import Claimant
from memnet.domain.core.errors import DocumentExists, ETagMismatch
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import Actor, DocumentKey, UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.documents import envelope
from memnet.domain.documents.commands import (
    ConfirmPending,
    IfAbsent,
    IfExists,
    IfMatch,
    PatchDocument,
    Settled,
    Take,
    WriteResult,
)
from memnet.domain.recall.recalled import Recalled, RecallRequest
from memnet.domain.replay.replay import Replay
from memnet.domain.replay.turn import Turns
from memnet.operations.documents.pending import confirm_pending
from memnet.operations.documents.write import patch_document
from memnet.operations.history.verify_audit import verify_audit
from memnet.operations.recall.recall import recall
from memnet.operations.replay.replays import replay_snapshot
from memnet.operations.replay.turns import StoredTurn, store_turns
from memnet.service import Service
from memnet.stores import stream_records
from memnet.wiring import in_memory
from tests.domain.samples import CATALOG
from tests.operations.rebuilt import rebuilt_histories
from tests.sample_settings import sample_settings

ACME = UserScope("t1", "workspace-acme")
SHARED = DocumentKey(ACME, "workspace", "shared.json")
PROFILE = "workspace-memory-v1"
CHAT = Actor("svc-chat", frozenset({Role.READ}))
USER = Actor("svc-user", frozenset({Role.READ, Role.WRITE}))
TENANT = Actor("svc-tenant", frozenset({Role.ADMIN}))
BEGIN = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECTIONS = {"attribute": "claims", "question": "decisions"}


def day(number: int) -> str:
    """Noon of the day with this number, from the beginning of the year."""
    return to_text(BEGIN + timedelta(days=number))


def entry_of(said: Mapping[str, Any]) -> dict[str, Any]:
    """The entry of a statement about the workspace, without what the service writes."""
    members = {name: said[name] for name in ("attribute", "question", "value", "reason") if name in said}
    about = said.get("attribute") or said["question"]
    return {"subject": "workspace", **members, "text": said.get("text") or f"Our {about}: {said['value']}."}


def section_of(said: Mapping[str, Any]) -> str:
    return next(section for name, section in SECTIONS.items() if name in said)


@dataclass
class Workspace:
    """One process, its storage, and what it was asked so far."""

    service: Service = field(default_factory=lambda: in_memory(sample_settings(), CATALOG))
    number: int = 0

    async def drain(self) -> None:
        """Wait for the background work."""
        background = self.service.background
        assert isinstance(background, BackgroundTasks)
        await background.drain()

    async def hire(self, *user_ids: str) -> None:
        """Give the colleagues a memory of their own, and with it a data key."""
        for user_id in user_ids:
            value = {"subject": "user", "attribute": "name", "value": user_id, "text": f"Called {user_id}."}
            command = PatchDocument(
                key=DocumentKey(UserScope(ACME.tenant_id, user_id), "user", "personal.json"),
                actor=CHAT,
                precondition=IfAbsent(),
                idempotency_key=f"hire-{user_id}",
                profile_id="personal-memory-v1",
                binding_id="personal",
                ops=[{"op": "add", "path": "/content/facts/-", "value": {**value, "confidence": 0.9, "evidence": {}}}],
                reason=Reason.LIVE_UPDATE,
            )
            await patch_document(command, self.service)
        await self.drain()

    async def patch(
        self, *ops: Any, by: str | None = None, key: str | None = None, at: int | None = None, **members: Any
    ) -> WriteResult:
        """Patch the shared document as it is, or create it, on the word of a claimant."""
        self.number += 1
        number = self.number
        stored = await self.service.documents.get(SHARED)
        over = None if stored is None else envelope.load(stored.data).commit.etag
        known: dict[str, Any] = {"confidence": 0.9, "evidence": {"conversation_id": f"live-{number}"}}
        command = PatchDocument(
            key=SHARED,
            actor=CHAT,
            precondition=IfAbsent() if over is None else IfMatch(over),
            idempotency_key=key or f"key-{number}",
            profile_id=PROFILE,
            binding_id="workspace",
            ops=list(ops),
            reason=Reason.LIVE_UPDATE,
            source_time=None if at is None else day(at),
            **known | members,
        )
        return await patch_document(command, self.service, claimant=None if by is None else Claimant(user_id=by))

    async def state(self, said: Mapping[str, Any]) -> list[Settled]:
        """State something live, again until no other writer was faster."""
        confidence = said.get("confidence", 0.9)
        evidence = {"conversation_id": f"live-{said['day']}"}
        value = {**entry_of(said), "confidence": confidence, "evidence": evidence}
        op = {"op": "add", "path": f"/content/{section_of(said)}/-", "value": value}
        while True:
            try:
                made = await self.patch(op, by=said.get("by"), at=said["day"], confidence=confidence, evidence=evidence)
                return list(made.settled)
            except (ETagMismatch, DocumentExists):
                continue

    async def turn(self, said: Mapping[str, Any], **members: Any) -> StoredTurn:
        """Store the words of a statement as a turn of its claimant, in a conversation of its own."""
        text = entry_of(said)["text"] + (f" Because {said['reason']}." if "reason" in said else "")
        message = {"role": "user", "content": text}
        turn: dict[str, Any] = {"turn_id": "t1", "timestamp": day(said["day"]), "messages": [message]}
        turn |= {} if said.get("by") is None else {"claimant": {"user_id": said["by"]}}
        body = Turns.model_validate({"profile_id": PROFILE, "turns": [turn | members]})
        # Of its own, and without the claimant's id, as a client should name it.
        conversation = f"c-{said['day']}-{said['value']}"
        (stored,) = (await store_turns(ACME, conversation, body, self.service, actor=CHAT)).turns
        return stored

    async def replay(self, said: Mapping[str, Any]) -> list[Settled]:
        """State something in a turn, and have a worker learn it from the answer of a model."""
        stored = await self.turn(said)
        entry = {"aspect": None, "reason": None, "importance": 0.6} | entry_of(said)
        about = ("attribute", "aspect") if section_of(said) == "claims" else ("question", "reason")
        wanted = ("text", "subject", "value", "importance", *about)
        patch = {
            "target_binding_id": "workspace",
            "target_path": "shared.json",
            "add_to": f"/content/{section_of(said)}",
            "entry": {name: entry[name] for name in wanted},
            "confidence": said.get("confidence", 0.9),
            "message_ids": ["t1-1"],
        }
        models = ScriptedModels([canonical({"digest": None, "patches": [patch]}).decode()])
        made = await self.work(stored, models)
        return [settled for result in made.patches for settled in result.settled]

    async def work(self, stored: StoredTurn, models: Any = None) -> Replay:
        """Do the replay of a turn."""
        job = Job(JobKind.REPLAY, ACME.tenant_id, ACME.user_id, stored.replay_id)
        return await replay_snapshot(job, replace(self.service, models=models))

    async def answer(self, take: Take, by: Actor) -> WriteResult:
        """Answer the only question that waits."""
        (item,) = (await self.content())["to_confirm"]
        self.number += 1
        command = ConfirmPending(
            key=SHARED,
            actor=by,
            precondition=IfExists(),
            idempotency_key=f"answer-{self.number}",
            pending_id=item["id"],
            confidence=0.95,
            evidence={"conversation_id": "review"},
            take=take,
        )
        return await confirm_pending(command, self.service)

    async def recall(self, query: str, **members: Any) -> Recalled:
        request = RecallRequest(scope=ACME, actor=CHAT, profile_id=PROFILE, query=query, **members)
        return await recall(request, self.service)

    async def content(self) -> Any:
        """The content of the shared document."""
        stored = await self.service.documents.get(SHARED)
        assert stored is not None
        return envelope.load(stored.data).content

    async def check(self) -> list[dict[str, Any]]:
        """Verify the audit, rebuild every version, and return the records of the shared document."""
        await self.drain()
        verified = await verify_audit(ACME, self.service)
        assert (verified.ok, verified.faults) == (True, [])
        (history,) = await rebuilt_histories(ACME, documents=self.service.documents, audit=self.service.audit)
        assert history.fault is None
        stored = await self.service.documents.get(SHARED)
        assert stored is not None
        head = envelope.load(stored.data)
        assert history.versions[-1].content == canonical(head.content)
        found = stream_records(ACME, head, 1, head.commit.sequence, audit=self.service.audit)
        records = [dict(record) async for record in found]
        assert len(records) == len(history.versions)
        return records
