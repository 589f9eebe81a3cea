"""The headers of every response; docs/decisions/0025 explains the choice."""

from collections.abc import Iterable
from typing import Final

Rows = Iterable[tuple[bytes, bytes]]

ALWAYS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
"""Defaults; a response may set its own value."""


def complete(own: Rows, request_id: str) -> list[tuple[bytes, bytes]]:
    """Return a response's own headers (lower-case names) and those of every response."""
    rows = [*own, (b"x-request-id", request_id.encode("ascii"))]
    given = {name for name, _ in rows}
    rows.extend(row for row in ALWAYS if row[0] not in given)
    return rows
