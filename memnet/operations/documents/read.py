"""Read documents: one of them, now or at an earlier time, or the list of a user's documents."""

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.core.errors import DocumentNotFound
from memnet.domain.core.scope import Actor, DocumentKey, UserScope, check_identifier, check_path_prefix
from memnet.domain.core.suggestion import did_you_mean, listed
from memnet.domain.documents import envelope
from memnet.domain.documents.envelope import DocumentView
from memnet.domain.history.reconstruction import parse_moment
from memnet.operations.history.find_version import find_version
from memnet.ports import Page
from memnet.service import Service
from memnet.stores import ListedDocument


async def get_document(
    key: DocumentKey, service: Service, *, as_of: str | None = None, actor: Actor | None = None
) -> DocumentView:
    """Return the current version, or the version at `as_of` (an RFC 3339 time or a change_id).

    An earlier version is rebuilt from the audit records alone, and each link is checked. If the document does not
    exist, the error says how `actor` can create it.

    Raises:
        DocumentNotFound: The document does not exist.
        VersionNotFound: It did not exist then, or the records of that time have been deleted.
        MalformedRequest: `as_of` is neither a time nor a change_id.
        HistoryCorrupt, VaultUnavailable, Unavailable: The version cannot be read.
    """
    stored = await service.documents.get(key)
    if stored is None:
        raise _absent(key, actor, service.catalog)
    if as_of is None:
        if stored.view is None:
            raise _absent(key, actor, service.catalog)
        return stored.view
    current = envelope.load(stored.data)
    if current.erased:
        raise _absent(key, actor, service.catalog)
    return (await find_version(key, current, parse_moment(as_of, current), service)).view()


def _absent(key: DocumentKey, actor: Actor | None, catalog: Catalog) -> DocumentNotFound:
    """Return the error, with a binding that creates the document or the documents that the actor's profiles have."""
    profiles = [profile for profile in catalog.profiles.values() if actor and profile.admits(actor.principal)]
    bindings = [(profile, binding) for profile in profiles for binding in profile.document_bindings]
    for profile, binding in bindings:
        if binding.covers(key) and binding.write_mode != "read_only":
            names = f"profile_id {profile.profile_id} and binding_id {binding.binding_id}"
            return DocumentNotFound(param="path", hint=f"To create it, send a PATCH with If-None-Match: *, {names}.")
    known = {binding.place() for _, binding in bindings}
    return DocumentNotFound(param="path", hint=did_you_mean(f"{key.namespace}/{key.path}", known), known=listed(known))


async def list_documents(
    scope: UserScope, service: Service, *, namespace: str | None, prefix: str | None, limit: int, cursor: str | None
) -> Page[ListedDocument]:
    """Return up to `limit` documents in name order, by namespace and path prefix.

    Deleted documents are left out, so a page may be short; it is empty only at the end. Raises InvalidIdentifier,
    InvalidCursor, Unavailable.
    """
    start = ""
    if namespace is not None:
        start = f"{check_identifier('namespace', namespace)}/"
    if prefix:
        start += check_path_prefix(prefix)
    while True:
        page = await service.documents.list(scope, start, limit=limit, cursor=cursor)
        rows = [row for row in page.items if not row.summary.deleted]
        if rows or page.next_cursor is None:
            return Page(rows, page.next_cursor)
        cursor = page.next_cursor
