"""Read where every value of a document comes from."""

from dataclasses import dataclass

from memnet.domain.core.errors import DocumentNotFound
from memnet.domain.core.scope import DocumentKey
from memnet.domain.documents import envelope
from memnet.domain.documents.audit_record import Version
from memnet.domain.documents.envelope import Envelope
from memnet.domain.history.origins import Origins
from memnet.domain.history.reconstruction import parse_moment
from memnet.operations.history.find_version import find_version
from memnet.service import Service
from memnet.stores import StoredHistory


@dataclass(frozen=True, slots=True)
class TracedVersion:
    """A version of a document, and where each of its values comes from."""

    key: DocumentKey
    version: Version
    """With a content."""
    origins: Origins
    current: Envelope
    """The document when it was read, and its history then."""
    history: StoredHistory


async def read_origins(
    key: DocumentKey, service: Service, *, as_of: str | None = None, is_whole: bool = False
) -> TracedVersion:
    """Return a document with the origins of its values, now or at `as_of` (an RFC 3339 time or a change_id).

    One baseline and the records after it are read: those of one segment, 256 at most. So the values before are known of
    what was put since that baseline (`Origins.knows_before`). `is_whole`: every record that is kept is read, and with
    it all values before that are kept. Each link of the chain is checked.

    Raises:
        DocumentNotFound: The document does not exist.
        VersionNotFound: It did not exist then, or the records of that time have been deleted.
        MalformedRequest: `as_of` is neither a time nor a change_id.
        HistoryCorrupt, VaultUnavailable, Unavailable: The history cannot be read.
    """
    stored = await service.documents.get(key)
    current = envelope.load(stored.data) if stored else None
    if current is None or current.erased or (as_of is None and current.deleted):
        raise DocumentNotFound(param="path")
    moment = current.commit.sequence if as_of is None else parse_moment(as_of, current)
    history = await service.audit.history(key.scope, current.doc_id)
    found = await find_version(key, current, moment, service, is_traced=True, is_whole=is_whole, history=history)
    assert found.origins is not None
    return TracedVersion(key, found.version(), found.origins, current, history)


async def read_change(traced: TracedVersion, sequence: int, service: Service) -> Origins:
    """Return the origins as an earlier change left them, with the values that it replaced.

    Raises VersionNotFound, HistoryCorrupt, VaultUnavailable, Unavailable.
    """
    found = await find_version(
        traced.key, traced.current, sequence, service, is_traced=True, with_change=True, history=traced.history
    )
    assert found.origins is not None
    return found.origins
