"""Finds the local stack that runs here: it leaves its addresses in .local/stack.json."""

import json
from pathlib import Path
from typing import Any

import click


def find(start: Path | None = None) -> dict[str, Any]:
    """Return what the stack running in `start` (default: the current directory) or above says about itself.

    Raises ClickException (exit code 1) when there is none.
    """
    here = (start or Path.cwd()).resolve()
    for directory in (here, *here.parents):
        file = directory / ".local" / "stack.json"
        try:
            found: dict[str, Any] = json.loads(file.read_text("utf-8"))
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise click.ClickException(f"{file} cannot be read: {error}") from error
        return found
    raise click.ClickException(f"no local stack runs in {here} or above: start one with `make dev`.")
