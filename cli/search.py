"""`memnet search`: compare the search index with the stored events, repair it, and rebuild it."""

import click

from cli import storage
from cli.options import any_tenant_option
from cli.output import exit_unless
from memnet.operations.events.reconcile_events import reconcile_events, verify_search
from memnet.operations.events.reindex_events import rebuild_index
from memnet.ports import StoreConflict


@click.group()
def search() -> None:
    """The search index: derived from the stored events, and rebuilt from them at any time."""


@search.command()
@any_tenant_option
def verify(tenant: str | None) -> None:
    """Compare the index with the stored events, both ways and by content.

    Prints every difference and a summary. Exits with 0, or 1 if there is a difference.
    """
    report = storage.run(lambda service: verify_search(tenant, service))
    for label, keys in (
        ("not indexed", report.missing),
        ("indexed with other content", report.different),
        ("unreadable", report.unreadable),
    ):
        for key in keys:
            click.echo(f"{label}: {key.blob_name}")
    for document in report.orphaned:
        click.echo(f"indexed without an event: {document}")
    click.echo(f"{'ok' if report.agrees else 'broken'}: {report.events} events, {report.documents} indexed")
    exit_unless(report.agrees)


@search.command()
def reindex() -> None:
    """Build a new index from all stored events, then switch searches to it.

    Searches are answered throughout, and events written meanwhile are in the new index. After an interruption, run the
    command again to continue. The new index has the embeddings of the current settings.
    """
    try:
        record = storage.run(rebuild_index)
    except StoreConflict as error:
        raise click.ClickException("another process has taken the rebuild over") from error
    name = record.target.name if record.target else ""
    click.echo(f"ok: {record.events} events in {name}, {record.waiting} waiting for the reconciliation")


@search.command()
def reconcile() -> None:
    """Index the events that could not be indexed when they were written.

    A worker does the same every minute. Exits with 0, or 1 if some are still waiting.
    """
    report = storage.run(reconcile_events)
    click.echo(
        f"{report.marked} markers listed, {report.indexed} events indexed, {report.postponed} postponed, "
        f"{report.dropped} markers without an event dropped"
    )
    exit_unless(not report.postponed)
