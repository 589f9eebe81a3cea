"""Retractions beside everything that writes, each step chosen at random, and what must be true afterwards.

Every value that is said has a word of its own, so that its source can be told from the stored bytes.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import orjson

from memnet.adapters.memory.models import ScriptedModels
from memnet.domain.catalog.catalog import Catalog
from memnet.domain.core.access import Reason
from memnet.domain.core.errors import (
    ConflictNotFound,
    ErasureRunning,
    ETagMismatch,
    MemnetError,
    ReplayNotFound,
    RetractionNotFound,
    UserHeld,
)
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import Actor, UserScope
from memnet.domain.documents import envelope
from memnet.domain.documents.commands import ConfirmPending, IfAbsent, IfExists, IfMatch, PatchDocument, RejectPending
from memnet.domain.governance.erasure import Whose
from memnet.domain.governance.legal_hold import HoldTarget
from memnet.domain.governance.retraction import RetractionStatus
from memnet.domain.governance.source import Source, SourceKind
from memnet.domain.replay.replay import ReplayStatus
from memnet.operations.documents.pending import confirm_pending, reject_pending
from memnet.operations.documents.write import patch_document
from memnet.operations.governance.legal_holds import place_hold, release_hold
from memnet.operations.governance.retention import apply_retention
from memnet.operations.governance.retractions import (
    RetractionView,
    apply_retraction,
    get_retraction,
    list_retractions,
    plan_retraction,
    undo_retraction,
)
from memnet.operations.governance.run_retraction import fail_retraction, run_retraction
from memnet.operations.history.verify_audit import verify_audit
from memnet.operations.replay.conflicts import attempt_conflict
from memnet.operations.replay.jobs import find_due_job, retry_replay
from memnet.operations.replay.replays import replay_snapshot
from memnet.operations.upkeep import compact_document
from memnet.ports import ModelAnswer, ModelOutcome, StoreConflict
from tests.memory_blobs import storage_of
from tests.operations.replay_scenario import RecordingQueue, add, answer, proposed
from tests.operations.retraction_scenario import ADMIN, DYNAMIC, OTHER, Retracting
from tests.operations.turn_search_scenario import ONE, SEARCHABLE, SPOKEN, catalog_of
from tests.operations.withdrawn_scenario import drain

WORKER = Actor("memnet-worker", frozenset())
WORD = re.compile(r"word\d+")
HEARD = re.compile(r"heard (word\d+)")
HELD = HoldTarget(ONE.tenant_id, ONE.user_id)
S = RetractionStatus
FOLLOWING = {
    None: {S.PLANNED},
    S.PLANNED: {S.APPLYING, S.UNDOING},
    S.APPLYING: {S.APPLYING, S.APPLIED, S.PARTIAL, S.FAILED},
    S.APPLIED: {S.UNDOING, S.APPLYING},
    S.PARTIAL: {S.UNDOING, S.APPLYING},
    S.FAILED: {S.APPLYING, S.UNDOING},
    S.UNDOING: {S.UNDOING, S.UNDONE, S.FAILED},
    S.UNDONE: set[RetractionStatus](),
}
"""The states that may follow each state."""


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


@dataclass
class Walk(Retracting):
    """One user, and workers and writers that take random steps."""

    seed: int = 0
    catalog: Catalog = field(default_factory=wide_catalog)
    queue: RecordingQueue = field(default_factory=Queue)
    random: Random = field(default_factory=Random)
    said: dict[str, list[Said]] = field(default_factory=dict)
    """The words of committed writes and of stored conversations, with all that said them."""
    cites: dict[str, str] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    """Words that may be gone: their item was rejected, or their proposal is a conflict."""
    statuses: dict[str, RetractionStatus] = field(default_factory=dict)
    done: set[Job] = field(default_factory=set)
    began: dict[str, int] = field(default_factory=dict)
    """The number of the newest word when a retraction began to be applied."""

    def __post_init__(self) -> None:
        self.models = Hearing(self.cites)
        self.random = Random(self.seed)
        super().__post_init__()
        storage: Any = storage_of(self.service.records)
        put = storage.put

        async def watched(name: str, data: bytes, **options: Any) -> Any:
            done = await put(name, data, **options)
            if "/retractions/" in name:
                self._follow(name, RetractionStatus(orjson.loads(data)["status"]))
            return done

        storage.put = watched

    def _follow(self, name: str, status: RetractionStatus) -> None:
        before = self.statuses.get(name)
        assert status is before or status in FOLLOWING[before], (before, status)
        self.statuses[name] = status
        if status is S.APPLYING:
            self.began.setdefault(name, self.number)

    def word(self) -> str:
        self.number += 1
        return f"word{self.number}"

    # What writes.

    async def begin(self) -> None:
        await self.write("svc-live", "c9")
        for conversation_id in ("c1", "c2"):
            await self.speak(conversation_id)
            await self.speak(conversation_id)

    async def write(self, actor: str | None = None, conversation_id: str | None = None) -> None:
        """A live writer adds a preference, over whichever version is there."""
        actor = actor or self.random.choice(["svc-live", "svc-live", "svc-bad"])
        cited = conversation_id or self.random.choice(["c1", "c2", "c8", "c9"])
        word = self.word()
        evidence: dict[str, Any] = {"conversation_id": cited}
        if self.random.random() < 0.2:
            cited = "event e-bad"
            evidence = {"event_id": "e-bad"}
        while True:
            stored = await self.service.documents.get(DYNAMIC)
            etag = envelope.load(stored.data).commit.etag if stored else None
            command = PatchDocument(
                key=DYNAMIC,
                actor=Actor(actor, frozenset()),
                precondition=IfAbsent() if etag is None else IfMatch(etag),
                idempotency_key=f"live-{word}",
                profile_id=SPOKEN,
                binding_id="user_dynamic",
                ops=[add("/preferences/-", f"Knows {word}")],
                reason=Reason.LIVE_UPDATE,
                evidence=evidence,
                confidence=0.9,
            )
            # Before it is written: a retraction sees it as soon as it is.
            at = self.now()
            try:
                await patch_document(command, self.service)
            except ETagMismatch:
                continue
            self.said.setdefault(word, []).append(Said(actor, cited, at))
            return

    def now(self) -> str:
        return self.service.clock.now().isoformat().replace("+00:00", "Z")

    async def speak(self, conversation_id: str | None = None) -> None:
        """Store a snapshot of a conversation with two words; its replay is sent."""
        conversation_id = conversation_id or self.random.choice(["c1", "c2", "c3"])
        first, second = self.word(), self.word()
        self.cites |= {first: "m1", second: "m2"}
        snapshot_id = f"s{self.number}"
        job = await self.say(conversation_id, snapshot_id, f"I have heard {first}.", f"I have heard {second}.")
        for word in (first, second):
            told = Said("svc-live", conversation_id, self.now(), snapshot_id, self.cites[word], job.job_id)
            self.said.setdefault(word, []).append(told)

    async def decide(self) -> None:
        """Confirm or reject a pending item."""
        waiting = (await self.content() or {}).get("pending_confirmations")
        if not waiting:
            return
        item = self.random.choice(waiting)
        self.number += 1
        named: dict[str, Any] = {
            "key": DYNAMIC,
            "actor": OTHER,
            "precondition": IfExists(),
            "idempotency_key": f"decide-{self.number}",
            "pending_id": item["id"],
        }
        if self.random.random() < 0.2:
            self.lost |= set(WORD.findall(orjson.dumps(item).decode()))
            await reject_pending(RejectPending(**named), self.service)
        else:
            await confirm_pending(ConfirmPending(**named, confidence=0.95), self.service)

    async def compact(self) -> None:
        await compact_document(DYNAMIC, self.service, actor=WORKER)

    async def retain(self) -> None:
        await apply_retention(ONE, self.service, as_of=None, dry_run=False)

    async def hold(self) -> None:
        change = self.random.choice([place_hold, release_hold, release_hold])
        await change(HELD, "case 7", self.service, actor=ADMIN)

    # Retractions.

    def source(self) -> Source:
        """Some source of what was said."""
        told = self.random.choice([one for found in self.said.values() for one in found if one.replay_id])
        match self.random.randrange(7):
            case 0:
                return Source(kind=SourceKind.CONVERSATION, conversation_id=told.conversation_id, message_ids=("m1",))
            case 1:
                return Source(
                    kind=SourceKind.SNAPSHOT, conversation_id=told.conversation_id, snapshot_id=told.snapshot_id
                )
            case 2:
                return Source(kind=SourceKind.REPLAY, replay_id=told.replay_id)
            case 3:
                return Source(kind=SourceKind.EVENT, event_id="e-bad")
            case 4:
                return Source(kind=SourceKind.ACTOR, actor="svc-bad")
            case 5 if self.random.random() < 0.3:
                return Source(kind=SourceKind.MODEL, model="scripted")
        return Source(kind=SourceKind.CONVERSATION, conversation_id=told.conversation_id)

    async def retract(self, source: Source | None = None) -> None:  # type: ignore[override]
        self.number += 1
        view = await plan_retraction(
            ONE,
            source or self.source(),
            "It was injected.",
            self.service,
            actor=ADMIN,
            idempotency_key=f"k{self.number}",
        )
        if self.random.random() < 0.9:
            await apply_retraction(ONE, view.retraction.retraction_id, view.retraction.etag, self.service, actor=OTHER)

    async def undo(self) -> None:
        page = await list_retractions(ONE, self.service, limit=100, cursor=None)
        if page.items:
            chosen = self.random.choice(page.items)
            await undo_retraction(ONE, chosen.retraction_id, self.service, actor=ADMIN)

    async def again(self) -> None:
        """Continue a failed retraction, or apply a planned one."""
        for found in (await list_retractions(ONE, self.service, limit=100, cursor=None)).items:
            if found.waits:
                await apply_retraction(ONE, found.retraction_id, None, self.service, actor=OTHER)

    # Workers.

    async def work_once(self) -> None:
        """Do a job that was sent; a worker may be killed at any point."""
        if not self.queue.sent:
            return
        job, attempt, _ = self.queue.sent.pop(self.random.randrange(len(self.queue.sent)))
        task = asyncio.ensure_future(self.do(job, attempt))
        if self.random.random() < 0.3:
            for _ in range(self.random.randrange(60)):
                await asyncio.sleep(0)
            task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    async def do(self, job: Job, attempt: int) -> None:
        """Do a job as a worker does: what cannot succeed is recorded as failed."""
        self.done.add(job)
        try:
            if job.kind is JobKind.REPLAY:
                replay = await replay_snapshot(job, self.service)
                if replay.status is ReplayStatus.FAILED:
                    await retry_replay(ONE, replay.replay_id, self.service)
            elif job.kind is JobKind.CONFLICT:
                await attempt_conflict(job, self.service, attempt=attempt)
            else:
                await run_retraction(job, self.service)
        except (ReplayNotFound, ConflictNotFound, RetractionNotFound, ErasureRunning):
            return
        except UserHeld as error:
            await fail_retraction(job, error.code.value, self.service)
        except StoreConflict:
            self.queue.sent.append((job, attempt, None))

    async def steps(self, count: int, *chosen: Callable[[], Awaitable[None]]) -> None:
        for _ in range(count):
            try:
                await self.random.choice(chosen)()
            except MemnetError:
                # Another one was first, a source is closed, a hold covers the user, or the user is being erased.
                await asyncio.sleep(0)

    async def finish(self) -> None:
        """Release the hold, continue what failed, and do the marked jobs until none is left."""
        await drain(self.service)
        with suppress(MemnetError):
            await release_hold(HELD, "settled", self.service, actor=ADMIN)
        for _ in range(200):
            for found in (await list_retractions(ONE, self.service, limit=100, cursor=None)).items:
                if found.status is S.FAILED:
                    if found.undone_by is None:
                        await apply_retraction(ONE, found.retraction_id, None, self.service, actor=OTHER)
                    else:
                        await undo_retraction(ONE, found.retraction_id, self.service, actor=ADMIN)
            jobs = [job for job in await self.marked_jobs() if job.kind is not JobKind.UPKEEP]
            found_due = [(job, await find_due_job(job, self.service)) for job in jobs]
            due = [(job, one.attempt) for job, one in found_due if one is not None]
            self.queue.sent.clear()
            if not due:
                return
            for job, attempt in due:
                with suppress(MemnetError):
                    await self.do(job, attempt)
                await drain(self.service)
        raise AssertionError(f"jobs do not end: {due}")

    # What must be true.

    async def views(self) -> list[RetractionView]:
        page = await list_retractions(ONE, self.service, limit=1000, cursor=None)
        return [await get_retraction(ONE, one.retraction_id, self.service) for one in page.items]

    def _should_be_gone(self, word: str, view: RetractionView) -> bool:
        """Whether all that said a word is taken back. A live write that came afterwards is not refused."""
        said = self.said.get(word, [])
        is_live = any(one.replay_id is None for one in said)
        if is_live and int(word[4:]) > self.began[view.retraction.key.blob_name]:
            return False
        return all(one.rests_on(view.retraction.source) for one in said)

    async def check(self, scope: UserScope = ONE) -> None:
        views = await self.views()
        assert not [view.retraction for view in views if view.retraction.is_running]
        closing = [view for view in views if view.retraction.status in (S.APPLIED, S.PARTIAL)]
        left = {value.why for view in closing for d in view.plan.documents for value in d.values if value.why}
        content = orjson.dumps(await self.content()).decode()
        found = WORD.findall(content)
        undone = [view for view in views if view.retraction.status is S.UNDONE]
        restored = {
            w for w, said in self.said.items() for v in undone for one in said if one.rests_on(v.retraction.source)
        }
        for view in closing:
            source = view.retraction.source
            assert await self.plan(source) == [], source
            if not left:
                wrong = [word for word in set(found) - restored if self._should_be_gone(word, view)]
                assert wrong == [], (source, wrong, left)
        kept = {text for view in undone for d in view.plan.documents for text in d.not_undone}
        taken = [view.retraction.source for view in closing]
        for word, said in self.said.items():
            if any(one.rests_on(source) for one in said for source in taken) or word in self.lost:
                continue
            if any(one.rests_on(view.retraction.source) for one in said for view in undone):
                # It came back, unless another write had changed its place.
                assert word in found or kept or said[0].replay_id, (word, said)
                continue
            assert found.count(word) >= 1, (word, said)
        report = await verify_audit(scope, self.service)
        assert (report.ok, report.faults) == (True, [])
