"""Give an agent the documents its profile shows it, for one user and one conversation."""

import asyncio
from collections.abc import Sequence

from memnet.domain import context, envelope, routing
from memnet.domain.catalog import Catalog
from memnet.domain.context import AssembleContext, AssembledContext, Candidate, ContextDocument
from memnet.domain.document import Json
from memnet.domain.errors import ProfileForbidden
from memnet.domain.identifiers import check_identifier
from memnet.domain.profile import Binding, Profile
from memnet.domain.routing import Route, RoutingReason
from memnet.ports import DocumentStore, SemanticRouter


async def assemble_context(
    command: AssembleContext, *, documents: DocumentStore, catalog: Catalog, semantic_router: SemanticRouter
) -> AssembledContext:
    """Fetch the profile's documents in one parallel wave, a second one for what the first one routes to, and pack them.

    Raises ProfileNotFound, ProfileForbidden, InvalidIdentifier for an explicit id, Unavailable.
    """
    profile = catalog.profile(command.profile_id)
    if not profile.admits(command.actor.principal):
        raise ProfileForbidden()
    bindings = context.by_priority(profile)
    selected = _explicit(command, bindings)
    first = [b for b in bindings if b.variable() is None or b.variable() in selected]
    fetched = await _fetch(command, first, selected, documents)

    decision = await _route(command, profile, selected, fetched, semantic_router)
    variable = context.routed_variable(profile)
    if decision.id is not None and variable is not None and variable not in selected:
        selected = {**selected, variable: decision.id}
        second = [b for b in bindings if b.variable() == variable]
        fetched |= await _fetch(command, second, selected, documents)

    candidates = [fetched[b.binding_id] for b in bindings if b.binding_id in fetched]
    packed, dropped = context.pack(candidates, max_docs=command.max_docs, max_chars_total=command.max_chars_total)
    unrouted = [context.not_routed(b) for b in bindings if b.binding_id not in fetched]
    return AssembledContext(selected, packed, [*dropped, *unrouted], decision.debug())


def _explicit(command: AssembleContext, bindings: Sequence[Binding]) -> dict[str, str]:
    """The given ids that fill a variable of the profile; what else the orchestrator hints at is not for us."""
    variables = {b.variable() for b in bindings}
    return {n: check_identifier(n, value) for n, value in command.explicit_ids.items() if n in variables}


async def _fetch(
    command: AssembleContext, bindings: Sequence[Binding], selected: dict[str, str], documents: DocumentStore
) -> dict[str, Candidate]:
    found = await asyncio.gather(*(_fetch_one(command, binding, selected, documents) for binding in bindings))
    return {candidate.binding.binding_id: candidate for candidate in found}


async def _fetch_one(
    command: AssembleContext, binding: Binding, selected: dict[str, str], documents: DocumentStore
) -> Candidate:
    key = binding.resolve(command.scope, selected.get(binding.variable() or ""))
    stored = await documents.get(key)
    head = envelope.load(stored.data) if stored else None
    if head is None or head.deleted:
        return Candidate(binding, key, None)
    document = ContextDocument(binding.binding_id, key.namespace, key.path, head.commit.etag, envelope.visible(head))
    return Candidate(binding, key, document, head.content)


async def _route(
    command: AssembleContext,
    profile: Profile,
    selected: dict[str, str],
    fetched: dict[str, Candidate],
    semantic_router: SemanticRouter,
) -> Route:
    if profile.routing is None:
        return Route(None, RoutingReason.NO_ROUTING)
    if (chosen := selected.get(context.routed_variable(profile) or "")) is not None:
        return Route(chosen, RoutingReason.EXPLICIT, 1.0)
    source = fetched.get(profile.routing.source_binding)
    content: Json = source.content if source else None
    entries = routing.read_entries(content, profile.routing)
    decision = routing.route(command.text, entries, profile.routing)
    if decision.reason is not RoutingReason.AMBIGUOUS:
        return decision
    scores = await semantic_router.score(command.text, decision.candidates)
    return routing.disambiguate(decision, scores)
