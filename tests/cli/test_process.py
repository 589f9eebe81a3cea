"""`memnet` as a process: what it prints when something fails that nobody thought of."""

import subprocess
import sys
import tomllib

from local.stack.process import ROOT

FAILING = """
import sys

import click

import cli.main


@click.command()
def fail():
    raise ValueError("Jane" + " prefers tea")


cli.main.fail = fail
cli.main.COMMANDS["fail"] = "cli.main:fail"
sys.argv = ["memnet", "fail"]
cli.main.run()
"""


def test_a_failure_is_told_without_its_text() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FAILING], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert "ValueError" in done.stderr
    assert "in fail" in done.stderr
    assert "Jane prefers" not in done.stderr + done.stdout


def test_the_installed_command_begins_there() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    assert scripts == {"memnet": "cli.main:run"}
