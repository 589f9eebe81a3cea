"""`memnet export` and `memnet import`: one user's memory as a file, and back."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import click

from cli import storage
from memnet.domain.core.errors import InvalidIdentifier, Unavailable
from memnet.domain.core.scope import Actor, UserScope
from memnet.domain.governance.archive import EntryKind
from memnet.domain.governance.archive_import import ImportOutcome, ImportReport
from memnet.operations.governance.export_user import ExportReport, export_user
from memnet.operations.governance.import_user import import_user
from memnet.service import Service
from memnet.wiring import create_archive, open_archive

T = TypeVar("T")

_TENANT = click.option("--tenant", required=True, help="The tenant's id.")
_USER = click.option("--user", required=True, help="The user's id.")
_TOLD = {
    ImportOutcome.CREATED: ("created", "would be created"),
    ImportOutcome.THERE: ("there already", "there already"),
    ImportOutcome.KEPT: (
        "another one is there, and was left as it is",
        "another one is there, and would be left as it is",
    ),
    ImportOutcome.LEFT_OUT: ("left out", "left out"),
}
"""Fate -> what is said of it, and what on a dry run."""


@click.command()
@_TENANT
@_USER
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="The archive; must not exist."
)
@click.option("--with-snapshots", is_flag=True, help="Decrypt the conversations, too; needs the vault, and --actor.")
@click.option("--actor", help="Who will read the conversations (recorded for each one).")
def export(tenant: str, user: str, out: Path, with_snapshots: bool, actor: str | None) -> None:
    """Write a user's documents, audit records, events, conflicts, replays and accesses into one archive.

    docs/export.md says what is in it. The archive holds memory in the clear; only its owner can read the file. Storage
    and vault are those of MEMNET_STORAGE_URL and MEMNET_VAULT_URL (and what belongs to them), else those of the local
    stack that runs here. Exits with 0, or 1 if something stored is broken or cannot be read: then there is no file.
    """
    scope, reader = _scope(tenant, user), None if actor is None else _actor(actor)
    if with_snapshots != (reader is not None):
        raise click.UsageError("--with-snapshots and --actor go together")
    if out.exists():
        raise click.BadParameter(f"{out} exists", param_hint="--out")

    async def operation(service: Service) -> ExportReport:
        with create_archive(out) as archive:
            return await export_user(scope, service, archive=archive, snapshots_read_by=reader)

    report = _run(operation)
    manifest = report.manifest
    for row in manifest.documents:
        what = "deleted" if row.deleted else row.updated_at
        click.echo(f"{row.namespace}/{row.path}  {row.sequence}  {what}")
    click.echo(", ".join(f"{count} {name}" for name, count in manifest.counts.items()))
    if manifest.changed_meanwhile:
        click.echo(f"{manifest.changed_meanwhile} documents changed after they were read", err=True)
    click.echo(f"{out}: {report.sha256}")


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@_TENANT
@_USER
@click.option("--actor", required=True, help="Who imports; recorded.")
@click.option("--dry-run", is_flag=True, help="Check everything, say what would be created, and write nothing.")
def import_(file: Path, tenant: str, user: str, actor: str, dry_run: bool) -> None:
    """Check an archive from end to end, then create what is absent; nothing that is there is ever replaced.

    Into the user that the archive is of, documents and records come back as they were. Into another user or tenant,
    each document is created by an audited write of --actor, whose evidence names the archive and the source: keep the
    archive, it alone holds the old records. The same command finishes an interrupted import. Storage and vault as of
    export. Exits with 0, or 1 if the archive is refused, or if another item has the name of any part.
    """
    scope, operator = _scope(tenant, user), _actor(actor)

    async def operation(service: Service) -> ImportReport:
        with open_archive(file) as archive:
            return await import_user(archive, scope, service, actor=operator, dry_run=dry_run)

    report = _run(operation)
    for row, fate in report.documents:
        click.echo(f"{row.namespace}/{row.path}: {_TOLD[fate][dry_run]}")
    for kind in EntryKind:
        for fate in ImportOutcome:
            if report.entries[kind, fate]:
                click.echo(f"{report.entries[kind, fate]} {kind}: {_TOLD[fate][dry_run]}")
    click.echo(f"{file}: {report.archive.sha256}")
    if not report.complete:
        raise SystemExit(1)


def _run(operation: Callable[[Service], Awaitable[T]]) -> T:
    async def telling(service: Service) -> T:
        try:
            return await operation(service)
        except Unavailable as error:
            if "dependency" in error.details:
                raise
            raise click.ClickException(error.message) from error

    try:
        return storage.run(telling)
    except OSError as error:
        raise click.ClickException(f"the archive: {error}") from error


def _actor(name: str) -> Actor:
    if not 1 <= len(name) <= 128 or not name.isprintable():
        raise click.BadParameter("must be 1 to 128 printable characters", param_hint="--actor")
    return Actor(name, frozenset())


def _scope(tenant: str, user: str) -> UserScope:
    try:
        return UserScope(tenant, user)
    except InvalidIdentifier as error:
        raise click.UsageError(error.message) from error
