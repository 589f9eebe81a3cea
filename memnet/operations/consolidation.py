"""Consolidate documents: open statements that say the same in other words become one.

Each version of a document is consolidated once, however many runs there are. A model is asked once about the same
statements: what it was asked is remembered, so that a text that was refused or rejected does not come back.
"""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from memnet.domain.catalog.catalog import WriteRules
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.catalog.turn_rules import TurnRules
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.errors import Unavailable
from memnet.domain.core.metric import CONSOLIDATED
from memnet.domain.core.scope import Actor, DocumentKey, UserScope
from memnet.domain.upkeep.consolidation import (
    Joint,
    consolidating,
    find_joints,
    find_untraced,
    plan_consolidation,
    texts_of_content,
)
from memnet.domain.upkeep.maintenance import EntryAction, Step, profiles_maintaining
from memnet.domain.upkeep.merged_text import MAX_JOINTS, SCHEMA, SCHEMA_NAME, compose, is_usable, read_output
from memnet.domain.upkeep.near_statements import Vectors
from memnet.operations.replay.metered_models import MeteredModels
from memnet.operations.replay.turn_usage import count_call, find_joined, is_exhausted, read_usage, remember_joined
from memnet.operations.upkeep import (
    Kind,
    Maintained,
    MaintenanceResult,
    Outcome,
    apply_plan,
    find_maintained,
)
from memnet.paging import rows
from memnet.ports import LanguageModels, ModelOutcome, ModelRequest
from memnet.service import Service

OUTPUT_TOKENS: Final = (2_000, 6_000)
"""The token limits of a model's first try, and of its second if the first output was truncated or unusable."""
UNAVAILABLE: Final = "no model answered; the next run asks again"
UNUSABLE: Final = "the answer of the model could not be used"
EXHAUSTED: Final = "the limit of model calls of this user for the day is reached"
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a model was asked to join, and what came of it."""

    texts: Mapping[str, str] = field(default_factory=dict)
    """By the key of their joint, the texts that are used."""
    keys: Sequence[str] = ()
    """The joints that need not be asked about again."""
    refused: int = 0
    problem: str | None = None
    """Why nothing was asked or answered."""


@dataclass(frozen=True, slots=True)
class ConsolidatedDocument:
    """A document, and what one profile's rules made of it."""

    key: DocumentKey
    result: MaintenanceResult

    id_fields: Mapping[str, str]
    """By section, the member with the id of its statements."""

    def steps(self) -> Sequence[tuple[Step, str, str]]:
        """Return each step with the id of its statement, and of the one that stays or of the pending item."""
        steps = () if self.result.plan is None else self.result.plan.steps
        return [(step, str(step.entry[self.id_fields[step.section]]), self._into(step)) for step in steps]

    def _into(self, step: Step) -> str:
        return str(step.into["id" if step.action is EntryAction.PROPOSED else self.id_fields[step.section]])


async def consolidate_documents(
    scope: UserScope, service: Service, *, actor: Actor, dry_run: bool = False
) -> Sequence[ConsolidatedDocument]:
    """Consolidate all documents of a user by the rules of their profiles, in the order of names.

    Raises HistoryCorrupt, VaultUnavailable, DecryptionFailed, ErasureRunning, CatalogConflict, Unavailable.
    """
    found = []
    async for row in rows(partial(service.documents.list, scope, "")):
        if not row.summary.deleted:
            results = await consolidate_document(row.key, service, actor=actor, dry_run=dry_run)
            fields = {
                rule.section: rule.id_field
                for rules in profiles_maintaining(service.catalog, row.key)
                for rule in consolidating(rules)
            }
            found += [ConsolidatedDocument(row.key, result, fields) for result in results]
    return found


async def consolidate_document(
    key: DocumentKey, service: Service, *, actor: Actor, dry_run: bool = False
) -> Sequence[MaintenanceResult]:
    """Consolidate a document by the rules of each profile in order of ids.

    Without a model, or a prompt in the rule, the surest statement stays. If the model does not answer, such sections
    stay as they are and the outcome is POSTPONED. A dry run asks no model: `joints` of the result has what it would be
    asked to join. Without rules nothing is read.
    Raises HistoryCorrupt, VaultUnavailable, DecryptionFailed, ErasureRunning, CatalogConflict, Unavailable.
    """
    return [
        await _consolidate(key, rules, service, actor=actor, dry_run=dry_run)
        for rules in profiles_maintaining(service.catalog, key)
        if consolidating(rules)
    ]


async def _consolidate(
    key: DocumentKey, rules: WriteRules, service: Service, *, actor: Actor, dry_run: bool
) -> MaintenanceResult:
    found = await find_maintained(key, rules, service)
    if found is None:
        return MaintenanceResult(rules.profile.profile_id, rules.binding.binding_id, Outcome.UNTOUCHED)
    content, at = found.current.content, found.current.updated_at
    vectors = await _vectors(found, service)
    joints = _joints(found, vectors, service)
    asked = await _ask(found, joints, service) if joints and not dry_run else Asked()
    plan = plan_consolidation(
        content,
        found.rules,
        found.protected,
        at=at,
        vectors=vectors,
        texts=None if service.models is None else asked.texts,
        proposer=actor.principal,
    )
    result = await apply_plan(
        found, plan, service, Kind.CONSOLIDATION, actor=actor, dry_run=dry_run, prove=find_untraced
    )
    if dry_run:
        return replace(result, joints=joints)
    if asked.keys and result.outcome in (Outcome.CHANGED, Outcome.UNTOUCHED):
        await remember_joined(key.scope, asked.keys, service)
    _count(result, asked, service)
    if asked.problem is not None:
        log.warning("consolidation_without_model problem=%s", asked.problem, extra={"document": key.blob_name})
    if asked.problem == UNAVAILABLE and result.outcome in (Outcome.CHANGED, Outcome.UNTOUCHED):
        return replace(result, outcome=Outcome.POSTPONED, problem=UNAVAILABLE)
    return result if result.problem is not None else replace(result, problem=asked.problem)


async def _vectors(found: Maintained, service: Service) -> Vectors | None:
    """Return the vectors of the statements that are compared. None: there are no embeddings. Raises Unavailable."""
    if service.vectors is None:
        return None
    texts = texts_of_content(found.current.content, found.rules, found.protected)
    vectors = await service.vectors.of(texts) if texts else []
    return {text: vector for text, vector in zip(texts, vectors, strict=True) if vector is not None}


def _joints(found: Maintained, vectors: Vectors | None, service: Service) -> Sequence[Joint]:
    if service.models is None:
        return []
    at = found.current.updated_at
    return find_joints(found.current.content, found.rules, found.protected, at=at, vectors=vectors)


async def _ask(found: Maintained, joints: Sequence[Joint], service: Service) -> Asked:
    """Ask a model about those joints that it was not asked about before; one call for each prompt."""
    scope, profile = found.key.scope, found.rules.profile
    usage = await read_usage(scope, service)
    known = set(await find_joined(usage, service))
    new = [joint for joint in joints if joint.key not in known]
    if not new or service.models is None:
        return Asked()
    gates = (profile.turns or TurnRules()).gates
    if is_exhausted(usage, gates, service) is not None:
        return Asked(problem=EXHAUSTED)
    models = MeteredModels(service.models, service.telemetry, profile.profile_id)
    asked = Asked()
    for prompt in dict.fromkeys(_prompt(joint.rule) for joint in new):
        of_prompt = [joint for joint in new if _prompt(joint.rule) == prompt][:MAX_JOINTS]
        more = await _ask_once(of_prompt, service.catalog.prompt(*prompt).text, models)
        asked = Asked(
            {**asked.texts, **more.texts},
            [*asked.keys, *more.keys],
            asked.refused + more.refused,
            asked.problem or more.problem,
        )
    if models.tokens is not None and gates.has_budget:
        call = sha256_hex(canonical([found.current.commit.etag, *(joint.key for joint in new)]))[:32]
        await count_call(scope, f"consolidation-{call}", models.tokens, service)
    return asked


def _prompt(rule: SectionUpkeep) -> tuple[str, str]:
    own = rule.consolidate
    assert own is not None
    assert own.prompt_id is not None
    assert own.prompt_version is not None
    return own.prompt_id, own.prompt_version


async def _ask_once(joints: Sequence[Joint], instructions: str, models: LanguageModels) -> Asked:
    material, fitting = compose(joints)
    shown = joints[:fitting]
    request = ModelRequest(instructions, material, SCHEMA_NAME, SCHEMA, OUTPUT_TOKENS, is_usable)
    try:
        answer = await models.answer(request)
    except Unavailable:
        return Asked(problem=UNAVAILABLE)
    keys = [joint.key for joint in shown]
    if answer.outcome is not ModelOutcome.COMPLETE:
        return Asked(keys=keys, problem=UNUSABLE)
    found = read_output(answer.text, shown)
    return Asked(found.texts, keys, found.refused)


def _count(result: MaintenanceResult, asked: Asked, service: Service) -> None:
    counts: Counter[str] = Counter({"refused": asked.refused})
    if result.outcome is Outcome.CHANGED and result.plan is not None:
        counts.update(result.plan.counts())
    for outcome in (EntryAction.CONSOLIDATED, EntryAction.REWORDED, EntryAction.PROPOSED, "refused"):
        if counts[str(outcome)]:
            service.telemetry.record(CONSOLIDATED, counts[str(outcome)], outcome=str(outcome))
