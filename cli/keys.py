"""`memnet keys`: the keys that encrypt conversations, replays and the values of audit records."""

import click

from cli import storage
from cli.options import IDENTIFIER, tenant_option, user_options
from cli.output import exit_unless, user_of
from memnet.domain.core.scope import UserScope
from memnet.operations.sealing import rotate_keys
from memnet.stores import read_data_keys


@click.group()
def keys() -> None:
    """Encryption keys: every user has data keys, which the tenant's key in the vault wraps."""


@keys.command()
@tenant_option
@click.option("--user", type=IDENTIFIER, help="Create a new data key for this user only; keep the tenant's key.")
@click.option("--resume", is_flag=True, help="Create no new tenant key; finish an interrupted rotation.")
@click.option("--replace-lost-key", is_flag=True, help="With --user: also if the current data key cannot be unwrapped.")
def rotate(tenant: str, user: str | None, resume: bool, replace_lost_key: bool) -> None:
    """Create a new version of the tenant's key, and rewrap the data keys of all its users with it.

    Everything stays readable, also during the rotation. Older versions and older data keys are kept, because they
    decrypt existing data, which is not rewritten. Running processes use the version they know for some minutes: before
    you disable an old version in the vault, wait ten minutes and run the command with --resume until it rewraps
    nothing. Exits with 0, or 1 if the keys of some users could not be rewrapped.

    If the tenant's key is lost, writes for its users fail, because their data keys cannot be unwrapped.
    --replace-lost-key gives one user a new key; data encrypted with the lost key stays unreadable.
    """
    if user is not None and resume:
        raise click.UsageError("--resume is for a whole tenant")
    if user is None and replace_lost_key:
        raise click.UsageError("--replace-lost-key is for one user")
    report = storage.run(
        lambda service: rotate_keys(tenant, user, vault=service.vault, resume=resume, accept_loss=replace_lost_key)
    )
    if not report.users:
        click.echo(f"no keys are stored for {f'user {user} of ' if user else ''}tenant {tenant}")
    elif user is not None:
        click.echo(f"user {user} of tenant {tenant} has a new data key")
    else:
        click.echo(
            f"version {report.version}: {report.users} users, {report.rewrapped} rewrapped, "
            f"{report.postponed} postponed, {report.broken} broken"
        )
        if report.postponed:
            click.echo("run it again with --resume for the postponed users", err=True)
        exit_unless(not report.postponed and not report.broken)


@keys.command()
@tenant_option
def create(tenant: str) -> None:
    """Create the tenant's first key in the vault; if there is one, nothing changes.

    The service creates it at the first write, if its identity may write secrets. If it may not, run this command
    before the first write.
    """
    key = storage.run(lambda service: service.vault.keys.newest(tenant))
    click.echo(f"the key of tenant {tenant} is at version {key.version}")


@keys.command("list")
@user_options
def list_(scope: UserScope) -> None:
    """List a user's data keys, the current one last: id, creation time, version of the tenant's key.

    Shows no key and does not use the vault.
    """
    found = storage.run(lambda service: read_data_keys(scope, records=service.records))
    if found is None:
        click.echo(f"no keys are stored for {user_of(scope)}")
        return
    data_keys, _ = found
    for key in data_keys.keys:
        current = "  current" if key is data_keys.current else ""
        click.echo(f"{key.key_id}  {key.created_at}  {key.tenant_key_version}{current}")
