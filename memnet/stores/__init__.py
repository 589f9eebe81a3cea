"""The stores, written once over `BlobStorage`. Each method's docstring lists the errors it raises."""

from memnet.stores.audit_log import AuditLog, StoredHistory
from memnet.stores.audit_records import SLICE, Unsealing, read_records, stream_records, stream_stored_records
from memnet.stores.baselines import derive_baseline, read_baseline, read_history, store_baseline, unseal_baseline
from memnet.stores.blobs import Blobs, FenceCheck
from memnet.stores.catalog_texts import CatalogTexts
from memnet.stores.documents import DocumentStore, ListedDocument
from memnet.stores.erasures import ErasureStore
from memnet.stores.event_index import (
    Search,
    SearchRegister,
    count_indexed,
    ensure_index,
    find_indexes,
    index_events,
    index_items,
    unindex,
    unindex_events,
    upload_events,
    upload_items,
)
from memnet.stores.events import EventStore, ListedEvent, Marked, read_events
from memnet.stores.job_marks import JobMarks, MarkedJob
from memnet.stores.key_ring import KeyRing, Vault, read_data_keys
from memnet.stores.legal_holds import HoldStore
from memnet.stores.segment_writer import SegmentWriter
from memnet.stores.turn_marks import TurnMarks
from memnet.stores.unsealed_turns import Unsealed
from memnet.stores.upkeep_marks import UpkeepMarks
from memnet.stores.usage import UsageCounter
from memnet.stores.user_blobs import UserStorage
from memnet.stores.user_items import DatedItem, ItemStore, NewestItem, item_of
from memnet.stores.users import UserDirectory
from memnet.stores.waiting_marks import WaitingMarks
