"""`memnet pending`: what waits for confirmation in a user's documents, and the decision on it."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from cli import storage
from memnet.domain.core.access import Role
from memnet.domain.core.canonical_json import canonical, parse
from memnet.domain.core.errors import InvalidIdentifier, MalformedRequest
from memnet.domain.core.scope import Actor, DocumentKey, UserScope
from memnet.domain.documents.commands import ConfirmPending, IfExists, RejectPending, WriteResult
from memnet.operations.documents.pending import ListedPending, confirm_pending, list_pending, reject_pending
from memnet.service import Service

PAGE = 1000
F = TypeVar("F", bound=Callable[..., Any])


@click.group()
def pending() -> None:
    """Pending items: proposals that wait until another principal confirms them.

    The storage is that of MEMNET_STORAGE_URL (and MEMNET_STORAGE_KEY), else that of the local stack that runs here.
    """


def _of_a_user(command: F) -> F:
    tenant = click.option("--tenant", required=True, help="The tenant's id.")
    user = click.option("--user", required=True, help="The user's id.")
    return tenant(user(command))


def _one(command: F) -> F:
    pending_id = click.argument("pending_id")
    document = click.option("--document", required=True, help="The item's document: namespace/path.")
    actor = click.option("--actor", required=True, help="Who decides; the audit record names it.")
    return pending_id(_of_a_user(document(actor(command))))


@pending.command("list")
@_of_a_user
def list_(tenant: str, user: str) -> None:
    """List what waits in all documents of a user: one line an item, with its id, document, proposer and text."""
    scope = _scope(tenant, user)

    async def operation(service: Service) -> list[ListedPending]:
        rows: list[ListedPending] = []
        cursor: str | None = None
        while True:
            page = await list_pending(scope, service, limit=PAGE, cursor=cursor)
            rows += page.items
            cursor = page.next_cursor
            if cursor is None:
                return rows

    found = storage.run(operation)
    for row in found:
        item = row.waiting.item
        target = item.get("target")
        what = target.get("op") if isinstance(target, dict) else None
        # As JSON: a text may hold any characters, and each item stays one line.
        text = canonical(item.get("text")).decode()
        click.echo(f"{item.get('id')}  {row.key.namespace}/{row.key.path}  {item.get('proposed_by')}  {what} {text}")
    click.echo(f"{len(found)} pending item{'' if len(found) == 1 else 's'}")


@pending.command()
@_one
@click.option("--confidence", required=True, type=click.FloatRange(0, 1), help="How sure the confirmation is, 0 to 1.")
@click.option("--conversation", help="The id of the conversation that the confirmation relies on.")
@click.option("--message", multiple=True, help="The id of a message of it; may be given several times.")
@click.option("--value", help="JSON to write instead of the proposed value.")
def confirm(
    pending_id: str,
    tenant: str,
    user: str,
    document: str,
    actor: str,
    confidence: float,
    conversation: str | None,
    message: tuple[str, ...],
    value: str | None,
) -> None:
    """Apply what an item proposes to the newest version of its document, and take the item out.

    Exits with 1, and changes nothing, if what the item would change was changed or is gone, or if the actor proposed
    it. The same call again changes nothing more.
    """
    given = {"conversation_id": conversation, "message_ids": list(message)}
    command = ConfirmPending(
        key=_document(_scope(tenant, user), document),
        actor=Actor(actor, frozenset({Role.WRITE})),
        precondition=IfExists(),
        idempotency_key=f"cli-confirm-{pending_id}",
        pending_id=pending_id,
        confidence=confidence,
        evidence={name: member for name, member in given.items() if member} or None,
        values=() if value is None else (_json(value),),
    )
    _show(storage.run(lambda service: confirm_pending(command, service)), "confirmed")


@pending.command()
@_one
@click.option("--note", help="Why; kept in the audit record.")
def reject(pending_id: str, tenant: str, user: str, document: str, actor: str, note: str | None) -> None:
    """Take an item out and change nothing else; the history keeps it."""
    command = RejectPending(
        key=_document(_scope(tenant, user), document),
        actor=Actor(actor, frozenset({Role.WRITE})),
        precondition=IfExists(),
        idempotency_key=f"cli-reject-{pending_id}",
        pending_id=pending_id,
        note=note,
    )
    _show(storage.run(lambda service: reject_pending(command, service)), "rejected")


def _scope(tenant: str, user: str) -> UserScope:
    try:
        return UserScope(tenant, user)
    except InvalidIdentifier as error:
        raise click.UsageError(error.message) from error


def _document(scope: UserScope, text: str) -> DocumentKey:
    namespace, _, path = text.partition("/")
    try:
        return DocumentKey(scope, namespace, path)
    except InvalidIdentifier as error:
        raise click.UsageError(error.message) from error


def _json(text: str) -> Any:
    try:
        return parse(text.encode())
    except MalformedRequest as error:
        raise click.UsageError("--value must be JSON.") from error


def _show(result: WriteResult, decision: str) -> None:
    click.echo(f"{decision}: change {result.sequence}, version {result.etag}")
