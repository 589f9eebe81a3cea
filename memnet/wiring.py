"""Which adapter plays which port. Every entry point starts here; nothing else composes."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from memnet.adapters.azure.blob_audit import BlobAuditLog
from memnet.adapters.azure.blob_container import BlobContainer, open_container
from memnet.adapters.azure.blob_documents import BlobDocumentStore
from memnet.adapters.azure.blob_events import BlobEventStore
from memnet.adapters.azure.blob_search_register import BlobSearchRegister
from memnet.adapters.memory.audit import MemoryAuditLog
from memnet.adapters.memory.clock import FrozenClock
from memnet.adapters.memory.documents import MemoryDocumentStore
from memnet.adapters.memory.event_index import MemoryEventIndex
from memnet.adapters.memory.events import MemoryEventStore
from memnet.adapters.memory.ids import SequentialIds
from memnet.adapters.memory.search_register import MemorySearchRegister
from memnet.adapters.process.background import BackgroundTasks
from memnet.adapters.process.document_cache import DocumentCache
from memnet.adapters.process.embedding_router import EmbeddingRouter
from memnet.adapters.process.local_embeddings import EmbeddingsNotInstalled, LocalEmbedder
from memnet.adapters.process.no_semantic_router import NoSemanticRouter
from memnet.adapters.process.quota import LimitsQuota, ProcessCounters, open_quota
from memnet.adapters.system import RandomIds, SystemClock
from memnet.catalog import Catalog, load_catalog
from memnet.ports import (
    AuditLog,
    Background,
    Clock,
    DocumentStore,
    Embedder,
    EventStore,
    IdGenerator,
    Quota,
    Search,
    SemanticRouter,
)
from memnet.settings import Settings, SettingsError

DRAIN_SECONDS = 10.0
"""How long a stopping process waits for its background work; what is left, a sweep finishes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Everything an entry point hands to the operations."""

    documents: DocumentStore
    audit: AuditLog
    events: EventStore
    search: Search | None
    """None: no search service is configured."""
    catalog: Catalog
    clock: Clock
    ids: IdGenerator
    background: Background
    quota: Quota
    embedder: Embedder | None
    """None: nothing is known of meanings."""
    semantic_router: SemanticRouter
    settings: Settings


@asynccontextmanager
async def connect(settings: Settings) -> AsyncIterator[Services]:
    """Yield the services on Azure (or its local stand-ins); nothing is sent before the first call.

    Raises SettingsError and CatalogError before anything is opened to the outside. Leaving drains the background work.
    """
    catalog = load_catalog(settings.profiles_dir, settings.schemas_dir)
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        quota = await _enter_quota(stack, settings, clock)
        container = await _enter_container(stack, settings, clock)
        embedder = await _enter_embedder(stack, settings)
        search = await _enter_search(stack, settings, container, embedder)
        background = BackgroundTasks()
        stack.push_async_callback(background.drain, DRAIN_SECONDS)
        yield Services(
            documents=BlobDocumentStore(container, DocumentCache(settings.cache_bytes)),
            audit=BlobAuditLog(container),
            events=BlobEventStore(container),
            search=search,
            catalog=catalog,
            clock=clock,
            ids=RandomIds(),
            background=background,
            quota=quota,
            embedder=embedder,
            semantic_router=_semantic_router(embedder, settings),
            settings=settings,
        )


def in_memory(settings: Settings, catalog: Catalog, embedder: Embedder | None = None) -> Services:
    """Build the services on memory adapters: a clock that stands still, ids in order, nothing outlives the process."""
    clock = FrozenClock()
    return Services(
        documents=MemoryDocumentStore(),
        audit=MemoryAuditLog(),
        events=MemoryEventStore(clock),
        search=Search(MemoryEventIndex(), MemorySearchRegister(), embedder),
        catalog=catalog,
        clock=clock,
        ids=SequentialIds(),
        background=BackgroundTasks(),
        quota=LimitsQuota(
            ProcessCounters(clock),
            per_user=settings.quota_per_user,
            per_principal=settings.quota_per_principal,
            clock=clock,
        ),
        embedder=embedder,
        semantic_router=_semantic_router(embedder, settings),
        settings=settings,
    )


async def _enter_quota(stack: AsyncExitStack, settings: Settings, clock: Clock) -> LimitsQuota:
    quota = open_quota(
        settings.quota_url,
        per_user=settings.quota_per_user,
        per_principal=settings.quota_per_principal,
        clock=clock,
    )
    try:
        return await stack.enter_async_context(quota)
    except ValueError as error:
        raise SettingsError(f"MEMNET_QUOTA_URL, MEMNET_QUOTA_PER_USER, MEMNET_QUOTA_PER_PRINCIPAL: {error}") from error


async def _enter_container(stack: AsyncExitStack, settings: Settings, clock: Clock) -> BlobContainer:
    container = open_container(
        settings.storage_url,
        account_key=settings.storage_key,
        timeout_seconds=settings.storage_timeout_seconds,
        clock=clock,
    )
    try:
        return await stack.enter_async_context(container)
    except ValueError as error:
        # Not the error's text: it may quote the key.
        raise SettingsError("MEMNET_STORAGE_URL, MEMNET_STORAGE_KEY: are not a container's URL and key") from error


async def _enter_search(
    stack: AsyncExitStack, settings: Settings, container: BlobContainer, embedder: Embedder | None
) -> Search | None:
    if settings.search_url is None:
        return None
    # Not at the top: importing the client takes a while, which only those wait who use it.
    from memnet.adapters.azure.search_index import open_search

    index = open_search(
        settings.search_url,
        key=settings.search_key,
        prefix=settings.search_index,
        timeout_seconds=settings.search_timeout_seconds,
    )
    try:
        return Search(await stack.enter_async_context(index), BlobSearchRegister(container), embedder)
    except ValueError as error:
        raise SettingsError(
            "MEMNET_SEARCH_URL, MEMNET_SEARCH_INDEX: must be an http(s) URL, and 1 to 64 lower-case letters, digits "
            "and single dashes that begin with a letter"
        ) from error


async def _enter_embedder(stack: AsyncExitStack, settings: Settings) -> Embedder | None:
    """What MEMNET_EMBEDDINGS says; whether it can work is known here, but nothing is loaded or sent yet."""
    if settings.embeddings == "none":
        return None
    if settings.embeddings == "local":
        try:
            local = LocalEmbedder()
        except EmbeddingsNotInstalled as error:
            raise SettingsError(f"MEMNET_EMBEDDINGS: local {error}") from error
        stack.callback(local.close)
        return local
    if not settings.embeddings.startswith(("https://", "http://")) or settings.embeddings_dimensions < 1:
        raise SettingsError(
            "MEMNET_EMBEDDINGS, MEMNET_EMBEDDINGS_DIMENSIONS: must be none, local, or an http(s) URL with at least one "
            "dimension"
        )
    # Not at the top: importing the client takes half a second, which only those wait who use it.
    from memnet.adapters.azure.openai_embeddings import open_embeddings

    embeddings = open_embeddings(
        settings.embeddings,
        key=settings.embeddings_key,
        model=settings.embeddings_model,
        dimensions=settings.embeddings_dimensions,
        timeout_seconds=settings.embeddings_timeout_seconds,
    )
    try:
        return await stack.enter_async_context(embeddings)
    except ValueError as error:
        raise SettingsError(f"MEMNET_EMBEDDINGS_KEY: {error}") from error


def _semantic_router(embedder: Embedder | None, settings: Settings) -> SemanticRouter:
    if embedder is None:
        return NoSemanticRouter()
    return EmbeddingRouter(embedder, timeout_seconds=settings.routing_timeout_seconds)
