"""Opaque cursors, each valid only for the list that issued it."""

import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode

from memnet.domain.core.errors import InvalidCursor

_CHECK_BYTES = 9


def encode(listing: str, position: str) -> str:
    """Return the cursor that continues `listing` (its prefix, for example) at `position`."""
    return urlsafe_b64encode(_check(listing, position) + position.encode()).rstrip(b"=").decode()


def decode(listing: str, cursor: str) -> str:
    """Return the position in `cursor`. Raises InvalidCursor unless it was issued for this `listing`.

    This detects mistakes, not forgeries: the list must check that the position is within its prefix.
    """
    try:
        raw = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        check, position = raw[:_CHECK_BYTES], raw[_CHECK_BYTES:].decode()
    except ValueError:
        raise InvalidCursor from None
    if check != _check(listing, position) or encode(listing, position) != cursor:
        raise InvalidCursor
    return position


def _check(listing: str, position: str) -> bytes:
    return hashlib.sha256(f"{listing}\n{position}".encode()).digest()[:_CHECK_BYTES]
