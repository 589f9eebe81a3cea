"""`memnet outbox`: the audit records that wait in documents."""

import click

from cli import storage
from memnet.operations.documents.outbox import SweepReport, sweep_outboxes
from memnet.service import Service


@click.group()
def outbox() -> None:
    """Audit records that a document carries until they are copied to the audit log."""


@outbox.command()
def flush() -> None:
    """Copy waiting audit records to the audit log, once, and trim the documents.

    A worker does the same every few minutes. The storage is that of MEMNET_STORAGE_URL, else that of the local stack
    that runs here. Documents written within the last minute are skipped. Exits with 0, or 1 if a record was altered
    or the storage failed.
    """

    async def operation(service: Service) -> SweepReport:
        return await sweep_outboxes(service)

    report = storage.run(operation)
    click.echo(
        f"{report.listed} documents listed, {report.trimmed} trimmed, {report.postponed} postponed, "
        f"{report.broken} broken"
    )
    if report.broken:
        raise SystemExit(1)
