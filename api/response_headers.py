"""The headers of every answer, whoever writes it; docs/decisions/0025 says why these and no others."""

from collections.abc import Iterable
from typing import Final

Rows = Iterable[tuple[bytes, bytes]]

ALWAYS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
"""What holds unless the answer has a header of this name itself."""


def complete(own: Rows, request_id: str) -> list[tuple[bytes, bytes]]:
    """Return an answer's own headers, their names in lower case, with those that every answer has."""
    rows = [*own, (b"x-request-id", request_id.encode("ascii"))]
    given = {name for name, _ in rows}
    rows.extend(row for row in ALWAYS if row[0] not in given)
    return rows
