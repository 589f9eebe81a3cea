"""memnet profiles: check profiles before a service is started with them."""

from pathlib import Path
from typing import NoReturn

import click

from memnet.catalog import CatalogError, load_catalog
from memnet.settings import ROOT

PROFILES = ROOT / "profiles"
SCHEMAS = ROOT / "schemas"
PROMPTS = ROOT / "prompts"
CEILINGS = ROOT / "retention" / "ceilings.json"
DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group()
def profiles() -> None:
    """Profiles: what each agent or product may read and write."""


@profiles.command()
@click.argument("directory", type=DIRECTORY, default=PROFILES, metavar="[DIR]")
@click.option("--schemas-dir", type=DIRECTORY, default=SCHEMAS, help="The schemas that the profiles name.")
@click.option("--prompts-dir", type=DIRECTORY, default=PROMPTS, help="The prompts that the profiles name.")
@click.option("--retention-file", type=FILE, default=CEILINGS, help="How long records may and must be kept.")
def check(directory: Path, schemas_dir: Path, prompts_dir: Path, retention_file: Path) -> None:
    """Check every profile in DIR, the schemas and prompts they use, and that they stay within the limits of retention.

    Prints "ok" and the numbers, or every problem as `file: pointer: reason`. Exits with 0, or 1 if there are
    problems, or 2 if it was called wrongly.
    """
    try:
        catalog = load_catalog(directory, schemas_dir, prompts_dir, retention_file=retention_file)
    except CatalogError as error:
        refuse(error)
    click.echo(f"ok: {count(len(catalog.profiles), 'profile')}, {count(len(catalog.schemas), 'schema')}")


def refuse(error: CatalogError) -> NoReturn:
    """Print the problems, one a line, and exit with 1."""
    for problem in error.problems:
        click.echo(str(problem))
    raise SystemExit(1)


def count(number: int, noun: str) -> str:
    """A number and its noun, in the plural where it belongs."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
