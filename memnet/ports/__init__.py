"""What the operations need from outside, as Protocols. Each method's docstring lists what it raises."""

from memnet.ports.archive import ArchiveReader, ArchiveWriter
from memnet.ports.erasing import Erasing
from memnet.ports.governance import ErasureStore, Fences, HoldStore, UserDirectory, UserStorage
from memnet.ports.models import LanguageModels, ModelAnswer, ModelOutcome, ModelRequest
from memnet.ports.prerequisites import CreatablePrerequisite, Prerequisite, Prerequisites
from memnet.ports.sealing import DataKeyCache, TenantKey, TenantKeys, Vault
from memnet.ports.searching import (
    Embedder,
    EventHit,
    EventIndex,
    Hits,
    IndexMissing,
    Search,
    SearchRegister,
    SemanticRouter,
)
from memnet.ports.signing import SigningKeys
from memnet.ports.storage import (
    AuditLog,
    CatalogTexts,
    DocumentStore,
    EventStore,
    ListedDocument,
    ListedEvent,
    Marked,
    Page,
    RecordStore,
    StoreConflict,
    StoredDocument,
)
from memnet.ports.surroundings import Clock, IdGenerator, Quota
from memnet.ports.telemetry import Fact, Span, SpanKind, Telemetry
from memnet.ports.work import Background, JobMarks, MarkedJob, MessageQueue

__all__ = [
    "ArchiveReader",
    "ArchiveWriter",
    "AuditLog",
    "Background",
    "CatalogTexts",
    "Clock",
    "CreatablePrerequisite",
    "DataKeyCache",
    "DocumentStore",
    "Embedder",
    "Erasing",
    "ErasureStore",
    "EventHit",
    "EventIndex",
    "EventStore",
    "Fact",
    "Fences",
    "Hits",
    "HoldStore",
    "IdGenerator",
    "IndexMissing",
    "JobMarks",
    "LanguageModels",
    "ListedDocument",
    "ListedEvent",
    "Marked",
    "MarkedJob",
    "MessageQueue",
    "ModelAnswer",
    "ModelOutcome",
    "ModelRequest",
    "Page",
    "Prerequisite",
    "Prerequisites",
    "Quota",
    "RecordStore",
    "Search",
    "SearchRegister",
    "SemanticRouter",
    "SigningKeys",
    "Span",
    "SpanKind",
    "StoreConflict",
    "StoredDocument",
    "Telemetry",
    "TenantKey",
    "TenantKeys",
    "UserDirectory",
    "UserStorage",
    "Vault",
]
