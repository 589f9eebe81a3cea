"""Authorize a request: the same steps in the same order for every route of a user, a tenant or the service.

Two kinds of callers reach one user only: a signed-in user, by the token, and a request of this process that acts for an
admitted user, by the member `memnet.bound` of its ASGI scope, a pair (tenant_id, user_id). The server never sets that
member, so no request from outside has it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from starlette.requests import Request

from api.identity import Identity, TokenValidator
from memnet.domain.core.access import confine, permit, permit_anywhere, permit_history
from memnet.domain.core.claimant import Claimant
from memnet.domain.core.errors import RouteNotFound, TenantForbidden, UserForbidden
from memnet.domain.core.scope import Actor, DocumentKey, UserScope, check_identifier
from memnet.domain.core.suggestion import listed
from memnet.service import Service

BOUND = "memnet.bound"
"""The member of the ASGI scope of a request that this process sends itself."""
NO_TENANT = "-"
"""The quota counts requests without a tenant under this name; no tenant can have it."""
REFUSED_DURING_ERASURE = frozenset(
    {"retry_replay", "retry_conflict", "discard_conflict", "read_snapshot", "export_user", "verify_audit"}
)
"""Operations that would report removed data as missing or corrupt. The stores refuse every other write themselves."""


@dataclass(frozen=True, slots=True)
class ServiceCall:
    """An authorized request for an operation that concerns no tenant."""

    request: Request
    operation: str
    identity: Identity
    service: Service

    @property
    def actor(self) -> Actor:
        """The caller."""
        return self.identity.actor

    def path(self, name: str) -> str:
        """Return a parameter of the path."""
        return str(self.request.path_params[name])


@dataclass(frozen=True, slots=True)
class TenantCall(ServiceCall):
    """An authorized request for an operation on a whole tenant."""

    tenant_id: str


@dataclass(frozen=True, slots=True)
class UserCall(ServiceCall):
    """An authorized request for an operation on one user's memory."""

    scope: UserScope

    def document_key(self) -> DocumentKey:
        """Return the document that the path names. Raises InvalidIdentifier."""
        return DocumentKey(self.scope, self.path("namespace"), self.path("path"))


async def authorize_user(request: Request, operation: str) -> UserCall:
    """Check the token, the ids, the tenant, the role and the quota. The body is not read.

    A read with `as_of` requires a role for earlier versions instead of one for the operation.

    Raises, in this order: Unauthenticated or Unavailable, Overloaded or QuotaExceeded if all slots are taken,
    RouteNotFound, InvalidIdentifier, UserForbidden, TenantForbidden, RoleRequired, QuotaExceeded, and ErasureRunning
    for the operations in REFUSED_DURING_ERASURE.
    """
    identity, service = await _identify(request)
    scope = UserScope(request.path_params["tenant_id"], request.path_params["user_id"])
    return await _admit(request, operation, identity, service, scope)


async def authorize_own(request: Request, operation: str) -> UserCall:
    """Check the same for a route of the signed-in user, whom the token names and the path does not.

    Raises UserForbidden for a token without a signed-in user.
    """
    identity, service = await _identify(request)
    if identity.user is None:
        raise UserForbidden("This token is of no signed-in user: name the tenant and the user in the path.")
    request.path_params["user_id"] = identity.user.user_id  # as in the other paths, for the log
    return await _admit(request, operation, identity, service, identity.user)


def check_claimants(call: UserCall, claimants: Iterable[Claimant | None]) -> None:
    """Refuse a caller that reaches one user every other claimant; an application names any user of the tenant.

    Raises InvalidIdentifier, UserForbidden.
    """
    for one in claimants:
        if one is not None:
            _confine(call.request, call.operation, call.identity, UserScope(call.scope.tenant_id, one.user_id))


async def authorize_tenant_of_token(request: Request, operation: str) -> TenantCall:
    """Check the token and the role for a route whose path names no tenant: the token names exactly one.

    Raises also TenantForbidden for a token of several tenants or none. `admit_user` checks the rest.
    """
    identity, service = await _identify(request)
    if len(identity.tenants) != 1:
        raise TenantForbidden(
            "This route takes the tenant from the token, which must name exactly one.", known=listed(identity.tenants)
        )
    (tenant_id,) = identity.tenants
    permit(operation, identity.actor, identity.tenants, tenant_id, own=identity.user is not None)
    return TenantCall(request, operation, identity, service, tenant_id)


async def admit_user(call: TenantCall, user_id: str) -> UserCall:
    """Check the user of such a call, and the quota. Raises what `authorize_user` raises for them."""
    call.request.path_params["user_id"] = user_id  # as in the other paths, for the log
    return await _admit(call.request, call.operation, call.identity, call.service, UserScope(call.tenant_id, user_id))


async def _admit(request: Request, operation: str, identity: Identity, service: Service, scope: UserScope) -> UserCall:
    _confine(request, operation, identity, scope)
    if operation == "get_document" and "as_of" in request.query_params:
        permit_history(identity.actor, identity.tenants, scope.tenant_id)
    else:
        permit(operation, identity.actor, identity.tenants, scope.tenant_id, own=identity.user is not None)
    request.scope["memnet.tenant"] = scope.tenant_id
    await service.quota.take(scope, identity.actor.principal)
    if operation in REFUSED_DURING_ERASURE:
        await service.erasures.check(scope)
    return UserCall(request, operation, identity, service, scope)


async def authorize_tenant(request: Request, operation: str) -> TenantCall:
    """Check the same for a route of a whole tenant; only the principal's quota applies.

    Raises also TenantEnded for operations that would write for the tenant.
    """
    identity, service = await _identify(request)
    tenant_id = check_identifier("tenant_id", request.path_params["tenant_id"])
    _confine(request, operation, identity, None)
    permit(operation, identity.actor, identity.tenants, tenant_id)
    request.scope["memnet.tenant"] = tenant_id
    await service.quota.take_of_principal(tenant_id, identity.actor.principal)
    if operation == "reindex_events":
        await service.erasures.check_tenant(tenant_id)
    return TenantCall(request, operation, identity, service, tenant_id)


async def authorize_service(request: Request, operation: str) -> ServiceCall:
    """Check the same for a route without a tenant: the role alone decides."""
    identity, service = await _identify(request)
    _confine(request, operation, identity, None)
    permit_anywhere(operation, identity.actor)
    await service.quota.take_of_principal(NO_TENANT, identity.actor.principal)
    return ServiceCall(request, operation, identity, service)


def _confine(request: Request, operation: str, identity: Identity, target: UserScope | None) -> None:
    """Refuse a caller that reaches one user every other target. Raises UserForbidden."""
    if identity.user is not None:
        confine(operation, identity.user, target)
    bound = request.scope.get(BOUND)
    if bound is not None:
        confine(operation, UserScope(*bound), target)


async def _identify(request: Request) -> tuple[Identity, Service]:
    state = request.app.state
    service: Service = state.service
    validator: TokenValidator = state.identity
    identity = await validator.identify(request.headers.getlist("authorization"))
    request.scope["memnet.principal"] = identity.actor.principal
    request.scope["memnet.slot"].acquire(identity.actor.principal)
    if request.scope["path"].endswith("\n"):
        # The router's patterns end in $, which also matches before a final newline.
        raise RouteNotFound
    return identity, service
