"""The answer of List Blobs, read one row at a time. Source: List Blobs (REST API), "Response body"."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import quote, unquote, urlencode
from xml.parsers import expat

from memnet.domain.core.scope import StorageETag
from memnet.ports import ListedBlob

SLICE_BYTES = 1 << 16
"""How much is parsed before other tasks run: about 100 rows, a few milliseconds."""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH_NUMBERS = {name: number for number, name in enumerate(_MONTHS, start=1)}


def listing_query(
    prefix: str, *, limit: int, marker: str | None, include: Sequence[str] = (), delimiter: str = ""
) -> str:
    """Return the query of a request for one page."""
    parameters = {"prefix": prefix, "delimiter": delimiter, "marker": marker, "include": ",".join(include)}
    given = {name: value for name, value in parameters.items() if value}
    return urlencode({"restype": "container", "comp": "list", "maxresults": limit} | given, quote_via=quote, safe="")


@dataclass(slots=True)
class BlobListing:
    """One page: blobs, folders (only with a delimiter), and the marker of the next page, empty at the end."""

    blobs: list[ListedBlob] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    marker: str = ""


async def parse_listing(body: bytes) -> BlobListing:
    """Parse a page in slices and let other tasks run between them. Raises ValueError if it is no listing."""
    reader = _Reader()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.CharacterDataHandler = reader.read
    parser.EndElementHandler = reader.end
    parser.StartDoctypeDeclHandler = reader.refuse
    try:
        for position in range(0, len(body), SLICE_BYTES):
            parser.Parse(body[position : position + SLICE_BYTES], False)
            await asyncio.sleep(0)
        parser.Parse(b"", True)
    except (expat.ExpatError, KeyError, ValueError) as error:
        raise ValueError("the answer is not a listing of blobs") from error
    return reader.page


class _Reader:
    """Collects rows from the events of the parser.

    The depth of an element says what it is: a blob's metadata may have any name. The depth of a blob is 3, of its name
    4, of a property or an item of metadata 5.
    """

    def __init__(self) -> None:
        self.page = BlobListing()
        self._path: list[str] = []
        self._text = ""
        self._encoded = False
        self._values: dict[str, str] = {}
        self._metadata: dict[str, str] = {}

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if not self._path and tag != "EnumerationResults":
            raise ValueError(tag)
        self._path.append(tag)
        self._text = ""
        self._encoded = attributes.get("Encoded") == "true"
        if len(self._path) == 3:
            self._values, self._metadata = {}, {}

    def read(self, text: str) -> None:
        self._text += text

    def end(self, tag: str) -> None:
        path, text = self._path, self._text
        depth = len(path)
        if depth == 5 and path[3] == "Metadata":
            self._metadata[tag] = text
        elif depth >= 4:
            # A name with characters that XML does not allow is percent-encoded.
            self._values[tag] = unquote(text, errors="strict") if self._encoded else text
        elif depth == 3 and tag == "Blob":
            self.page.blobs.append(_listed(self._values, self._metadata))
        elif depth == 3 and tag == "BlobPrefix":
            self.page.folders.append(self._values["Name"])
        elif depth == 2 and tag == "NextMarker":
            self.page.marker = text
        path.pop()

    def refuse(self, *_: object) -> None:
        raise ValueError("a listing has no document type")


def _listed(values: dict[str, str], metadata: dict[str, str]) -> ListedBlob:
    """Return a row.

    A snapshot has a `Snapshot`; with versioning a blob has a `VersionId`, and the current version `IsCurrentVersion`.
    A soft-deleted blob has `Deleted` and `RemainingRetentionDays`. A listing leaves the quotes of entity tags out.
    """
    copy = ""
    if "Snapshot" in values:
        copy = f"snapshot={values['Snapshot']}"
    elif "VersionId" in values and values.get("IsCurrentVersion") != "true":
        copy = f"versionid={values['VersionId']}"
    tag = values["Etag"]
    return ListedBlob(
        values["Name"],
        StorageETag(tag if tag.startswith('"') else f'"{tag}"'),
        _time(values["Last-Modified"]),
        metadata,
        copy,
        int(values.get("RemainingRetentionDays", "0")) if values.get("Deleted") == "true" else None,
    )


def _time(text: str) -> datetime:
    """Parse the one form of time that HTTP servers send (RFC 9110, 5.6.7); email.utils takes ten times as long."""
    hour, minute, second = text[17:25].split(":")
    return datetime(
        int(text[12:16]), _MONTH_NUMBERS[text[8:11]], int(text[5:7]), int(hour), int(minute), int(second), tzinfo=UTC
    )
