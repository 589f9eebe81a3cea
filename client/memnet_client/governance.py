"""Calls for auditors and administrators: audit records, retention, legal holds, erasure, and the service itself."""

from memnet_client import requests, retraction_requests
from memnet_client.randomness import new_id
from memnet_client.steps import Json, Request, Retry, Steps, send
from memnet_client.user_calls import UserCalls
from memnet_client.values import Export, Page, Pages, TenantQuestion, pending_item


class Governance(UserCalls):
    """Calls of auditors and administrators on one user."""

    def audit(self, *, namespace: str | None = None, path: str | None = None) -> Pages[Json]:
        """List audit records document by document, oldest first; `path` requires `namespace`."""

        def page(cursor: str | None) -> Steps[Page[Json]]:
            request = requests.list_audit(self.root, namespace=namespace, path=path, cursor=cursor)
            body = (yield from send(request, self.retry)).body
            return Page(body["records"], body["next_cursor"])

        return page

    def blame(self, /, binding: str, section: str = "", *, as_of: str | None = None, **ids: str) -> Pages[Json]:
        """List where the values of a document come from: who wrote each, when, by which change, on which evidence.

        `section` is a JSON Pointer relative to the content, such as `/facts/0/text`. A row is a value and everything
        within it that has the same origin; `further` has the other changes that it rests on, `before` the values that
        it replaced. Requires a role for histories. Raises ValueNotFound.
        """

        def page(cursor: str | None) -> Steps[Page[Json]]:
            _, place = yield from self.place(binding, ids)
            pointer = f"/content{section}" if section else None
            request = requests.get_blame(self.root, *place, pointer=pointer, as_of=as_of, cursor=cursor)
            body = (yield from send(request, self.retry)).body
            return Page(body["values"], body["next_cursor"])

        return page

    def consolidate(self, *, dry_run: bool = False) -> Steps[Json]:
        """Let statements that say the same become one; a dry run reports what would change."""
        return (yield from _body(requests.consolidate_documents(self.root, dry_run=dry_run), self.retry))

    def apply_retention(self, *, as_of: str | None = None, dry_run: bool = False) -> Steps[Json]:
        """Delete what is past its retention period; a dry run counts it."""
        return (yield from _body(requests.apply_retention(self.root, as_of=as_of, dry_run=dry_run), self.retry))

    def place_hold(self, reason: str) -> Steps[Json]:
        """Place a legal hold on the user: nothing is deleted while it lasts."""
        return (yield from _body(requests.place_hold(self.root, reason=reason), self.retry))

    def release_hold(self, reason: str) -> Steps[Json]:
        """Lift the legal hold on the user."""
        return (yield from _body(requests.release_hold(self.root, reason=reason), self.retry))

    def hold(self) -> Steps[Json]:
        """Get the legal hold on the user, and its history."""
        return (yield from _body(requests.get_hold(self.root), self.retry))

    def plan_retraction(self, source: Json, *, reason: str, key: str | None = None) -> Steps[Json]:
        """Plan to take a source back, such as `{"kind": "conversation", "conversation_id": "c1"}`; nothing changes.

        Return the plan with its `retraction_id` and `etag`. Raises UserNotFound, UserHeld, IdempotencyKeyReused.
        """
        body = {"source": source, "reason": reason}
        return (
            yield from _body(retraction_requests.plan_retraction(self.root, body=body, key=key or new_id()), self.retry)
        )

    def retract_conversation(
        self, conversation_id: str, *, reason: str, dry_run: bool = False, key: str | None = None
    ) -> Steps[Json]:
        """Have a worker take a conversation back, with what was learnt from it alone; return the retraction and plan.

        With `dry_run`, and if another principal has to apply it, it is only planned. Raises UserNotFound, UserHeld.
        """
        request = retraction_requests.retract_conversation(
            self.root, conversation_id, reason=reason, dry_run=dry_run, key=key or new_id()
        )
        return (yield from _body(request, self.retry))

    def retractions(self) -> Pages[Json]:
        """List the user's retractions without their plans."""

        def page(cursor: str | None) -> Steps[Page[Json]]:
            body = yield from _body(retraction_requests.list_retractions(self.root, cursor=cursor), self.retry)
            return Page(body["retractions"], body["next_cursor"])

        return page

    def retraction(self, retraction_id: str) -> Steps[Json]:
        """Get a retraction with its plan. Raises RetractionNotFound."""
        return (yield from _body(retraction_requests.get_retraction(self.root, retraction_id), self.retry))

    def apply_retraction(self, retraction_id: str, *, etag: str) -> Steps[Json]:
        """Apply the plan with this ETag; a worker does the work, and `retraction` shows its state.

        Raises ETagMismatch, PlannerCannotApply, RetractionClosed, UserHeld, RetractionNotFound.
        """
        return (yield from _body(retraction_requests.apply_retraction(self.root, retraction_id, etag=etag), self.retry))

    def undo_retraction(self, retraction_id: str) -> Steps[Json]:
        """Bring back what a retraction took. Raises RetractionClosed, UserHeld, RetractionNotFound."""
        return (yield from _body(retraction_requests.undo_retraction(self.root, retraction_id), self.retry))

    def erase(self, *, key: str | None = None) -> Steps[Json]:
        """Request the erasure of everything stored about the user; return it with its `erasure_id`."""
        return (yield from _body(requests.request_erasure(self.root, key=key or new_id()), self.retry))

    def erasure(self, erasure_id: str) -> Steps[Json]:
        """Get an erasure and, when it has finished, its receipt. Raises ErasureNotFound."""
        return (yield from _body(requests.get_erasure(self.root, erasure_id), self.retry))

    def erasures(self) -> Pages[Json]:
        """List the user's erasures with their receipts, the running one first."""

        def page(cursor: str | None) -> Steps[Page[Json]]:
            body = yield from _body(requests.list_erasures(self.root, cursor=cursor), self.retry)
            return Page(body["erasures"], body["next_cursor"])

        return page

    def export(self, *, include_conversations: bool = True, reason: str | None = None) -> Steps[Export]:
        """Export everything stored about the user as a ZIP file, in memory; the service records it.

        Raises UserNotFound, LimitExceeded.
        """
        request = requests.export_user(self.root, include_conversations=include_conversations, reason=reason)
        answer = yield from send(request, self.retry)
        return Export(answer.body, answer.headers["export-sha256"], answer.headers.get("export-left-out"))

    def verify_audit(self) -> Steps[Json]:
        """Verify the user's audit records, documents and checkpoints; return `ok` and the `faults`."""
        return (yield from _body(requests.verify_audit(self.root), self.retry))


class ServiceCalls:
    """Calls on a tenant and on the service."""

    def __init__(self, tenant: str, retry: Retry, profiles: dict[str, Json]) -> None:
        """Raises InvalidIdentifier."""
        self.tenant = tenant
        self.root = requests.tenant_root(tenant)
        self.retry = retry
        self.profile_cache = profiles

    def place_tenant_hold(self, reason: str) -> Steps[Json]:
        """Place a legal hold on all users of the tenant."""
        return (yield from _body(requests.place_tenant_hold(self.root, reason=reason), self.retry))

    def release_tenant_hold(self, reason: str) -> Steps[Json]:
        """Lift the legal hold on the tenant."""
        return (yield from _body(requests.release_tenant_hold(self.root, reason=reason), self.retry))

    def tenant_hold(self) -> Steps[Json]:
        """Get the legal hold on the tenant, and its history."""
        return (yield from _body(requests.get_tenant_hold(self.root), self.retry))

    def erase_tenant(self, *, confirm: str) -> Steps[Json]:
        """Request the erasure of all users of the tenant, which ends it; `confirm` is the tenant's id again."""
        return (yield from _body(requests.request_tenant_erasure(self.root, confirm=confirm), self.retry))

    def tenant_erasure(self) -> Steps[Json]:
        """Get the erasure of the tenant. Raises ErasureNotFound."""
        return (yield from _body(requests.get_tenant_erasure(self.root), self.retry))

    def reindex(self) -> Steps[Json]:
        """Start to index the tenant's events again."""
        return (yield from _body(requests.reindex_events(self.root), self.retry))

    def reindexing(self) -> Steps[Json]:
        """Get the progress of the indexing. Raises ReindexNotFound."""
        return (yield from _body(requests.get_reindexing(self.root), self.retry))

    def users(self, *, prefix: str | None = None) -> Pages[str]:
        """List the ids of the users about whom anything is stored; `prefix` is how the ids start."""

        def page(cursor: str | None) -> Steps[Page[str]]:
            body = yield from _body(requests.list_users(self.root, prefix=prefix, cursor=cursor), self.retry)
            return Page([row["user_id"] for row in body["users"]], body["next_cursor"])

        return page

    def questions(self) -> Pages[TenantQuestion]:
        """List the questions that the tenant decides, of all users; `confirm` of the user answers one."""

        def page(cursor: str | None) -> Steps[Page[TenantQuestion]]:
            body = yield from _body(requests.list_tenant_pending(self.root, cursor=cursor), self.retry)
            rows = [TenantQuestion(row["user_id"], pending_item(row), row["existing"]) for row in body["pending"]]
            return Page(rows, body["next_cursor"])

        return page

    def waiting(self, *, kind: str | None = None) -> Pages[Json]:
        """List the users for whom something waits, with one row for each user and kind.

        `kind` is pending, question, conflict, failed_replay, erasure, dead_letter or retraction.
        """

        def page(cursor: str | None) -> Steps[Page[Json]]:
            body = yield from _body(requests.list_waiting(self.root, kind=kind, cursor=cursor), self.retry)
            return Page(body["waiting"], body["next_cursor"])

        return page

    def profiles(self) -> Pages[Json]:
        """List the profiles that this principal may use."""

        def page(cursor: str | None) -> Steps[Page[Json]]:
            body = yield from _body(requests.list_profiles(cursor=cursor), self.retry)
            return Page(body["profiles"], body["next_cursor"])

        return page

    def profile(self, profile_id: str) -> Steps[Json]:
        """Get a profile as the service applies it. Raises ProfileNotFound, ProfileForbidden."""
        return (yield from _body(requests.get_profile(profile_id), self.retry))["profile"]

    def schema(self, schema_id: str, schema_version: str) -> Steps[Json]:
        """Get a schema. Raises SchemaNotFound."""
        return (yield from _body(requests.get_schema(schema_id, schema_version), self.retry))

    def statistics(self, *, minutes: int | None = None) -> Steps[Json]:
        """Get the requests and latencies of one process of the service."""
        return (yield from _body(requests.get_statistics(minutes=minutes), self.retry))

    def keys(self) -> Steps[Json]:
        """List the public keys that verify checkpoints and receipts, as a JSON Web Key Set."""
        return (yield from _body(requests.list_keys(), self.retry))

    def me(self) -> Steps[Json]:
        """Get the signed-in user of the token. Raises UserForbidden for the token of a service."""
        return (yield from _body(requests.get_me(), self.retry))

    def live(self) -> Steps[Json]:
        """Get whether the process answers."""
        return (yield from _body(requests.health_live(), self.retry))

    def ready(self) -> Steps[Json]:
        """Get whether the service and its dependencies answer. Raises Unavailable."""
        return (yield from _body(requests.health_ready(), self.retry))


def _body(request: Request, retry: Retry) -> Steps[Json]:
    return (yield from send(request, retry)).body
