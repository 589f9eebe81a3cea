"""Every operation: its method and path, the roles that it requires, and the function that answers it."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from memnet_client.steps import READS
from memnet_client.testing import (
    blame,
    catalog,
    conflicts,
    context,
    conversations,
    documents,
    entries,
    events,
    governance,
    pending,
    recall,
    retractions,
    subject_requests,
    turn_search,
    turns,
    waiting,
)
from memnet_client.testing.call import Answer, Call

Handler = Callable[[Call], Answer]
USER = "/v1/tenants/{tenant_id}/users/{user_id}"
TENANT = "/v1/tenants/{tenant_id}"
DOCUMENT = USER + "/documents/{namespace}/{path}"
SNAPSHOTS = USER + "/conversations/{conversation_id}/snapshots"
R, W, P, A, H = "Memory.Read", "Memory.Write", "Memory.Replay", "Memory.Admin", "Memory.Audit"


OWN = {
    "export_user": frozenset({R}),
    "request_erasure": frozenset({W}),
    "get_erasure": frozenset({R, W}),
    "list_erasures": frozenset({R, W}),
}
"""Further roles of a signed-in user for their own memory."""


@dataclass(frozen=True)
class Operation:
    """One operation of the API."""

    name: str
    method: str
    template: str
    roles: frozenset[str]
    handler: Handler

    @property
    def changes(self) -> bool:
        """Whether a request can change what is stored."""
        return self.method != "GET" and self.name not in READS

    def match(self, path: str) -> dict[str, str] | None:
        """Return the parameters of a path, or None if it is another one."""
        pattern = re.sub(r"\\{(\w+)\\}", _group, re.escape(self.template))
        found = re.fullmatch(pattern, path)
        return None if found is None else found.groupdict()


def _group(match: re.Match[str]) -> str:
    return rf"(?P<{match[1]}>.+)" if match[1] == "path" else rf"(?P<{match[1]}>[^/:]+)"


def _operation(method: str, template: str, handler: Handler, *roles: str, name: str | None = None) -> Operation:
    return Operation(name or handler.__name__, method, template, frozenset(roles), handler)


OPERATIONS = [
    _operation("GET", USER + "/documents", documents.list_documents, R, A),
    _operation("GET", DOCUMENT, documents.get_document, R, A),
    _operation("PATCH", DOCUMENT, documents.patch_document, W, P, A),
    _operation("PUT", DOCUMENT, documents.replace_document, A),
    _operation("DELETE", DOCUMENT, documents.delete_document, A),
    _operation("GET", USER + "/audit", documents.list_audit, A, H),
    _operation("GET", USER + "/blame/{namespace}/{path}", blame.get_blame, A, H),
    _operation("GET", USER + "/entries", entries.list_entries, R, A),
    _operation("GET", USER + "/pending", pending.list_pending, R, A),
    _operation("POST", USER + "/pending/{pending_id}:confirm", pending.confirm_pending, W, A),
    _operation("POST", USER + "/pending/{pending_id}:reject", pending.reject_pending, W, A),
    _operation("POST", USER + "/context:assemble", context.assemble_context, R, A),
    _operation("POST", USER + "/context:recall", recall.recall, R, A),
    _operation("POST", USER + "/events", events.write_event, W, P, A),
    _operation("GET", USER + "/events", events.list_events, R, A),
    _operation("POST", USER + "/events:search", events.search_events, R, A),
    _operation("POST", USER + "/turns:search", turn_search.search_turns, R, A),
    _operation("GET", USER + "/conversations", conversations.list_conversations, R, A, H),
    _operation("POST", SNAPSHOTS, conversations.store_snapshot, W, P, A),
    _operation("POST", USER + "/conversations/{conversation_id}/turns", turns.store_turns, W, P, A),
    _operation("DELETE", USER + "/conversations/{conversation_id}", retractions.retract_conversation, A),
    _operation("GET", SNAPSHOTS + "/{snapshot_id}", conversations.read_snapshot, A, H),
    _operation("GET", USER + "/accesses", conversations.list_snapshot_reads, A, H),
    _operation("GET", USER + "/replays", conversations.list_replays, R, P, A),
    _operation("GET", USER + "/replays/{replay_id}", conversations.get_replay, R, P, A),
    _operation("POST", USER + "/replays/{replay_id}:retry", conversations.retry_replay, P, A),
    _operation("GET", USER + "/conflicts", conflicts.list_conflicts, P, A),
    _operation("POST", USER + "/conflicts/{conflict_id}:retry", conflicts.retry_conflict, P, A),
    _operation("POST", USER + "/conflicts/{conflict_id}:discard", conflicts.discard_conflict, A),
    _operation("POST", USER + "/documents:consolidate", governance.consolidate_documents, P, A),
    _operation("POST", USER + "/retention:apply", governance.apply_retention, A),
    _operation("PUT", USER + "/legal-hold", governance.place_hold, A),
    _operation("DELETE", USER + "/legal-hold", governance.release_hold, A),
    _operation("GET", USER + "/legal-hold", governance.get_hold, A),
    _operation("POST", USER + "/retractions", retractions.plan_retraction, A),
    _operation("GET", USER + "/retractions", retractions.list_retractions, A, H),
    _operation("GET", USER + "/retractions/{retraction_id}", retractions.get_retraction, A, H),
    _operation("POST", USER + "/retractions/{retraction_id}:apply", retractions.apply_retraction, A),
    _operation("POST", USER + "/retractions/{retraction_id}:undo", retractions.undo_retraction, A),
    _operation("DELETE", USER + "/memory", governance.request_erasure, A),
    _operation("GET", USER + "/erasures/{erasure_id}", governance.get_erasure, A, H),
    _operation("GET", TENANT + "/users", governance.list_users, A, H),
    _operation("GET", USER + "/erasures", subject_requests.list_erasures, A, H),
    _operation("POST", USER + "/export", subject_requests.export_user, A),
    _operation("POST", USER + "/audit:verify", subject_requests.verify_audit, A, H),
    _operation("GET", TENANT + "/waiting", waiting.list_waiting, A, H),
    _operation("GET", TENANT + "/pending", pending.list_tenant_pending, A, H),
    _operation("PUT", TENANT + "/legal-hold", governance.place_hold, A, name="place_tenant_hold"),
    _operation("DELETE", TENANT + "/legal-hold", governance.release_hold, A, name="release_tenant_hold"),
    _operation("GET", TENANT + "/legal-hold", governance.get_hold, A, name="get_tenant_hold"),
    _operation("DELETE", TENANT + "/memory", governance.request_tenant_erasure, A),
    _operation("GET", TENANT + "/erasure", governance.get_tenant_erasure, A, H),
    _operation("POST", TENANT + "/search:reindex", catalog.reindex_events, A),
    _operation("GET", TENANT + "/search:reindex", catalog.get_reindexing, A),
    _operation("GET", "/v1/statistics", catalog.get_statistics, A),
    _operation("GET", "/v1/profiles", catalog.list_profiles, R, A, H),
    _operation("GET", "/v1/profiles/{profile_id}", catalog.get_profile, R, A, H),
    _operation("GET", "/v1/schemas/{schema_id}/{schema_version}", catalog.get_schema, R, A, H),
    _operation("GET", "/v1/keys", subject_requests.list_keys),
    _operation("GET", "/v1/me", subject_requests.get_me, R, W),
    _operation("GET", "/health/live", catalog.health_live),
    _operation("GET", "/health/ready", catalog.health_ready),
]
