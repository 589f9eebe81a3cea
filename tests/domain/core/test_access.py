"""Roles: what each operation and each reason of a patch requires."""

from collections.abc import Callable
from functools import partial

import pytest

from memnet.domain.core.access import (
    HISTORY,
    ROLE_OF_REASON,
    ROLES,
    Reason,
    Role,
    confine,
    permit,
    permit_anywhere,
    permit_history,
    permit_ops,
)
from memnet.domain.core.errors import RoleRequired, TenantForbidden, UserForbidden
from memnet.domain.core.scope import Actor, UserScope


def actor(*roles: str) -> Actor:
    return Actor("svc-a", frozenset(roles))


@pytest.mark.parametrize("operation", ROLES)
@pytest.mark.parametrize("role", Role)
def test_one_of_an_operations_roles_is_enough_and_needed(operation: str, role: Role) -> None:
    if role in ROLES[operation]:
        permit(operation, actor(role.value), ["t1"], "t1")
    else:
        with pytest.raises(RoleRequired) as refusal:
            permit(operation, actor(role.value), ["t1"], "t1")
        assert refusal.value.details == {"roles": sorted(ROLES[operation])}


@pytest.mark.parametrize("operation", ["get_profile", "get_statistics"])
@pytest.mark.parametrize("role", Role)
def test_without_a_tenant_the_role_alone_decides(operation: str, role: Role) -> None:
    if role in ROLES[operation]:
        permit_anywhere(operation, actor(role.value))
    else:
        with pytest.raises(RoleRequired) as refusal:
            permit_anywhere(operation, actor(role.value))
        assert refusal.value.details == {"roles": sorted(ROLES[operation])}


@pytest.mark.parametrize("reason", Reason)
@pytest.mark.parametrize("role", Role)
def test_a_reason_requires_its_own_role(reason: Reason, role: Role) -> None:
    if role is ROLE_OF_REASON.get(reason):
        permit("patch_document", actor(role.value), ["t1"], "t1", reason)
    else:
        with pytest.raises(RoleRequired):
            permit("patch_document", actor(role.value), ["t1"], "t1", reason)


@pytest.mark.parametrize("role", Role)
def test_earlier_versions_and_stored_values_require_roles_of_their_own(role: Role) -> None:
    checks: list[tuple[frozenset[Role], Callable[[], None]]] = [
        (HISTORY, lambda: permit_history(actor(role.value), ["t1"], "t1"))
    ]
    for verb in ("test", "copy", "move"):
        checks.append((ROLES["get_document"], partial(permit_ops, [{"op": "add"}, {"op": verb}], actor(role.value))))
    for sufficient, check in checks:
        if role in sufficient:
            check()
        else:
            with pytest.raises(RoleRequired) as refusal:
                check()
            assert refusal.value.details == {"roles": sorted(sufficient)}
    permit_ops([{"op": "add"}, {"op": "remove"}], actor(role.value))
    with pytest.raises(TenantForbidden):
        permit_history(actor(role.value), ["t2"], "t1")


def test_only_the_administrator_replaces_and_deletes() -> None:
    assert ROLES["replace_document"] == ROLES["delete_document"] == {Role.ADMIN}


@pytest.mark.parametrize("tenants", [(), ("t2",), ("T1",), ("t1 ",), ("t",)])
def test_the_tenant_is_compared_whole_and_before_the_role(tenants: tuple[str, ...]) -> None:
    with pytest.raises(TenantForbidden):
        permit("get_document", actor(), tenants, "t1")


def test_every_reason_that_a_patch_can_claim_has_a_role() -> None:
    service_only = {Reason.COMPACTION, Reason.FRESHNESS, Reason.CONFIRMATION, Reason.REJECTION, Reason.RETRACTION}
    assert set(ROLE_OF_REASON) == set(Reason) - service_only
    assert set(ROLE_OF_REASON.values()) == ROLES["patch_document"]


def test_a_caller_that_reaches_one_user_reaches_that_user_and_the_catalog() -> None:
    own = UserScope("t1", "u1")
    confine("patch_document", own, UserScope("t1", "u1"))
    for operation in ROLES:
        for target in (UserScope("t1", "u2"), UserScope("t2", "u1")):
            with pytest.raises(UserForbidden):
                confine(operation, own, target)
        if operation in {"list_profiles", "get_profile", "get_schema"}:
            confine(operation, own, None)
        else:
            with pytest.raises(UserForbidden):
                confine(operation, own, None)
