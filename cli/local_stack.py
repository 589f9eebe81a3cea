"""Find the local stack that runs here; it writes its addresses to .local/stack.json."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click


@dataclass(frozen=True, slots=True)
class LocalStack:
    """The members of stack.json that commands use."""

    audience: str
    token_url: str
    environment: Mapping[str, str]


def find(start: Path | None = None) -> LocalStack:
    """Return the stack that runs in `start` (default: the current directory) or in a directory above.

    Raises ClickException: there is none, or its file cannot be read. Exit code 1.
    """
    here = (start or Path.cwd()).resolve()
    for directory in (here, *here.parents):
        file = directory / ".local" / "stack.json"
        try:
            members = json.loads(file.read_text("utf-8"))
            return LocalStack(members["audience"], members["token_url"], members.get("environment", {}))
        except FileNotFoundError:
            continue
        except (OSError, ValueError, KeyError) as error:
            raise click.ClickException(f"{file} cannot be read: {error}") from error
    raise click.ClickException(f"no local stack runs in {here} or above: start one with `make dev`.")
