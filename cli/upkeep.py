"""`memnet compact`, `refresh` and `outbox`: maintain documents, and append waiting audit records."""

from collections.abc import Awaitable, Sequence
from functools import partial
from typing import Protocol

import click

from cli import storage
from cli.options import IDENTIFIER, optional_user, user_options
from cli.output import document_of, exit_unless
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.scope import Actor, DocumentKey, UserScope
from memnet.domain.upkeep.maintenance import EntryAction
from memnet.operations.consolidation import consolidate_document
from memnet.operations.documents.outbox import SweepReport, sweep_user
from memnet.operations.upkeep import MaintenanceResult, Outcome, compact_document, refresh_document
from memnet.paging import rows
from memnet.service import Service

dry_run_option = click.option("--dry-run", is_flag=True, help="Show every entry that would change, and change nothing.")


class Maintain(Protocol):
    """An operation that maintains one document."""

    def __call__(
        self, key: DocumentKey, service: Service, *, actor: Actor, dry_run: bool
    ) -> Awaitable[Sequence[MaintenanceResult]]: ...


@click.command()
@user_options
@dry_run_option
@click.option("--consolidate", is_flag=True, help="Then let statements that say the same become one.")
def compact(scope: UserScope, dry_run: bool, consolidate: bool) -> None:
    """Merge duplicate entries, remove expired ones, and trim sections of full documents.

    Applies the upkeep rules of the profiles to all documents of a user. Prints one line per document that changes, or
    per entry with --dry-run. A worker does the same regularly. Exits with 0, or 1 if a change was refused.
    """
    _maintain(scope, _compact_and_consolidate if consolidate else compact_document, dry_run)


async def _compact_and_consolidate(
    key: DocumentKey, service: Service, *, actor: Actor, dry_run: bool
) -> Sequence[MaintenanceResult]:
    compacted = await compact_document(key, service, actor=actor, dry_run=dry_run)
    return [*compacted, *await consolidate_document(key, service, actor=actor, dry_run=dry_run)]


@click.command()
@user_options
@dry_run_option
def refresh(scope: UserScope, dry_run: bool) -> None:
    """Remove expired facts and send stale ones back for confirmation.

    By the upkeep rules of the profiles, for all documents of a user; output, storage and exit code as of compact.
    """
    _maintain(scope, refresh_document, dry_run)


def _maintain(scope: UserScope, maintain: Maintain, dry_run: bool) -> None:
    async def operation(service: Service) -> dict[DocumentKey, Sequence[MaintenanceResult]]:
        actor = Actor(service.settings.worker_principal, frozenset())
        return {
            row.key: await maintain(row.key, service, actor=actor, dry_run=dry_run)
            async for row in rows(partial(service.documents.list, scope, ""))
            if not row.summary.deleted
        }

    found = storage.run(operation)
    for key, results in found.items():
        for result in results:
            _show(key, result, dry_run)
    outcomes = [{result.outcome for result in results} for results in found.values() if results]
    changed = sum(Outcome.CHANGED in each for each in outcomes)
    click.echo(f"{len(outcomes)} documents with upkeep rules, {changed} {'would change' if dry_run else 'changed'}")
    exit_unless(not any(Outcome.REFUSED in each for each in outcomes))


def _show(key: DocumentKey, result: MaintenanceResult, dry_run: bool) -> None:
    kept_for_space = 0 if result.plan is None else result.plan.kept_for_space
    shown = [] if result.plan is None else result.plan.steps
    if result.outcome is Outcome.UNTOUCHED and not kept_for_space and not result.joints and result.problem is None:
        return
    click.echo(f"{document_of(key)} ({result.profile_id}): {_describe(result, kept_for_space)}")
    for step in shown if dry_run else ():
        click.echo(f"  {step.action}")
        click.echo(f"  - {step.section} {canonical(step.entry).decode()}")
        if step.action in (EntryAction.MERGED, EntryAction.CONSOLIDATED):
            click.echo(f"  = {step.section} {canonical(step.into).decode()}")
        elif step.action is EntryAction.STALE:
            click.echo(f"  + pending {canonical(step.into).decode()}")
    for joint in result.joints:
        click.echo("  a model would be asked to join")
        for text in joint.texts:
            click.echo(f"  - {joint.section} {text}")


def _describe(result: MaintenanceResult, kept_for_space: int) -> str:
    if result.outcome is Outcome.REFUSED:
        return f"refused: {result.problem}"
    if result.outcome is Outcome.POSTPONED:
        return f"postponed: {result.problem or 'it was changed meanwhile'}"
    parts = [] if result.plan is None else [f"{number} {action}" for action, number in result.plan.counts().items()]
    if result.joints:
        parts.append(f"{len(result.joints)} groups for a model")
    if result.problem is not None:
        parts.append(result.problem)
    if kept_for_space:
        parts.append(f"{kept_for_space} stale but kept, because the pending section is full")
    return ", ".join(parts)


@click.group()
def outbox() -> None:
    """Outboxes: the audit records in a document that are not copied to the audit log yet."""


@outbox.command()
@click.option("--tenant", type=IDENTIFIER, help="The tenant's id.")
@click.option("--user", type=IDENTIFIER, help="The user's id.")
def flush(tenant: str | None, user: str | None) -> None:
    """Copy waiting audit records to the audit log, and store missing baselines, for one user or for all.

    A worker does the same regularly. Exits with 0, or 1 if a record was altered or the storage failed.
    """
    scope, report = optional_user(tenant, user), SweepReport()

    async def sweep(service: Service) -> None:
        if scope is not None:
            await sweep_user(scope, service, report=report)
            return
        async for page in service.users.pages(None):
            for one in page:
                await sweep_user(one, service, report=report)

    storage.run(sweep)
    click.echo(
        f"{report.listed} documents listed, {report.swept} swept, {report.baselines} baselines stored, "
        f"{report.postponed} postponed, {report.broken} broken"
    )
    exit_unless(not report.broken)
