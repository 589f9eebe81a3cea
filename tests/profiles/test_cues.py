"""Cues are released data: what is wrong with them, or with a profile that names them, is reported at the start."""

import json
from typing import Any

from memnet.catalog import CUES, CatalogError, load_catalog, load_cues, read_released
from tests.domain.samples import CATALOG
from tests.profiles.conftest import Workshop
from tests.profiles.test_commands import memnet

FILE = "cues/nl/1.0.0.json"
HOME = {
    "says": "home",
    "confidence": 0.4,
    "pattern": "^(?P<text>ik woon in (?P<value>[^,.]{1,60}))",
    "members": {"subject": "user"},
}
SOUND = {"patterns": [HOME]}
RULES: dict[str, Any] = {
    "prompt_id": "planting",
    "prompt_version": "1.0.0",
    "cues": [{"says": "home", "binding_id": "garden", "section": "/plants"}],
    "cue_sets": [{"language": "nl", "version": "1.0.0"}],
}


def with_cues(workshop: Workshop, file: Any = SOUND, **rules: Any) -> list[tuple[str, str, str]]:
    """(file, pointer, reason) of what is wrong with this file of cues and the profile that names it."""
    workshop.write(FILE, file)
    workshop.profile({"op": "add", "path": "/extraction", "value": RULES | rules})
    try:
        load_catalog(workshop.profiles, workshop.schemas, workshop.prompts, cues_dir=workshop.root / "cues")
    except CatalogError as error:
        root = f"{workshop.root.as_posix()}/"
        return [(found.file.removeprefix(root), found.pointer, found.reason) for found in error.problems]
    return []


def test_a_language_is_a_file_and_its_kinds_are_its_own(workshop: Workshop) -> None:
    assert with_cues(workshop) == []


def test_a_profile_may_name_only_cues_and_kinds_that_exist(workshop: Workshop) -> None:
    named = [{"language": "nl", "version": "2.0.0"}]
    wrong = [{"says": "wish", "binding_id": "garden", "section": "/plants"}]

    assert with_cues(workshop, cue_sets=named) == [
        ("profiles/gardener.json", "/extraction/cue_sets/0", "there are no cues nl 2.0.0")
    ]
    assert with_cues(workshop, cues=wrong) == [
        ("profiles/gardener.json", "/extraction/cues/0/says", "no phrase of the cue_sets says wish")
    ]
    assert with_cues(workshop, cue_sets=named, cues=[]) == []


def test_a_wrong_file_is_reported_once(workshop: Workshop) -> None:
    assert with_cues(workshop, {"patterns": [HOME | {"pattern": "("}]}) == [
        (FILE, "/patterns/0/pattern", "is no regular expression of Python")
    ]
    too_sure = with_cues(workshop, {"patterns": [HOME | {"confidence": 0.9}]})
    assert (FILE, "/patterns/0/confidence") in [found[:2] for found in too_sure]
    assert [found[:2] for found in with_cues(workshop, SOUND | {"language": "nl"})] == [(FILE, "/language")]


def test_released_cues_may_not_change(workshop: Workshop) -> None:
    workshop.write(FILE, SOUND)
    directory = workshop.root / "cues"
    assert memnet("cues", "release", directory).output.endswith("ok: 1 cue set released, 0 before\n")
    assert memnet("cues", "check", directory).output == f"ok: 1 cue set in {directory}\n"

    workshop.write(FILE, {"patterns": [HOME | {"confidence": 0.3}]})
    result = memnet("cues", "check", directory)
    assert result.exit_code == 1
    assert "is released and was changed since: make it a new version" in result.output
    workshop.write(FILE, json.dumps(SOUND, indent=4))
    assert memnet("cues", "check", directory).exit_code == 0


def test_the_commands_check_a_profile_against_the_named_cues(workshop: Workshop) -> None:
    assert with_cues(workshop) == []
    arguments = ["profiles", "check", workshop.profiles, "--schemas-dir", workshop.schemas]
    arguments += ["--prompts-dir", workshop.prompts]

    assert memnet(*arguments, "--cues-dir", workshop.root / "cues").exit_code == 0
    assert "there are no cues nl 1.0.0" in memnet(*arguments).output


def test_the_shipped_cues_are_released_unchanged_in_two_languages() -> None:
    cues = load_cues(CUES)

    assert {language for language, _ in cues} >= {"en", "de"}
    assert {"/".join(key): found.file.sha256 for key, found in cues.items()} == read_released(CUES)
    forms = {language: found.forms for (language, _), found in CATALOG.cues.items()}
    every, learner = {"statement", "wish", "decision"}, {"grade", "weak-topic", "style", "exam"}
    assert forms == {"en": every, "de": every, "en-workspace": every - {"wish"}, "en-learner": learner}
