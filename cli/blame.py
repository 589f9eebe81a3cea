"""`memnet audit blame`: where the values of a document come from."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from cli import storage
from cli.options import user_options
from cli.output import count
from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import MalformedRequest, PatchMalformed
from memnet.domain.core.json_patch import Pointer, pointer
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.history.blame import row_of
from memnet.operations.history.get_blame import get_blame
from memnet.service import Service

PAGE = 1000


@click.command()
@user_options
@click.argument("document", metavar="NAMESPACE/PATH")
@click.option("--pointer", "place", default="/content", help="Only the value at this JSON Pointer: /content/notes/0.")
@click.option("--as-of", help="An RFC 3339 time or a change_id: the values of the version at that time.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per value, as the API returns it.")
def blame(scope: UserScope, document: str, place: str, as_of: str | None, as_json: bool) -> None:
    """Print who wrote each value of a document, when, by which change, and on which evidence.

    Below a value come the other changes that it rests on, and the values that it replaced. Exits with 1 if the document
    or the value does not exist, or if the history is broken.
    """

    namespace, _, path = document.partition("/")
    if not path:
        raise click.BadParameter("The document must have a namespace and a path: NAMESPACE/PATH.")

    async def read(service: Service) -> Sequence[Any]:
        key, segments = DocumentKey(scope, namespace, path), _segments(place)
        found, cursor = list[Any](), None
        while True:
            page = await get_blame(key, segments[1:], service, as_of=as_of, limit=PAGE, cursor=cursor)
            found += map(row_of, page.rows)
            cursor = page.next_cursor
            if cursor is None:
                return found

    rows = storage.run(read)
    for row in rows:
        click.echo(canonical(row).decode() if as_json else "\n".join(_lines(row)))
    if not as_json:
        click.echo(count(len(rows), "value"))


def _segments(place: str) -> Pointer:
    try:
        segments = pointer(place)
    except PatchMalformed:
        segments = ()
    if segments[:1] != (ROOT,):
        raise MalformedRequest("The pointer must be a JSON Pointer in the document, such as /content/notes/0.")
    return segments


def _lines(row: Mapping[str, Any]) -> Iterator[str]:
    shown = canonical(row["value"]).decode() if "value" in row else "(its parts differ)"
    yield f"{row['pointer']}  {shown}"
    yield f"  {_change(row)}"
    if row.get("proposed_by"):
        yield f"  proposed by {row['proposed_by']} at {row['proposed_at']}"
    yield from (f"  {one['kind']}: {_change(one)}" for one in row["further"])
    yield from (f"  before: {canonical(one['value']).decode()}  {_change(one)}" for one in row["before"])
    if not row["before_known"]:
        yield "  before: not kept, or ask for this pointer alone"


def _change(row: Mapping[str, Any]) -> str:
    """Return who, when, why, by which change and rule, how sure, and on which evidence."""
    if "change_id" not in row:
        return f"recorded before {row['recorded_before']}"
    parts = [
        f"{row['recorded_by']} at {row['recorded_at']}",
        row["reason"],
        f"{row['change_id']} op {row['op_index']}",
        *([f"{row['profile_id']} {row['profile_version']} / {row['binding_id']}"] if "profile_id" in row else []),
        *([f"confidence {row['confidence']}"] if "confidence" in row else []),
        *([f"evidence {canonical(row['evidence']).decode()}"] if "evidence" in row else []),
    ]
    return ", ".join(parts)
