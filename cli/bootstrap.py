"""`memnet doctor` checks what the service needs; `memnet bootstrap` also creates what it can create itself."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

import click

from cli import storage
from memnet.domain.core.prerequisite import BootstrapReport, PrerequisiteStatus
from memnet.operations.service.bootstrap import bootstrap as run_bootstrap
from memnet.prerequisites import look_at
from memnet.service import Service

PAUSE_SECONDS = 2.0

F = TypeVar("F", bound=Callable[..., Any])
Run = Callable[..., Awaitable[BootstrapReport]]


def _options(command: F) -> F:
    identity = click.option(
        "--identity",
        type=click.Choice(["api", "workers"]),
        default="workers",
        show_default=True,
        help="Whose rights are needed: the workers', who also receive from the queues, or the API's.",
    )
    read_only = click.option("--vault-read-only", is_flag=True, help="Another identity creates the tenants' keys.")
    wait = click.option("--wait", type=click.IntRange(min=0), default=0, help="Seconds to wait until all is ready.")
    return identity(read_only(wait(command)))


@click.command()
@_options
def doctor(identity: str, vault_read_only: bool, wait: int) -> None:
    """Check that everything the service needs is there, and change nothing.

    Checks the container, the index, the queues, the vault, the catalog, every right the service must have, each by the
    least call that takes it, and what the storage keeps of a deleted blob. `memnet bootstrap` creates what is missing.
    The MEMNET_* settings say where to look, else the local stack that runs here. Exits with 0 if all is ready, else 1.
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


def _run(identity: str, vault_read_only: bool, wait: int, *, apply: bool) -> None:
    async def work(service: Service) -> BootstrapReport:
        wanted = {"receives": identity == "workers", "writes_secrets": not vault_read_only}
        async with look_at(service.settings, service.clock, service.search, **wanted) as prerequisites:
            run = partial(run_bootstrap, prerequisites=prerequisites, texts=service.documents.texts, service=service)
            report = await run(apply=False)
            _show(report)
            if apply and report.to_create:
                report = await _make(run)
            return await _until_ready(run, report, apply=apply, seconds=wait)

    report = storage.run(work)
    if not report.ready:
        raise SystemExit(1)
    click.echo("ok: everything is ready")


async def _make(run: Run) -> BootstrapReport:
    report = await run(apply=True)
    for subject in report.created:
        click.echo(f"made         {subject}")
    _show(report)
    return report


async def _until_ready(run: Run, report: BootstrapReport, *, apply: bool, seconds: float) -> BootstrapReport:
    """Look again and again, and tell when something has changed."""
    now = asyncio.get_running_loop().time
    deadline = now() + seconds
    while not report.ready and now() < deadline:
        await asyncio.sleep(PAUSE_SECONDS)
        found = await run(apply=False)
        if apply and found.to_create:
            report = await _make(run)
        elif found.findings != report.findings:
            _show(found)
            report = found
    return report


def _show(report: BootstrapReport) -> None:
    """Every finding on a line of its own, then the plan."""
    for finding in report.findings:
        detail = f": {finding.detail}" if finding.detail else ""
        click.echo(f"{finding.standing:<12} {finding.subject}{detail}")
    for finding in report.to_create:
        click.echo(f"to be made   {finding.subject}")
    for finding in report.by_hand:
        told = "not there" if finding.standing is PrerequisiteStatus.MISSING else str(finding.standing)
        click.echo(f"by hand      {finding.subject}: {finding.detail or told}")
