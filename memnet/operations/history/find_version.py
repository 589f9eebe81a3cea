"""Find the version of a document at a moment in its audit records."""

from memnet.domain.core.errors import HistoryCorrupt, Unavailable
from memnet.domain.core.scope import DocumentKey
from memnet.domain.documents.envelope import Envelope
from memnet.domain.history.reconstruction import Moment, VersionAt
from memnet.service import Service
from memnet.stores import StoredHistory, read_history


async def find_version(
    key: DocumentKey,
    current: Envelope,
    moment: Moment,
    service: Service,
    *,
    is_traced: bool = False,
    is_whole: bool = False,
    with_change: bool = False,
    history: StoredHistory | None = None,
) -> VersionAt:
    """Return the version of `current` at the moment; `is_traced`: with the origins of its values.

    One baseline and the segment after it are read, up to the record that confirms the version. `with_change`: the
    segment has the record of the change `moment`, so that the values are known that it replaced; if it is the last one
    there, the next segment is read, too. `is_whole`: all records that are kept are read. `history` is listed unless it
    is given.

    Raises VersionNotFound, HistoryCorrupt, VaultUnavailable, Unavailable.
    """
    history = history or await service.audit.history(key.scope, current.doc_id)
    try:
        begins = history.begins if is_whole else history.segment_at(moment, current.commit.sequence)
        if with_change and isinstance(moment, int):
            begins = history.segment_of(moment) or begins
        baseline, records = await read_history(key.scope, current, begins, history=history, audit=service.audit)
        search = VersionAt(moment, current, baseline, begins=history.base, is_traced=is_traced)
        async for record in records:
            if search.take(record):
                break
        search.version()
    except HistoryCorrupt:
        # Unless a retention run has removed records or a baseline meanwhile.
        if await service.audit.history(key.scope, current.doc_id) == history:
            raise
        raise Unavailable(dependency="blob_storage") from None
    return search
