"""`memnet sweep`: finish what crashed processes left, once."""

import click

from cli import storage
from memnet.operations.sweep_outboxes import SweepReport, sweep_outboxes
from memnet.wiring import Services


@click.command()
def sweep() -> None:
    """Copy audit records that still wait in documents to their place, and trim the documents.

    Every service process does the same on its own from time to time. The storage is that of MEMNET_STORAGE_URL (and
    MEMNET_STORAGE_KEY), else that of the local stack that runs here. Documents written within the last minute are
    left alone. Exits with 0, or 1 if a record was found altered or the storage failed.
    """

    async def operation(services: Services) -> SweepReport:
        return await sweep_outboxes(documents=services.documents, audit=services.audit, clock=services.clock)

    report = storage.run(operation)
    click.echo(
        f"{report.listed} documents listed, {report.trimmed} trimmed, {report.postponed} postponed, "
        f"{report.broken} broken"
    )
    if report.broken:
        raise SystemExit(1)
