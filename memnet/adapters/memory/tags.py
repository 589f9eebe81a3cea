"""The tags by which the memory stores tell one write from another."""

from memnet.domain.document import StorageETag


class Tags:
    """Makes tags, each another one."""

    def __init__(self) -> None:
        """Begin with the first."""
        self._made = 0

    def make(self) -> StorageETag:
        """Return the next one."""
        self._made += 1
        return StorageETag(f'"{self._made}"')
