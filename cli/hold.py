"""`memnet legal-hold`: the legal holds of a tenant."""

from collections.abc import Sequence

import click

from cli import storage
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import InvalidIdentifier
from memnet.domain.core.scope import check_identifier
from memnet.domain.governance.legal_hold import HoldChange
from memnet.operations.governance.legal_holds import list_holds
from memnet.service import Service


@click.group("legal-hold")
def legal_hold() -> None:
    """Legal holds: orders that nothing of a user, or of a tenant, is removed. They are placed over the API.

    The storage is that of MEMNET_STORAGE_URL (and MEMNET_STORAGE_KEY), else that of the local stack that runs here.
    """


@legal_hold.command("list")
@click.option("--tenant", required=True, help="The tenant's id.")
def list_(tenant: str) -> None:
    """List the holds in force: on what, since when, by whom, why."""
    try:
        check_identifier("tenant_id", tenant)
    except InvalidIdentifier as error:
        raise click.UsageError(error.message) from error

    async def operation(service: Service) -> Sequence[HoldChange]:
        return await list_holds(tenant, service)

    found = storage.run(operation)
    for change in found:
        user = change.key.place.user_id
        # As JSON: a reason may hold any characters, and each hold stays one line.
        reason = canonical(change.reason).decode()
        click.echo(f"{'tenant' if user is None else f'user {user}'}  {change.at}  {change.actor}  {reason}")
    click.echo(f"{len(found)} legal hold{'' if len(found) == 1 else 's'} in tenant {tenant}")
