"""Samples of proposals, conflict details and snapshots."""

from typing import Any

from memnet.domain.core.scope import DocumentKey, ETag, UserScope
from memnet.domain.replay.proposal import ConflictDetails, Proposal
from memnet.domain.replay.snapshot import Message, Snapshot

SCOPE = UserScope("t1", "u1")
ALPHA = DocumentKey(SCOPE, "projects", "alpha.json")
BASE = {"summary": "The current search", "facets": {}, "recent_notes": []}
OPS = [{"op": "replace", "path": "/content/summary", "value": "The retrieval rewrite"}]
FIRST = ETag('"1-0123456789abcdef"')


def proposal(**members: Any) -> Proposal:
    chosen: dict[str, Any] = {
        "replay_id": "rpl-1",
        "index": 1,
        "profile_id": "project-copilot-v1",
        "binding_id": "project_doc",
        "key": ALPHA,
        "base_etag": FIRST,
        "base": BASE,
        "ops": OPS,
        "confidence": 0.75,
        "evidence": {"conversation_id": "c1", "message_ids": ["m1"]},
        "on_behalf_of": "svc-a",
    }
    return Proposal(**chosen | members)


def details() -> ConflictDetails:
    return ConflictDetails("changed", ETag('"2-0123456789abcdef"'), {**BASE, "summary": "Another"}, {"why": "changed"})


def snapshot(*messages: tuple[str, str, str]) -> Snapshot:
    rows = messages or (("m1", "user", "The summary is the retrieval rewrite."), ("m2", "assistant", "Noted."))
    return Snapshot(
        scope=SCOPE,
        conversation_id="c1",
        snapshot_id="s1",
        profile_id="project-copilot-v1",
        profile_version="1.1.0",
        profile_sha256="0" * 64,
        service_id="svc-chat",
        messages=[_message(number, *row) for number, row in enumerate(rows)],
    )


def _message(number: int, name: str, role: str, text: str) -> Message:
    spoken = f"2026-02-14T20:{number // 60:02}:{number % 60:02}Z"
    return Message.model_validate({"message_id": name, "role": role, "content": text, "timestamp": spoken})
