"""Each image's last stage, laid out as its COPY lines say and nothing else, starts and answers.

No image is built here. Of what is installed the packages alone are taken: the files through which the repository
itself is installed for development are not read.
"""

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from api.main import GRACE_SECONDS
from local.stack.process import ReservedPort
from tests.containers.dockerfile import ROOT, Dockerfile
from tests.sample_settings import NOWHERE
from workers.function_app import app as functions

pytestmark = pytest.mark.slow
SITE_PACKAGES = sysconfig.get_path("purelib")
REQUIRED = {**NOWHERE, "MEMNET_DRAIN_SECONDS": "0"}
SECONDS_TO_START = 120
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]


class Laid:
    """An image's last stage in a directory."""

    def __init__(self, name: str, directory: Path) -> None:
        dockerfile = Dockerfile(ROOT / "docker" / f"{name}.Dockerfile")
        self.stage = dockerfile.final
        self.place = dockerfile.lay_out(directory)

    def run(self, command: Sequence[str], environment: Mapping[str, str]) -> "subprocess.Popen[str]":
        """Start a command whose first word is python, with the image's environment."""
        assert command[0] == "python"
        outside = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
        given = {
            **outside,
            **self.stage.environment,
            **environment,
            "PYTHONPATH": f"{self.place}:{SITE_PACKAGES}",
            "PATH": os.environ["PATH"],
        }
        return subprocess.Popen(
            [sys.executable, "-S", *command[1:]],
            cwd=self.place,
            env=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def finish(self, command: Sequence[str], environment: Mapping[str, str]) -> tuple[int, str]:
        """Run a command to its end: its exit code and what it printed."""
        with self.run(command, environment) as process:
            printed, _ = process.communicate(timeout=120)
        return process.returncode, printed

    @contextmanager
    def running(self, command: Sequence[str], environment: Mapping[str, str], ready: Sequence[str]) -> Iterator[None]:
        """Run it until it is healthy by its own check; then SIGTERM has to end it, and has left nothing behind."""
        before = self.files()
        with self.run(command, environment) as process:
            try:
                deadline = time.monotonic() + SECONDS_TO_START
                while self.finish(ready, environment)[0]:
                    assert process.poll() is None, process.communicate()[0]
                    assert time.monotonic() < deadline
                yield
                process.send_signal(signal.SIGTERM)
                printed, _ = process.communicate(timeout=GRACE_SECONDS + 60)
                assert process.returncode in (0, -signal.SIGTERM), printed
            finally:
                process.kill()
        # The file system of an image may be read-only.
        assert self.files() == before

    def files(self) -> set[str]:
        return {str(path) for path in self.place.rglob("*")}


def moved(words: Sequence[str], **replaced: str) -> list[str]:
    """The words of a command with other ports and paths."""
    found = list(words)
    for old, new in replaced.items():
        found = [word.replace(old.removeprefix("_").replace("DATA", "/data"), new) for word in found]
    return found


@pytest.fixture
def port() -> Iterator[int]:
    reserved = ReservedPort()
    yield reserved.number
    reserved.release()


def test_the_api_starts_answers_and_stops(tmp_path: Path, port: int) -> None:
    api = Laid("api", tmp_path)
    environment = {**REQUIRED, "MEMNET_PORT": str(port)}
    with api.running(api.stage.command, environment, api.stage.health_check):
        pass


def test_a_health_check_without_a_server_fails(tmp_path: Path, port: int) -> None:
    api = Laid("api", tmp_path)
    assert api.finish(api.stage.health_check, {"MEMNET_PORT": str(port)})[0] != 0


def test_the_command_is_in_the_api_s_image(tmp_path: Path) -> None:
    entrypoint = COMPOSE["bootstrap"]["entrypoint"]
    code, printed = Laid("api", tmp_path).finish([*entrypoint, "--help"], {})
    assert (code, "Usage: memnet" in printed or "Usage: python -m cli.main" in printed) == (0, True), printed
    code, printed = Laid("api", tmp_path).finish(entrypoint, {})
    assert (code, "no local stack runs" in printed) == (1, True), printed


def test_the_token_command_finds_the_issuer_of_compose(tmp_path: Path) -> None:
    api = Laid("api", tmp_path)
    (config,) = COMPOSE["api"]["configs"]
    stack = ROOT / yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["configs"][config["source"]]["file"]
    target = tmp_path / Path(config["target"]).relative_to("/")
    target.parent.mkdir(parents=True)
    shutil.copy(stack, target)
    asked = ["python", "-m", "cli.main", "token", "--tenant", "t1", "--principal", "p", "--roles", "Memory.Read"]
    code, printed = api.finish(asked, {})
    assert (code, "issuer at http://127.0.0.1:8081/local/oauth2/v2.0/token" in printed) == (1, True), printed


WORKERS = """
import function_app, memnet.settings, memnet.catalog
found = memnet.settings.load()
memnet.catalog.load_catalog(
    found.profiles_dir, found.schemas_dir, found.prompts_dir, found.migrations_dir, found.retention_file
)
print(memnet.settings.ROOT)
print(*sorted(f.get_function_name() for f in function_app.app.get_functions()))
"""


def test_the_workers_are_indexed_as_azure_s_host_does(tmp_path: Path) -> None:
    workers = Laid("workers", tmp_path)
    assert (workers.place / "host.json").is_file()
    assert workers.stage.environment["AzureWebJobsScriptRoot"] == workers.stage.directory
    code, printed = workers.finish(["python", "-c", WORKERS], REQUIRED)
    assert code == 0, printed
    *_, place, names = printed.splitlines()
    assert Path(place) == workers.place
    # It refuses to be asked twice in one process.
    functions.functions_bindings = {}
    assert names.split() == sorted(str(function.get_function_name()) for function in functions.get_functions())


@pytest.mark.parametrize("service", ["issuer", "search", "vault"])
def test_each_emulator_starts_answers_and_stops(tmp_path: Path, port: int, service: str) -> None:
    emulators, data = Laid("emulators", tmp_path / "image"), tmp_path / "data"
    command = [*emulators.stage.last("ENTRYPOINT").words, *COMPOSE[service]["command"]]
    number = command[command.index("--port") + 1]
    check = COMPOSE[service]["healthcheck"]["test"]
    assert check[0] == "CMD"
    replaced = {f"_{number}": str(port), "DATA": str(data)}
    with emulators.running(moved(command, **replaced), {}, moved(check[1:], **replaced)):
        assert list(data.iterdir())


def test_the_default_command_of_the_emulators_is_search(tmp_path: Path, port: int) -> None:
    emulators, data = Laid("emulators", tmp_path / "image"), tmp_path / "data"
    check = moved(COMPOSE["search"]["healthcheck"]["test"][1:], _7272=str(port))
    command = moved(emulators.stage.command, _7272=str(port), DATA=str(data))
    with emulators.running(command, {}, check):
        pass
