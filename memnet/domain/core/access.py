"""The roles that each operation requires, and the reasons for a change."""

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from memnet.domain.core.errors import RoleRequired, SelfErasureForbidden, TenantForbidden, UserForbidden
from memnet.domain.core.json_patch import READING
from memnet.domain.core.scope import Actor, UserScope
from memnet.domain.core.suggestion import listed


class Reason(StrEnum):
    """The reason for a change; recorded in every audit record."""

    LIVE_UPDATE = "live_update"
    REPLAY_UPDATE = "replay_update"
    ADMIN_MIGRATION = "admin_migration"
    COMPACTION = "compaction"
    FRESHNESS = "freshness"
    CONFIRMATION = "confirmation"
    REJECTION = "rejection"
    RETRACTION = "retraction"


class Role(StrEnum):
    """The application roles a token can carry in `roles`."""

    READ = "Memory.Read"
    WRITE = "Memory.Write"
    REPLAY = "Memory.Replay"
    ADMIN = "Memory.Admin"
    AUDIT = "Memory.Audit"


ROLES: Mapping[str, frozenset[Role]] = MappingProxyType(
    {
        "get_document": frozenset({Role.READ, Role.ADMIN}),
        "list_documents": frozenset({Role.READ, Role.ADMIN}),
        "list_entries": frozenset({Role.READ, Role.ADMIN}),
        "assemble_context": frozenset({Role.READ, Role.ADMIN}),
        "recall": frozenset({Role.READ, Role.ADMIN}),
        "patch_document": frozenset({Role.WRITE, Role.REPLAY, Role.ADMIN}),
        "replace_document": frozenset({Role.ADMIN}),
        "delete_document": frozenset({Role.ADMIN}),
        "list_audit": frozenset({Role.ADMIN, Role.AUDIT}),
        "get_blame": frozenset({Role.ADMIN, Role.AUDIT}),
        "verify_audit": frozenset({Role.ADMIN, Role.AUDIT}),
        "export_user": frozenset({Role.ADMIN}),
        "list_pending": frozenset({Role.READ, Role.ADMIN}),
        "confirm_pending": frozenset({Role.WRITE, Role.ADMIN}),
        "reject_pending": frozenset({Role.WRITE, Role.ADMIN}),
        "write_event": frozenset({Role.WRITE, Role.REPLAY, Role.ADMIN}),
        "search_events": frozenset({Role.READ, Role.ADMIN}),
        "search_turns": frozenset({Role.READ, Role.ADMIN}),
        "list_events": frozenset({Role.READ, Role.ADMIN}),
        "reindex_events": frozenset({Role.ADMIN}),
        "get_reindexing": frozenset({Role.ADMIN}),
        "store_snapshot": frozenset({Role.WRITE, Role.REPLAY, Role.ADMIN}),
        "store_turns": frozenset({Role.WRITE, Role.REPLAY, Role.ADMIN}),
        "list_conversations": frozenset({Role.READ, Role.ADMIN, Role.AUDIT}),
        "read_snapshot": frozenset({Role.ADMIN, Role.AUDIT}),
        "list_snapshot_reads": frozenset({Role.ADMIN, Role.AUDIT}),
        "get_replay": frozenset({Role.READ, Role.REPLAY, Role.ADMIN}),
        "list_replays": frozenset({Role.READ, Role.REPLAY, Role.ADMIN}),
        "retry_replay": frozenset({Role.REPLAY, Role.ADMIN}),
        "list_conflicts": frozenset({Role.REPLAY, Role.ADMIN}),
        "retry_conflict": frozenset({Role.REPLAY, Role.ADMIN}),
        "discard_conflict": frozenset({Role.ADMIN}),
        "plan_retraction": frozenset({Role.ADMIN}),
        "apply_retraction": frozenset({Role.ADMIN}),
        "undo_retraction": frozenset({Role.ADMIN}),
        "retract_conversation": frozenset({Role.ADMIN}),
        "get_retraction": frozenset({Role.ADMIN, Role.AUDIT}),
        "list_retractions": frozenset({Role.ADMIN, Role.AUDIT}),
        "list_users": frozenset({Role.ADMIN, Role.AUDIT}),
        "list_waiting": frozenset({Role.ADMIN, Role.AUDIT}),
        "list_tenant_pending": frozenset({Role.ADMIN, Role.AUDIT}),
        "apply_retention": frozenset({Role.ADMIN}),
        "request_erasure": frozenset({Role.ADMIN}),
        "get_erasure": frozenset({Role.ADMIN, Role.AUDIT}),
        "list_erasures": frozenset({Role.ADMIN, Role.AUDIT}),
        "request_tenant_erasure": frozenset({Role.ADMIN}),
        "get_tenant_erasure": frozenset({Role.ADMIN, Role.AUDIT}),
        "place_hold": frozenset({Role.ADMIN}),
        "release_hold": frozenset({Role.ADMIN}),
        "get_hold": frozenset({Role.ADMIN}),
        "place_tenant_hold": frozenset({Role.ADMIN}),
        "release_tenant_hold": frozenset({Role.ADMIN}),
        "get_tenant_hold": frozenset({Role.ADMIN}),
        "list_profiles": frozenset({Role.READ, Role.ADMIN, Role.AUDIT}),
        "get_profile": frozenset({Role.READ, Role.ADMIN, Role.AUDIT}),
        "get_schema": frozenset({Role.READ, Role.ADMIN, Role.AUDIT}),
        "get_statistics": frozenset({Role.ADMIN}),
        "get_me": frozenset({Role.READ, Role.WRITE}),
    }
)
"""The roles by operation; the caller needs one of them."""

OWN: Mapping[str, frozenset[Role]] = MappingProxyType(
    {
        "export_user": frozenset({Role.READ}),
        "request_erasure": frozenset({Role.WRITE}),
        "get_erasure": frozenset({Role.READ, Role.WRITE}),
        "list_erasures": frozenset({Role.READ, Role.WRITE}),
    }
)
"""Further roles by operation, for a signed-in user and the user's own memory."""

HISTORY: frozenset[Role] = frozenset({Role.ADMIN, Role.AUDIT})
"""The roles for `get_document` with `as_of`, because an earlier version contains content removed since."""

SHARED: frozenset[str] = frozenset({"list_profiles", "get_profile", "get_schema"})
"""The only operations without a user for a caller that reaches one user: every client needs them."""

DECISIONS: Mapping[str, Role] = MappingProxyType({"user": Role.WRITE, "tenant": Role.ADMIN})
"""The role for a decision on a pending item, by who decides it."""

ROLE_OF_REASON: Mapping[Reason, Role] = MappingProxyType(
    {
        Reason.LIVE_UPDATE: Role.WRITE,
        Reason.REPLAY_UPDATE: Role.REPLAY,
        Reason.ADMIN_MIGRATION: Role.ADMIN,
    }
)
"""The role that each reason of a patch requires. No client may send the other reasons, which only the service uses."""


def confine(operation: str, reach: UserScope, target: UserScope | None) -> None:
    """Refuse a caller that reaches one user, `reach`, every other `target`; None: a tenant or the service.

    Raises UserForbidden.
    """
    if target != reach and not (target is None and operation in SHARED):
        raise UserForbidden(param="user_id")


def permit(
    operation: str,
    actor: Actor,
    tenants: Collection[str],
    tenant_id: str,
    reason: Reason | None = None,
    *,
    own: bool = False,
) -> None:
    """Authorize `operation` for this `reason` by the token's `tenants`; `own`: a signed-in user's own memory.

    Raises TenantForbidden, then RoleRequired.
    """
    _check_tenant(tenants, tenant_id)
    by_reason = frozenset(role for known, role in ROLE_OF_REASON.items() if known is reason)
    _require(roles_of(operation, own=own) if reason is None else by_reason, actor)


def roles_of(operation: str, *, own: bool) -> frozenset[Role]:
    """Return the roles that allow an operation; `own`: for a signed-in user on the user's own memory."""
    return ROLES[operation] | OWN.get(operation, frozenset()) if own else ROLES[operation]


def permit_own_erasure(tenant_id: str, allowed: str | None) -> None:
    """Authorize a signed-in user to erase their own memory; `allowed`: tenants separated by commas, or *.

    Raises SelfErasureForbidden.
    """
    if not allows_own_erasure(tenant_id, allowed):
        raise SelfErasureForbidden


def allows_own_erasure(tenant_id: str, allowed: str | None) -> bool:
    """Return whether signed-in users of a tenant may erase their own memory."""
    return bool({"*", tenant_id} & {one.strip() for one in (allowed or "").split(",")})


def permit_history(actor: Actor, tenants: Collection[str], tenant_id: str) -> None:
    """Authorize reading earlier versions of documents. Raises TenantForbidden first, then RoleRequired."""
    _check_tenant(tenants, tenant_id)
    _require(HISTORY, actor)


def permit_ops(ops: Iterable[Mapping[str, Any]], actor: Actor) -> None:
    """Authorize patch operations: `test`, `copy` and `move` require a role that reads. Raises RoleRequired."""
    if any(op.get("op") in READING for op in ops):
        _require(ROLES["get_document"], actor)


def permit_decision(decides: object, actor: Actor) -> None:
    """Authorize a decision on a pending item by who `decides`: "user", "tenant", or anything else for everyone.

    Raises RoleRequired.
    """
    needed = DECISIONS.get(decides) if isinstance(decides, str) else None
    if needed is not None and needed not in actor.roles:
        message = f"The {decides} decides this question, which requires the role {needed}."
        hint = "Let the user answer." if needed is Role.WRITE else "Let an administrator of the tenant answer."
        raise RoleRequired(message, hint=hint, roles=[needed.value], decides=decides)


def may_read(actor: Actor) -> bool:
    """Whether `actor` may read documents."""
    return bool(ROLES["get_document"] & actor.roles)


def may_get_replay(actor: Actor) -> bool:
    """Whether `actor` may get replays."""
    return bool(ROLES["get_replay"] & actor.roles)


def permit_anywhere(operation: str, actor: Actor) -> None:
    """Authorize an operation that concerns no tenant. Raises RoleRequired."""
    _require(ROLES[operation], actor)


def _check_tenant(tenants: Collection[str], tenant_id: str) -> None:
    if tenant_id not in tenants:
        raise TenantForbidden(known=listed(tenants))


def _require(needed: frozenset[Role], actor: Actor) -> None:
    if not needed & actor.roles:
        roles = " or ".join(sorted(needed))
        raise RoleRequired(f"This call requires the role {roles}.", roles=sorted(needed))
