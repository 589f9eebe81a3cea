"""What is deployed as the workers is whole: it starts from its own directory and needs nothing but its requirements."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from local.stack.worker_package import DATA, PACKAGES, main, pack
from tests.architecture.source_tree import ROOT

LOOK = """
import json, sys
import function_app, memnet
from memnet.catalog import load_catalog
from memnet.settings import load

needed = ("STORAGE_URL", "SEARCH_URL", "QUEUE_URL", "VAULT_URL", "ISSUER_URL", "AUDIENCE")
s = load({f"MEMNET_{name}": "x" for name in needed})
catalog = load_catalog(s.profiles_dir, s.schemas_dir, s.prompts_dir, s.migrations_dir, s.retention_file)
functions = [function.get_function_name() for function in function_app.app.get_functions()]
json.dump([memnet.__file__, sorted(catalog.profiles), sorted(functions)], sys.stdout)
"""


@pytest.fixture
def target(tmp_path: Path) -> Path:
    target = tmp_path / "package"
    pack(target)
    return target


def test_it_starts_from_its_own_directory_with_its_own_data(target: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    answer = subprocess.run(
        [sys.executable, "-c", LOOK], cwd=target, env=environment, capture_output=True, text=True, check=True
    )
    place, profiles, functions = json.loads(answer.stdout)
    assert Path(place).is_relative_to(target)
    assert profiles
    assert functions == json.loads((ROOT / "infra" / "names.json").read_text("utf-8"))["functions"]
    assert json.loads((target / "host.json").read_text("utf-8"))["version"] == "2.0"


def test_it_contains_no_leftovers(target: Path) -> None:
    (target / "memnet" / "stray.py").write_text("")
    pack(target)
    left = [path.relative_to(target).as_posix() for path in target.rglob("*")]
    stray = ("stray.py", "workers/host.json", "workers/requirements.txt")
    assert [name for name in left if "__pycache__" in name or name.endswith(stray)] == []
    assert {Path(name).parts[0] for name in left} == {
        *PACKAGES, *DATA, "function_app.py", "host.json", "requirements.txt",
    }  # fmt: skip


def test_its_requirements_are_pinned_by_hash_and_have_what_the_workers_import(target: Path) -> None:
    text = (target / "requirements.txt").read_text("utf-8")
    names = re.findall(r"^([\w-]+)==", text, re.MULTILINE)
    wanted = {"azure-functions", "azure-identity", "azure-servicebus", "azure-monitor-opentelemetry-exporter"}
    assert wanted - set(names) == set()
    assert {"pytest", "ruff", "mypy"} & set(names) == set()
    assert [pin for pin in re.split(r"\n(?=\w)", text) if "--hash=sha256:" not in pin] == []


def test_a_foreign_directory_is_not_deleted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    assert main([str(tmp_path)]) == 1
    assert "not made by this program" in capsys.readouterr().err
    assert (tmp_path / "letter.txt").read_text() == "dear"


def test_without_a_directory_it_prints_its_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "DIRECTORY" in capsys.readouterr().err
