"""The rights to make indexes and to fill them, each tried on an index that is not there.

Whoever may is told so by 404, whoever may not by 403. "Connect to Azure AI Search using roles" in Microsoft's
documentation says which role allows what.
"""

from memnet.adapters.azure.access import refusal
from memnet.domain.core.errors import Unavailable
from memnet.domain.core.prerequisite import Finding, PrerequisiteStatus
from memnet.domain.events.index_layout import IndexVersion
from memnet.ports import EventIndex, IndexMissing

MANAGES_INDEXES = "memnet Index Manager (or Search Service Contributor)"
"""The role that the templates define, or the least of Azure's own."""
NOWHERE = "nowhere"
"""How the name of no index ends: indexes are named with random digits."""


class IndexDefinitionAccess:
    """The right to read, and so to write, the definitions of indexes."""

    def __init__(self, index: EventIndex) -> None:
        """Nothing is asked yet."""
        self._index = index

    async def check(self) -> Finding:
        """Ask for a definition."""
        subject = "search: making indexes"
        try:
            await self._index.matches(IndexVersion(self._index.new_name(NOWHERE)))
        except IndexMissing:
            pass
        except Unavailable as error:
            return refusal(subject, error, MANAGES_INDEXES)
        return Finding(subject, PrerequisiteStatus.READY)


class IndexDocumentAccess:
    """The right to write, and so to search, what is in the indexes."""

    def __init__(self, index: EventIndex) -> None:
        """Nothing is asked yet."""
        self._index = index

    async def check(self) -> Finding:
        """Remove a document that is not there from an index that is not there."""
        subject = "search: indexing and searching"
        try:
            await self._index.delete(self._index.new_name(NOWHERE), ["0"])
        except IndexMissing:
            pass
        except Unavailable as error:
            return refusal(subject, error, "Search Index Data Contributor")
        return Finding(subject, PrerequisiteStatus.READY)
