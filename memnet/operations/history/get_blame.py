"""Say where the values of a document come from."""

from collections.abc import Sequence
from dataclasses import dataclass

from memnet.domain.core import cursor as cursors
from memnet.domain.core.errors import InvalidCursor, VersionNotFound
from memnet.domain.core.json_patch import Pointer, pointer_text
from memnet.domain.core.scope import DocumentKey
from memnet.domain.documents.audit_record import Version
from memnet.domain.history.blame import Blamed, blame, with_before
from memnet.operations.history.read_origins import TracedVersion, read_change, read_origins
from memnet.service import Service


@dataclass(frozen=True, slots=True)
class BlamePage:
    """Rows of one version of a document."""

    version: Version
    rows: Sequence[Blamed]
    next_cursor: str | None


async def get_blame(
    key: DocumentKey, place: Pointer, service: Service, *, as_of: str | None, limit: int, cursor: str | None
) -> BlamePage:
    """Return up to `limit` rows of the value at `place` below the content, now or at `as_of`.

    The first row is the value's own; a page continues with the version of the first page. One baseline and at most 256
    records are read, and as many again for the values before the value at `place`, if it is older. Raises
    DocumentNotFound, VersionNotFound, ValueNotFound, MalformedRequest, InvalidCursor, HistoryCorrupt, VaultUnavailable,
    Unavailable.
    """
    listing = f"{key.blob_name} blame of {pointer_text(place)} at {as_of}"
    skipped, change_id = (0, as_of) if cursor is None else _position(listing, cursor)
    traced = await read_origins(key, service, as_of=change_id)
    rows = blame(traced.origins, place)
    page = rows[skipped : skipped + limit]
    if place and skipped == 0 and not page[0].knows_before:
        page[0] = await _with_before(traced, page[0], service)
    end = skipped + len(page)
    version = traced.version
    following = cursors.encode(listing, f"{end}:{version.change_id}") if end < len(rows) else None
    return BlamePage(version, page, following)


async def _with_before(traced: TracedVersion, row: Blamed, service: Service) -> Blamed:
    """Return the row with the values before, if the record of its change is kept and the change put it there."""
    if row.node.is_copied:
        return row
    try:
        then = await read_change(traced, row.node.origin.sequence, service)
    except VersionNotFound:
        return row
    return with_before(row, then)


def _position(listing: str, cursor: str) -> tuple[int, str]:
    """Return how many rows come before the page, and the change whose version it continues."""
    number, _, change_id = cursors.decode(listing, cursor).partition(":")
    if not (number.isascii() and number.isdecimal() and change_id):
        raise InvalidCursor()
    return int(number), change_id
