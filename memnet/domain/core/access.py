"""The table of roles: which role each operation requires."""

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from memnet.domain.core.errors import RoleRequired, TenantForbidden
from memnet.domain.core.json_patch import READING
from memnet.domain.core.scope import Actor


class Reason(StrEnum):
    """Why a document changes; recorded in every audit record."""

    LIVE_UPDATE = "live_update"
    REPLAY_UPDATE = "replay_update"
    ADMIN_MIGRATION = "admin_migration"
    COMPACTION = "compaction"
    FRESHNESS = "freshness"
    CONFIRMATION = "confirmation"
    REJECTION = "rejection"


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
        "assemble_context": frozenset({Role.READ, Role.ADMIN}),
        "patch_document": frozenset({Role.WRITE, Role.REPLAY, Role.ADMIN}),
        "replace_document": frozenset({Role.ADMIN}),
        "delete_document": frozenset({Role.ADMIN}),
        "list_audit": frozenset({Role.ADMIN, Role.AUDIT}),
        "list_pending": frozenset({Role.READ, Role.ADMIN}),
        "confirm_pending": frozenset({Role.WRITE, Role.ADMIN}),
        "reject_pending": frozenset({Role.WRITE, Role.ADMIN}),
        "write_event": frozenset({Role.WRITE, Role.REPLAY, Role.ADMIN}),
        "search_events": frozenset({Role.READ, Role.ADMIN}),
        "reindex_events": frozenset({Role.ADMIN}),
        "get_reindexing": frozenset({Role.ADMIN}),
        "store_snapshot": frozenset({Role.WRITE, Role.REPLAY, Role.ADMIN}),
        "read_snapshot": frozenset({Role.ADMIN, Role.AUDIT}),
        "list_snapshot_reads": frozenset({Role.ADMIN, Role.AUDIT}),
        "get_replay": frozenset({Role.READ, Role.REPLAY, Role.ADMIN}),
        "list_replays": frozenset({Role.READ, Role.REPLAY, Role.ADMIN}),
        "retry_replay": frozenset({Role.REPLAY, Role.ADMIN}),
        "list_conflicts": frozenset({Role.REPLAY, Role.ADMIN}),
        "retry_conflict": frozenset({Role.REPLAY, Role.ADMIN}),
        "discard_conflict": frozenset({Role.ADMIN}),
        "apply_retention": frozenset({Role.ADMIN}),
        "request_erasure": frozenset({Role.ADMIN}),
        "get_erasure": frozenset({Role.ADMIN, Role.AUDIT}),
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
    }
)
"""Operation -> the roles of which the caller needs one."""

HISTORY: frozenset[Role] = frozenset({Role.ADMIN, Role.AUDIT})
"""The roles of which `get_document` requires one with `as_of`: an earlier version shows content removed since."""

ROLE_OF_REASON: Mapping[Reason, Role] = MappingProxyType(
    {
        Reason.LIVE_UPDATE: Role.WRITE,
        Reason.REPLAY_UPDATE: Role.REPLAY,
        Reason.ADMIN_MIGRATION: Role.ADMIN,
    }
)
"""A patch's reason -> the role it requires. The reason is audited, so a caller may only give its own. The reasons that
only the service gives are missing: upkeep, confirmation and rejection.
"""


def permit(
    operation: str, actor: Actor, tenants: Collection[str], tenant_id: str, reason: Reason | None = None
) -> None:
    """Return if `actor`, whose token names `tenants`, may run `operation` on this tenant (for this `reason`).

    Raises TenantForbidden first, then RoleRequired with the roles of which one would do.
    """
    if tenant_id not in tenants:
        raise TenantForbidden
    needed = ROLES[operation]
    if reason is not None:
        needed = frozenset(role for known, role in ROLE_OF_REASON.items() if known is reason)
    _require(needed, actor)


def permit_history(actor: Actor, tenants: Collection[str], tenant_id: str) -> None:
    """Return if `actor`, whose token names `tenants`, may read earlier versions of this tenant's documents.

    Raises TenantForbidden first, then RoleRequired.
    """
    if tenant_id not in tenants:
        raise TenantForbidden
    _require(HISTORY, actor)


def permit_ops(ops: Iterable[Mapping[str, Any]], actor: Actor) -> None:
    """Return if `actor` may send these patch operations.

    `test`, `copy` and `move` read stored values, so they require a role that reads documents. Raises RoleRequired.
    """
    if any(op.get("op") in READING for op in ops):
        _require(ROLES["get_document"], actor)


def may_read(actor: Actor) -> bool:
    """Whether `actor` may be shown a document."""
    return bool(ROLES["get_document"] & actor.roles)


def permit_anywhere(operation: str, actor: Actor) -> None:
    """Return if `actor` may run an operation that concerns no tenant. Raises RoleRequired."""
    _require(ROLES[operation], actor)


def _require(needed: frozenset[Role], actor: Actor) -> None:
    if not needed & actor.roles:
        raise RoleRequired(roles=sorted(needed))
