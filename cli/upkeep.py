"""`memnet compact` and `memnet refresh`: keep one user's documents up, or show what that would do."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import click

from cli import storage
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import InvalidIdentifier
from memnet.domain.core.scope import Actor, DocumentKey, UserScope
from memnet.domain.upkeep.maintenance import EntryAction, Step
from memnet.operations.upkeep.maintain import MaintenanceResult, Outcome, compact_document, refresh_document
from memnet.service import Service

PAGE = 1000
Tend = Callable[..., Awaitable[Sequence[MaintenanceResult]]]
F = TypeVar("F", bound=Callable[..., Any])
Rows = Sequence[tuple[DocumentKey, MaintenanceResult]]


def _of_a_user(command: F) -> F:
    tenant = click.option("--tenant", required=True, help="The tenant's id.")
    user = click.option("--user", required=True, help="The user's id.")
    dry_run = click.option("--dry-run", is_flag=True, help="Show every entry that would go, and change nothing.")
    return tenant(user(dry_run(command)))


@click.command()
@_of_a_user
def compact(tenant: str, user: str, dry_run: bool) -> None:
    """Merge what says the same, remove what has expired, and let sections give way where a document is full.

    By the upkeep rules of the profiles, for all documents of a user. Prints one line a document that changes, with
    --dry-run one line an entry, too. A worker does the same from time to time. The storage is that of
    MEMNET_STORAGE_URL (and MEMNET_STORAGE_KEY), else that of the local stack that runs here. Exits with 0, or 1 if a
    change was refused.
    """
    _show(_run(tenant, user, dry_run, compact_document), dry_run)


@click.command()
@_of_a_user
def refresh(tenant: str, user: str, dry_run: bool) -> None:
    """Remove expired facts and send stale ones back for confirmation.

    By the upkeep rules of the profiles, for all documents of a user; output, storage and exit code as of compact.
    """
    _show(_run(tenant, user, dry_run, refresh_document), dry_run)


def _run(tenant: str, user: str, dry_run: bool, tend: Tend) -> Rows:
    try:
        scope = UserScope(tenant, user)
    except InvalidIdentifier as error:
        raise click.UsageError(error.message) from error

    async def operation(service: Service) -> Rows:
        found: list[tuple[DocumentKey, MaintenanceResult]] = []
        for key in await _keys(scope, service):
            outcomes = await tend(
                key, service, actor=Actor(service.settings.worker_principal, frozenset()), dry_run=dry_run
            )
            found += [(key, tended) for tended in outcomes]
        return found

    return storage.run(operation)


async def _keys(scope: UserScope, service: Service) -> list[DocumentKey]:
    keys: list[DocumentKey] = []
    cursor: str | None = None
    while True:
        page = await service.documents.list(scope, "", limit=PAGE, cursor=cursor)
        keys += [row.key for row in page.items if not row.summary.deleted]
        cursor = page.next_cursor
        if cursor is None:
            return keys


def _show(rows: Rows, dry_run: bool) -> None:
    for key, tended in rows:
        held = 0 if tended.plan is None else tended.plan.kept_for_space
        if tended.outcome is Outcome.UNTOUCHED and not held:
            continue
        click.echo(f"{key.namespace}/{key.path} ({tended.profile_id}): {_what(tended, held, dry_run)}")
        if dry_run and tended.plan is not None:
            for step in tended.plan.steps:
                _show_step(step)
    looked_at = len({key for key, _ in rows})
    changed = len({key for key, tended in rows if tended.outcome is Outcome.CHANGED})
    refused = any(tended.outcome is Outcome.REFUSED for _, tended in rows)
    click.echo(f"{looked_at} documents with upkeep rules, {changed} {'would change' if dry_run else 'changed'}")
    if refused:
        raise SystemExit(1)


def _what(tended: MaintenanceResult, held: int, dry_run: bool) -> str:
    if tended.outcome is Outcome.REFUSED:
        return f"refused: {tended.problem}"
    if tended.outcome is Outcome.POSTPONED:
        return "postponed: it was changed meanwhile"
    counts = {} if tended.plan is None else tended.plan.counts()
    parts = [f"{count} {fate}" for fate, count in counts.items()]
    return ", ".join([*parts, *([f"{held} stale but held, for want of room"] if held else [])])


def _show_step(step: Step) -> None:
    click.echo(f"  {step.action}")
    click.echo(f"  - {step.section} {canonical(step.entry).decode()}")
    if step.action is EntryAction.MERGED:
        click.echo(f"  = {step.section} {canonical(step.into).decode()}")
    elif step.action is EntryAction.STALE:
        click.echo(f"  + pending {canonical(step.into).decode()}")
