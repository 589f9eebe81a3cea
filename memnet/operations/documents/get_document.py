"""Read one document, as it is or as it was."""

from memnet.domain.core.errors import DocumentNotFound
from memnet.domain.core.scope import DocumentKey
from memnet.domain.documents import envelope
from memnet.domain.documents.envelope import DocumentView
from memnet.domain.history import reconstruction
from memnet.operations.history.baselines import read_history
from memnet.service import Service


async def get_document(key: DocumentKey, service: Service, *, as_of: str | None = None) -> DocumentView:
    """Return the newest version or, with `as_of` (an RFC 3339 time or a change_id), the one that was newest then.

    An earlier version is rebuilt from the audit alone, each link checked; one that is older than the records that are
    kept is not found. Raises DocumentNotFound,
    VersionNotFound, MalformedRequest for an `as_of` that is neither, HistoryCorrupt, VaultUnavailable, Unavailable.
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
    moment = reconstruction.parse_moment(as_of, head)
    baseline, records = await read_history(
        key.scope, head, reconstruction.last_needed(moment, head), audit=service.audit
    )
    return reconstruction.version_at(moment, head, records, baseline)
