"""Opaque continuation cursors that only the list that handed them out takes back."""

import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode

from memnet.domain.core.errors import InvalidCursor

_CHECK_BYTES = 9


def encode(listing: str, position: str) -> str:
    """Return the cursor that continues `listing` (whatever names it, such as its full prefix) at `position`."""
    return urlsafe_b64encode(_check(listing, position) + position.encode()).rstrip(b"=").decode()


def decode(listing: str, cursor: str) -> str:
    """Return the position in `cursor`; raise InvalidCursor if `encode` did not make it for this `listing`.

    The check finds mistakes, not forgeries: a list must confine itself to its prefix whatever the position says.
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
