"""Users with everything that the operator's page shows: documents, a history, proposals, a conflict, a replay."""

from dataclasses import dataclass
from typing import Any

from aiohttp import ClientSession

from local.stack.stack import Stack
from memnet import settings
from memnet.domain.core.scope import DocumentKey, ETag, UserScope
from memnet.domain.replay.proposal import ConflictDetails
from memnet.operations.replay.proposals import create_conflict
from memnet.wiring import connect
from tests.domain.replay_samples import proposal
from tests.e2e.client import DYNAMIC, STATIC, Answer, User, add, prefer, project
from tests.e2e.replays import PROFILE, ROLES, ended

OPERATOR = "ops-anna"
PROPOSER = "svc-chat"
ATLAS = project("atlas")
EVIDENCE = {"conversation_id": "c-41", "message_ids": ["m7"]}
FACT = {"id": "f-1", "text": "Leads the retrieval team", "confidence": 0.9, "evidence": EVIDENCE}
FACTS = [
    {**FACT, "last_verified_at": "2026-02-02T09:00:00Z", "expires_at": "2026-03-01T00:00:00Z"},
    {**FACT, "id": "f-2", "text": "Works from Lisbon", "last_verified_at": "2019-05-02T09:00:00Z"},
    {**FACT, "id": "f-3", "text": "Reports to Priya", "last_verified_at": "2026-02-02T09:00:00Z"},
]
SUMMARY = "Search quality for the atlas corpus: hybrid retrieval, reranking, evaluation."
PAUSED = "Paused until the audit has ended."
PROJECT = {"summary": SUMMARY, "facets": {"stage": "beta", "owner": "retrieval", "budget": 12.0}, "recent_notes": []}
PROJECTS = [
    {"project_id": "atlas", "aliases": ["project atlas"], "keywords": ["retrieval", "reranker"]},
    {"project_id": "harbor", "aliases": ["harbour"], "keywords": ["billing"]},
]
MAYA = {"display_name": "Maya", "locale": "pt-PT", "timezone": "Europe/Lisbon"}


@dataclass
class Maya:
    """One user's memory as the proposing service and as the operator see it."""

    service: User
    operator: User

    async def etag(self, place: Any = DYNAMIC) -> str:
        return (await self.service.get(place)).etag

    async def propose(self, text: str, *, by: User | None = None) -> Answer:
        """A durable fact of too little confidence, which waits."""
        value = {"id": "f-new", "text": text, "confidence": 0.5, "evidence": EVIDENCE}
        value["last_verified_at"] = "2026-02-14T20:00:00Z"
        fact = add("/content/durable_facts/-", value)
        writer = by or self.service
        answer = await writer.patch(
            DYNAMIC, fact, etag=await self.etag(), key=f"propose {text}"[:200], confidence=0.5, evidence=EVIDENCE
        )
        assert answer.body["redirected"], answer.text
        return answer


async def settle(session: ClientSession, stack: Stack, user_id: str) -> Maya:
    """Documents with some history, one proposal of somebody else's."""
    service = User(session, stack.url, _token(stack, PROPOSER), user_id)
    maya = Maya(service, service.by(_token(stack, OPERATOR)))
    await _done(
        service.put(STATIC, {"profile": MAYA, "projects_index": PROJECTS}, "memory.user.static", etag=None, key="s")
    )
    await _done(service.put(ATLAS, PROJECT, "memory.project", etag=None, key="p"))
    await _done(service.patch(DYNAMIC, prefer("Answer briefly."), etag=None, key="d1"))
    numbers = {"op": "replace", "path": "/content/preferences/0", "value": "Answer briefly, with the numbers first."}
    await _done(service.patch(DYNAMIC, numbers, etag=await maya.etag(), key="d2"))
    # Only an administrator may bring in what has expired.
    with_facts = {**await service.content(DYNAMIC), "durable_facts": FACTS}
    await _done(service.put(DYNAMIC, with_facts, "memory.user.dynamic", etag=await maya.etag(), key="d3"))
    await maya.propose("Moved to Porto last week")
    return maya


async def dispute_summary(stack: Stack, maya: Maya) -> None:
    """A replay wanted another summary of the project than somebody had written meanwhile."""
    first = await maya.etag(ATLAS)
    theirs = {"op": "replace", "path": "/content/summary", "value": PAUSED}
    await _done(maya.service.patch(ATLAS, theirs, etag=first, key="theirs"))
    scope = UserScope(maya.service.tenant_id, maya.service.user_id)
    ours = proposal(
        replay_id="rpl-0f3a5c7e9b1d2f4a6c8e0b2d4f6a8c0e",
        key=DocumentKey(scope, "projects", "atlas.json"),
        base_etag=ETag(first),
        base=PROJECT,
        ops=[{"op": "replace", "path": "/content/summary", "value": "Reranking is the bottleneck."}],
        evidence=EVIDENCE,
    )
    told = {"op_index": 0, "path": "/content/summary", "why": "changed", "base": SUMMARY, "theirs": PAUSED}
    met = ConflictDetails("changed", ETag(await maya.etag(ATLAS)), {**PROJECT, "summary": PAUSED}, told)
    async with connect(settings.load_for(stack.environment)) as services:
        await create_conflict(ours, met, services, rebases=1)


async def replay(
    maya: Maya,
    *,
    said: tuple[str, ...] = ("I prefer charts to tables.", "I work with Tomas now."),
    conversation_id: str = "c-42",
) -> dict[str, Any]:
    """Submit a conversation and let the rule-based extractor replay it."""
    messages = [
        {"message_id": f"m{number}", "role": "user", "content": text, "timestamp": f"2026-02-14T20:0{number}:00Z"}
        for number, text in enumerate(said, 1)
    ]
    body = {"snapshot_id": "s1", "profile_id": PROFILE, "messages": messages}
    stored = await _done(maya.service.send("POST", f"/conversations/{conversation_id}/snapshots", json=body))
    return await ended(maya.service, stored.body["replay_id"])


def _token(stack: Stack, principal: str) -> str:
    return stack.token(tenants="t1", principal=principal, roles=ROLES)


async def _done(call: Any) -> Answer:
    answer: Answer = await call
    assert answer.status < 300, answer.text
    return answer


def token(stack: Stack, *roles: str, principal: str = OPERATOR) -> str:
    """A token for tenant t1; without roles it has all of them."""
    return stack.token(tenants="t1", principal=principal, roles=roles or ROLES)
