"""Plant the mistakes of mistakes.toml, one at a time, and write down which test catches each.

    python -m tests.mutation [--result FILE] [--only ID] [--jobs N] [--tree REVISION] [--named-only]

Each mistake is planted in a copy of the project, never in the working tree. The tests that the table names are asked
first, then the whole fast set. A run resumes where it was stopped: what the result file holds is not asked again.
"""

import argparse
import importlib
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import tomllib
import traceback
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("mistakes.toml")
FAST = ("tests/domain", "tests/operations", "tests/profiles")
SECONDS = {True: 120, False: 600}
"""How long the named tests and the fast set may take: a mistake that makes a test run forever is caught."""
PRELOADED = (
    *("aiohttp", "azure.storage.blob.aio", "cryptography.x509", "hypothesis", "jsonpatch", "jsonschema_rs", "jwt"),
    *("orjson", "pydantic", "pytest_asyncio.plugin", "schemathesis.pytest.plugin", "uvicorn", "xdist.plugin"),
)
"""What every run imports, and what is not the project's own: imported once, before the runs are forked."""
MISSED = "missed"


@dataclass(frozen=True)
class Mistake:
    """One mistake: `old` occurs once in `file` and is replaced by `new`."""

    id: str
    breaks: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


def read_mistakes() -> list[Mistake]:
    """Read the table. Raises ValueError if an id is used twice."""
    found = [
        Mistake(name, breaks, file, old, new, tuple(part["tests"]))
        for file, part in tomllib.loads(TABLE.read_text("utf-8")).items()
        for name, breaks, old, new in part["mistakes"]
    ]
    if len({one.id for one in found}) != len(found):
        raise ValueError("an id is used twice")
    return found


def planted(mistake: Mistake, text: str) -> str:
    """The text with the mistake. Raises ValueError if `old` does not occur exactly once."""
    count = text.count(mistake.old)
    if count != 1:
        raise ValueError(f"{mistake.id}: its old text occurs {count} times in {mistake.file}")
    return text.replace(mistake.old, mistake.new)


def copy_tree(target: Path, revision: str | None) -> None:
    """Copy the project, as a revision has it or as it is now."""
    if revision is not None:
        data = subprocess.run(["git", "archive", revision], cwd=ROOT, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            archive.extractall(target, filter="data")
        return
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes((ROOT / name).read_bytes())


def run(tree: Path, tests: Sequence[str], seconds: int) -> str | None:
    """Run tests in a fork of this process. Returns the one that fails, or None."""
    output = tree.with_suffix(".output")
    child = os.fork()
    if child == 0:
        os.setsid()
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        _ask(tree, tests)
    deadline = time.monotonic() + seconds
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > deadline:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return "timeout"
        threading.Event().wait(0.05)
    if os.waitstatus_to_exitcode(ended[1]) == pytest.ExitCode.OK:
        return None
    lines = output.read_text("utf-8", "replace").splitlines()
    failed = [line.split()[1] for line in lines if line.startswith(("FAILED ", "ERROR "))]
    return failed[0] if failed else f"no run: {lines[-1] if lines else ended[1]}"


def _ask(tree: Path, tests: Sequence[str]) -> None:
    code = 99
    try:
        os.chdir(tree)
        sys.path[:] = [str(tree), *(entry for entry in sys.path if Path(entry or ".").resolve() not in (ROOT, tree))]
        for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
            del sys.modules[name]
        options = ["-x", "-q", "-n0", "-p", "no:cacheprovider", "--no-header", "--tb=no"]
        options += ["-m", "not slow", "-o", "markers=slow"]
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        code = int(pytest.main([*options, *tests]))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def catch(mistake: Mistake, tree: Path, *, named_only: bool) -> str:
    """Plant a mistake in a copy, ask the tests, and take it out again. Returns the test that caught it, or MISSED."""
    file = tree / mistake.file
    text = file.read_text("utf-8")
    try:
        file.write_text(planted(mistake, text), "utf-8")
        _forget(file)
        named = [name for name in mistake.tests if (tree / name).exists()]
        caught = run(tree, named, SECONDS[True]) if named else None
        if caught is None and not named_only:
            caught = run(tree, FAST, SECONDS[False])
        return caught or MISSED
    finally:
        file.write_text(text, "utf-8")
        _forget(file)


def _forget(file: Path) -> None:
    for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
        compiled.unlink()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description="Plant mistakes, and ask the tests.")
    parser.add_argument("--result", type=Path, default=ROOT / "build" / "mutation.json", help="id to the test")
    parser.add_argument("--only", action="append", help="an id; may be repeated")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--tree", help="a revision instead of the working tree")
    parser.add_argument("--named-only", action="store_true", help="do not ask the fast set")
    arguments = parser.parse_args()
    result = arguments.result.resolve()
    known: dict[str, str] = json.loads(result.read_text("utf-8")) if result.exists() else {}
    mistakes = [one for one in read_mistakes() if one.id in arguments.only] if arguments.only else read_mistakes()
    due = [one for one in mistakes if arguments.only or one.id not in known]
    for name in PRELOADED:
        importlib.import_module(name)
    lock = threading.Lock()
    with tempfile.TemporaryDirectory(prefix="memnet-mutation-") as directory:
        trees = SimpleQueue[Path]()
        for number in range(arguments.jobs):
            tree = Path(directory) / str(number)
            tree.mkdir()
            copy_tree(tree, arguments.tree)
            trees.put(tree)
        first = trees.get()
        for one in due:
            planted(one, (first / one.file).read_text("utf-8"))
        trees.put(first)

        def judge(mistake: Mistake) -> None:
            tree = trees.get()
            try:
                caught = catch(mistake, tree, named_only=arguments.named_only)
            finally:
                trees.put(tree)
            with lock:
                known[mistake.id] = caught
                result.parent.mkdir(parents=True, exist_ok=True)
                result.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", "utf-8")
                print(f"{mistake.id}: {caught}", flush=True)

        with ThreadPoolExecutor(arguments.jobs) as pool:
            list(pool.map(judge, due))
    missed = [one.id for one in mistakes if known[one.id] == MISSED]
    print(f"{len(mistakes) - len(missed)} of {len(mistakes)} caught" + "".join(f"\nmissed: {name}" for name in missed))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
