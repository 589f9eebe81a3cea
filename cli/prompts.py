"""memnet prompts: check the prompts that memory is extracted by, and release them for good."""

from pathlib import Path

import click

from cli.catalog import PROMPTS
from cli.options import DIRECTORY
from cli.output import count
from cli.profiles import record_release, refuse
from memnet.catalog import CatalogError, load_prompts, read_released


@click.group()
def prompts() -> None:
    """Prompts: what a model that extracts memory is told to do."""


@prompts.command()
@click.argument("directory", type=DIRECTORY, default=PROMPTS, metavar="[DIR]")
def check(directory: Path) -> None:
    """Check every prompt in DIR, and that no released version has changed.

    Prints "ok" and the number, or every problem as `file: pointer: reason`. Exits with 0, or 1 if there are problems,
    or 2 if it was called wrongly.
    """
    try:
        found = load_prompts(directory)
    except CatalogError as error:
        refuse(error)
    click.echo(f"ok: {count(len(found), 'prompt')}")


@prompts.command()
@click.argument("directory", type=DIRECTORY, default=PROMPTS, metavar="[DIR]")
def release(directory: Path) -> None:
    """Release every prompt version in DIR that is not released yet: from then on it may not change.

    Adds their digests to released.json and changes no entry there. Exits with 1, and changes nothing, if there are
    problems.
    """
    try:
        found = load_prompts(directory)
        before = read_released(directory)
    except CatalogError as error:
        refuse(error)
    record_release(directory, before, {"/".join(key): prompt.sha256 for key, prompt in found.items()}, "prompt")
