"""Examples in the OpenAPI document: the shipped profile at work. No other file of the API names a kind of memory."""

ETAG = '"2-9f2c41d07be35a18"'
CHANGE_ID = "6f1c2f0e-3f0f-4a53-9d3e-0d1a2b3c4d5e-000000000002"
DOCUMENT = {
    "doc_id": "6f1c2f0e-3f0f-4a53-9d3e-0d1a2b3c4d5e",
    "schema_id": "memory.user.dynamic",
    "schema_version": "1.0.0",
    "created_at": "2026-02-14T20:00:00.000000Z",
    "updated_at": "2026-02-14T20:00:00.000000Z",
    "updated_by": "svc-a",
    "content": {"preferences": ["Use concise, direct answers."], "durable_facts": [], "pending_confirmations": []},
}
WRITTEN = {"etag": ETAG, "change_id": CHANGE_ID, "sequence": 2}
LISTED = {
    "documents": [
        {
            "namespace": "user",
            "path": "user_dynamic.json",
            "etag": ETAG,
            "updated_at": "2026-02-14T20:00:00.000000Z",
            "size": 87,
            "sequence": 2,
        }
    ],
    "next_cursor": None,
}
PATCH = {
    "profile_id": "project-copilot-v1",
    "binding_id": "user_dynamic",
    "ops": [{"op": "replace", "path": "/content/preferences/0", "value": "Use concise, direct answers."}],
    "reason": "live_update",
    "evidence": {"conversation_id": "c_123", "message_ids": ["m1"]},
}
REPLAY = {
    "profile_id": "project-copilot-v1",
    "binding_id": "user_dynamic",
    "ops": [{"op": "add", "path": "/content/preferences/-", "value": "Prefer concise architecture diagrams."}],
    "reason": "replay_update",
    "confidence": 0.82,
    "evidence": {"snapshot_uri": "blob://snapshots/c_123/s_1.json", "message_ids": ["m18"]},
}
PUT = {
    "profile_id": "project-copilot-v1",
    "binding_id": "user_dynamic",
    "document": {
        "schema_id": "memory.user.dynamic",
        "schema_version": "1.0.0",
        "content": DOCUMENT["content"],
    },
    "reason": "moved from the legacy store",
}
ASSEMBLED = {
    "selected_project_id": "project-alpha",
    "selected": {"project_id": "project-alpha"},
    "documents": [
        {
            "binding_id": "user_dynamic",
            "namespace": "user",
            "path": "user_dynamic.json",
            "etag": ETAG,
            "document": DOCUMENT,
        }
    ],
    "dropped_bindings": [{"binding_id": "user_static", "reason": "document_not_found"}],
    "routing_debug": {"deterministic_score": 0.94, "semantic_score": None, "reason": "alias_match"},
}
ASSEMBLE = {
    "profile_id": "project-copilot-v1",
    "conversation_hint": {"text": "Need help with project alpha retrieval latency", "project_id": None},
    "max_docs": 4,
}
ASSEMBLE_WITH_EVENTS = {**ASSEMBLE, "max_chars_total": 40_000, "include_events": {"top_k": 5, "max_chars": 4_000}}
EVENT = {
    "event_id": "evt_01",
    "service_id": "assistant-a",
    "timestamp": "2026-02-14T20:00:00Z",
    "source_type": "chat",
    "digest": "User asked to split memory by contention and lifecycle.",
    "keywords": ["memory", "config", "conflict"],
    "project_ids": ["project-alpha"],
    "snapshot_uri": "blob://snapshots/c_123/s_1.json",
    "evidence": {"message_ids": ["m12", "m13"], "span": {"start": 12, "end": 13}},
}
EVENT_WRITTEN = {"event_id": "evt_01", "indexed": True}
SEARCH = {
    "query": "how did we split the memory?",
    "top_k": 5,
    "from": "2026-01-01T00:00:00Z",
    "project_id": "project-alpha",
}
SEARCHED = {
    "events": [
        {
            **EVENT,
            "tenant_id": "t1",
            "user_id": "u1",
            "timestamp": "2026-02-14T20:00:00.000000Z",
            "score": 1.83,
        }
    ],
    "next_cursor": None,
    "mode": "lexical",
}
REINDEXING = {
    "reindex_id": "0b5e3a52-5d44-4c43-8c3e-3f1f2b0a9d77",
    "status": "running",
    "events": 2000,
    "waiting": 0,
    "removed": 0,
    "started_at": "2026-02-14T20:00:00.000000Z",
    "updated_at": "2026-02-14T20:00:03.000000Z",
}
