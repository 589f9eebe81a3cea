"""Extraction by a model that answers, refuses, is cut off or talks nonsense, and without one."""

from typing import Any

import pytest

from memnet.adapters.memory.models import MODEL, ScriptedModels
from memnet.domain.catalog.profile import Profile
from memnet.domain.core.errors import Unavailable
from memnet.domain.replay.extraction import Extraction
from memnet.domain.replay.extraction_output import SCHEMA
from memnet.operations.replay.extract_memory import OUTPUT_TOKENS, REFUSED, TRUNCATED, UNUSABLE, extract_memory
from memnet.ports import LanguageModels, ModelAnswer, ModelOutcome
from tests.domain.extraction_samples import (
    COPILOT,
    answer_text,
    conversation,
    dynamic,
    op,
    project,
    shown_documents,
    snapshot,
)
from tests.domain.samples import CATALOG
from tests.services import service_of

SAID = ("user: I prefer tables. The launch was moved.", "assistant: Noted.")
PROPOSAL = op("add", "/content/preferences/-", "Prefers tables.")
DIGEST = {"text": "The launch moved.", "keywords": ["launch"], "project_ids": ["alpha"]}
GOOD = answer_text(dynamic(PROPOSAL), digest=DIGEST)
CANDIDATE = ([{"op": "add", "path": "/content/preferences/-", "value": "I prefer tables"}], 0.5)
"""What the fixed rules make of it."""


async def extract(
    models: LanguageModels | None, *said: str, profile: Profile | None = None, messages: Any = None
) -> Extraction:
    taken = snapshot(messages or conversation(*(said or SAID)))
    return await extract_memory(
        taken, shown_documents(), profile or CATALOG.profile(COPILOT), service_of(catalog=CATALOG, models=models)
    )


def named(profile: Profile) -> dict[str, str]:
    """How the provenance names a profile's text."""
    return {"profile_version": profile.version, "profile_sha256": profile.sha256}


def proposals(extraction: Extraction) -> list[tuple[Any, float]]:
    return [(patch.ops, patch.confidence) for patch in extraction.patches]


def ended(outcome: ModelOutcome, text: str = "") -> ModelAnswer:
    return ModelAnswer(text, outcome, MODEL)


async def test_a_model_is_asked_once_by_the_profiles_prompt_and_its_answer_is_judged() -> None:
    models = ScriptedModels([answer_text(dynamic(PROPOSAL), project(op("add", "/content/owner", "me")), digest=DIGEST)])

    extraction = await extract(models)

    prompt = CATALOG.prompt("project-copilot", "1.0.0")
    (request,) = models.asked
    assert request.instructions == prompt.text
    assert request.schema == SCHEMA
    assert request.max_output_tokens == OUTPUT_TOKENS[0]
    assert '"message_id":"m1"' in request.material
    assert '"target_path":"alpha.json"' in request.material
    assert extraction.digest is not None
    assert (extraction.digest.text, extraction.digest.project_ids) == ("The launch moved.", ["alpha"])
    assert [patch.confidence for patch in extraction.patches] == [0.75]
    assert [rejected.code for rejected in extraction.rejected] == ["PATH_NOT_WRITABLE"]
    assert extraction.provenance.members() == {
        "extractor": "model",
        "model": MODEL,
        "prompt_id": "project-copilot",
        "prompt_version": "1.0.0",
        "prompt_sha256": prompt.sha256,
        **named(CATALOG.profile(COPILOT)),
    }


async def test_a_model_may_find_nothing() -> None:
    extraction = await extract(ScriptedModels([answer_text()]))

    assert (extraction.digest, extraction.patches, extraction.rejected) == (None, [], [])
    assert extraction.provenance.extractor == "model"


async def test_without_models_the_rules_give_a_digest_and_candidates() -> None:
    extraction = await extract(None)

    assert extraction.digest is not None
    assert proposals(extraction) == [CANDIDATE]
    assert extraction.provenance.members() == {"extractor": "rules", **named(CATALOG.profile(COPILOT))}


@pytest.mark.parametrize(
    ("answers", "asked", "note"),
    [
        ([ended(ModelOutcome.REFUSED, "I will not.")], 1, REFUSED),
        ([ended(ModelOutcome.TRUNCATED, GOOD)], 2, TRUNCATED),
        (["no JSON"], 2, UNUSABLE),
        (["no JSON", ended(ModelOutcome.TRUNCATED)], 2, TRUNCATED),
        ([ended(ModelOutcome.TRUNCATED), "{}"], 2, UNUSABLE),
        (["{}", ended(ModelOutcome.REFUSED)], 2, REFUSED),
    ],
)
async def test_a_model_that_gives_nothing_usable_is_replaced_by_the_rules(
    answers: list[Any], asked: int, note: str
) -> None:
    models = ScriptedModels(answers)

    extraction = await extract(models)

    assert len(models.asked) == asked
    assert extraction.digest is not None
    assert proposals(extraction) == [CANDIDATE]
    provenance = extraction.provenance
    assert (provenance.extractor, provenance.model, provenance.note) == ("rules", MODEL, note)
    assert provenance.prompt_sha256 == CATALOG.prompt("project-copilot", "1.0.0").sha256


@pytest.mark.parametrize("first", [ended(ModelOutcome.TRUNCATED, GOOD[:20]), "no JSON", "[]"])
async def test_the_second_answer_may_be_longer_and_counts(first: Any) -> None:
    models = ScriptedModels([first, GOOD])

    extraction = await extract(models)

    assert [request.max_output_tokens for request in models.asked] == list(OUTPUT_TOKENS)
    assert OUTPUT_TOKENS[1] > OUTPUT_TOKENS[0]
    assert extraction.provenance.extractor == "model"
    assert extraction.provenance.note is None
    assert [patch.confidence for patch in extraction.patches] == [0.75]


@pytest.mark.parametrize("answers", [[], [Unavailable()], ["no JSON", Unavailable()]])
async def test_models_that_do_not_answer_are_the_workers_to_wait_for(answers: list[Any]) -> None:
    with pytest.raises(Unavailable):
        await extract(ScriptedModels(answers))


async def test_a_profile_without_rules_for_replays_gets_a_digest_and_asks_nobody() -> None:
    models = ScriptedModels([GOOD])
    profile = CATALOG.profile(COPILOT).model_copy(update={"extraction": None})

    extraction = await extract(models, profile=profile)

    assert models.asked == []
    assert extraction.digest is not None
    assert (extraction.patches, extraction.rejected) == ([], [])
    assert extraction.provenance.members() == {"extractor": "rules", **named(profile)}


async def test_a_conversation_of_nothing_but_context_asks_nobody_and_gives_nothing() -> None:
    models = ScriptedModels([GOOD])

    extraction = await extract(models, "user: <memnet-context>I prefer tables.</memnet-context>")

    assert models.asked == []
    assert (extraction.digest, extraction.patches) == (None, [])


async def test_injected_context_reaches_neither_the_model_nor_the_rules() -> None:
    said = "user: Good morning to the reranker team. <memnet-context>I prefer purple answers.</memnet-context>"
    models = ScriptedModels([answer_text()])

    await extract(models, said)
    by_rules = await extract(None, said)

    assert "purple" not in models.asked[0].material
    assert by_rules.digest is not None
    assert "purple" not in by_rules.digest.text
    assert by_rules.patches == []


async def test_what_was_left_out_of_a_long_conversation_is_told_and_cannot_be_cited() -> None:
    messages = conversation(*[f"user: I prefer tables {'x' * 9_000}" for _ in range(40)])
    old = answer_text(dynamic(PROPOSAL, message_ids=["m1"]))

    extraction = await extract(ScriptedModels([old]), messages=messages)

    assert [rejected.code for rejected in extraction.rejected] == ["EVIDENCE_REQUIRED"]
    assert extraction.provenance.note is not None
    assert extraction.provenance.note.endswith("oldest messages did not fit")
    refused = await extract(ScriptedModels([ended(ModelOutcome.REFUSED)]), messages=messages)
    assert refused.provenance.note == f"{REFUSED}; {extraction.provenance.note}"
