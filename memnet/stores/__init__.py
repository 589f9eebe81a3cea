"""What is stored, written once over `BlobStorage`. Each method's docstring lists what it raises."""

from memnet.stores.audit_log import AuditLog
from memnet.stores.blobs import Blobs
from memnet.stores.catalog_texts import CatalogTexts
from memnet.stores.documents import DocumentStore, ListedDocument
from memnet.stores.erasures import ErasureStore
from memnet.stores.event_index_register import Search, SearchRegister
from memnet.stores.events import EventStore, ListedEvent, Marked
from memnet.stores.job_marks import JobMarks, MarkedJob
from memnet.stores.legal_holds import HoldStore
from memnet.stores.user_blobs import UserStorage
from memnet.stores.user_items import RecordStore
from memnet.stores.users import UserDirectory
from memnet.stores.vault import Vault

__all__ = [
    "AuditLog",
    "Blobs",
    "CatalogTexts",
    "DocumentStore",
    "ErasureStore",
    "EventStore",
    "HoldStore",
    "JobMarks",
    "ListedDocument",
    "ListedEvent",
    "Marked",
    "MarkedJob",
    "RecordStore",
    "Search",
    "SearchRegister",
    "UserDirectory",
    "UserStorage",
    "Vault",
]
