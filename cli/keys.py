"""`memnet keys`: the keys that conversations, replays and the values of audit records are encrypted with."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import click
from memnet.stores.key_ring import read_data_keys

from cli import storage
from memnet.domain.core.errors import InvalidIdentifier
from memnet.domain.core.scope import UserScope, check_identifier
from memnet.domain.sealing.data_keys import DataKeys
from memnet.operations.sealing.rotate_keys import RotationReport, rotate_keys
from memnet.service import Service
from memnet.stores import Vault

T = TypeVar("T")

_TENANT = click.option("--tenant", required=True, help="The tenant's id.")


@click.group()
def keys() -> None:
    """Encryption keys: every user has data keys, which the tenant's key in the vault wraps.

    Storage and vault are those of MEMNET_STORAGE_URL and MEMNET_VAULT_URL (and what belongs to them), else those of
    the local stack that runs here.
    """


@keys.command()
@_TENANT
@click.option("--user", help="Give this user a new data key, and leave the tenant's key as it is.")
@click.option("--resume", is_flag=True, help="Make no new version of the tenant's key; finish what was interrupted.")
@click.option(
    "--replace-lost-key", is_flag=True, help="With --user: even if the present data key does not open any more."
)
def rotate(tenant: str, user: str | None, resume: bool, replace_lost_key: bool) -> None:
    """Make a new version of the tenant's key, and wrap the data keys of all its users with it.

    Everything stays readable, also while it runs. Older versions and older data keys are kept: they open what they
    sealed, and nothing that is sealed is written again. Running processes go by the version they know for some
    minutes: before an old version is disabled in the vault, run this once more with --resume, ten minutes later, until
    it wraps nothing anew. Exits with 0, or 1 if some users' keys could not be taken along.

    Writes for a user whose data key cannot be opened, because the tenant's key is lost, fail. --replace-lost-key gives
    that user a new key; what the lost key sealed cannot be opened again.
    """
    if user is not None and resume:
        raise click.UsageError("--resume is for a whole tenant")
    if user is None and replace_lost_key:
        raise click.UsageError("--replace-lost-key is for one user")
    _check(tenant, user)

    async def operation(vault: Vault) -> RotationReport:
        return await rotate_keys(tenant, user, vault=vault, resume=resume, accept_loss=replace_lost_key)

    report = _run(operation)
    if not report.users:
        click.echo(f"no keys are stored for {f'user {user} of ' if user else ''}tenant {tenant}")
    elif user is not None:
        click.echo(f"user {user} of tenant {tenant} has a new data key")
    else:
        click.echo(
            f"version {report.version}: {report.users} users, {report.rewrapped} wrapped anew, "
            f"{report.postponed} postponed, {report.broken} broken"
        )
        if report.postponed:
            click.echo("run it again with --resume for those that were postponed", err=True)
        if report.postponed or report.broken:
            raise SystemExit(1)


@keys.command()
@_TENANT
def create(tenant: str) -> None:
    """Make the tenant's first key in the vault; if there is one, nothing changes.

    The service makes it by itself at the first write, if its identity may write secrets. If it may not, no document of
    the tenant can be written before this was run.
    """
    _check(tenant, None)

    async def operation(vault: Vault) -> str:
        return (await vault.keys.newest(tenant)).version

    click.echo(f"the key of tenant {tenant} is at version {_run(operation)}")


@keys.command("list")
@_TENANT
@click.option("--user", required=True, help="The user's id.")
def list_(tenant: str, user: str) -> None:
    """List a user's data keys, the current one last: id, time it was made, version of the tenant's key. No vault is
    asked, and no key is shown.
    """
    _check(tenant, user)

    async def operation(service: Service) -> DataKeys | None:
        found = await read_data_keys(UserScope(tenant, user), records=service.records)
        return None if found is None else found[0]

    found = storage.run(operation)
    if found is None:
        click.echo(f"no keys are stored for user {user} of tenant {tenant}")
        return
    for key in found.keys:
        current = "  current" if key is found.current else ""
        click.echo(f"{key.key_id}  {key.created_at}  {key.tenant_key_version}{current}")


def _run(operation: Callable[[Vault], Awaitable[T]]) -> T:
    async def with_vault(service: Service) -> T:
        return await operation(service.vault)

    return storage.run(with_vault)


def _check(tenant: str, user: str | None) -> None:
    try:
        check_identifier("tenant_id", tenant)
        if user is not None:
            check_identifier("user_id", user)
    except InvalidIdentifier as error:
        raise click.UsageError(error.message) from error
