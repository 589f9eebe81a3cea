"""memnet profiles and memnet schemas: what they print, and their exit codes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cli.main import main
from memnet.settings import ROOT
from tests.profiles.conftest import PROFILE, SCHEMA, Workshop

MEMNET = Path(sys.executable).with_name("memnet")


SHIPPED = "ok: 7 profiles in profiles, 11 schemas in schemas\n"
"""As of a command in the directory of the repository."""


def memnet(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], prog_name="memnet")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["profiles", "check"], SHIPPED),
        (["schemas", "check"], SHIPPED),
        (["schemas", "check", ROOT / "schemas", "--profiles-dir", ROOT / "profiles"], SHIPPED),
    ],
)
def test_what_ships_is_ok(arguments: list[object], says: str) -> None:
    result = memnet(*arguments)

    assert (result.exit_code, result.output) == (0, says)


def test_the_checks_read_the_directories_of_the_settings(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("profiles", "schemas", "prompts"):
        monkeypatch.setenv(f"MEMNET_{name.upper()}_DIR", str(workshop.root / name))
    expected = f"ok: 1 profile in {workshop.profiles}, 1 schema in {workshop.schemas}\n"
    assert memnet("profiles", "check").output == expected
    assert memnet("schemas", "check").output == expected
    assert memnet("prompts", "check").output == f"ok: 1 prompt in {workshop.prompts}\n"
    workshop.profile({"op": "add", "path": "/pending_sections/garden", "value": "/waitin"})
    assert "write /waiting" in memnet("profiles", "check").output


def test_a_new_profile_passes_the_checks_and_can_be_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("profiles", "schemas", "prompts"):
        monkeypatch.setenv(f"MEMNET_{name.upper()}_DIR", str(tmp_path / name))
    made = memnet("profiles", "new", "tutor")
    assert made.exit_code == 0
    assert made.output.count("wrote ") == 4
    assert memnet("profiles", "check").output.startswith("ok: 1 profile in ")
    assert memnet("prompts", "check").exit_code == 0

    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
    again = memnet("profiles", "new", "tutor")
    assert again.exit_code == 1
    assert "exists; choose another name" in again.output
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*")} == before
    assert memnet("profiles", "new", "../tutor").exit_code == 2

    explained = memnet("profiles", "explain", "tutor-v1").output
    for sentence in (
        "A principal with Memory.Write may change tutor /preferences, /facts and /pending_confirmations.",
        "Durable facts are in tutor /facts: a write needs confidence 0.8.",
        "wait in tutor /pending_confirmations, until another principal than the proposer confirms",
        "wait for confirmation again after 365 days",
        "with prompt tutor 1.0.0",
        "Retention: snapshots 60 days",
    ):
        assert sentence in explained
    assert memnet("profiles", "explain", "tuttor-v1").exit_code == 2


def test_an_explanation_says_what_happens_to_contradictions_and_what_is_applied_without_a_person() -> None:
    personal = memnet("profiles", "explain", "personal-memory-v1").output
    workspace = memnet("profiles", "explain", "workspace-memory-v1").output
    sections = "/happenings, /procedures, /decisions, /opinions, /preferences and /facts"
    for sentence in (
        "What replays proposed is applied without a confirmation once the user has stated it in 2 conversations, at "
        "least 1 day apart.",
        f"In personal {sections}, a later statement that contradicts an open one closes it, and one that is less sure "
        "by more than 0.2 waits with a question for the user.",
        f"In personal {sections}, open statements about different things that say the same become one.",
    ):
        assert sentence in personal
    for sentence in (
        "In workspace /decisions and /claims, a later statement of the same person that contradicts an open one",
        "In workspace /decisions, a statement that contradicts another person's waits until an administrator of the",
        "In workspace /claims, statements of different people that contradict each other stay side by side, and a",
    ):
        assert sentence in workspace
    assert "A retraction is applied by" not in personal


def test_an_explanation_names_the_second_principal_of_a_retraction(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("profiles", "schemas", "prompts"):
        monkeypatch.setenv(f"MEMNET_{name.upper()}_DIR", str(workshop.root / name))
    workshop.profile({"op": "add", "path": "/retracted_by", "value": "another_principal"})
    explained = memnet("profiles", "explain", "gardener")
    assert "A retraction is applied by another principal than the one that planned it." in explained.output


def test_every_problem_is_a_line_and_the_exit_code_is_1(workshop: Workshop) -> None:
    workshop.profile({"op": "add", "path": "/routing/id_field", "value": "id"})
    workshop.write("profiles/other.json", "{")

    result = memnet("profiles", "check", workshop.profiles, "--schemas-dir", workshop.schemas)

    assert result.exit_code == 1
    assert result.output.splitlines() == [
        f"{workshop.profiles}/gardener.json: /routing/id_field: the entries at /beds have no id",
        f"{workshop.profiles}/other.json: The file is not JSON: "
        "Expecting property name enclosed in double quotes at character 1.",
    ]


def test_schemas_check_alone_leaves_the_profiles_alone(workshop: Workshop) -> None:
    workshop.write("profiles/gardener.json", "{")
    assert memnet("schemas", "check", workshop.schemas).exit_code == 0

    result = memnet("schemas", "check", workshop.schemas, "--profiles-dir", workshop.profiles)
    assert result.exit_code == 1
    assert "gardener.json" in result.output

    workshop.schema({"op": "remove", "path": "/$schema"})
    result = memnet("schemas", "check", workshop.schemas)
    assert result.exit_code == 1
    assert result.output.startswith(f"{workshop.schemas}/garden/1.0.0.json: /$schema: must be ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["profiles", "check", "/no/such/directory"],
        ["profiles", "check", "--schemas-dir", "/no/such/directory"],
        ["profiles", "check", "--strict"],
        ["profiles", "chek"],
    ],
)
def test_a_wrong_call_exits_with_2(arguments: list[str]) -> None:
    assert memnet(*arguments).exit_code == 2


def test_a_release_adds_what_is_new_and_changes_nothing_else(workshop: Workshop) -> None:
    assert memnet("schemas", "release", workshop.schemas).exit_code == 0
    file = workshop.schemas / "released.json"
    first = json.loads(file.read_text(encoding="utf-8"))
    assert first.keys() == {"garden/1.0.0"}

    unchanged = file.read_bytes()
    result = memnet("schemas", "release", workshop.schemas)
    assert (result.exit_code, result.output) == (0, "ok: 0 schemas released, 1 before\n")
    assert file.read_bytes() == unchanged

    workshop.write("schemas/garden/1.1.0.json", {**SCHEMA, "$id": "memnet:garden:1.1.0", "title": "More"})
    result = memnet("schemas", "release", workshop.schemas)
    second = json.loads(file.read_text(encoding="utf-8"))
    assert result.output == f"released garden/1.1.0 {second['garden/1.1.0']}\nok: 1 schema released, 1 before\n"
    assert second == {**first, "garden/1.1.0": second["garden/1.1.0"]}
    assert [path.name for path in workshop.schemas.iterdir() if path.is_file()] == ["released.json"]


def test_a_released_profile_is_changed_only_with_its_version(workshop: Workshop) -> None:
    def run(verb: str) -> Result:
        dirs = ("--schemas-dir", workshop.schemas, "--prompts-dir", workshop.prompts)
        return memnet("profiles", verb, workshop.profiles, *dirs)

    file = workshop.profiles / "released.json"
    assert run("release").exit_code == 0
    first = json.loads(file.read_text(encoding="utf-8"))
    assert first.keys() == {"gardener/1.0.0"}
    workshop.write("profiles/gardener.json", json.dumps(PROFILE, indent=4))
    assert run("release").output == "ok: 0 profiles released, 1 before\n"

    changed = {"op": "add", "path": "/max_ops", "value": 49}
    workshop.profile(changed)
    for verb in ("check", "release"):
        assert (run(verb).exit_code, run(verb).output) == (
            1,
            f"{file}: /gardener~11.0.0: is released and was changed since: make it a new version\n",
        )
    workshop.profile(changed, {"op": "add", "path": "/version", "value": "1.1.0"})
    assert run("check").exit_code == 0
    assert run("release").output.startswith("released gardener/1.1.0 ")
    assert json.loads(file.read_text(encoding="utf-8")).items() > first.items()


def test_a_schema_that_only_says_it_is_additive_is_refused_with_the_place(workshop: Workshop) -> None:
    newer = {**SCHEMA, "$id": "memnet:garden:1.1.0", "x-additive-to": "1.0.0", "required": []}
    workshop.write("schemas/garden/1.1.0.json", newer)
    result = memnet("schemas", "check", workshop.schemas)
    assert result.exit_code == 1
    assert result.output.startswith(
        f"{workshop.schemas}/garden/1.1.0.json: /required: not additive to 1.0.0: was changed"
    )
    workshop.write("schemas/garden/1.1.0.json", {**newer, "required": ["plants"]})
    assert memnet("schemas", "check", workshop.schemas).output == f"ok: 2 schemas in {workshop.schemas}\n"


def test_the_installed_command_needs_no_setting(workshop: Workshop) -> None:
    workshop.write("profiles/gardener.json", {**PROFILE, "profile_id": "farmer"})

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [str(MEMNET), *map(str, arguments)]
        return subprocess.run(command, env={}, capture_output=True, text=True, timeout=60, check=False)

    good = run("profiles", "check")
    assert (good.returncode, good.stdout, good.stderr) == (0, SHIPPED, "")
    bad = run("profiles", "check", workshop.profiles, "--schemas-dir", workshop.schemas)
    assert bad.returncode == 1
    assert bad.stdout == (
        f'{workshop.profiles}/gardener.json: /profile_id: must be "gardener", as the file\'s name says; '
        "write that id, or rename the file to farmer.json\n"
    )
