"""`memnet doctor` checks what the service needs; `memnet bootstrap` also creates what it can create itself."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import click

from cli import storage
from cli.output import exit_unless
from memnet.domain.core.prerequisite import BootstrapReport, PrerequisiteStatus
from memnet.operations.service.bootstrap import bootstrap as run_bootstrap
from memnet.prerequisites import look_at
from memnet.service import Service

PAUSE_SECONDS = 2.0

Command = TypeVar("Command", bound=Callable[..., None])


def _options(command: Command) -> Command:
    identity = click.option(
        "--identity",
        type=click.Choice(["api", "workers"]),
        default="workers",
        show_default=True,
        help="The identity whose rights are checked: the workers', who also receive from the queues, or the API's.",
    )
    read_only = click.option("--vault-read-only", is_flag=True, help="Another identity creates the tenants' keys.")
    wait = click.option("--wait", type=click.IntRange(min=0), default=0, help="Seconds to wait until all is ready.")
    return identity(read_only(wait(command)))


@click.command()
@_options
def doctor(identity: str, vault_read_only: bool, wait: int) -> None:
    """Check that everything the service needs exists, and change nothing.

    Checks the container, the index, the queues, the vault, the catalog, every right the service must have, each with
    the smallest call that needs it, and how long the storage keeps deleted blobs. `memnet bootstrap` creates what is
    missing. Exits with 0 if all is ready, else 1.
    """
    _run(identity, vault_read_only, wait, apply=False)


@click.command()
@_options
def bootstrap(identity: str, vault_read_only: bool, wait: int) -> None:
    """Create the container and the first index if they are missing, and check the rest as `memnet doctor` does.

    Removes nothing of the service, and can be run at any time. Queues and roles belong to the deployment: the report
    names those that are missing. A new role takes effect in Azure after some minutes. Exits with 0 if all is ready,
    else 1.
    """
    _run(identity, vault_read_only, wait, apply=True)


Check = Callable[[bool], Awaitable[BootstrapReport]]
"""Returns the status of everything; with True, creates first what is missing, and prints it."""


def _run(identity: str, vault_read_only: bool, wait: int, *, apply: bool) -> None:
    async def operation(service: Service) -> BootstrapReport:
        receives, writes_secrets = identity == "workers", not vault_read_only
        async with look_at(
            service.settings, service.clock, service.search, receives=receives, writes_secrets=writes_secrets
        ) as prerequisites:

            async def check(creates: bool) -> BootstrapReport:
                texts = service.documents.texts
                found = await run_bootstrap(service, apply=creates, prerequisites=prerequisites, texts=texts)
                for subject in found.created:
                    click.echo(f"created      {subject}")
                if creates:
                    _show(found)
                return found

            report = await check(False)
            _show(report)
            if apply and report.to_create:
                report = await check(True)
            return await _until_ready(check, report, apply=apply, seconds=wait)

    exit_unless(storage.run(operation).ready)
    click.echo("ok: everything is ready")


async def _until_ready(check: Check, report: BootstrapReport, *, apply: bool, seconds: float) -> BootstrapReport:
    """Check repeatedly, and print each report that differs from the one before."""
    now = asyncio.get_running_loop().time
    deadline = now() + seconds
    while not report.ready and now() < deadline:
        await asyncio.sleep(PAUSE_SECONDS)
        found = await check(False)
        if apply and found.to_create:
            report = await check(True)
        elif found.findings != report.findings:
            _show(found)
            report = found
    return report


def _show(report: BootstrapReport) -> None:
    """Print every finding on a line of its own, then the findings to act on."""
    for finding in report.findings:
        detail = f": {finding.detail}" if finding.detail else ""
        click.echo(f"{finding.standing:<12} {finding.subject}{detail}")
    for finding in report.to_create:
        click.echo(f"to create    {finding.subject}")
    for finding in report.by_hand:
        status = "missing" if finding.standing is PrerequisiteStatus.MISSING else str(finding.standing)
        click.echo(f"by hand      {finding.subject}: {finding.detail or status}")
