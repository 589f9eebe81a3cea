"""`memnet migrate`: make documents into other documents or versions, in steps that can be repeated and taken back."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import click

from cli import storage
from memnet.domain.catalog.migration_model import Migration, Unit
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import HistoryCorrupt, InvalidIdentifier, VersionNotFound
from memnet.domain.core.scope import RESERVED, Actor, DocumentKey, is_reserved
from memnet.domain.governance.migration_plan import MigrationAction, MigrationDecision, difference, problem_of
from memnet.operations.governance.migrations import (
    Verdict,
    decommission_unit,
    find_migration_units,
    migrate_unit,
    roll_back_unit,
    verify_migration_unit,
)
from memnet.service import Service

F = TypeVar("F", bound=Callable[..., Any])
WRITTEN = (MigrationAction.CREATE, MigrationAction.REPLACE)
BAD = (MigrationAction.POSTPONED, MigrationAction.FAILED)


def _selected(command: F) -> F:
    migration = click.option("--migration", "name", required=True, help="The migration's id.")
    tenant = click.option("--tenant", help="Only this tenant's users.")
    user = click.option("--user", help="Only this user of the tenant.")
    return migration(tenant(user(command)))


def _reserved(_context: click.Context, _option: click.Parameter, name: str | None) -> str | None:
    """A token can name any other principal, so a client could use a migration's Idempotency-Keys before it runs."""
    if name is not None and not is_reserved(name):
        raise click.BadParameter(f"must begin with {RESERVED}")
    return name


_actor = click.option(
    "--actor",
    callback=_reserved,
    help=f"Who the audit is to name, and the profiles must admit: {RESERVED}…; else MEMNET_WORKER_PRINCIPAL.",
)


@click.group()
def migrate() -> None:
    """Migrations: documents made into others, or into another version of themselves.

    Of one user, of a tenant, or of all. The storage is that of MEMNET_STORAGE_URL (and MEMNET_STORAGE_KEY), else that
    of the local stack that runs here.
    """


@migrate.command()
@_selected
@_actor
def plan(name: str, tenant: str | None, user: str | None, actor: str | None) -> None:
    """Show what a run would write, as JSON Patch operations, and what would fail. Writes nothing.

    Exits with 0, or 1 if a document would fail.
    """
    _migrate(name, tenant, user, actor, dry_run=True)


@migrate.command()
@_selected
@_actor
def run(name: str, tenant: str | None, user: str | None, actor: str | None) -> None:
    """Write what is not migrated yet. What was interrupted is finished by running it again.

    Prints one line a document that is written or fails. Exits with 0, or 1 if one failed, or if others were faster
    every time.
    """
    _migrate(name, tenant, user, actor, dry_run=False)


@migrate.command()
@_selected
def verify(name: str, tenant: str | None, user: str | None) -> None:
    """Check that everything is what the migration makes of its source, or was changed since by audited writes.

    Prints one line a document that differs. Exits with 0, or 1 if one differs.
    """

    async def operation(service: Service, migration: Migration, units: Sequence[Unit]) -> bool:
        return not await _verify(service, migration, units)

    _run(name, tenant, user, operation)


@migrate.command()
@_selected
@_actor
@click.option("--force", is_flag=True, help="Also where others have written since: their changes are undone, too.")
def rollback(name: str, tenant: str | None, user: str | None, actor: str | None, force: bool) -> None:
    """Put the versions before the migration in place again, as new audited changes; also what was decommissioned.

    Prints one line a document. Exits with 0, or 1 if documents were refused because others have written to them since.
    """

    async def operation(service: Service, migration: Migration, units: Sequence[Unit]) -> bool:
        counts = Counter[str]()
        for unit in units:
            try:
                result = await roll_back_unit(unit, migration, service, actor=_who(actor, service), force=force)
            except (HistoryCorrupt, VersionNotFound) as error:
                counts["refused"] += 1
                click.echo(f"{unit.scope.tenant_id}/{unit.scope.user_id}: refused: {problem_of(error)}")
                continue
            for key in result.done:
                click.echo(f"{_name(key)}: rolled back")
            for key in result.refused:
                click.echo(f"{_name(key)}: refused: it was changed since")
            counts.update(done=len(result.done), refused=len(result.refused), postponed=int(result.postponed))
        click.echo(f"{counts['done']} rolled back, {counts['refused']} refused, {counts['postponed']} postponed")
        return not (counts["refused"] or counts["postponed"])

    _run(name, tenant, user, operation)


@migrate.command()
@_selected
@_actor
def decommission(name: str, tenant: str | None, user: str | None, actor: str | None) -> None:
    """Delete the sources of the migration, once everything that is selected verifies.

    Nothing is deleted if one document differs. Prints one line a source. Exits with 0, or 1 if it was refused.
    """

    async def operation(service: Service, migration: Migration, units: Sequence[Unit]) -> bool:
        if migration.in_place:
            raise click.UsageError(f"{name} makes documents into versions of themselves: there is nothing left over")
        if await _verify(service, migration, units):
            return False
        left = 0
        for unit in units:
            result = await decommission_unit(unit, migration, service, actor=_who(actor, service))
            for key in result.done:
                click.echo(f"{_name(key)}: deleted")
            for verdict in result.differences:
                click.echo(f"{_name(verdict.key)}: {verdict.difference}")
            left += result.postponed or bool(result.differences)
        return not left

    _run(name, tenant, user, operation)


def _run(
    name: str,
    tenant: str | None,
    user: str | None,
    operation: Callable[[Service, Migration, Sequence[Unit]], Awaitable[bool]],
) -> None:
    """Do it, and exit with 1 unless it says that all is well."""
    if user is not None and tenant is None:
        raise click.UsageError("--user needs --tenant")

    async def on_units(service: Service) -> bool:
        migration = service.catalog.migrations.get(name)
        if migration is None:
            known = ", ".join(sorted(service.catalog.migrations)) or "none"
            raise click.UsageError(f"there is no migration {name}; known: {known}")
        try:
            units = await find_migration_units(migration, tenant_id=tenant, user_id=user, documents=service.documents)
        except InvalidIdentifier as error:
            raise click.UsageError(error.message) from error
        return await operation(service, migration, units)

    if not storage.run(on_units):
        raise SystemExit(1)


def _migrate(name: str, tenant: str | None, user: str | None, actor: str | None, *, dry_run: bool) -> None:
    async def operation(service: Service, migration: Migration, units: Sequence[Unit]) -> bool:
        counts = Counter[MigrationAction]()
        for unit in units:
            for decision in await _decisions(service, migration, unit, actor, dry_run):
                counts[decision.standing] += 1
                _show(decision, dry_run)
        click.echo(", ".join(f"{counts[standing]} {standing.value}" for standing in MigrationAction))
        return not any(counts[standing] for standing in BAD)

    _run(name, tenant, user, operation)


async def _decisions(
    service: Service, migration: Migration, unit: Unit, actor: str | None, dry_run: bool
) -> Sequence[MigrationDecision]:
    """What becomes of one unit; a document of it that cannot be read fails, and the others go on."""
    try:
        return await migrate_unit(unit, migration, service, actor=_who(actor, service), dry_run=dry_run)
    except HistoryCorrupt as error:
        return [MigrationDecision(unit.key(migration.targets[0]), MigrationAction.FAILED, problem=problem_of(error))]


def _show(decision: MigrationDecision, dry_run: bool) -> None:
    if decision.standing not in (*WRITTEN, *BAD):
        return
    problem = f": {decision.problem}" if decision.problem else ""
    click.echo(f"{_name(decision.key)}: {decision.standing.value}{problem}")
    if dry_run and decision.standing in WRITTEN:
        for op in difference(decision):
            click.echo(f"  {canonical(op).decode()}")


async def _verify(service: Service, migration: Migration, units: Sequence[Unit]) -> int:
    """Print what differs, and the counts; return how many differ."""
    verdicts: list[Verdict] = []
    for unit in units:
        try:
            found = await verify_migration_unit(unit, migration, service)
        except HistoryCorrupt as error:
            found = [Verdict(unit.key(migration.targets[0]), problem_of(error))]
        verdicts += found
        for verdict in found:
            if verdict.difference:
                click.echo(f"{_name(verdict.key)}: {verdict.difference}")
    different = sum(verdict.difference is not None for verdict in verdicts)
    changed = sum(verdict.changed for verdict in verdicts)
    click.echo(f"{len(verdicts) - different - changed} as made, {changed} changed since, {different} different")
    return different


def _who(actor: str | None, service: Service) -> Actor:
    return Actor(actor or service.settings.worker_principal, frozenset())


def _name(key: DocumentKey) -> str:
    return f"{key.scope.tenant_id}/{key.scope.user_id} {key.namespace}/{key.path}"
