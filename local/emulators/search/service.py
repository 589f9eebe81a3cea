"""The search service: indexes by name, batches made durable, then visible.

Not thread-safe: one caller at a time.
"""

from dataclasses import dataclass
from uuid import uuid4

from local.emulators.search.document_index import DocumentIndex
from local.emulators.search.documents import (
    Action,
    ActionType,
    Document,
    empty_values,
    merged,
    oversized_term,
    parse_batch,
    uploaded,
)
from local.emulators.search.errors import SearchError, bad_request, not_found
from local.emulators.search.schema import IndexDefinition, Json, check_update, parse_definition
from local.emulators.search.search_request import SearchRequest
from local.emulators.search.searching import SearchResult, search
from local.emulators.search.storage import Storage


@dataclass
class HostedIndex:
    """One index: its definition, and its documents as they can be searched."""

    number: int
    etag: str
    definition: IndexDefinition
    documents: DocumentIndex

    def body(self) -> Json:
        """Return the definition as Azure shows it."""
        return {"@odata.etag": self.etag, **self.definition.body()}


@dataclass(frozen=True)
class ActionResult:
    """The result of one action."""

    key: str
    status: int
    message: str | None = None

    def body(self) -> Json:
        """Return the entry of the answer."""
        return {
            "key": self.key,
            "status": self.status < 400,
            "errorMessage": self.message,
            "statusCode": self.status,
        }


class SearchService:
    """Everything behind the HTTP shell."""

    def __init__(self, storage: Storage) -> None:
        """Load what the storage holds."""
        self._storage = storage
        self._indexes: dict[str, HostedIndex] = {}
        for number, etag, definition in storage.indexes():
            hosted = HostedIndex(number, etag, definition, DocumentIndex(definition))
            empty = empty_values(definition.fields)
            for document in storage.documents(number):
                hosted.documents.put(Document(document.key, {**empty, **document.values}, document.vectors))
            self._indexes[definition.name] = hosted

    def indexes(self) -> list[HostedIndex]:
        """Return every index by name."""
        return [self._indexes[name] for name in sorted(self._indexes)]

    def resolve(self, name: str) -> HostedIndex:
        """Return an index. Raises SearchError (404)."""
        if name not in self._indexes:
            raise not_found(f"No index with the name '{name}' was found in the service 'emulator'.")
        return self._indexes[name]

    def create_index(self, body: object) -> HostedIndex:
        """Create an index. Raises SearchError, 400 when the name is taken."""
        definition = parse_definition(body)
        if definition.name in self._indexes:
            message = f"Cannot create index '{definition.name}' because it already exists."
            raise SearchError(
                400, "ResourceNameAlreadyInUse", message, details=(("CannotCreateExistingIndex", message),)
            )
        etag = _new_etag()
        number = self._storage.create_index(definition, etag)
        hosted = HostedIndex(number, etag, definition, DocumentIndex(definition))
        self._indexes[definition.name] = hosted
        return hosted

    def put_index(self, name: str, body: object) -> tuple[HostedIndex, bool]:
        """Create or update an index; say whether it was created. Raises SearchError."""
        definition = parse_definition(body)
        if definition.name != name:
            raise bad_request(f"The index name in the URL '{name}' does not match the one in the body.")
        hosted = self._indexes.get(name)
        if hosted is None:
            return self.create_index(body), True
        check_update(hosted.definition, definition)
        etag = _new_etag()
        self._storage.update_index(hosted.number, definition, etag)
        hosted.etag, hosted.definition = etag, definition
        hosted.documents.redefine(definition)
        return hosted, False

    def delete_index(self, name: str) -> None:
        """Delete an index with its documents. Raises SearchError (404)."""
        hosted = self.resolve(name)
        self._storage.delete_index(hosted.number)
        del self._indexes[name]

    def apply(self, hosted: HostedIndex, body: object, failing: dict[str, int]) -> list[ActionResult]:
        """Apply a batch: all that succeeds is durable on return. `failing` are keys to refuse, with their status."""
        actions = parse_batch(body, hosted.definition)
        results: list[ActionResult] = []
        changes: list[tuple[str, Document | None]] = []
        self._storage.begin()
        try:
            for action in actions:
                result = self._apply_one(hosted, action, failing, changes)
                results.append(result)
        except BaseException:
            self._storage.roll_back()
            raise
        self._storage.commit()
        for key, document in changes:
            if document is None:
                hosted.documents.delete(key)
            else:
                hosted.documents.put(document)
        return results

    def search(self, hosted: HostedIndex, request: SearchRequest) -> SearchResult:
        """Run a checked search over what is visible."""
        return search(hosted.documents, request)

    def _apply_one(
        self, hosted: HostedIndex, action: Action, failing: dict[str, int], changes: list[tuple[str, Document | None]]
    ) -> ActionResult:
        if action.key in failing:
            return ActionResult(action.key, failing[action.key], "The emulator is set to fail this key.")
        if action.type is ActionType.DELETE:
            self._storage.delete(hosted.number, action.key)
            changes.append((action.key, None))
            return ActionResult(action.key, 200)
        existing = self._storage.document(hosted.number, action.key)
        if existing is None and action.type is ActionType.MERGE:
            return ActionResult(action.key, 404, "Document not found.")
        empty = empty_values(hosted.definition.fields)
        if existing is None or action.type is ActionType.UPLOAD:
            document = uploaded(action, hosted.definition)
        else:
            document = merged(action, Document(existing.key, {**empty, **existing.values}, existing.vectors))
        oversized = oversized_term(document, hosted.definition.fields)
        if oversized is not None:
            return ActionResult(action.key, 400, f"Field '{oversized}' contains a term that is too large to process.")
        self._storage.put(hosted.number, document)
        changes.append((action.key, document))
        return ActionResult(action.key, 201 if existing is None else 200)


def _new_etag() -> str:
    return f'"0x{uuid4().hex[:16].upper()}"'
