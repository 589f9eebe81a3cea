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
CONFIRM = {
    "namespace": "user",
    "path": "user_dynamic.json",
    "confidence": 0.95,
    "evidence": {"conversation_id": "c_124", "message_ids": ["m3"]},
}
REJECT = {"namespace": "user", "path": "user_dynamic.json", "note": "The user moved back."}
_ITEM = (
    {"id": "6f2c2f0e-1111-4222-8333-444455556666", "text": "Lives in Lisbon.", "confidence": 0.4}
    | {"profile_id": "project-copilot-v1", "binding_id": "user_dynamic"}
    | {"evidence": {"conversation_id": "c_123", "message_ids": ["m7"]}, "proposed_on": ETAG}
    | {"proposed_at": "2026-02-14T20:00:00.000000Z", "proposed_by": "memnet-worker", "on_behalf_of": "svc-a"}
    | {"target": {"op": "replace", "path": "/content/durable_facts/0/text", "value": "Lives in Lisbon."}}
    | {"base": {"durable_facts": [{"id": "fact-1", "text": "Lives in Bern."}]}}
)
_WAITS = {"namespace": "user", "path": "user_dynamic.json", "pointer": "/content/pending_confirmations/0"}
PENDING = {"pending": [{**_WAITS, "etag": ETAG, "item": _ITEM}], "next_cursor": None}
LISTED = {
    "documents": [
        {"namespace": "user", "path": "user_dynamic.json", "etag": ETAG}
        | {"updated_at": "2026-02-14T20:00:00.000000Z", "size": 87, "sequence": 2}
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
    "entities": ["Azure"],
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
            "untrusted_quotation": True,
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
SNAPSHOT = {
    "snapshot_id": "s_1",
    "profile_id": "project-copilot-v1",
    "messages": [
        {
            "message_id": "m1",
            "role": "user",
            "content": "Please keep answers short, and draw the architecture.",
            "timestamp": "2026-02-14T20:00:00Z",
        },
        {
            "message_id": "m2",
            "role": "assistant",
            "content": "Here it is, in one diagram.",
            "timestamp": "2026-02-14T20:00:04Z",
        },
    ],
}
PROFILE_SHA256 = "c2e94f0a6fc14339b5e51f7c049c42ff75f2db813be824f03b5d6e75a5338f3f"
SNAPSHOT_URI = "blob://tenants/t1/users/u1/snapshots/c_123/s_1.json"
REPLAY_ID = "rpl-6f1c2f0e3f0f4a539d3e0d1a2b3c4d5e"
STORED = {"snapshot_id": "s_1", "snapshot_uri": SNAPSHOT_URI, "replay_id": REPLAY_ID, "queued": True}
SNAPSHOT_READ = {
    "conversation_id": "c_123",
    "snapshot_uri": SNAPSHOT_URI,
    "replay_id": REPLAY_ID,
    "service_id": "svc-a",
    "profile_version": "1.1.0",
    "profile_sha256": PROFILE_SHA256,
    **SNAPSHOT,
}
ACCESSES = {
    "accesses": [
        {
            "access_id": "20260215T090000.000000Z-0b5e3a52-5d44-4c43-8c3e-3f1f2b0a9d77",
            "accessed_at": "2026-02-15T09:00:00.000000Z",
            "principal": "auditor-1",
            "roles": ["Memory.Audit"],
            "conversation_id": "c_123",
            "snapshot_id": "s_1",
            "snapshot_uri": SNAPSHOT_URI,
        }
    ],
    "next_cursor": None,
}
REPLAYED = {
    "replay_id": REPLAY_ID,
    "status": "partial",
    "conversation_id": "c_123",
    "snapshot_id": "s_1",
    "snapshot_uri": SNAPSHOT_URI,
    "profile_id": "project-copilot-v1",
    "attempts": 1,
    "reason": None,
    "event_id": f"memnet-{REPLAY_ID}",
    "extraction": {
        "extractor": "model",
        "model": "gpt-4.1-mini",
        "prompt_id": "project-copilot",
        "prompt_version": "1.0.0",
        "prompt_sha256": "b95b5bdb9f731ad5848e0f9b4a82dd5077ef1bb63da11d49709f00391967b8ad",
        "profile_version": "1.1.0",
        "profile_sha256": PROFILE_SHA256,
    },
    "created_at": "2026-02-14T20:00:05.000000Z",
    "updated_at": "2026-02-14T20:00:09.000000Z",
    "patches": [
        {
            "number": 1,
            "binding_id": "user_dynamic",
            "namespace": "user",
            "path": "user_dynamic.json",
            "status": "applied",
            "change_id": CHANGE_ID,
            "message_ids": ["m1"],
            "confidence": 0.75,
        },
        {
            "number": 2,
            "binding_id": "project_doc",
            "namespace": "projects",
            "path": "project-alpha.json",
            "status": "conflict",
            "reason": "changed",
            "conflict_id": f"cfl-{REPLAY_ID}-2",
            "conflict_status": "open",
            "message_ids": ["m1"],
            "confidence": 0.75,
        },
    ],
}
CONFLICT = {
    "conflict_id": f"cfl-{REPLAY_ID}-2",
    "replay_id": REPLAY_ID,
    "number": 2,
    "profile_id": "project-copilot-v1",
    "binding_id": "project_doc",
    "namespace": "projects",
    "path": "project-alpha.json",
    "status": "open",
    "reason": "changed",
    "attempts": 1,
    "scheduled": 2,
    "next_attempt_at": "2026-02-14T20:06:09.000000Z",
    "confidence": 0.75,
    "evidence": {"conversation_id": "c_123", "message_ids": ["m1"], "snapshot_uri": SNAPSHOT_URI},
    "idempotency_key": f"{REPLAY_ID}-2",
    "rebases": 1,
    "change_id": None,
    "redirected": False,
    "created_at": "2026-02-14T20:00:09.000000Z",
    "updated_at": "2026-02-14T20:01:09.000000Z",
    "decisions": [],
    "base": {"etag": ETAG, "content": {"summary": "Search as it was", "facets": {}, "recent_notes": []}},
    "ours": {"ops": [{"op": "replace", "path": "/content/summary", "value": "The retrieval rewrite"}]},
    "theirs": {
        "etag": '"3-0b5e3a525d444c43"',
        "content": {"summary": "Search, faster", "facets": {}, "recent_notes": []},
    },
    "place": {
        "op_index": 0,
        "path": "/content/summary",
        "why": "changed",
        "base": "Search as it was",
        "theirs": "Search, faster",
    },
}
CONFLICTS = {"conflicts": [CONFLICT], "next_cursor": None}
_NOTHING = {"removed": 0, "on_hold": 0, "blocked": 0, "deferred": 0, "retained": 0}
RETENTION = {
    "as_of": "2026-02-14T20:00:00.000000Z",
    "dry_run": False,
    "on_hold": False,
    "holds": [],
    "counts": {
        "snapshots": {**_NOTHING, "removed": 2, "retained": 5},
        "replays": {**_NOTHING, "retained": 7},
        "conflicts": _NOTHING,
        "accesses": {**_NOTHING, "retained": 1},
        "events": {**_NOTHING, "retained": 41},
        "audit": {**_NOTHING, "removed": 12, "retained": 230},
        "imports": _NOTHING,
    },
    "baselines": 3,
    "unreadable": 0,
}
_REASON = "Litigation 2026-17: keep everything."
ERASING = {
    "erasure_id": "5a0f2d8c41be7790cc13e5f0aa6f2b91",
    "status": "running",
    "accepted_at": "2026-02-14T20:00:00.000000Z",
    "removed": {"documents": 3, "audit": 41, "events": 12, "keys": 1},
    "failing": {},
    "settled_at": "2026-02-14T20:16:00.000000Z",
    "receipt": None,
}
ERASED = {
    **ERASING,
    "status": "complete",
    "settled_at": None,
    "receipt": {
        "receipt_version": 1,
        "erasure_id": "5a0f2d8c41be7790cc13e5f0aa6f2b91",
        "tenant_id": "acme",
        "user_hash": "0c4f19a4e37c6ff4d5d4ab9f5a1bd6a4a4e5b2f7a4cfe2d9d8f0b6f5a1c3e7d9",
        "salt": "q83vASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4k=",
        "status": "complete",
        "requested_by": "svc-privacy",
        "accepted_at": "2026-02-14T20:00:00.000000Z",
        "finished_at": "2026-02-14T20:16:31.000000Z",
        "stores": ["blobs", "index", "queues"],
        "removed": {"documents": 3, "audit": 41, "events": 12, "keys": 1},
        "remaining": [],
        "clean_scans": 2,
        "recoverable_until": None,
        "last_head_sha256": None,
        "key_id": "f1d2d2f924e986ac86fdf7b36c94bcdf32beec15d2f4a3b1c0e9d8f7a6b5c4d3",
        "signature": "…",
    },
}
HOLD = {
    "held": True,
    "holds": [{"covers": "user", "reason": _REASON, "actor": "svc-legal", "since": "2026-02-14T20:00:00.000000Z"}],
    "changes": [
        {"action": "placed", "reason": _REASON, "actor": "svc-legal", "at": "2026-02-14T20:00:00.000000Z"},
    ],
}
_PROFILE_ETAG = '"0b0c7a1f3f6d2f0d9f5e8b6b8c5f0b1d1f9a4f5f2b9c6e7d8a3b4c5d6e7f8091"'
_LISTED_BINDING = {
    "binding_id": "user_dynamic",
    "namespace": "user",
    "path": "user_dynamic.json",
    "path_template": None,
    "schema_id": "memory.user.dynamic",
    "schema_version": "1.0.0",
    "max_chars": 18000,
    "read_priority": 20,
    "write_mode": "restricted_patch",
}
PROFILES = {
    "profiles": [
        {
            "profile_id": "project-copilot-v1",
            "version": "1.1.0",
            "etag": _PROFILE_ETAG,
            "document_bindings": [_LISTED_BINDING],
        }
    ],
    "next_cursor": None,
}
PROFILE = {
    "etag": _PROFILE_ETAG,
    "profile": {
        "profile_id": "project-copilot-v1",
        "version": "1.1.0",
        "document_bindings": [{**_LISTED_BINDING, "initial_content": {"preferences": []}}],
        "writable_path_rules": {"user_dynamic": ["/preferences"]},
        "pending_sections": {"user_dynamic": "/pending_confirmations"},
        "confidence_rules": {"min_confidence_for_durable_fact": 0.8, "min_confidence_for_auto_apply": 0.7},
    },
}
SCHEMA = {
    "etag": '"4f7a6c5b2e1d0f9c8b7a6d5e4f3c2b1a0918273645546372819a0b1c2d3e4f50"',
    "schema_id": "memory.project",
    "schema_version": "1.0.0",
    "schema": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "memnet:memory.project:1.0.0",
        "type": "object",
    },
}
_PERCENTILES = {"p50_ms": 3.1, "p95_ms": 8.8, "p99_ms": 14.2}
_NONE_WAITS = {"waiting": 0, "oldest_at": None, "oldest_age_seconds": 0.0}
STATISTICS = {
    "scope": "process",
    "requests": {
        "since": "2026-02-14T19:01:00.000000Z",
        "until": "2026-02-14T20:00:12.000000Z",
        "operations": [
            {
                "operation": "patch_document",
                "requests": 420,
                **_PERCENTILES,
                "longest_ms": 17.9,
                "statuses": {"200": 401, "201": 7, "412": 12},
            }
        ],
        "by_minute": [
            {
                "minute": "2026-02-14T20:00:00.000000Z",
                "requests": 31,
                **_PERCENTILES,
                "writes": 9,
                "stale_writes": 1,
                "failures": 0,
            }
        ],
    },
    "backlog": {
        "jobs": {
            "replay": {"waiting": 2, "oldest_at": "2026-02-14T19:59:58.000000Z", "oldest_age_seconds": 14.0},
            "conflict": _NONE_WAITS,
            "reindex": _NONE_WAITS,
        },
        "events_to_index": _NONE_WAITS,
        "complete": True,
    },
}
