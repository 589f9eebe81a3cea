"""Looking for what was said in bytes that must not tell it."""

import base64
import binascii
import json
from collections.abc import Iterator

from memnet.domain.core.scope import Json


def finds(text: str, data: bytes) -> bool:
    """Return whether a text occurs in a blob, in any case and also within a JSON string in base64."""
    sought = text.casefold().encode()
    if sought in data.lower():
        return True
    return any(sought in decoded.lower() for decoded in decoded_strings(json.loads(data)))


def decoded_strings(value: Json) -> Iterator[bytes]:
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list):
        for one in value:
            yield from decoded_strings(one)
    elif isinstance(value, str):
        for alphabet in (b"+/", b"-_"):
            try:
                yield base64.b64decode(value + "=" * (-len(value) % 4), altchars=alphabet)
            except (binascii.Error, ValueError):
                continue
