"""memnet search: compare the search index with the stored events, repair it, build it anew."""

from typing import TypeVar

import click

from cli import storage
from memnet.domain.core.errors import InvalidIdentifier
from memnet.domain.core.scope import check_identifier
from memnet.domain.events.index_layout import Reindexing
from memnet.operations.events.reconcile_events import ReconcileReport, SearchReport, reconcile_events, verify_search
from memnet.operations.events.reindex_events import rebuild_index
from memnet.ports import StoreConflict
from memnet.service import Service

T = TypeVar("T")


@click.group()
def search() -> None:
    """The search index: derived from the stored events, and made again from them at any time.

    Storage and search service are those of MEMNET_STORAGE_URL and MEMNET_SEARCH_URL (and their keys), else those of
    the local stack that runs here.
    """


@search.command()
@click.option("--tenant", help="Only this tenant's events; else those of all.")
def verify(tenant: str | None) -> None:
    """Compare the index with the stored events, both ways and by content.

    Prints every difference and a summary. Exits with 0, or 1 if there is a difference.
    """
    tenant_id = None if tenant is None else _tenant(tenant)

    async def operation(service: Service) -> SearchReport:
        return await verify_search(tenant_id, service)

    report = storage.run(operation)
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
    if not report.agrees:
        raise SystemExit(1)


@search.command()
def reindex() -> None:
    """Build a new index from all stored events and put it in the place of the serving one.

    Searches are answered throughout, and what is written meanwhile is in the new index. Called again after it was
    interrupted, it goes on where it was. The new index has the embeddings of the present settings.
    """

    async def operation(service: Service) -> Reindexing:
        return await rebuild_index(service)

    try:
        record = storage.run(operation)
    except StoreConflict as error:
        raise click.ClickException("another process has taken the rebuild over") from error
    name = record.target.name if record.target else ""
    click.echo(f"ok: {record.events} events in {name}, {record.waiting} waiting for the reconciliation")


@search.command()
def reconcile() -> None:
    """Index the events that could not be indexed when they were written.

    A worker does the same every minute. Exits with 0, or 1 if some are still waiting.
    """

    async def operation(service: Service) -> ReconcileReport:
        return await reconcile_events(service)

    report = storage.run(operation)
    click.echo(
        f"{report.marked} marks listed, {report.indexed} events indexed, {report.postponed} postponed, "
        f"{report.dropped} marks without an event dropped"
    )
    if report.postponed:
        raise SystemExit(1)


def _tenant(tenant: str) -> str:
    try:
        return check_identifier("tenant_id", tenant)
    except InvalidIdentifier as error:
        raise click.UsageError(error.message) from error
