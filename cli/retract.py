"""`memnet retract`: take a source of memory back: plan it, apply it, undo it."""

from collections.abc import Sequence, Set
from functools import partial
from typing import Any

import click

from cli import storage
from cli.options import ACTOR, user_options
from cli.output import count, document_of
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import MalformedRequest
from memnet.domain.core.scope import Actor, ETag, UserScope
from memnet.domain.core.timestamps import from_text, to_text
from memnet.domain.governance.retraction import Retraction
from memnet.domain.governance.source import Source, SourceKind
from memnet.operations.governance.retractions import (
    RetractionView,
    apply_retraction,
    get_retraction,
    list_retractions,
    plan_retraction,
    undo_retraction,
)
from memnet.paging import rows
from memnet.service import Service

KINDS: dict[SourceKind, tuple[Set[str], Set[str]]] = {
    SourceKind.CONVERSATION: ({"conversation"}, {"messages"}),
    SourceKind.SNAPSHOT: ({"conversation", "snapshot"}, set()),
    SourceKind.REPLAY: ({"replay"}, set()),
    SourceKind.EVENT: ({"event"}, set()),
    SourceKind.ACTOR: ({"source_actor"}, {"since", "until"}),
    SourceKind.MODEL: (set(), {"model", "prompt"}),
}
"""The options that name a source of each kind, and those that it may have besides."""
ONE_SOURCE = (
    "Name one source: --conversation (with --message), --conversation and --snapshot, --replay, --event, "
    "--source-actor (with --since and --until), or --model and --prompt."
)


@click.group()
def retract() -> None:
    """Retractions: take back what a conversation, a replay, an event, a principal or a model taught."""


@retract.command()
@user_options
@click.option("--conversation", help="The id of the conversation.")
@click.option("--message", "messages", multiple=True, help="Only this message of the conversation (repeatable).")
@click.option("--snapshot", help="Only this snapshot or turn of the conversation.")
@click.option("--replay", help="What this replay wrote; its conversation stays.")
@click.option("--event", help="The id of an event.")
@click.option("--source-actor", help="What this principal submitted or wrote.")
@click.option("--since", help="From this time on (RFC 3339).")
@click.option("--until", help="Before this time (RFC 3339).")
@click.option("--model", help="What replays wrote with this model.")
@click.option("--prompt", help="What replays wrote with the prompt of this SHA-256.")
@click.option("--reason", required=True, help="Why; kept with the retraction.")
@click.option("--key", required=True, help="An idempotency key: the same request again returns the same plan.")
@click.option("--actor", type=ACTOR, required=True, help="Who plans it; recorded.")
def plan(scope: UserScope, /, reason: str, key: str, actor: Actor, **named: str | tuple[str, ...] | None) -> None:
    """Plan a retraction: print what happens to each value and item, and the tag of the plan. Nothing else changes."""
    if not key:
        raise click.BadParameter("must not be empty", param_hint="--key")
    source = _source({name: value for name, value in named.items() if value})
    found = storage.run(
        lambda service: plan_retraction(scope, source, reason, service, actor=actor, idempotency_key=key)
    )
    _print_plan(scope, found)


@retract.command()
@user_options
@click.argument("retraction_id")
@click.option("--tag", required=True, help="The tag of the plan, as printed by plan and show.")
@click.option("--actor", type=ACTOR, required=True, help="Who applies it; recorded.")
def apply(scope: UserScope, retraction_id: str, tag: str, actor: Actor) -> None:
    """Have a worker apply a plan, or continue one that failed.

    Exits with 1, and changes nothing, if the tag is of another plan, under a legal hold, and if a profile asks for
    another principal than the one that planned it.
    """
    etag = ETag(tag if tag.startswith('"') else f'"{tag}"')
    _print(storage.run(lambda service: apply_retraction(scope, retraction_id, etag, service, actor=actor)))


@retract.command()
@user_options
@click.argument("retraction_id")
@click.option("--actor", type=ACTOR, required=True, help="Who undoes it; recorded.")
def undo(scope: UserScope, retraction_id: str, actor: Actor) -> None:
    """Have a worker bring back what a retraction took, where no other write has changed it since."""
    _print(storage.run(lambda service: undo_retraction(scope, retraction_id, service, actor=actor)))


@retract.command()
@user_options
@click.argument("retraction_id")
def show(scope: UserScope, retraction_id: str) -> None:
    """Print a retraction: its state, and what happens or has happened to each value and item."""
    _print_plan(scope, storage.run(lambda service: get_retraction(scope, retraction_id, service)))


@retract.command("list")
@user_options
def list_(scope: UserScope) -> None:
    """List the retractions of a user with their states."""

    async def operation(service: Service) -> Sequence[Retraction]:
        return [row async for row in rows(partial(list_retractions, scope, service))]

    found = storage.run(operation)
    for row in found:
        _print(row)
    click.echo(count(len(found), "retraction"))


def _source(named: dict[str, Any]) -> Source:
    kind = next((kind for kind, (needed, more) in KINDS.items() if needed <= named.keys() <= needed | more), None)
    if kind is None or not named:
        raise click.UsageError(ONE_SOURCE)
    return Source(
        kind=kind,
        conversation_id=named.get("conversation"),
        message_ids=named.get("messages"),
        snapshot_id=named.get("snapshot"),
        replay_id=named.get("replay"),
        event_id=named.get("event"),
        actor=named.get("source_actor"),
        since=_time(named.get("since")),
        until=_time(named.get("until")),
        model=named.get("model"),
        prompt_sha256=named.get("prompt"),
    )


def _time(text: str | None) -> str | None:
    try:
        return None if text is None else to_text(from_text(text))
    except MalformedRequest as error:
        raise click.UsageError(error.message) from error


def _print_plan(scope: UserScope, view: RetractionView) -> None:
    _print(view.retraction)
    for document in view.plan.documents:
        for value in document.values:
            why = f" ({value.why})" if value.why else ""
            change = f"{_text(value.before)} -> {_text(value.after)}"
            click.echo(f"{value.fate}{why}  {document_of(document.key(scope))} {value.pointer}  {change}")
    for item in view.plan.items:
        click.echo(f"{item.fate}  {item.kind} {item.name}")
    click.echo(f"tag {view.retraction.etag}")


def _print(retraction: Retraction) -> None:
    counts = ", ".join(f"{number} {name}" for name, number in retraction.counts.items() if number) or "nothing"
    failure = f"  {retraction.failure}" if retraction.failure else ""
    click.echo(f"{retraction.retraction_id}  {retraction.status}  {counts}{failure}")


def _text(value: object) -> str:
    """As JSON, so that a text with any characters stays on one line."""
    return "nothing" if value is None else canonical(value).decode()
