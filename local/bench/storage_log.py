"""The storage calls that Azurite received, counted in its own access log."""

import re
import time
from collections import Counter
from pathlib import Path

QUIET_SECONDS = 0.05
MOST_SECONDS = 60.0
REQUEST = re.compile(rb'"([A-Z]+) (\S+) HTTP/1\.1" \d{3}')
"""In a line of the format `common` of morgan, the logger of Azurite."""


class StorageLog:
    """Counts requests by kind: GET, PUT, APPEND, LIST, DELETE, HEAD. A refused request counts: Azure bills it, too."""

    def __init__(self, file: Path) -> None:
        """`file` is Azurite's log; Azurite must have been started with its access log."""
        self._file = file

    def position(self) -> int:
        """Return the end of the log."""
        return self._file.stat().st_size

    def settle(self) -> None:
        """Wait until the storage receives no more requests.

        The service copies audit records and removes marks after its response.
        """
        before, until = -1, time.monotonic() + MOST_SECONDS
        while (now := self.position()) != before and time.monotonic() < until:
            before = now
            time.sleep(QUIET_SECONDS)

    def since(self, position: int) -> Counter[str]:
        """Count the requests after `position`."""
        with self._file.open("rb") as log:
            log.seek(position)
            return Counter(_kind(method, url) for method, url in REQUEST.findall(log.read()))


def _kind(method: bytes, url: bytes) -> str:
    query = url.partition(b"?")[2]
    if b"comp=list" in query:
        return "LIST"
    return "APPEND" if b"comp=appendblock" in query else method.decode()


def per_call(counts: Counter[str], calls: int) -> dict[str, float]:
    """Return the storage calls of each kind that one of `calls` made on average."""
    return {kind: round(count / calls, 2) for kind, count in sorted(counts.items())}
