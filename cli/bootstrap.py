"""`memnet bootstrap`: is everything there that the service needs, and make what it can make itself."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import click

from cli import storage
from memnet.domain.prerequisite import BootstrapReport, Standing
from memnet.groundwork import look_at
from memnet.operations.bootstrap import bootstrap as run_bootstrap
from memnet.wiring import Services

PARTS = {"search_url": "MEMNET_SEARCH_URL", "queue_url": "MEMNET_QUEUE_URL", "vault_url": "MEMNET_VAULT_URL"}
"""What may be left out, by its setting."""
PAUSE_SECONDS = 2.0

Run = Callable[..., Awaitable[BootstrapReport]]


@click.command()
@click.option("--check", "mode", flag_value="check", help="Look and tell; change nothing.")
@click.option("--apply", "mode", flag_value="apply", help="Tell what would be made, then make it.")
@click.option(
    "--identity",
    type=click.Choice(["api", "workers"]),
    default="workers",
    show_default=True,
    help="Whose rights are needed: the workers', who also receive from the queues, or the API's.",
)
@click.option("--vault-read-only", is_flag=True, help="The tenants' keys are made by somebody else.")
@click.option("--wait", type=click.IntRange(min=0), default=0, help="Seconds to go on looking until all is ready.")
def bootstrap(mode: str | None, identity: str, vault_read_only: bool, wait: int) -> None:
    """See whether everything the service needs is there, with the rights of the identity that runs this.

    Looks at the container, the index, the queues, the vault and every right the service has to have, each by the least
    call that takes it, and at what the storage keeps of a blob that is deleted. It makes the container and the first
    index if they are missing, removes nothing of the service, and can be run at any time. Queues and roles are the
    deployment's: it says which are missing. A new role takes Azure some minutes.

    Where to look, the MEMNET_* settings say, else the local stack that runs here. Exits with 0 if all is ready, else 1.
    """
    if mode is None:
        raise click.UsageError("say --check or --apply")

    async def work(services: Services) -> BootstrapReport:
        wanted = {"receives": identity == "workers", "writes_secrets": not vault_read_only}
        async with look_at(services.settings, services.clock, services.search, **wanted) as prerequisites:
            run = partial(
                run_bootstrap,
                prerequisites=prerequisites,
                search=services.search,
                catalog=services.catalog,
                texts=services.documents.texts,
                ids=services.ids,
            )
            report = await run(apply=False)
            _show(report, services)
            if mode == "apply" and report.to_create:
                report = await _make(run, services)
            return await _until_ready(run, report, services, apply=mode == "apply", seconds=wait)

    report = storage.run(work)
    if not report.ready:
        raise SystemExit(1)
    click.echo("ok: everything is ready")


async def _make(run: Run, services: Services) -> BootstrapReport:
    report = await run(apply=True)
    for subject in report.created:
        click.echo(f"made         {subject}")
    _show(report, services)
    return report


async def _until_ready(
    run: Run, report: BootstrapReport, services: Services, *, apply: bool, seconds: float
) -> BootstrapReport:
    """Look again and again, and tell when something has changed."""
    now = asyncio.get_running_loop().time
    deadline = now() + seconds
    while not report.ready and now() < deadline:
        await asyncio.sleep(PAUSE_SECONDS)
        found = await run(apply=False)
        if apply and found.to_create:
            report = await _make(run, services)
        elif found.findings != report.findings:
            _show(found, services)
            report = found
    return report


def _show(report: BootstrapReport, services: Services) -> None:
    """Every finding on a line of its own, then the plan."""
    for finding in report.findings:
        detail = f": {finding.detail}" if finding.detail else ""
        click.echo(f"{finding.standing:<12} {finding.subject}{detail}")
    for field, variable in PARTS.items():
        if getattr(services.settings, field) is None:
            click.echo(f"not used     {variable} is not set")
    for finding in report.to_create:
        click.echo(f"to be made   {finding.subject}")
    for finding in report.by_hand:
        told = "not there" if finding.standing is Standing.MISSING else str(finding.standing)
        click.echo(f"by hand      {finding.subject}: {finding.detail or told}")
