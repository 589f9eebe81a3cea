"""The requests of the API: one pure function per operation, with the operationId of the OpenAPI document as its name.

Every id is checked here, before it becomes a part of a URL. All raise InvalidIdentifier.
"""

from collections.abc import Mapping, Sequence

from memnet_client.identifiers import document_path, segment
from memnet_client.steps import Json, Request

CREATE = None
"""The ETag of a document that does not exist yet."""


def _get(operation: str, url: str, /, **params: str | int | None) -> Request:
    return Request(operation, "GET", url, params=_texts(params))


def _texts(params: Mapping[str, str | int | None]) -> dict[str, str]:
    return {name: str(value) for name, value in params.items() if value is not None}


def _given(**members: Json) -> dict[str, Json]:
    return {name: value for name, value in members.items() if value is not None}


def _write_headers(etag: str | None, key: str) -> dict[str, str]:
    return {**({"If-None-Match": "*"} if etag is CREATE else {"If-Match": etag}), "Idempotency-Key": key}


def _dry(dry_run: bool) -> dict[str, str]:
    return {"dry_run": "true"} if dry_run else {}


def tenant_root(tenant_id: str) -> str:
    """Return the path of a tenant."""
    return f"/v1/tenants/{segment('tenant_id', tenant_id)}"


def user_root(tenant_id: str, user_id: str) -> str:
    """Return the path of a user."""
    return f"{tenant_root(tenant_id)}/users/{segment('user_id', user_id)}"


def _document(root: str, namespace: str, path: str, kind: str = "documents") -> str:
    return f"{root}/{kind}/{segment('namespace', namespace)}/{document_path(path)}"


# --- documents


def list_documents(root: str, *, namespace: str | None, prefix: str | None, cursor: str | None) -> Request:
    """List documents."""
    return _get("list_documents", f"{root}/documents", namespace=namespace, prefix=prefix, cursor=cursor)


def get_document(
    root: str, namespace: str, path: str, *, as_of: str | None = None, known: str | None = None
) -> Request:
    """Get a document."""
    headers, params = _texts({"If-None-Match": known}), _texts({"as_of": as_of})
    return Request("get_document", "GET", _document(root, namespace, path), headers, params)


def patch_document(
    root: str,
    namespace: str,
    path: str,
    *,
    etag: str | None,
    key: str,
    profile_id: str,
    binding_id: str,
    ops: Sequence[Json],
    reason: str,
    evidence: Json = None,
    confidence: float | None = None,
    source_time: str | None = None,
    claimant: str | None = None,
    dry_run: bool = False,
) -> Request:
    """Patch a document."""
    named = None if claimant is None else {"user_id": claimant}
    body = _given(evidence=evidence, confidence=confidence, source_time=source_time, claimant=named)
    body |= {"profile_id": profile_id, "binding_id": binding_id, "ops": list(ops), "reason": reason}
    place = _document(root, namespace, path)
    return Request("patch_document", "PATCH", place, _write_headers(etag, key), _dry(dry_run), body)


def replace_document(
    root: str,
    namespace: str,
    path: str,
    *,
    etag: str | None,
    key: str,
    profile_id: str,
    binding_id: str,
    document: Json,
    reason: str | None = None,
    evidence: Json = None,
    dry_run: bool = False,
) -> Request:
    """Replace or create a document."""
    body = {"profile_id": profile_id, "binding_id": binding_id, "document": document}
    body |= _given(reason=reason, evidence=evidence)
    headers = _write_headers(etag, key)
    return Request("replace_document", "PUT", _document(root, namespace, path), headers, _dry(dry_run), body)


def delete_document(
    root: str, namespace: str, path: str, *, etag: str, key: str, reason: str | None = None, dry_run: bool = False
) -> Request:
    """Delete a document."""
    headers, params = _write_headers(etag, key), _texts({"reason": reason}) | _dry(dry_run)
    return Request("delete_document", "DELETE", _document(root, namespace, path), headers, params)


# --- entries and pending items


def list_entries(root: str, *, cursor: str | None, **only: str | None) -> Request:
    """List the entries of the documents with their origins."""
    return _get("list_entries", f"{root}/entries", **only, cursor=cursor)


def list_pending(root: str, *, cursor: str | None) -> Request:
    """List pending items."""
    return _get("list_pending", f"{root}/pending", cursor=cursor)


def confirm_pending(
    root: str, pending_id: str, *, key: str, etag: str | None, body: Json, dry_run: bool = False
) -> Request:
    """Confirm a pending item."""
    headers = {"Idempotency-Key": key} | ({"If-Match": etag} if etag else {})
    place = f"{root}/pending/{segment('pending_id', pending_id)}:confirm"
    return Request("confirm_pending", "POST", place, headers, _dry(dry_run), body)


def reject_pending(root: str, pending_id: str, *, key: str, etag: str | None, body: Json) -> Request:
    """Reject a pending item."""
    headers = {"Idempotency-Key": key} | ({"If-Match": etag} if etag else {})
    place = f"{root}/pending/{segment('pending_id', pending_id)}:reject"
    return Request("reject_pending", "POST", place, headers, body=body)


# --- context and events


def assemble_context(root: str, body: Json) -> Request:
    """Assemble context."""
    return Request("assemble_context", "POST", f"{root}/context:assemble", body=body)


def recall(root: str, body: Json) -> Request:
    """Recall."""
    return Request("recall", "POST", f"{root}/context:recall", body=body)


def write_event(root: str, event: Json) -> Request:
    """Create an event."""
    return Request("write_event", "POST", f"{root}/events", body=event)


def list_events(root: str, *, cursor: str | None) -> Request:
    """List events."""
    return _get("list_events", f"{root}/events", cursor=cursor)


def search_events(root: str, body: Json) -> Request:
    """Search events."""
    return Request("search_events", "POST", f"{root}/events:search", body=body)


def search_turns(root: str, body: Json) -> Request:
    """Search conversations."""
    return Request("search_turns", "POST", f"{root}/turns:search", body=body)


# --- conversations


def _conversation(root: str, conversation_id: str) -> str:
    return f"{root}/conversations/{segment('conversation_id', conversation_id)}"


def store_snapshot(root: str, conversation_id: str, body: Json) -> Request:
    """Submit a conversation snapshot."""
    return Request("store_snapshot", "POST", f"{_conversation(root, conversation_id)}/snapshots", body=body)


def store_turns(root: str, conversation_id: str, body: Json) -> Request:
    """Submit turns."""
    return Request("store_turns", "POST", f"{_conversation(root, conversation_id)}/turns", body=body)


def list_conversations(root: str, *, conversation_id: str | None, cursor: str | None) -> Request:
    """List conversations."""
    return _get("list_conversations", f"{root}/conversations", conversation_id=conversation_id, cursor=cursor)


def read_snapshot(root: str, conversation_id: str, snapshot_id: str) -> Request:
    """Read a conversation snapshot."""
    named = segment("snapshot_id", snapshot_id)
    return _get("read_snapshot", f"{_conversation(root, conversation_id)}/snapshots/{named}")


def list_snapshot_reads(root: str, *, cursor: str | None) -> Request:
    """List reads of conversation snapshots."""
    return _get("list_snapshot_reads", f"{root}/accesses", cursor=cursor)


def list_replays(root: str, *, cursor: str | None, **only: str | None) -> Request:
    """List replays."""
    return _get("list_replays", f"{root}/replays", **only, cursor=cursor)


def get_replay(root: str, replay_id: str) -> Request:
    """Get a replay."""
    return _get("get_replay", f"{root}/replays/{segment('replay_id', replay_id)}")


def retry_replay(root: str, replay_id: str) -> Request:
    """Retry a failed replay."""
    return Request("retry_replay", "POST", f"{root}/replays/{segment('replay_id', replay_id)}:retry")


def list_conflicts(root: str, *, status: str | None, cursor: str | None) -> Request:
    """List conflicts."""
    return _get("list_conflicts", f"{root}/conflicts", status=status, cursor=cursor)


def retry_conflict(root: str, conflict_id: str) -> Request:
    """Retry a conflict."""
    return Request("retry_conflict", "POST", f"{root}/conflicts/{segment('conflict_id', conflict_id)}:retry")


def discard_conflict(root: str, conflict_id: str, *, note: str | None) -> Request:
    """Discard a conflict."""
    place = f"{root}/conflicts/{segment('conflict_id', conflict_id)}:discard"
    return Request("discard_conflict", "POST", place, body=_given(note=note))


# --- audit and governance


def list_audit(root: str, *, namespace: str | None, path: str | None, cursor: str | None) -> Request:
    """List audit records."""
    return _get("list_audit", f"{root}/audit", namespace=namespace, path=path, cursor=cursor)


def get_blame(root: str, namespace: str, path: str, **asked: str | None) -> Request:
    """Get where the values of a document come from."""
    return _get("get_blame", _document(root, namespace, path, "blame"), **asked)


def consolidate_documents(root: str, *, dry_run: bool) -> Request:
    """Consolidate a user's documents."""
    return Request("consolidate_documents", "POST", f"{root}/documents:consolidate", body={"dry_run": dry_run})


def apply_retention(root: str, *, as_of: str | None, dry_run: bool) -> Request:
    """Apply retention to a user."""
    return Request("apply_retention", "POST", f"{root}/retention:apply", body=_given(as_of=as_of, dry_run=dry_run))


def place_hold(root: str, *, reason: str) -> Request:
    """Place a legal hold on a user."""
    return Request("place_hold", "PUT", f"{root}/legal-hold", body={"reason": reason})


def release_hold(root: str, *, reason: str) -> Request:
    """Lift the legal hold on a user."""
    return Request("release_hold", "DELETE", f"{root}/legal-hold", params={"reason": reason})


def get_hold(root: str) -> Request:
    """Get a user's legal hold."""
    return _get("get_hold", f"{root}/legal-hold")


def request_erasure(root: str, *, key: str) -> Request:
    """Request the erasure of a user."""
    return Request("request_erasure", "DELETE", f"{root}/memory", {"Idempotency-Key": key})


def get_erasure(root: str, erasure_id: str) -> Request:
    """Get an erasure."""
    return _get("get_erasure", f"{root}/erasures/{segment('erasure_id', erasure_id)}")


def list_erasures(root: str, *, cursor: str | None) -> Request:
    """List the erasures of a user."""
    return _get("list_erasures", f"{root}/erasures", cursor=cursor)


def export_user(root: str, *, include_conversations: bool, reason: str | None) -> Request:
    """Export a user."""
    members = _given(reason=reason, include_conversations=include_conversations)
    return Request("export_user", "POST", f"{root}/export", body=members)


def verify_audit(root: str) -> Request:
    """Verify a user's history."""
    return Request("verify_audit", "POST", f"{root}/audit:verify")


def list_users(root: str, *, prefix: str | None, cursor: str | None) -> Request:
    """List users."""
    return _get("list_users", f"{root}/users", prefix=prefix, cursor=cursor)


def list_waiting(root: str, *, kind: str | None, cursor: str | None) -> Request:
    """List what waits for a person."""
    return _get("list_waiting", f"{root}/waiting", kind=kind, cursor=cursor)


def list_tenant_pending(root: str, *, cursor: str | None) -> Request:
    """List the questions that the tenant decides."""
    return _get("list_tenant_pending", f"{root}/pending", decides="tenant", cursor=cursor)


def place_tenant_hold(root: str, *, reason: str) -> Request:
    """Place a legal hold on a tenant."""
    return Request("place_tenant_hold", "PUT", f"{root}/legal-hold", body={"reason": reason})


def release_tenant_hold(root: str, *, reason: str) -> Request:
    """Lift the legal hold on a tenant."""
    return Request("release_tenant_hold", "DELETE", f"{root}/legal-hold", params={"reason": reason})


def get_tenant_hold(root: str) -> Request:
    """Get a tenant's legal hold."""
    return _get("get_tenant_hold", f"{root}/legal-hold")


def request_tenant_erasure(root: str, *, confirm: str) -> Request:
    """Request the erasure of a tenant."""
    return Request("request_tenant_erasure", "DELETE", f"{root}/memory", params={"confirm": confirm})


def get_tenant_erasure(root: str) -> Request:
    """Get the erasure of a tenant."""
    return _get("get_tenant_erasure", f"{root}/erasure")


def reindex_events(root: str) -> Request:
    """Reindex a tenant's events."""
    return Request("reindex_events", "POST", f"{root}/search:reindex")


def get_reindexing(root: str) -> Request:
    """Get the reindexing of a tenant."""
    return _get("get_reindexing", f"{root}/search:reindex")


# --- the service


def get_statistics(*, minutes: int | None) -> Request:
    """Get service statistics."""
    return _get("get_statistics", "/v1/statistics", minutes=minutes)


def list_profiles(*, cursor: str | None) -> Request:
    """List profiles."""
    return _get("list_profiles", "/v1/profiles", cursor=cursor)


def get_profile(profile_id: str) -> Request:
    """Get a profile."""
    return _get("get_profile", f"/v1/profiles/{segment('profile_id', profile_id)}")


def get_schema(schema_id: str, schema_version: str) -> Request:
    """Get a version of a schema."""
    version = segment("schema_version", schema_version)
    return _get("get_schema", f"/v1/schemas/{segment('schema_id', schema_id)}/{version}")


def list_keys() -> Request:
    """List the public keys."""
    return _get("list_keys", "/v1/keys")


def get_me() -> Request:
    """Get the signed-in user."""
    return _get("get_me", "/v1/me")


def health_live() -> Request:
    """Check liveness."""
    return _get("health_live", "/health/live")


def health_ready() -> Request:
    """Check readiness."""
    return _get("health_ready", "/health/ready")
