"""Make a digest and proposals of a finished conversation."""

from collections.abc import Sequence
from dataclasses import replace

from memnet.domain.catalog.profile import Profile
from memnet.domain.replay.extraction import Extraction, Provenance, SourceDocument
from memnet.domain.replay.extraction_guardrails import ExtractionContext, filter_extraction
from memnet.domain.replay.extraction_output import SCHEMA, SCHEMA_NAME, InvalidModelOutput, ModelOutput, read_output
from memnet.domain.replay.prompt_input import Quoted, compose, quote
from memnet.domain.replay.rule_extraction import answer_by_rules
from memnet.domain.replay.snapshot import Snapshot
from memnet.ports import LanguageModels, ModelOutcome, ModelRequest
from memnet.service import Service

OUTPUT_TOKENS = (4_000, 12_000)
"""How long the answer may be: the first time, and the second if the first was cut off or of no use."""
REFUSED = "the model refused"
TRUNCATED = "the model's answer was cut off"
UNUSABLE = "the model's answer could not be used"


async def extract_memory(
    snapshot: Snapshot, shown: Sequence[SourceDocument], profile: Profile, service: Service
) -> Extraction:
    """Extract by the profile's prompt; without models, or rules for it in the profile, by fixed rules.

    A model that refuses, or gives nothing usable twice, is replaced by the fixed rules, which are sure of nothing, and
    the provenance says why. Nothing is extracted from injected context. Raises Unavailable if no model answers.
    """
    quoted = quote(snapshot.messages)
    subject = ExtractionContext(snapshot, quoted.messages, shown, profile, service.catalog)
    answer, provenance = None, Provenance("rules")
    if service.models is not None and profile.extraction is not None and quoted.messages:
        answer, provenance = await _ask(subject, quoted, service.models)
    judgement = filter_extraction(answer or answer_by_rules(subject), subject)
    notes = [note for note in (provenance.note, quoted.note()) if note]
    provenance = replace(
        provenance,
        profile_version=profile.version,
        profile_sha256=profile.sha256,
        note="; ".join(notes) or None,
    )
    return Extraction(judgement.digest, judgement.patches, judgement.rejected, provenance, judgement.known)


async def _ask(
    subject: ExtractionContext, quoted: Quoted, models: LanguageModels
) -> tuple[ModelOutput | None, Provenance]:
    """The model's answer, or None and why there is none."""
    rules = subject.profile.extraction
    assert rules is not None
    prompt = subject.catalog.prompt(rules.prompt_id, rules.prompt_version)
    material = compose(quoted, subject.shown, subject.profile, rules)
    note = UNUSABLE
    for tokens in OUTPUT_TOKENS:
        found = await models.answer(ModelRequest(prompt.text, material, SCHEMA_NAME, SCHEMA, tokens))
        provenance = Provenance("model", found.model, prompt.prompt_id, prompt.version, prompt.sha256)
        if found.outcome is ModelOutcome.REFUSED:
            note = REFUSED
            break
        if found.outcome is ModelOutcome.TRUNCATED:
            note = TRUNCATED
            continue
        try:
            return read_output(found.text), provenance
        except InvalidModelOutput:
            note = UNUSABLE
    # The prompt stands there all the same: that it was tried is part of how this came about.
    return None, replace(provenance, extractor="rules", note=note)
