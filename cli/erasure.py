"""`memnet erasure`: the erasures of a tenant, and whether a receipt is genuine."""

from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Any

import click

from cli import storage
from memnet.domain.core.canonical_json import canonical, parse
from memnet.domain.core.errors import HistoryCorrupt, InvalidIdentifier, MalformedRequest
from memnet.domain.core.scope import Actor, UserScope, check_identifier
from memnet.domain.core.signature import by_id, from_pem
from memnet.domain.governance import tenant_erasure
from memnet.domain.governance.erasure import Erasure
from memnet.domain.governance.erasure_receipt import Receipt, Status, is_signed, read_receipt
from memnet.domain.governance.tenant_erasure import TenantErasure
from memnet.operations.governance.erase_tenant import erase_tenants, get_tenant_erasure, request_tenant_erasure
from memnet.operations.governance.erase_user import erase_users
from memnet.operations.governance.erasure_request import list_erasures
from memnet.service import Service

_TENANT = click.option("--tenant", required=True, help="The tenant's id.")


@click.group()
def erasure() -> None:
    """Erasures: all that is stored of a user, or of a tenant, removed and signed for.

    Storage, search service, broker and vault are those of MEMNET_STORAGE_URL, MEMNET_SEARCH_URL, MEMNET_QUEUE_URL and
    MEMNET_VAULT_URL (and what belongs to them), else those of the local stack that runs here.
    """


@erasure.command("list")
@_TENANT
def list_(tenant: str) -> None:
    """List the erasures of a tenant: those that run, with what keeps them from ending, and those that are over."""
    _check(tenant)

    async def operation(service: Service) -> tuple[Sequence[Erasure], Sequence[Receipt]]:
        return await list_erasures(tenant, service)

    running, over = storage.run(operation)
    for one in running:
        failing = "".join(f"  {store}: {code}" for store, code in sorted(one.failing.items()))
        removed = sum(one.removed.values())
        click.echo(f"{one.erasure_id}  running  since {one.accepted_at}  {removed} removed{failing}")
    for receipt in over:
        told = receipt.members
        removed, remains = sum(told["removed"].values()), sum(one["count"] for one in told["remaining"])
        click.echo(
            f"{told['erasure_id']}  {told['status']}  at {told['finished_at']}  {removed} removed"
            f"{f'  {remains} remain' if told['remaining'] else ''}"
        )
    click.echo(f"{len(running)} running, {len(over)} over in tenant {tenant}")


@erasure.command()
@click.option("--tenant", help="Only this tenant.")
def run(tenant: str | None) -> None:
    """Go on with the erasures that run, as far as they get now. A worker does the same every twenty seconds.

    Without --tenant those of whole tenants, too. Prints how many came how far. Exits with 0, or 1 if a store does not
    do its part.
    """
    if tenant is not None:
        _check(tenant)

    async def operation(service: Service) -> dict[str, int]:
        found = await erase_users(tenant, service)
        if tenant is None:
            found += await erase_tenants(service)
        return {outcome.value: count for outcome, count in found.items()}

    found = storage.run(operation)
    for outcome, count in sorted(found.items()):
        click.echo(f"{count} {outcome.replace('_', ' ')}")
    click.echo(f"{sum(found.values())} erasure{'' if sum(found.values()) == 1 else 's'}")
    if found.get("failing"):
        raise SystemExit(1)


@erasure.command()
@_TENANT
@click.option("--confirm", help="The tenant's id again, to end it; without it, tell how its erasure stands.")
@click.option("--actor", help="Who ends it; recorded.")
def tenant(tenant: str, confirm: str | None, actor: str | None) -> None:
    """End a tenant for good: erase the memory of all its users, and refuse every further write.

    Users under a legal hold are left; run it again after the release. Prints the erasure as JSON, with its receipt once
    it is over. Exits with 0, or 1 if the tenant is under a legal hold or nothing was requested yet.
    """
    _check(tenant)
    if confirm is not None and (confirm != tenant or actor is None):
        raise click.UsageError("--confirm repeats the tenant's id, and goes with --actor")

    async def operation(service: Service) -> TenantErasure:
        if confirm is None or actor is None:
            return await get_tenant_erasure(tenant, service)
        return await request_tenant_erasure(tenant, service, actor=Actor(actor, frozenset()))

    found = storage.run(lambda service: _members(operation(service), service))
    click.echo(canonical(found).decode())


async def _members(found: Awaitable[TenantErasure], service: Service) -> dict[str, Any]:
    return (await found).members(service.erasure_quiescence)


@erasure.command()
@click.argument("receipt", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--public-key",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The keys of the service in a PEM file, as `memnet audit keys` printed them.",
)
@click.option("--tenant", help="The tenant's id, to check with --user whose receipt it is.")
@click.option("--user", help="The user's id.")
def verify(receipt: Path, public_key: Path, tenant: str | None, user: str | None) -> None:
    """Check a receipt offline: is it what the service signed, whose is it, and what does it say.

    Exits with 0, or 1 if it is not genuine or not this user's. One that says partial is as genuine as one that says
    complete: read what remains.
    """
    if (tenant is None) != (user is None):
        raise click.UsageError("--tenant and --user go together")
    if (of_tenant := _read_of_tenant(receipt)) is not None:
        _verify_of_tenant(of_tenant, public_key, tenant, user)
        return
    found = _read(receipt)
    try:
        key = by_id(from_pem(public_key.read_text(encoding="utf-8"))).get(found.members["key_id"])
        scope = None if tenant is None or user is None else UserScope(tenant, user)
    except (ValueError, InvalidIdentifier) as error:
        raise click.UsageError(str(error)) from error
    if key is None or not is_signed(found, key):
        raise click.ClickException("the receipt is not signed by any of these keys")
    if scope is not None and not found.is_of(scope):
        raise click.ClickException(f"the receipt is genuine, and not of user {user} of tenant {tenant}")
    _tell(found, None if scope is None else f"user {user} of tenant {tenant}")


def _read(path: Path) -> Receipt:
    """Read it however its JSON is set: tools that take it out of an answer indent it."""
    try:
        return read_receipt(canonical(parse(path.read_bytes())))
    except (HistoryCorrupt, MalformedRequest) as error:
        raise click.ClickException("the file is not a receipt as the service wrote it") from error


def _read_of_tenant(path: Path) -> dict[str, Any] | None:
    """The receipt of a tenant's erasure; None for a file that is not one."""
    try:
        return tenant_erasure.read_receipt(canonical(parse(path.read_bytes())))
    except (HistoryCorrupt, MalformedRequest):
        return None


def _verify_of_tenant(receipt: dict[str, Any], public_key: Path, tenant: str | None, user: str | None) -> None:
    try:
        key = by_id(from_pem(public_key.read_text(encoding="utf-8"))).get(receipt["key_id"])
        scope = None if tenant is None or user is None else UserScope(tenant, user)
    except (ValueError, InvalidIdentifier) as error:
        raise click.UsageError(str(error)) from error
    if key is None or not tenant_erasure.is_signed(receipt, key):
        raise click.ClickException("the receipt is not signed by any of these keys")
    if tenant is not None and tenant != receipt["tenant_id"]:
        raise click.ClickException(f"the receipt is genuine, and not of tenant {tenant}")
    click.echo(f"genuine: erasure {receipt['erasure_id']} of tenant {receipt['tenant_id']}, {receipt['status']}")
    click.echo(f"requested {receipt['accepted_at']} by {receipt['requested_by']}, over {receipt['finished_at']}")
    click.echo(f"users: {receipt['users']} erased, {len(receipt['users_held'])} left under a legal hold")
    if scope is not None:
        is_left = tenant_erasure.holds_back(receipt, scope)
        click.echo(f"user {user}: {'left under a legal hold' if is_left else 'not among those left'}")
    if receipt["recoverable_until"]:
        click.echo(f"the storage's administrators can recover deleted bytes until {receipt['recoverable_until']}")


def _tell(receipt: Receipt, whose: str | None) -> None:
    told = receipt.members
    click.echo(f"genuine: erasure {told['erasure_id']}{f' of {whose}' if whose else ''}, {receipt.status.value}")
    click.echo(f"requested {told['accepted_at']} by {told['requested_by']}, over {told['finished_at']}")
    click.echo(f"looked through: {', '.join(told['stores'])}; clean scans in a row: {told['clean_scans']}")
    for kind, count in sorted(told["removed"].items()):
        click.echo(f"removed: {count} {kind}")
    for one in told["remaining"]:
        until = f" until {one['until']}" if one["until"] else ""
        covers = f" on the {one['covers']}" if one["covers"] else ""
        click.echo(f"remaining: {one['count']} {one['kind']}, {one['reason']}{covers}{until}")
    if told["recoverable_until"]:
        click.echo(f"the storage's administrators can recover deleted bytes until {told['recoverable_until']}")
    if receipt.status is Status.PARTIAL:
        click.echo("partial: not everything is erased")


def _check(tenant: str) -> None:
    try:
        check_identifier("tenant_id", tenant)
    except InvalidIdentifier as error:
        raise click.UsageError(error.message) from error
