"""Plan, change and restore the documents of a retraction: each with one governed patch at a time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from memnet.domain.catalog.catalog import Catalog, WriteRules
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.access import Reason, Role
from memnet.domain.core.canonical_json import canonical
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
from memnet.domain.documents.retraction_gate import Known, decide_retraction, scalars_of
from memnet.domain.documents.write_decision import Decision
from memnet.domain.governance.retraction import DocumentPlan, DocumentRequest, ValueFate, Why
from memnet.domain.governance.retraction_origins import sources_of
from memnet.domain.governance.retraction_reach import Reach
from memnet.domain.governance.retraction_undo import known_values, restore
from memnet.domain.governance.retraction_values import take_back
from memnet.domain.governance.source import Source, SourceKind
from memnet.domain.history.origin import Origin, Traced
from memnet.domain.history.origin_links import MERGED
from memnet.domain.history.origin_table import dump_origins, load_origins
from memnet.domain.history.restored_origins import RESTORED, restored
from memnet.operations.documents.write import commit_governed
from memnet.operations.governance.withdrawn_items import find_replays
from memnet.operations.history.read_origins import read_origins
from memnet.operations.replay.closed_sources import read_closed_sources
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
REFUSALS = tuple(kind for kind, _ in WHYS)
ATTEMPTS = 16
"""How often a document is read again that another writer changes meanwhile."""
EVERYWHERE = ("/content",)
"""An undo may change all that the retraction has changed, wherever it is now."""


@dataclass(frozen=True, slots=True)
class Gate:
    """The rules that a document is changed by, and what the patch may do to it."""

    rules: WriteRules
    sections: Sequence[SectionUpkeep]
    known: Known

    def decide(self, command: PatchDocument, current: Envelope, named: Sequence[str]) -> Decision:
        """Decide the patch. Raises what `decide_retraction` raises."""
        return decide_retraction(command, self.rules, current, named=named, known=self.known, statements=self.sections)

    def refusal(self, command: PatchDocument, current: Envelope, named: Sequence[str]) -> Why | None:
        """Return why the patch is refused, if it is."""
        try:
            self.decide(command, current, named)
        except REFUSALS as error:
            return next(why for kind, why in WHYS if isinstance(error, kind))
        return None


@dataclass(frozen=True, slots=True)
class DocumentChange:
    """What takes back, or brings back, values of one version of a document: the operations, and their gate."""

    current: Envelope
    plan: DocumentPlan
    ops: Sequence[Op]
    named: Sequence[str]
    """The pointers that the operations may change."""
    gate: Gate | None
    """None: no profile may write the document."""
    origins: Json
    """Where the values of the version come from; None for an undo, which needs no undo."""
    sources: Sequence[Traced | None] = ()
    """For each operation the tree of its value, with the origins that it had; None: it has none, or is new."""
    merged: Sequence[dict[str, Json]] = ()

    def request(self, number: int, evidence: EvidenceMembers) -> DocumentRequest:
        """Return the request with this number."""
        before = self.current.content
        back = restored(before, self.ops, self.sources)
        given = evidence | ({MERGED: list(self.merged)} if self.merged else {}) | ({RESTORED: back} if back else {})
        return DocumentRequest(
            number=number,
            etag=self.current.commit.etag,
            ops=list(self.ops),
            evidence=given,
            before=before,
            origins=self.origins,
        )


async def find_reach(scope: UserScope, source: Source, replay_ids: Iterable[str], service: Service) -> Reach:
    """Return what rests on a source, beside the other sources of the user that are closed.

    One read, and for each closed actor one listing of replays. Raises HistoryCorrupt, Unavailable.
    """
    closed = [one.source for one in await read_closed_sources(scope, service.records) if one.source != source]
    others = [
        Reach(one, frozenset(await find_replays(scope, one, service) if one.kind is SourceKind.ACTOR else ()))
        for one in dict.fromkeys(closed)
    ]
    return Reach(source, frozenset(replay_ids), tuple(others))


async def find_documents(scope: UserScope, reach: Reach, service: Service) -> list[DocumentChange]:
    """Return the user's documents in which a value rests on the source, in name order; one look at each document.

    A look reads the document, and of its history one baseline and one segment; only of a document with a value of the
    source is all of the history read. Raises HistoryCorrupt, VaultUnavailable, Unavailable.
    """
    listed = [row async for row in rows(partial(service.documents.list, scope, ""))]
    keys = sorted((row.key for row in listed if not row.summary.deleted), key=lambda key: (key.namespace, key.path))
    found = await bounded(partial(find_change, reach=reach, service=service), keys, at_once=AT_ONCE)
    return [one for one in found if one is not None and one.plan.values]


async def find_change(key: DocumentKey, *, reach: Reach, service: Service) -> DocumentChange | None:
    """Return what takes back the source in one document; None if the document does not exist or has none of it.

    Raises HistoryCorrupt, VaultUnavailable, Unavailable; StoreConflict: other writers changed it again and again.
    """
    for _ in range(ATTEMPTS):
        stored = await service.documents.get(key)
        current = envelope.load(stored.data) if stored else None
        if current is None or current.deleted or current.erased:
            return None
        try:
            traced = await read_origins(key, service)
            content = traced.origins.content
            if content is None or not reach.touches(content):
                return None
            if traced.origins.begins > 0:
                traced = await read_origins(key, service, is_whole=True)
                content = traced.origins.content
        except DocumentNotFound:
            return None
        if content is not None and traced.version.etag == current.commit.etag:
            return _change(key, current, content, reach, service.catalog, traced.origins.changes)
    raise StoreConflict


def _change(
    key: DocumentKey,
    current: Envelope,
    content: Traced,
    reach: Reach,
    catalog: Catalog,
    changes: Sequence[Origin],
) -> DocumentChange:
    gate = _gate(key, current, known_values(content), catalog)

    def fits(ops: Sequence[Op], named: Sequence[str]) -> Why | None:
        if gate is None:
            return Why.READ_ONLY
        return gate.refusal(_trial(key, current, gate, ops), current, named)

    # Before the plan: it parts what consolidation has joined.
    origins = dump_origins(content)
    taken = take_back(content, reach, _sections(key, catalog), fits, changes)
    plan = DocumentPlan(
        namespace=key.namespace,
        path=key.path,
        etag=current.commit.etag,
        profile_id=None if gate is None else gate.rules.profile.profile_id,
        binding_id=None if gate is None else gate.rules.binding.binding_id,
        values=taken.values,
    )
    return DocumentChange(
        current,
        plan,
        taken.ops,
        taken.named,
        gate,
        origins=origins,
        sources=sources_of(content, taken.ops, reach),
        merged=taken.merged,
    )


async def find_undo(key: DocumentKey, plan: DocumentPlan, service: Service) -> DocumentChange | None:
    """Return what brings back what was taken from a document; None if nothing was, or nothing can be.

    Nothing can be if the document does not exist, or no profile may write it any more.

    Raises HistoryCorrupt, Unavailable.
    """
    stored, request = await service.documents.get(key), plan.request
    current = envelope.load(stored.data) if stored else None
    if current is None or current.deleted or current.erased or request is None or plan.change_id is None:
        return None
    gate = _gate(key, current, scalars_of(request.before), service.catalog)
    if gate is None:
        return None
    trial = partial(_trial, key, current, gate)
    undoing = restore(
        before=load_origins(request.origins, request.before),
        ops=request.ops,
        named=[value.pointer for value in plan.values if value.fate is not ValueFate.UNRESOLVED],
        current=current.content,
        rules=gate.sections,
        fits=lambda ops: gate.refusal(trial(ops), current, EVERYWHERE) is None,
    )
    changed = replace(plan, not_undone=tuple(undoing.kept))
    return DocumentChange(current, changed, undoing.ops, EVERYWHERE, gate, origins=None, sources=undoing.sources)


def asks_for_another(key: DocumentKey, catalog: Catalog) -> bool:
    """Whether a profile with the document asks that another principal than the planner applies a retraction."""
    return any(rules.profile.retracted_by == "another_principal" for rules in catalog.covering(key))


def _gate(key: DocumentKey, current: Envelope, known: Known, catalog: Catalog) -> Gate | None:
    """Return the gate of the profile that wrote the document last, or of the first one, by id, that may write it.

    Those that have its schema version come first.
    """
    writing = [rules for rules in catalog.covering(key) if rules.binding.write_mode != "read_only"]
    of_version = [rules for rules in writing if rules.at(current.schema_id, current.schema_version) is not None]
    newest = current.commit.outbox[-1] if current.commit.outbox else {}
    named = (newest.get("profile_id"), newest.get("binding_id"))
    last = [rules for rules in of_version if (rules.profile.profile_id, rules.binding.binding_id) == named]
    rules = next(iter([*last, *of_version, *writing]), None)
    return None if rules is None else Gate(rules, _sections(key, catalog), known)


def _sections(key: DocumentKey, catalog: Catalog) -> Sequence[SectionUpkeep]:
    """Return the rules of the document's sections, of all profiles; of one section those with statements, if any."""
    every = [rule for rules in catalog.covering(key) for rule in rules.section_rules]
    return list({rule.place: rule for rule in sorted(every, key=lambda rule: rule.statements is not None)}.values())


def _trial(key: DocumentKey, current: Envelope, gate: Gate, ops: Sequence[Op]) -> PatchDocument:
    """Return a patch that is decided, and never sent."""
    return PatchDocument(
        key=key,
        actor=Actor("", frozenset()),
        precondition=IfMatch(current.commit.etag),
        idempotency_key="trial",
        profile_id=gate.rules.profile.profile_id,
        binding_id=gate.rules.binding.binding_id,
        ops=list(ops),
        reason=Reason.RETRACTION,
    )


async def send(
    key: DocumentKey,
    plan: DocumentPlan,
    request: DocumentRequest,
    change: DocumentChange | None,
    service: Service,
    *,
    idempotency_key: str,
) -> WriteResult | None:
    """Send a stored request; None: it was not applied, because it is not what is to be done to the document now.

    `change`: what was found on the current version, whose gate decides; None: only find out whether it was applied.
    One of an earlier run can differ from it: the document has moved, or another source has been closed or opened since.
    Raises ErasureRunning, HistoryCorrupt, VaultUnavailable, Unavailable, and what the gate raises.
    """
    command = PatchDocument(
        key=key,
        actor=Actor(service.worker_principal, frozenset({Role.REPLAY})),
        precondition=IfMatch(request.etag),
        idempotency_key=idempotency_key,
        profile_id=plan.profile_id or "",
        binding_id=plan.binding_id or "",
        ops=list(request.ops),
        reason=Reason.RETRACTION,
        evidence=request.evidence,
    )

    def decide(_: Catalog, found: Envelope | None) -> Decision:
        if found is None or change is None or change.gate is None or found.commit.etag != change.current.commit.etag:
            raise ETagMismatch()
        if canonical(command.ops) != canonical(list(change.ops)):
            raise ETagMismatch()
        return change.gate.decide(command, found, change.named)

    try:
        return await commit_governed(command, decide, service)
    except (ETagMismatch, DocumentNotFound):
        return None
