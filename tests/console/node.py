"""Runs the console's pure modules under Node."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

NODE = Path(sys.executable).with_name("node")


def run(script: str, given: str) -> str:
    """What a script of this directory prints for this standard input."""
    path = Path(__file__).with_name(script)
    return subprocess.run([NODE, path], input=given, capture_output=True, text=True, check=True).stdout


def results(*calls: list[Any]) -> list[Any]:
    """What the console's functions return for these arguments."""
    returned: list[Any] = json.loads(run("words.mjs", json.dumps(calls)))
    return returned
