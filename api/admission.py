"""Who is let in: the same steps in the same order for every route below a user."""

from dataclasses import dataclass

from starlette.requests import Request

from api.identity import Identity, TokenValidator
from memnet.domain.core.access import permit, permit_anywhere, permit_history
from memnet.domain.core.errors import RouteNotFound
from memnet.domain.core.identifiers import check_identifier
from memnet.domain.core.reason import Reason
from memnet.domain.core.scope import Actor, DocumentKey, UserScope
from memnet.service import Service

NO_TENANT = "-"
"""Under this the requests are counted that concern no tenant; no tenant has such an id."""
FENCED = frozenset({"retry_replay", "retry_conflict", "discard_conflict", "store_snapshot", "read_snapshot"})
"""What would call not found what an erasure has removed already, or broken what it has removed the keys of; every other
write is refused by the store itself."""


@dataclass(frozen=True, slots=True)
class Admission:
    """A caller who may run an operation on a user's memory, and what it runs on."""

    scope: UserScope
    identity: Identity
    service: Service

    @property
    def actor(self) -> Actor:
        """Who acts."""
        return self.identity.actor

    def permit_reason(self, operation: str, reason: Reason) -> None:
        """Check the role that a patch's reason takes. Raises RoleRequired."""
        permit(operation, self.actor, self.identity.tenants, self.scope.tenant_id, reason)


@dataclass(frozen=True, slots=True)
class TenantAdmission:
    """A caller who may run an operation on a whole tenant."""

    tenant_id: str
    identity: Identity
    service: Service

    @property
    def actor(self) -> Actor:
        """Who acts."""
        return self.identity.actor


@dataclass(frozen=True, slots=True)
class AnywhereAdmission:
    """A caller who may run an operation that concerns no tenant."""

    identity: Identity
    service: Service

    @property
    def actor(self) -> Actor:
        """Who acts."""
        return self.identity.actor


async def admit(request: Request, operation: str, *, history: bool = False) -> Admission:
    """Authenticate, check the ids, the tenant, the role and the quota; the body is not touched.

    With `history` the role must be one that may read earlier versions, instead of one that may run the operation.

    Raises, in this order: Unauthenticated or Unavailable, Overloaded or QuotaExceeded if there is no place for the
    request, RouteNotFound, InvalidIdentifier, TenantForbidden, RoleRequired, QuotaExceeded; and ErasureRunning for
    those in FENCED.
    """
    identity, service = await _identify(request)
    parameters = request.path_params
    scope = UserScope(parameters["tenant_id"], parameters["user_id"])
    if history:
        permit_history(identity.actor, identity.tenants, scope.tenant_id)
    else:
        permit(operation, identity.actor, identity.tenants, scope.tenant_id)
    request.scope["memnet.tenant"] = scope.tenant_id
    await service.quota.take(scope, identity.actor.principal)
    if operation in FENCED:
        await service.erasures.check(scope)
    return Admission(scope, identity, service)


async def admit_to_tenant(request: Request, operation: str) -> TenantAdmission:
    """The same for a route that concerns no single user; the quota is the principal's alone.

    Raises also TenantEnded for what would write for the tenant.
    """
    identity, service = await _identify(request)
    tenant_id = check_identifier("tenant_id", request.path_params["tenant_id"])
    permit(operation, identity.actor, identity.tenants, tenant_id)
    request.scope["memnet.tenant"] = tenant_id
    await service.quota.take_of_principal(tenant_id, identity.actor.principal)
    if operation == "reindex_events":
        await service.erasures.check_tenant(tenant_id)
    return TenantAdmission(tenant_id, identity, service)


async def admit_anywhere(request: Request, operation: str) -> AnywhereAdmission:
    """The same for a route that concerns no tenant: the role must be right, whatever tenants the token is for."""
    identity, service = await _identify(request)
    permit_anywhere(operation, identity.actor)
    await service.quota.take_of_principal(NO_TENANT, identity.actor.principal)
    return AnywhereAdmission(identity, service)


async def _identify(request: Request) -> tuple[Identity, Service]:
    state = request.app.state
    service: Service = state.service
    validator: TokenValidator = state.identity
    identity = await validator.identify(request.headers.getlist("authorization"))
    request.scope["memnet.principal"] = identity.actor.principal
    request.scope["memnet.in_flight"].take(identity.actor.principal)
    if request.scope["path"].endswith("\n"):
        # The router's patterns end in $, which also matches before a last newline: not a path it should have taken.
        raise RouteNotFound
    return identity, service


def document_key(request: Request, admission: Admission) -> DocumentKey:
    """The document the route names. Raises InvalidIdentifier."""
    return DocumentKey(admission.scope, request.path_params["namespace"], request.path_params["path"])
