"""Compare the index with the stored events, both ways."""

from dataclasses import dataclass, field

from memnet.domain.core.canonical_json import sha256_hex
from memnet.domain.core.errors import SearchUnavailable
from memnet.domain.events.event import EventKey
from memnet.operations.events.read_events import read_events
from memnet.ports import IndexMissing
from memnet.service import Service
from memnet.stores import Search

PAGE = 1000
DOCUMENTS = 500


@dataclass(slots=True)
class SearchReport:
    """What stands where. `orphaned` holds keys of the index, the others events."""

    events: int = 0
    documents: int = 0
    missing: list[EventKey] = field(default_factory=list)
    """Stored, but not in the index."""
    different: list[EventKey] = field(default_factory=list)
    """In the index with another content than is stored."""
    unreadable: list[EventKey] = field(default_factory=list)
    """Stored, but not what the service has written."""
    orphaned: list[str] = field(default_factory=list)
    """In the index without a stored event."""

    @property
    def agrees(self) -> bool:
        """Whether the index holds exactly what is stored."""
        return not (self.missing or self.different or self.unreadable or self.orphaned)


async def verify_search(tenant_id: str | None, service: Service) -> SearchReport:
    """Read every event and every document of one tenant, or of all.

    What is written meanwhile may show as a difference. Raises SearchUnavailable if there is no index, Unavailable.
    """
    report = SearchReport()
    indexed = await _indexed(tenant_id, service.search)
    report.documents = len(indexed)
    cursor: str | None = None
    while True:
        page = await service.events.list(tenant_id, limit=PAGE, cursor=cursor)
        for key, stored in (await read_events(page.items, events=service.events)).items():
            report.events += 1
            found = indexed.pop(key.index_key, None)
            if stored is None:
                report.unreadable.append(key)
            elif found is None:
                report.missing.append(key)
            elif found != sha256_hex(stored.data):
                report.different.append(key)
        cursor = page.next_cursor
        if cursor is None:
            report.orphaned = sorted(indexed)
            return report


async def _indexed(tenant_id: str | None, search: Search) -> dict[str, str]:
    """The digest of every document's content, by its key."""
    layout = await search.register.recent()
    if layout is None:
        return {}
    found: dict[str, str] = {}
    after: str | None = None
    while True:
        try:
            hits = await search.index.list(layout.serving.name, tenant_id, limit=DOCUMENTS, after=after)
        except IndexMissing:
            raise SearchUnavailable() from None
        found |= {hit.key: sha256_hex(hit.data) for hit in hits}
        if len(hits) < DOCUMENTS:
            return found
        after = hits[-1].key
