"""memnet schemas: check schema versions, and release them for good."""

from collections.abc import Mapping
from pathlib import Path

import click

from cli.catalog import PROFILES, PROMPTS, SCHEMAS
from cli.options import DIRECTORY
from cli.output import count
from cli.profiles import record_release, refuse
from memnet.catalog import CatalogError, load_catalog, load_schemas, read_released
from memnet.domain.catalog.schema import Schema


@click.group()
def schemas() -> None:
    """Schemas: what the content of a document may be."""


@schemas.command()
@click.argument("directory", type=DIRECTORY, required=False, metavar="[DIR]")
@click.option("--profiles-dir", type=DIRECTORY, help="Check these profiles against the schemas, too.")
@click.option("--prompts-dir", type=DIRECTORY, default=PROMPTS, help="The prompts that the profiles name.")
def check(directory: Path | None, profiles_dir: Path | None, prompts_dir: Path) -> None:
    """Check every schema in DIR, its examples, what it is additive to, and that no released version has changed.

    Without DIR, the schemas and the profiles of the installation. Prints "ok" and the numbers, or every problem as
    `file: pointer: reason`. Exits with 0, or 1 if there are problems, or 2 if it was called wrongly.
    """
    if directory is None and profiles_dir is None:
        profiles_dir = PROFILES
    try:
        numbers = _check(directory or SCHEMAS, profiles_dir, prompts_dir)
    except CatalogError as error:
        refuse(error)
    click.echo(f"ok: {numbers}")


@schemas.command()
@click.argument("directory", type=DIRECTORY, default=SCHEMAS, metavar="[DIR]")
def release(directory: Path) -> None:
    """Release every schema version in DIR that is not released yet: from then on it may not change.

    Adds their digests to released.json and changes no entry there. Exits with 1, and changes nothing, if there are
    problems.
    """
    try:
        found = load_schemas(directory)
        before = read_released(directory)
    except CatalogError as error:
        refuse(error)
    record_release(directory, before, _digests(found), "schema")


def _check(directory: Path, profiles_dir: Path | None, prompts_dir: Path) -> str:
    if profiles_dir is None:
        return count(len(load_schemas(directory)), "schema")
    catalog = load_catalog(profiles_dir, directory, prompts_dir)
    return f"{count(len(catalog.profiles), 'profile')}, {count(len(catalog.schemas), 'schema')}"


def _digests(found: Mapping[tuple[str, str], Schema]) -> dict[str, str]:
    return {f"{schema_id}/{version}": schema.digest for (schema_id, version), schema in found.items()}
