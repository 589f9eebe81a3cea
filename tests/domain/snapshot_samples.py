"""Conversations to work with."""

from typing import Any

from memnet.domain.core.scope import UserScope
from memnet.domain.replay.snapshot import Conversation, Snapshot, take
from tests.domain.samples import CATALOG

SCOPE = UserScope("t1", "u1")
SECRET_WORDS = "The launch code is zanzibar."
"""What no stored byte may say."""


def conversation_body(snapshot_id: str | None = "s_1", *contents: str, **members: Any) -> dict[str, Any]:
    """What a client sends; user and assistant take turns."""
    said = contents or (SECRET_WORDS, "Noted.")
    return {
        **({} if snapshot_id is None else {"snapshot_id": snapshot_id}),
        "profile_id": "project-copilot-v1",
        "messages": [
            {
                "message_id": f"m{number}",
                "role": ("user", "assistant")[number % 2 == 0],
                "content": content,
                "timestamp": f"2026-02-14T20:00:{number:02}Z",
            }
            for number, content in enumerate(said, 1)
        ],
        **members,
    }


def conversation(snapshot_id: str | None = "s_1", *contents: str, **members: Any) -> Conversation:
    return Conversation.model_validate(conversation_body(snapshot_id, *contents, **members))


def snapshot(
    snapshot_id: str | None = "s_1",
    *contents: str,
    scope: UserScope = SCOPE,
    conversation_id: str = "c_1",
    service_id: str = "svc-a",
) -> Snapshot:
    """The snapshot as it is stored."""
    profile = CATALOG.profile("project-copilot-v1")
    return take(conversation(snapshot_id, *contents), scope, conversation_id, service_id, profile)
