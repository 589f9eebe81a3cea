"""Put events into given indexes, with their embeddings where the index has them."""

import asyncio
import logging
from collections.abc import Sequence

from memnet.domain.core.errors import ErasureRunning, Unavailable
from memnet.domain.core.scope import UserScope
from memnet.domain.events.event import EventKey, StoredEvent
from memnet.domain.events.event_search import IndexDocument, Vector
from memnet.domain.events.index_layout import IndexVersion
from memnet.ports import IndexMissing
from memnet.stores import Search

UPLOAD_SECONDS = 300.0
"""How long one upload may take: well below the time for which an erasure waits for what was begun before it."""
log = logging.getLogger(__name__)


async def upload_events(
    stored: Sequence[StoredEvent], versions: Sequence[IndexVersion], *, search: Search
) -> frozenset[EventKey]:
    """Upload to every index; return the events that all of them have confirmed, complete with what they should hold.

    Without embeddings (the model does not answer, or an index was made with another one) an event goes in without its
    vector, to be found by its words, and does not count as complete. The events of users who are being erased are left
    out and do not count as complete either: their marks are the erasure's, and if it ends early they are still needed.
    Raises Unavailable.
    """
    vectors = await _embed(stored, versions, search)
    incomplete: set[str] = set()
    for version in versions:
        fitting = vectors if version.takes(search.model, search.dimensions) else None
        documents = [IndexDocument(event, None if fitting is None else fitting[n]) for n, event in enumerate(stored)]
        # They were read a while ago. An erasure that begins after this look removes what is uploaded now.
        service = await _erasing(stored, search)
        incomplete |= {event.key.index_key for event in stored if event.key.scope in service}
        documents = [document for document in documents if document.stored.key.scope not in service]
        try:
            async with asyncio.timeout(UPLOAD_SECONDS):
                incomplete |= await search.index.upload(version.name, documents)
        except TimeoutError as error:
            raise Unavailable(dependency="search") from error
        except IndexMissing:
            log.error("the index %s is gone: run memnet search reindex", version.name)
            return frozenset()
        if version.model is not None and fitting is None:
            incomplete |= {document.key for document in documents}
    return frozenset(event.key for event in stored if event.key.index_key not in incomplete)


async def _erasing(stored: Sequence[StoredEvent], search: Search) -> frozenset[UserScope]:
    """Those of the events' users whose memory is being erased. Raises Unavailable."""
    scopes = frozenset(event.key.scope for event in stored)
    if len(scopes) > 1:
        tenants = {scope.tenant_id for scope in scopes}
        return await search.fences.erasing(tenants.pop() if len(tenants) == 1 else None)
    try:
        for scope in scopes:
            await search.fences.check(scope)
    except ErasureRunning:
        return scopes
    return frozenset()


async def _embed(
    stored: Sequence[StoredEvent], versions: Sequence[IndexVersion], search: Search
) -> Sequence[Vector] | None:
    """One vector per event; None if no index takes them or there are none to be had."""
    if search.embedder is None or not any(v.takes(search.model, search.dimensions) for v in versions):
        return None
    try:
        return [list(vector) for vector in await search.embedder.embed([event.text for event in stored])]
    except Unavailable:
        return None
