"""A DocumentStore that tells how full documents are, whoever writes them: clients, replays, upkeep and migrations."""

from datetime import datetime

from memnet.domain.catalog import Catalog
from memnet.domain.document import DocumentKey, StorageETag, UserScope
from memnet.domain.envelope import DocumentSummary
from memnet.domain.metric import SIZE_RATIO
from memnet.ports import CatalogTexts, DocumentStore, ListedDocument, Page, StoredDocument, Telemetry


class MeasuredDocuments:
    """The DocumentStore port around another one; errors as that one says."""

    def __init__(self, inner: DocumentStore, telemetry: Telemetry, catalog: Catalog) -> None:
        """Tell `telemetry`, by the bindings of `catalog` that are about a document."""
        self._inner = inner
        self._telemetry = telemetry
        self._catalog = catalog

    @property
    def texts(self) -> CatalogTexts:
        """The texts."""
        return self._inner.texts

    async def get(self, key: DocumentKey) -> StoredDocument | None:
        """Read."""
        return await self._inner.get(key)

    def recall(self, key: DocumentKey) -> StoredDocument | None:
        """Recall."""
        return self._inner.recall(key)

    async def put(
        self,
        key: DocumentKey,
        data: bytes,
        summary: DocumentSummary,
        *,
        replaces: StorageETag | None,
        known_at: datetime | None = None,
    ) -> None:
        """Write; then record its size, for every binding through which it may be written and read."""
        await self._inner.put(key, data, summary, replaces=replaces, known_at=known_at)
        for rules in self._catalog.covering(key):
            binding = rules.binding
            self._telemetry.record(
                SIZE_RATIO,
                summary.size / binding.max_chars,
                profile_id=rules.profile.profile_id,
                binding_id=binding.binding_id,
            )

    async def list(self, scope: UserScope, prefix: str, *, limit: int, cursor: str | None) -> Page[ListedDocument]:
        """List."""
        return await self._inner.list(scope, prefix, limit=limit, cursor=cursor)

    async def list_all(self, *, limit: int, cursor: str | None) -> Page[ListedDocument]:
        """List."""
        return await self._inner.list_all(limit=limit, cursor=cursor)

    async def check(self, scope: UserScope) -> None:
        """Ask."""
        await self._inner.check(scope)

    async def check_writing(self, tenant_id: str) -> None:
        """Ask."""
        await self._inner.check_writing(tenant_id)

    async def ping(self) -> None:
        """Ask."""
        await self._inner.ping()
