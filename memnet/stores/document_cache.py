"""The documents that this process used last, so that unchanged ones are not transferred again."""

from collections import OrderedDict

from memnet.domain.core.scope import DocumentKey
from memnet.ports import StoredBlob

ENTRY_BYTES = 1024
"""Bytes charged for each entry in addition to its data: the key, the tag and the objects around them."""


class DocumentCache:
    """Least recently used documents, bounded by bytes. One event loop uses it, so it needs no lock."""

    def __init__(self, max_bytes: int) -> None:
        """`max_bytes` bounds data and overhead together; 0 remembers nothing."""
        self._max_bytes = max_bytes
        self._bytes = 0
        self._entries: OrderedDict[DocumentKey, StoredBlob] = OrderedDict()

    def recall(self, key: DocumentKey) -> StoredBlob | None:
        """Return the entry, and count it as used; None if it is not remembered."""
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
        return entry

    def remember(self, key: DocumentKey, document: StoredBlob) -> None:
        """Keep `document`, in place of an older one, and drop the least recently used ones over the bound."""
        self.forget(key)
        self._entries[key] = document
        self._bytes += _weight(document)
        while self._bytes > self._max_bytes:
            _, dropped = self._entries.popitem(last=False)
            self._bytes -= _weight(dropped)

    def forget(self, key: DocumentKey) -> None:
        """Drop the entry if there is one."""
        dropped = self._entries.pop(key, None)
        if dropped is not None:
            self._bytes -= _weight(dropped)


def _weight(document: StoredBlob) -> int:
    # Twice: what clients see of it is kept with it once it was asked for.
    return 2 * len(document.data) + ENTRY_BYTES
