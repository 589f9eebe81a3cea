"""memnet profiles: check profiles before a service is started with them, and release them for good."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

import click

from memnet.catalog import RELEASED, CatalogError, load_catalog, read_released
from memnet.domain.catalog.schema import release as released_with
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


@profiles.command()
@click.argument("directory", type=DIRECTORY, default=PROFILES, metavar="[DIR]")
@click.option("--schemas-dir", type=DIRECTORY, default=SCHEMAS, help="The schemas that the profiles name.")
@click.option("--prompts-dir", type=DIRECTORY, default=PROMPTS, help="The prompts that the profiles name.")
def release(directory: Path, schemas_dir: Path, prompts_dir: Path) -> None:
    """Release the version of every profile in DIR that is not released yet: from then on it may not change.

    Adds their digests to released.json and changes no entry there. Exits with 1, and changes nothing, if there are
    problems.
    """
    try:
        found = load_catalog(directory, schemas_dir, prompts_dir).profiles.values()
        before = read_released(directory)
    except CatalogError as error:
        refuse(error)
    digests = {f"{profile.profile_id}/{profile.version}": profile.sha256 for profile in found}
    record_release(directory, before, digests, "profile")


def record_release(directory: Path, before: Mapping[str, str], digests: Mapping[str, str], noun: str) -> None:
    """Add the digests that are new to released.json, which a crash leaves as it was or as it will be; say which."""
    after = released_with(before, digests)
    added = sorted(after.keys() - before.keys())
    if added:
        draft = directory / f"{RELEASED}.new"
        draft.write_text(json.dumps(after, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        draft.replace(directory / RELEASED)
    for name in added:
        click.echo(f"released {name} {after[name]}")
    click.echo(f"ok: {count(len(added), noun)} released, {len(before)} before")


def refuse(error: CatalogError) -> NoReturn:
    """Print the problems, one a line, and exit with 1."""
    for problem in error.problems:
        click.echo(str(problem))
    raise SystemExit(1)


def count(number: int, noun: str) -> str:
    """A number and its noun, in the plural where it belongs."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
