"""`memnet pending`: list a user's pending items, and confirm or reject them."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar, get_args

import click

from cli import storage
from cli.options import user_options
from cli.output import count, document_of
from memnet.domain.core.access import Role
from memnet.domain.core.canonical_json import canonical, parse
from memnet.domain.core.errors import InvalidIdentifier, MalformedRequest
from memnet.domain.core.scope import Actor, DocumentKey, Json, UserScope
from memnet.domain.documents.commands import ConfirmPending, IfExists, RejectPending, Take, WriteResult
from memnet.operations.documents.pending import ListedPending, confirm_pending, list_pending, reject_pending
from memnet.paging import rows
from memnet.service import Service

Command = TypeVar("Command", bound=Callable[..., None])
OPERATOR = frozenset({Role.WRITE, Role.ADMIN})
"""Who can use the storage decides what the user and what the tenant decides."""


@click.group()
def pending() -> None:
    """Pending items: proposals that wait until another principal confirms them."""


@pending.command("list")
@user_options
def list_(scope: UserScope) -> None:
    """List the pending items of all documents of a user: id, document, proposer, operation and text.

    Below a question come its answers: the entry that exists, and each proposal with its --choice.
    """

    async def operation(service: Service) -> Sequence[ListedPending]:
        return [row async for row in rows(partial(list_pending, scope, service))]

    found = storage.run(operation)
    for row in found:
        item = row.waiting.item
        target = item.get("target")
        verb = target.get("op") if isinstance(target, dict) else None
        text = _text(item.get("text"))
        click.echo(f"{item.get('id')}  {document_of(row.key)}  {item.get('proposed_by')}  {verb} {text}")
        choices = item.get("choices")
        if isinstance(choices, list):
            click.echo(f"  the {item.get('decides') or 'confirming principal'} decides: {_text(item.get('question'))}")
            for index, choice in enumerate(choices):
                click.echo(f"    {f'choice {index}' if index else 'existing'}  {_text(choice)}")
    click.echo(count(len(found), "pending item"))


def _item_options(command: Command) -> Command:
    pending_id = click.argument("pending_id")
    document = click.option("--document", required=True, help="The item's document: namespace/path.")
    actor = click.option("--actor", required=True, help="The principal that decides; recorded in the audit record.")
    return pending_id(document(actor(command)))


@pending.command()
@user_options
@_item_options
@click.option("--confidence", required=True, type=click.FloatRange(0, 1), help="The confidence to store, 0 to 1.")
@click.option("--conversation", help="The id of the conversation that confirms the item.")
@click.option("--message", multiple=True, help="The id of a message in that conversation (repeatable).")
@click.option("--value", help="JSON to write instead of the proposed value.")
@click.option(
    "--take",
    type=click.Choice(get_args(Take)),
    default="proposed",
    show_default=True,
    help="Of an item that contradicts an entry: which is right.",
)
@click.option("--choice", type=click.IntRange(1), default=1, help="The proposal to take: its number in pending list.")
@click.option("--apart", help="With --take both: what sets the proposal apart; by default, its value.")
def confirm(
    scope: UserScope,
    pending_id: str,
    document: str,
    actor: str,
    confidence: float,
    conversation: str | None,
    message: tuple[str, ...],
    value: str | None,
    take: Take,
    choice: int,
    apart: str | None,
) -> None:
    """Apply a pending item to the current version of its document, and remove it from the pending section.

    Exits with 1, and changes nothing, if the item's target was changed or removed, or if the actor proposed the item.
    Repeating the call changes nothing more.
    """
    evidence = {"conversation_id": conversation, "message_ids": list(message)}
    command = ConfirmPending(
        key=_document(scope, document),
        actor=Actor(actor, OPERATOR),
        precondition=IfExists(),
        idempotency_key=f"cli-confirm-{pending_id}-{take}-{choice}",
        pending_id=pending_id,
        confidence=confidence,
        evidence={name: member for name, member in evidence.items() if member} or None,
        values=() if value is None else (_json(value),),
        take=take,
        choice=choice,
        apart=apart,
    )
    _show(storage.run(lambda service: confirm_pending(command, service)), "confirmed")


@pending.command()
@user_options
@_item_options
@click.option("--note", help="The reason; kept in the audit record.")
def reject(scope: UserScope, pending_id: str, document: str, actor: str, note: str | None) -> None:
    """Remove a pending item and change nothing else; the history keeps it."""
    command = RejectPending(
        key=_document(scope, document),
        actor=Actor(actor, OPERATOR),
        precondition=IfExists(),
        idempotency_key=f"cli-reject-{pending_id}",
        pending_id=pending_id,
        note=note,
    )
    _show(storage.run(lambda service: reject_pending(command, service)), "rejected")


def _text(value: Json) -> str:
    """As JSON, so that a text with any characters stays on one line."""
    return canonical(value).decode()


def _document(scope: UserScope, text: str) -> DocumentKey:
    namespace, _, path = text.partition("/")
    try:
        return DocumentKey(scope, namespace, path)
    except InvalidIdentifier as error:
        raise click.UsageError(error.message) from error


def _json(text: str) -> Json:
    try:
        return parse(text.encode())
    except MalformedRequest as error:
        raise click.UsageError("--value must be JSON.") from error


def _show(result: WriteResult, decision: str) -> None:
    click.echo(f"{decision}: change {result.sequence}, version {result.etag}")
