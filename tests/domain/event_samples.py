"""Events to work with."""

from typing import Any

from memnet.domain.core.scope import UserScope
from memnet.domain.events.event import Event, StoredEvent, place

SCOPE = UserScope("t1", "u1")


def event_body(event_id: str = "evt_01", **members: Any) -> dict[str, Any]:
    """What a client sends."""
    return {
        "event_id": event_id,
        "service_id": "assistant-a",
        "timestamp": "2026-02-14T20:00:00Z",
        "source_type": "chat",
        "digest": "User asked to split memory by contention and lifecycle.",
        "keywords": ["memory", "config", "conflict"],
        "entities": ["Azure", "Maya Quist"],
        "project_ids": ["project-alpha"],
        "snapshot_uri": "blob://snapshots/c_123/s_1.json",
        "evidence": {"message_ids": ["m12", "m13"], "span": {"start": 12, "end": 13}},
        **members,
    }


def event(event_id: str = "evt_01", **members: Any) -> Event:
    return Event.model_validate(event_body(event_id, **members))


def stored_event(event_id: str = "evt_01", *, scope: UserScope = SCOPE, **members: Any) -> StoredEvent:
    """The event as it lies in storage."""
    return place(event(event_id, **members), scope)
