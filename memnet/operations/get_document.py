"""Read one document, as it is or as it was."""

from memnet.domain import envelope, history
from memnet.domain.document import DocumentKey
from memnet.domain.envelope import DocumentView
from memnet.domain.errors import DocumentNotFound
from memnet.operations.baselines import read_history
from memnet.service import Service


async def get_document(key: DocumentKey, service: Service, *, as_of: str | None = None) -> DocumentView:
    """Return the newest version or, with `as_of` (an RFC 3339 time or a change_id), the one that was newest then.

    An earlier version is rebuilt from the audit alone, each link checked; one that is older than the records that are
    kept is not found. Raises DocumentNotFound,
    VersionNotFound, MalformedRequest for an `as_of` that is neither, HistoryBroken, VaultUnavailable, Unavailable.
    """
    stored = await service.documents.get(key)
    if stored is None:
        raise DocumentNotFound()
    if as_of is None:
        if stored.view is None:
            raise DocumentNotFound()
        return stored.view
    head = envelope.load(stored.data)
    if head.erased:
        raise DocumentNotFound()
    moment = history.parse_moment(as_of, head)
    baseline, records = await read_history(key.scope, head, history.last_needed(moment, head), audit=service.audit)
    return history.version_at(moment, head, records, baseline)
