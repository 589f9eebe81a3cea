"""The records of a user's usage: what turns have used, and how often entries were recalled."""

import orjson

from memnet.domain.core.errors import HistoryCorrupt
from memnet.domain.core.stored_form import Reading
from memnet.domain.recall import entry_uses
from memnet.domain.recall.entry_uses import EntryUses
from memnet.domain.replay import usage
from memnet.domain.replay.usage import Usage


def load_usage(data: bytes) -> Usage | EntryUses:
    """Read a stored record, or an exported line. Raises HistoryCorrupt."""
    with Reading(HistoryCorrupt("The stored usage cannot be read.")):
        is_of_entries = "documents" in orjson.loads(data)
    return entry_uses.load(data) if is_of_entries else usage.load(data)


def dump_usage(found: Usage | EntryUses) -> bytes:
    """Return the stored form."""
    return entry_uses.dump(found) if isinstance(found, EntryUses) else usage.dump(found)
