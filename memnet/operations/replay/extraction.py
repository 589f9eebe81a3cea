"""Plan a replay: read the snapshot and the documents, and extract a digest and proposals."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import orjson

from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.profile import Profile
from memnet.domain.catalog.prompt import Prompt
from memnet.domain.catalog.rules import PromptName
from memnet.domain.context.context import AssembleContext, is_unreadable
from memnet.domain.context.routing import MAX_TEXT
from memnet.domain.core.errors import HistoryCorrupt, ProfileForbidden
from memnet.domain.core.scope import Actor, Json
from memnet.domain.replay.answer_schema import SCHEMA_NAME, answer_forms, forms_sha256, prompted_bindings
from memnet.domain.replay.extraction import (
    Extraction,
    ModelOutput,
    Provenance,
    SourceDocument,
    is_output,
    read_output,
)
from memnet.domain.replay.extraction_guardrails import ExtractionContext, filter_extraction
from memnet.domain.replay.injected_memory import strip_messages
from memnet.domain.replay.material import Material
from memnet.domain.replay.prompt_input import Quoted, compose, quote
from memnet.domain.replay.replay import PatchResult, Replay
from memnet.domain.replay.replay_plan import ReplayPlan, make_plan, settled_results
from memnet.domain.replay.rule_extraction import extract_by_rules
from memnet.domain.replay.snapshot import Snapshot
from memnet.operations.context import assemble_context
from memnet.operations.replay.judge import judge_statements
from memnet.operations.replay.metered_models import MeteredModels
from memnet.operations.replay.taking import load_material
from memnet.operations.replay.turn_usage import GateResult, check_gates, find_exhausted
from memnet.ports import LanguageModels, ModelOutcome, ModelRequest
from memnet.service import Service

OUTPUT_TOKENS = (4_000, 12_000)
"""The token limits of a model's first try, and of its second if the first output was truncated or unusable."""
NOTES = {
    ModelOutcome.REFUSED: "the model refused",
    ModelOutcome.TRUNCATED: "the model's output was truncated",
    ModelOutcome.UNUSABLE: "the model's output could not be used",
}
"""Why the rules extract, by the outcome of the call."""


@dataclass(frozen=True, slots=True)
class PlannedReplay:
    """The plan, and the members of the replay's record that it determines."""

    plan: ReplayPlan
    extraction: Json = None
    settled: Sequence[PatchResult] = ()
    """The results of proposals that reach no document."""
    covers: Sequence[str] = ()
    """The replays of the other turns that the plan contains."""
    skipped: Json = None
    """The gate that kept it from extracting, and why."""
    model_tokens: int | None = None
    """The tokens of the model calls; None: no model was asked."""

    @property
    def outcome(self) -> str:
        """What extracted, in one word, for metrics."""
        return str(self.skipped["gate"] if self.skipped else self.extraction["extractor"])


async def plan_replay(replay: Replay, service: Service, *, actor: Actor) -> PlannedReplay:
    """Take the turns of a replay, and plan it on the current documents; the plan is not stored.

    Raises:
        SnapshotNotFound, DecryptionFailed, VaultUnavailable, ProfileNotFound, ProfileForbidden, HistoryCorrupt,
        Unavailable.
    """
    profile = service.catalog.profile(replay.profile_id)
    material, covers = await load_material(replay, service)
    gates, exhausted = GateResult(), None
    if replay.is_turn:
        gates = await check_gates(replay, material, service)
        if gates.skipped is not None:
            return PlannedReplay(ReplayPlan(None, ()), covers=covers, skipped=gates.skipped.members())
        exhausted = await find_exhausted(replay, service)
    models = None
    if service.models is not None and exhausted is None:
        models = MeteredModels(service.models, service.telemetry, profile.profile_id)
    service = replace(service, models=models)
    sources = await load_source_documents(material.snapshot, service, actor=actor)
    extracted = await extract_memory(material, sources, profile, service)
    extraction = await judge_statements(extracted, sources, profile, service)
    namespaces = {binding.binding_id: binding.namespace for binding in profile.document_bindings}
    return PlannedReplay(
        make_plan(material, sources, extraction, profile.upkeep_rules, said=gates.said),
        extraction.provenance.members() | ({} if exhausted is None else {"over_budget": exhausted}),
        settled_results(material, extraction, namespaces),
        covers=covers,
        model_tokens=None if models is None else models.tokens,
    )


async def load_source_documents(snapshot: Snapshot, service: Service, *, actor: Actor) -> list[SourceDocument]:
    """Return the profile's writable documents that the replay may change.

    The text of the user routes to one document of a family; injected memory does not. A document that does not exist
    has its binding's initial content. Raises ProfileNotFound, ProfileForbidden, Unavailable; HistoryCorrupt: a document
    cannot be read.
    """
    profile = service.catalog.profile(snapshot.profile_id)
    if not profile.admits(actor.principal):
        raise ProfileForbidden(f"The profile excludes the worker's principal, {actor.principal}.")
    said = [message.content for message in strip_messages(snapshot.messages) if message.role == "user"]
    text = "\n".join(said)[:MAX_TEXT]
    command = AssembleContext(
        scope=snapshot.scope, actor=actor, profile_id=snapshot.profile_id, text=text, explicit_ids={}
    )
    assembled = await assemble_context(command, service, as_stored=True)
    if any(map(is_unreadable, assembled.dropped_bindings)):
        raise HistoryCorrupt()
    found = {document.binding_id: document for document in assembled.documents}
    sources = []
    for binding in profile.document_bindings:
        variable = binding.variable()
        if binding.write_mode == "read_only" or not profile.writable_path_rules.get(binding.binding_id):
            continue
        if variable is not None and variable not in assembled.selected:
            continue
        key = binding.resolve(snapshot.scope, assembled.selected.get(variable or ""))
        existing = found.get(binding.binding_id)
        if existing is None:
            sources.append(SourceDocument(binding.binding_id, key, None, binding.initial_content or {}))
            continue
        document = orjson.loads(existing.document)
        schema = (document["schema_id"], document["schema_version"])
        sources.append(SourceDocument(binding.binding_id, key, existing.etag, document[ROOT], schema))
    return sources


async def extract_memory(
    material: Material, sources: Sequence[SourceDocument], profile: Profile, service: Service
) -> Extraction:
    """Extract by the profile's prompt, or by fixed rules if the service has no models or the profile no prompt.

    Fixed rules also replace a model that refuses, and models of which none gives a usable output; the provenance says
    why. Nothing is extracted from injected memory. Raises Unavailable if no model answers.
    """
    quoted = quote(material.snapshot.messages, material.earlier)
    subject = ExtractionContext(material.snapshot, quoted.messages, sources, profile, service.catalog, material)
    output: ModelOutput | None = None
    provenance: dict[PromptName | None, Provenance] = {None: Provenance("rules")}
    if service.models is not None and profile.extraction is not None and quoted.messages:
        output, provenance = await _call_model(subject, quoted, service.models)
    filtered = filter_extraction(output or extract_by_rules(subject), subject)

    def whole(found: Provenance) -> Provenance:
        notes = [note for note in (found.note, quoted.note()) if note]
        note = "; ".join(notes) or None
        return replace(found, profile_version=profile.version, profile_sha256=profile.sha256, note=note)

    own = {
        binding_id: whole(provenance[prompt])
        for prompt, bindings in prompted_bindings(profile).items()
        for binding_id in bindings
        if prompt in provenance and prompt is not None
    }
    found = (filtered.digest, filtered.patches, filtered.rejected, whole(provenance[None]), filtered.known)
    return Extraction(*found, own_provenance=own)


async def _call_model(
    subject: ExtractionContext, quoted: Quoted, models: LanguageModels
) -> tuple[ModelOutput | None, dict[PromptName | None, Provenance]]:
    """Return the model's output, or None, and the provenance by prompt, None: the profile's own.

    The documents with a prompt of their own are asked about last, and only if the model answered before.
    """
    rules = subject.profile.extraction
    assert rules is not None
    shown = {document.binding_id for document in subject.sources}
    digest, patches, provenance = None, list[dict[str, object]](), dict[PromptName | None, Provenance]()
    for name, bindings in prompted_bindings(subject.profile).items():
        if name is not None and not shown & set(bindings):
            continue
        prompt = subject.catalog.prompt(*((rules.prompt_id, rules.prompt_version) if name is None else _key(name)))
        outputs, provenance[name] = await _ask(subject, quoted, models, prompt, bindings, has_digest=name is None)
        if name is None and not outputs:
            # The prompt is still named: the attempt with the model is part of the provenance.
            return None, {None: replace(provenance[None], extractor="rules")}
        digest = outputs[0].digest if name is None else digest
        patches += [patch for output in outputs for patch in output.patches]
    return ModelOutput(digest, patches), provenance


def _key(name: PromptName) -> tuple[str, str]:
    return name.prompt_id, name.prompt_version


async def _ask(
    subject: ExtractionContext,
    quoted: Quoted,
    models: LanguageModels,
    prompt: Prompt,
    bindings: Sequence[str],
    *,
    has_digest: bool,
) -> tuple[list[ModelOutput], Provenance]:
    """Return the outputs of the calls about the documents of these bindings, until one is of no use."""
    rules = subject.profile.extraction
    assert rules is not None
    sources = [document for document in subject.sources if document.binding_id in bindings]
    read = {document.binding_id for document in sources}
    first, *rest = answer_forms(subject.profile, subject.catalog, bindings, has_digest=has_digest)
    forms = [first, *(form for form in rest if read & {binding_id for binding_id, _ in form.lists})]
    outputs: list[ModelOutput] = []
    for form in forms:
        text = compose(quoted, sources, subject.profile, rules, form.lists)
        asked = ModelRequest(prompt.text, text, SCHEMA_NAME, form.schema, OUTPUT_TOKENS, is_output)
        found = await models.answer(asked)
        if found.outcome is not ModelOutcome.COMPLETE:
            break
        outputs.append(read_output(found.text))
    note = None if len(outputs) == len(forms) else NOTES[found.outcome]
    source = (found.model, prompt.prompt_id, prompt.version, prompt.sha256, forms_sha256(forms))
    return outputs, Provenance("model", *source, note=note)
