"""A user with questions, on memory adapters: who lives where, said by several products, asked, answered, taken back."""

from dataclasses import dataclass, field, replace
from typing import Any

from memnet.adapters.process.background import BackgroundTasks
from memnet.domain.catalog.catalog import Catalog
from memnet.domain.context.context import AssembleContext
from memnet.domain.core.access import Reason, Role
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import Actor, DocumentKey, UserScope
from memnet.domain.documents import envelope
from memnet.domain.documents.commands import (
    ConfirmPending,
    IfAbsent,
    IfExists,
    PatchDocument,
    RejectPending,
    Settled,
    WriteResult,
)
from memnet.domain.governance.retraction import Retraction
from memnet.domain.governance.source import Source, SourceKind
from memnet.domain.recall.recalled import RecallRequest
from memnet.operations.context import assemble_context
from memnet.operations.documents.pending import confirm_pending, reject_pending
from memnet.operations.documents.write import patch_document
from memnet.operations.governance.retractions import apply_retraction, plan_retraction, undo_retraction
from memnet.operations.governance.run_retraction import run_retraction
from memnet.operations.history.verify_audit import verify_audit
from memnet.operations.recall.recall import recall
from memnet.service import Service
from memnet.stores import stream_records
from memnet.wiring import in_memory
from tests.domain.samples import CATALOG
from tests.operations.rebuilt import rebuilt_histories
from tests.sample_settings import sample_settings

USER = UserScope("t1", "maya")
PERSONAL = DocumentKey(USER, "user", "personal.json")
PROFILE = "personal-memory-v1"
EVERY = frozenset({Role.READ, Role.WRITE, Role.ADMIN})
CHAT, MAIL, TRAVEL, ADMIN, OTHER_ADMIN = (Actor(f"svc-{name}", EVERY) for name in ("chat", "mail", "travel", "a", "b"))


def deciding(decides: str) -> Catalog:
    """The shipped catalog, in which the tenant or the user decides about what a person is like."""
    profile = CATALOG.profile(PROFILE)
    rules = [
        rule.model_copy(update={"statements": rule.statements.model_copy(update={"decides": decides})})
        if rule.statements is not None
        else rule
        for rule in profile.upkeep_rules["personal"]
    ]
    changed = profile.model_copy(update={"upkeep_rules": {"personal": tuple(rules)}})
    return replace(CATALOG, profiles={**CATALOG.profiles, PROFILE: changed})


def lives_in(town: str, sure: float, said_in: str, aspect: str | None = None) -> dict[str, Any]:
    """The operation that states where the user lives."""
    value: dict[str, Any] = {"subject": "user", "attribute": "lives in", "value": town, "text": f"Lives in {town}."}
    value |= {} if aspect is None else {"aspect": aspect, "text": f"Lives in {town} {aspect}."}
    value |= {"confidence": sure, "evidence": {"conversation_id": said_in}}
    return {"op": "add", "path": "/content/facts/-", "value": value}


def towns(content: Any) -> list[str]:
    """What is open."""
    return sorted(entry["value"] for entry in content["facts"] if entry.get("valid_until") is None)


def offered(item: Any) -> list[str]:
    """What a question proposes, in the order of its choices."""
    return [one["target"]["value"]["value"] for one in [item, *item.get("alternatives", ())]]


@dataclass
class Asked:
    """One process and its storage."""

    service: Service = field(default_factory=lambda: in_memory(sample_settings(), CATALOG))
    number: int = 0

    def key(self) -> str:
        self.number += 1
        return f"key-{self.number}"

    async def drain(self) -> None:
        background = self.service.background
        assert isinstance(background, BackgroundTasks)
        await background.drain()

    async def content(self) -> Any:
        stored = await self.service.documents.get(PERSONAL)
        return None if stored is None else envelope.load(stored.data).content

    async def questions(self) -> list[Any]:
        return [item for item in (await self.content())["to_confirm"] if "contradicts" in item]

    async def say(
        self, town: str, sure: float, said_in: str, *, by: Actor = CHAT, aspect: str | None = None
    ) -> Settled:
        """State live where the user lives."""
        stored = await self.service.documents.get(PERSONAL)
        command = PatchDocument(
            key=PERSONAL,
            actor=by,
            precondition=IfAbsent() if stored is None else IfExists(),
            idempotency_key=self.key(),
            profile_id=PROFILE,
            binding_id="personal",
            ops=[lives_in(town, sure, said_in, aspect)],
            reason=Reason.LIVE_UPDATE,
            evidence={"conversation_id": said_in},
            confidence=sure,
        )
        (settled,) = (await patch_document(command, self.service)).settled
        return settled

    async def answer(self, pending_id: str, by: Actor, **members: Any) -> WriteResult:
        given: dict[str, Any] = {"confidence": 0.95, "evidence": {"conversation_id": "c-answer"}, **members}
        command = ConfirmPending(
            key=PERSONAL,
            actor=by,
            precondition=IfExists(),
            idempotency_key=self.key(),
            pending_id=pending_id,
            **given,
        )
        return await confirm_pending(command, self.service)

    async def reject(self, pending_id: str, by: Actor) -> WriteResult:
        command = RejectPending(
            key=PERSONAL, actor=by, precondition=IfExists(), idempotency_key=self.key(), pending_id=pending_id
        )
        return await reject_pending(command, self.service)

    async def asked(self, *, profile_id: str = PROFILE, by: Actor = TRAVEL) -> Any:
        """The question of an assembly and of a recall, which is the same; None: none."""
        command = AssembleContext(
            scope=USER,
            actor=by,
            profile_id=profile_id,
            text="",
            explicit_ids={},
            max_docs=10,
            max_chars_total=100_000,
        )
        assembled = await assemble_context(command, self.service)
        request = RecallRequest(scope=USER, actor=by, profile_id=profile_id, query="Where does the user live?")
        recalled = await recall(request, self.service)
        assert recalled.clarification == assembled.clarification
        return assembled.clarification

    async def retract(self, source: Source | str) -> Retraction:
        """Take a source, or a conversation, back."""
        await self.drain()
        if isinstance(source, str):
            source = Source(kind=SourceKind.CONVERSATION, conversation_id=source)
        view = await plan_retraction(
            USER, source, "It was wrong.", self.service, actor=ADMIN, idempotency_key=self.key()
        )
        planned = view.retraction
        begun = await apply_retraction(USER, planned.retraction_id, planned.etag, self.service, actor=OTHER_ADMIN)
        return await self._run(begun.retraction_id)

    async def undo(self, retraction_id: str) -> Retraction:
        await undo_retraction(USER, retraction_id, self.service, actor=ADMIN)
        return await self._run(retraction_id)

    async def _run(self, retraction_id: str) -> Retraction:
        done = await run_retraction(Job(JobKind.RETRACTION, USER.tenant_id, USER.user_id, retraction_id), self.service)
        await self.drain()
        return done

    async def check(self) -> list[dict[str, Any]]:
        """Verify the audit, rebuild every version, and return the records of the document."""
        await self.drain()
        verified = await verify_audit(USER, self.service)
        assert (verified.ok, verified.faults) == (True, [])
        histories = await rebuilt_histories(USER, documents=self.service.documents, audit=self.service.audit)
        (history,) = [one for one in histories if one.versions]
        assert history.fault is None
        stored = await self.service.documents.get(PERSONAL)
        assert stored is not None
        head = envelope.load(stored.data)
        assert history.versions[-1].content == canonical(head.content)
        found = stream_records(USER, head, 1, head.commit.sequence, audit=self.service.audit)
        return [dict(record) async for record in found]
