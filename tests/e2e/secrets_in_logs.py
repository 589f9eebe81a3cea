"""Secrets, and a search for them in logs, in every form in which a log could hold them."""

import base64
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

SHORTEST = 8
"""Fewer characters are found by chance."""


@dataclass
class Secrets:
    """Each by what it is."""

    texts: dict[str, str] = field(default_factory=dict)
    keys: dict[str, bytes] = field(default_factory=dict)

    def word(self, what: str) -> str:
        """A new word that occurs nowhere else."""
        self.texts[what] = f"{what.replace(' ', '')}{uuid4().hex}"
        return self.texts[what]

    def found_in(self, logs: Iterable[Path]) -> list[str]:
        """Return the secrets found in these files, and where."""
        return [f"{what} in {log.name}" for log in logs for what in self._found(log.read_bytes())]

    def _found(self, log: bytes) -> Iterator[str]:
        lower = log.lower()
        for what, text in self.texts.items():
            assert len(text) >= SHORTEST
            if any(form in log for form in forms(text.encode())) or text.lower().encode() in lower:
                yield what
        for what, key in self.keys.items():
            if any(form in log for form in (*forms(key), key.hex().upper().encode(), shown(key))):
                yield what


def forms(data: bytes) -> set[bytes]:
    """The bytes as they are, in JSON, in hexadecimal digits, and in base64 wherever in a longer text they stand."""
    found = {data, data.hex().encode()}
    with suppress(UnicodeDecodeError):
        found.add(json.dumps(data.decode())[1:-1].encode())
    for before in range(3):
        # The characters at both ends hold bits of the neighbours, too.
        encoded = base64.b64encode(bytes(before) + data)
        cut = encoded[-(-before * 4 // 3) : (before + len(data)) * 4 // 3]
        found |= {cut, cut.translate(bytes.maketrans(b"+/", b"-_"))}
    return found


def shown(key: bytes) -> bytes:
    """As Python shows bytes."""
    return repr(key)[2:-1].encode()
