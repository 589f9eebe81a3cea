"""memnet migrations: check the definitions that documents are migrated by, and release them for good."""

from pathlib import Path

import click

from cli.catalog import SCHEMAS
from cli.options import DIRECTORY
from cli.output import count
from cli.profiles import record_release, refuse
from memnet.catalog import CatalogError, load_migrations, read_released
from memnet.settings import ROOT

MIGRATIONS = ROOT / "migrations"
_schemas_dir = click.option(
    "--schemas-dir", type=DIRECTORY, default=SCHEMAS, help="The schemas that the migrations name."
)


@click.group()
def migrations() -> None:
    """Migrations: which documents are made into which, and how. memnet migrate runs them."""


@migrations.command()
@click.argument("directory", type=DIRECTORY, default=MIGRATIONS, metavar="[DIR]")
@_schemas_dir
def check(directory: Path, schemas_dir: Path) -> None:
    """Check every migration in DIR, what it makes of its examples, and that no released one has changed.

    Prints "ok" and the number, or every problem as `file: pointer: reason`. Exits with 0, or 1 if there are problems,
    or 2 if it was called wrongly.
    """
    try:
        found = load_migrations(directory, schemas_dir)
    except CatalogError as error:
        refuse(error)
    click.echo(f"ok: {count(len(found), 'migration')}")


@migrations.command()
@click.argument("directory", type=DIRECTORY, default=MIGRATIONS, metavar="[DIR]")
@_schemas_dir
def release(directory: Path, schemas_dir: Path) -> None:
    """Release every migration in DIR that is not released yet: from then on it may not change.

    Adds their digests to released.json and changes no entry there. Exits with 1, and changes nothing, if there are
    problems.
    """
    try:
        found = load_migrations(directory, schemas_dir)
        before = read_released(directory)
    except CatalogError as error:
        refuse(error)
    digests = {name: migration.digest() for name, migration in found.items()}
    record_release(directory, before, digests, "migration")
