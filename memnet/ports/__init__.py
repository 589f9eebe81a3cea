"""What the operations need from outside, as Protocols. Each method's docstring lists what it raises."""

from memnet.ports.archive import ArchiveReader, ArchiveWriter
from memnet.ports.governance import HoldStore, UserDirectory
from memnet.ports.models import LanguageModels, ModelAnswer, ModelOutcome, ModelRequest
from memnet.ports.sealing import TenantKey, TenantKeys, Vault
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
from memnet.ports.work import Background, JobMarks, MarkedJob, MessageQueue

__all__ = [
    "ArchiveReader",
    "ArchiveWriter",
    "AuditLog",
    "Background",
    "Clock",
    "DocumentStore",
    "Embedder",
    "EventHit",
    "EventIndex",
    "EventStore",
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
    "Quota",
    "RecordStore",
    "Search",
    "SearchRegister",
    "SemanticRouter",
    "SigningKeys",
    "StoreConflict",
    "StoredDocument",
    "TenantKey",
    "TenantKeys",
    "UserDirectory",
    "Vault",
]
