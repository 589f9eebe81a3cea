"""`memnet retention`: apply the rules of retention to all users of a tenant."""

from datetime import datetime

import click

from cli import storage
from memnet.domain.core.errors import InvalidIdentifier, MalformedRequest
from memnet.domain.core.scope import check_identifier
from memnet.domain.core.timestamps import from_text
from memnet.operations.governance.retention import RetentionsReport, apply_retentions
from memnet.service import Service


@click.group()
def retention() -> None:
    """Retention: what is stored for longer than the profiles and the organisation say is removed.

    Storage, search service and vault are those of MEMNET_STORAGE_URL, MEMNET_SEARCH_URL and MEMNET_VAULT_URL (and
    what belongs to them), else those of the local stack that runs here.
    """


@retention.command()
@click.option("--tenant", required=True, help="The tenant's id.")
@click.option("--dry-run", is_flag=True, help="Count what would be removed, and remove nothing.")
@click.option("--as-of", help="As if it were this time (RFC 3339); one to come takes --dry-run.")
def apply(tenant: str, dry_run: bool, as_of: str | None) -> None:
    """Delete expired data of every user of a tenant. A worker does the same every night.

    Prints one line a kind: items removed (in a dry run: to remove), on hold, blocked because another item needs them,
    deferred because they changed meanwhile, and retained because they have not expired. It can be interrupted and
    repeated. Exits with 0, or 1 if something could not be finished or cannot be read.
    """
    moment = _moment(tenant, as_of)

    async def operation(service: Service) -> RetentionsReport:
        return await apply_retentions(tenant, service, as_of=moment, dry_run=dry_run)

    _show(storage.run(operation), dry_run)


def _moment(tenant: str, as_of: str | None) -> datetime | None:
    try:
        check_identifier("tenant_id", tenant)
        return None if as_of is None else from_text(as_of)
    except (InvalidIdentifier, MalformedRequest) as error:
        raise click.UsageError(error.message) from error


def _show(found: RetentionsReport, dry_run: bool) -> None:
    removed = "to remove" if dry_run else "removed"
    for name, tally in found.report.tallies.items():
        unreadable = found.report.unreadable[name]
        click.echo(
            f"{name}: {tally.removed} {removed}, {tally.on_hold} on hold, {tally.blocked} blocked, "
            f"{tally.deferred} deferred, {tally.retained} retained{f', {unreadable} unreadable' if unreadable else ''}"
        )
    click.echo(
        f"{found.users} users, {found.on_hold} under a legal hold, {found.failed} failed; "
        f"{found.report.baselines} histories {'to shorten' if dry_run else 'shortened'}"
    )
    if found.failed or found.report.unfinished:
        raise SystemExit(1)
