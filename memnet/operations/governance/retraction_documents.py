"""Plan, change and restore the documents of a retraction: each with one governed patch at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from memnet.domain.catalog.catalog import Catalog, WriteRules
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.access import Reason, Role
from memnet.domain.core.errors import (
    BindingMismatch,
    DocumentNotFound,
    ETagMismatch,
    FieldDenied,
    LimitExceeded,
    MemnetError,
    PatchNotApplicable,
    PathNotWritable,
    SchemaViolation,
    StatementContradicted,
)
from memnet.domain.core.evidence import EvidenceMembers
from memnet.domain.core.json_patch import Op
from memnet.domain.core.scope import Actor, DocumentKey, Json, UserScope
from memnet.domain.documents import envelope
from memnet.domain.documents.commands import IfMatch, PatchDocument, WriteResult
from memnet.domain.documents.envelope import Envelope
from memnet.domain.documents.retraction_gate import Known, decide_retraction
from memnet.domain.documents.write_decision import Decision
from memnet.domain.governance.retraction import DocumentPlan, DocumentRequest, PlannedValue, Retraction, ValueFate, Why
from memnet.domain.governance.retraction_undo import restore, scalars_of
from memnet.domain.governance.retraction_values import Reach, TakenBack, known_values, take_back
from memnet.operations.documents.write import commit_governed
from memnet.operations.history.read_origins import TracedVersion, read_origins
from memnet.paging import bounded, rows
from memnet.ports import StoreConflict
from memnet.service import Service

AT_ONCE = 4
"""Documents that are looked at at the same time: each needs the memory of its content and of one segment."""
WHYS: tuple[tuple[type[MemnetError], Why], ...] = (
    (SchemaViolation, Why.SCHEMA),
    (BindingMismatch, Why.SCHEMA),
    (LimitExceeded, Why.LIMIT),
    (FieldDenied, Why.DENIED),
    (StatementContradicted, Why.SCHEMA),
    (PathNotWritable, Why.NOT_PROVEN),
    (PatchNotApplicable, Why.NOT_PROVEN),
)
"""Why the gate refuses a patch, by its error."""


@dataclass(frozen=True, slots=True)
class Gate:
    """The rules that a document is changed by, and what the patch may do to it."""

    rules: WriteRules
    sections: Sequence[SectionUpkeep]
    known: Known
    named: Sequence[str] = ()

    def decide(self, command: PatchDocument, current: Envelope, named: Sequence[str]) -> Decision:
        """Decide the patch. Raises what `decide_retraction` raises."""
        return decide_retraction(
            command, self.rules, current, named=named, known=self.known, statements=self.sections
        )


@dataclass(frozen=True, slots=True)
class PlannedDocument:
    """A document as it is, what would happen to it, and the gate of the patch."""

    current: Envelope
    plan: DocumentPlan
    taken: TakenBack
    gate: Gate | None


async def find_documents(scope: UserScope, reach: Reach, service: Service) -> list[PlannedDocument]:
    """Return the user's documents in which a value rests on the source, in name order; one look at each document.

    A look reads the document, and of its history one baseline and one segment; only of a document with a value of the
    source is all of the history read. Raises HistoryCorrupt, VaultUnavailable, Unavailable.
    """
    listed = [row async for row in rows(partial(service.documents.list, scope, ""))]
    keys = sorted(
        (row.key for row in listed if not row.summary.deleted), key=lambda key: (key.namespace, key.path)
    )
    found = await bounded(partial(plan_document, reach=reach, service=service), keys, at_once=AT_ONCE)
    return [one for one in found if one is not None and one.plan.values]


async def plan_document(key: DocumentKey, *, reach: Reach, service: Service) -> PlannedDocument | None:
    """Return what happens to one document; None if it does not exist or no value of it rests on the source.

    Raises HistoryCorrupt, VaultUnavailable, Unavailable; StoreConflict: other writers changed it again and again.
    """
    for _ in range(16):
        read = await _read(key, service)
        if read is None:
            return None
        current, traced = read
        content = traced.origins.content
        if content is None or not reach.touches(content):
            return None
        if traced.origins.begins > 0:
            traced = await read_origins(key, service, is_whole=True)
            content = traced.origins.content
        if content is not None and traced.version.etag == current.commit.etag:
            return _planned(key, current, traced, reach, service.catalog)
    raise StoreConflict


async def _read(key: DocumentKey, service: Service) -> tuple[Envelope, TracedVersion] | None:
    stored = await service.documents.get(key)
    current = envelope.load(stored.data) if stored else None
    if current is None or current.deleted or current.erased:
        return None
    try:
        return current, await read_origins(key, service)
    except DocumentNotFound:
        return None


def _planned(
    key: DocumentKey, current: Envelope, traced: TracedVersion, reach: Reach, catalog: Catalog
) -> PlannedDocument:
    content = traced.origins.content
    assert content is not None
    gate = _gate(key, current, known_values(content), catalog)
    sections = _sections(key, catalog) if gate is None else gate.sections

    def fits(ops: Sequence[Op], named: Sequence[str]) -> Why | None:
        if gate is None:
            return Why.READ_ONLY
        try:
            gate.decide(_command(key, current, gate, ops), current, named)
        except tuple(kind for kind, _ in WHYS) as error:
            return next(why for kind, why in WHYS if isinstance(error, kind))
        return None

    taken = take_back(content, reach, sections, fits)
    plan = DocumentPlan(
        namespace=key.namespace,
        path=key.path,
        etag=current.commit.etag,
        profile_id=None if gate is None else gate.rules.profile.profile_id,
        binding_id=None if gate is None else gate.rules.binding.binding_id,
        values=taken.values,
    )
    return PlannedDocument(current, plan, taken, gate)


def _gate(key: DocumentKey, current: Envelope, known: Known, catalog: Catalog) -> Gate | None:
    """Return the gate of the first profile that may write the document in its schema version, by profile id."""
    writing = [rules for rules in catalog.covering(key) if rules.binding.write_mode != "read_only"]
    known_versions = [rules for rules in writing if rules.at(current.schema_id, current.schema_version) is not None]
    rules = next(iter([*known_versions, *writing]), None)
    return None if rules is None else Gate(rules, _sections(key, catalog), known)


def _sections(key: DocumentKey, catalog: Catalog) -> Sequence[SectionUpkeep]:
    """Return the rules of the document's sections, of all profiles; the first one of a section counts."""
    every = [rule for rules in catalog.covering(key) for rule in _rules_of(rules)]
    # A profile that treats the entries as statements says most about them.
    return list({rule.place: rule for rule in sorted(every, key=lambda rule: rule.statements is not None)}.values())


def _rules_of(rules: WriteRules) -> Sequence[SectionUpkeep]:
    return rules.profile.upkeep_rules.get(rules.binding.binding_id, ())


def _command(
    key: DocumentKey,
    current: Envelope,
    gate: Gate,
    ops: Sequence[Op],
    *,
    evidence: EvidenceMembers | None = None,
    idempotency_key: str = "plan",
    principal: str = "plan",
) -> PatchDocument:
    return PatchDocument(
        key=key,
        actor=Actor(principal, frozenset({Role.ADMIN})),
        precondition=IfMatch(current.commit.etag),
        idempotency_key=idempotency_key,
        profile_id=gate.rules.profile.profile_id,
        binding_id=gate.rules.binding.binding_id,
        ops=list(ops),
        reason=Reason.RETRACTION,
        evidence=evidence,
    )


def request_of(retraction: Retraction, found: PlannedDocument, number: int) -> DocumentRequest:
    """Return the request that takes back what rests on the source in this version."""
    evidence: dict[str, Any] = {"retraction_id": retraction.retraction_id, "applied_by": retraction.applied_by}
    if found.taken.merged:
        evidence["merged"] = list(found.taken.merged)
    return DocumentRequest(
        number=number,
        etag=found.current.commit.etag,
        ops=list(found.taken.ops),
        evidence=evidence,
        before=found.current.content,
    )


async def send(
    retraction: Retraction,
    index: int,
    plan: DocumentPlan,
    request: DocumentRequest,
    current: Envelope,
    gate: Gate,
    named: Sequence[str],
    service: Service,
    *,
    undoes: bool = False,
) -> WriteResult | None:
    """Send a stored request; None: the document moved, and this request was not applied and never will be.

    Raises ErasureRunning, HistoryCorrupt, VaultUnavailable, Unavailable, and what the gate raises.
    """
    first = f"{retraction.retraction_id}-{index + 1}{'-undo' if undoes else ''}"
    key = f"{first}#rebase-{request.number}" if request.number else first
    command = PatchDocument(
        key=plan.key(retraction.scope),
        actor=Actor(service.worker_principal, frozenset({Role.ADMIN})),
        precondition=IfMatch(request.etag),
        idempotency_key=key,
        profile_id=gate.rules.profile.profile_id,
        binding_id=gate.rules.binding.binding_id,
        ops=list(request.ops),
        reason=Reason.RETRACTION,
        evidence=request.evidence,
    )

    def decide(_: Catalog, found: Envelope | None) -> Decision:
        if found is None or found.commit.etag != current.commit.etag:
            raise ETagMismatch()
        return gate.decide(command, found, named)

    try:
        return await commit_governed(command, decide, service)
    except (ETagMismatch, DocumentNotFound):
        return None


@dataclass(frozen=True, slots=True)
class RestoredDocument:
    """A document as it is, the operations that bring back what a retraction took, and what cannot come back."""

    current: Envelope
    ops: Sequence[Op]
    not_undone: Sequence[str]
    gate: Gate

    def request(self, retraction: Retraction, number: int) -> DocumentRequest:
        """Return the request. Its evidence names the source: what comes back rests on it again."""
        evidence = {
            "retraction_id": retraction.retraction_id,
            "undone_by": retraction.undone_by,
            "also": [retraction.source.evidence()],
        }
        return DocumentRequest(
            number=number,
            etag=self.current.commit.etag,
            ops=list(self.ops),
            evidence=evidence,
            before=self.current.content,
        )


async def plan_restoring(scope: UserScope, plan: DocumentPlan, service: Service) -> RestoredDocument | None:
    """Return how to bring back what was taken from a document; None if it does not exist or nothing was taken.

    Raises HistoryCorrupt, Unavailable.
    """
    key, request = plan.key(scope), plan.request
    stored = await service.documents.get(key)
    current = envelope.load(stored.data) if stored else None
    if current is None or current.deleted or current.erased or request is None or plan.change_id is None:
        return None
    gate = _gate(key, current, scalars_of(request.before), service.catalog)
    if gate is None:
        return None

    def fits(ops: Sequence[Op]) -> bool:
        try:
            gate.decide(_command(key, current, gate, ops), current, EVERYWHERE)
        except tuple(kind for kind, _ in WHYS):
            return False
        return True

    named = [value.pointer for value in plan.values if value.fate is not ValueFate.UNRESOLVED]
    ops, kept = restore(
        before=_copy(request.before), ops=request.ops, named=named, current=_copy(current.content), rules=gate.sections, fits=fits
    )
    return RestoredDocument(current, ops, kept, gate)


EVERYWHERE = ("/content",)
"""An undo may change all that the retraction has changed, wherever it is now."""


def _copy(content: Json) -> Json:
    return orjson.loads(orjson.dumps(content))


def counted(values: Sequence[PlannedValue]) -> bool:
    """Return whether a plan changes something."""
    return any(value.fate is not ValueFate.UNRESOLVED for value in values)
