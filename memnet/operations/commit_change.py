"""Make one change durable: gather, decide, apply; and once more for as long as the outcome is not certain."""

from collections.abc import Callable

from memnet.domain import commit, envelope
from memnet.domain.audit import read_record
from memnet.domain.draft import Draft
from memnet.domain.envelope import Envelope, Receipt
from memnet.domain.errors import HistoryBroken, Unavailable
from memnet.domain.timestamps import to_text
from memnet.domain.write import IfMatch, WriteCommand, WriteResult
from memnet.operations.flush_outbox import flush_outbox
from memnet.ports import AuditLog, Background, Clock, DocumentStore, IdGenerator, StoreConflict, StoredDocument

ATTEMPTS = 4
"""A lost race is decided at the second look; more looks are needed only while the store keeps failing."""

Decide = Callable[[Envelope | None], Draft]


async def commit_change(
    command: WriteCommand,
    decide: Decide,
    *,
    documents: DocumentStore,
    audit: AuditLog,
    clock: Clock,
    ids: IdGenerator,
    background: Background,
) -> WriteResult:
    """Apply `command`, whose outcome `decide` works out from the newest version, exactly once.

    Raises what `decide` and `domain.commit.settle` raise, having changed nothing, HistoryBroken when stored bytes are
    not what was written, and Unavailable when the store left the outcome open: the same request with the same key
    finds out.
    """
    scope = command.key.scope
    for attempt in range(ATTEMPTS):
        stored, head = await _newest(command, documents, fresh=attempt > 0)
        receipt = await _earlier_receipt(head, command, audit)
        if head and receipt:
            return commit.result(head.doc_id, receipt, replayed=True, dry_run=command.dry_run)
        draft = decide(head)
        carried = commit.unflushed(head, lambda change_id: audit.stands(scope, change_id))
        if commit.outbox_is_full(carried) and not command.dry_run:
            await flush_outbox(scope, carried, audit=audit)
            carried = ()
        version = commit.next_version(
            head, command, draft, now=to_text(clock.now()), new_doc_id=ids.new(), carried=carried
        )
        if command.dry_run:
            return commit.preview(version)
        try:
            await documents.put(
                command.key,
                envelope.dump(version),
                envelope.summarise(version),
                replaces=stored.storage_etag if stored else None,
            )
        except (StoreConflict, Unavailable):
            # Lost, applied unseen, or still on its way: only the newest version can tell.
            continue
        background.start("flush_outbox", flush_outbox(scope, version.commit.outbox, audit=audit))
        return commit.result(version.doc_id, version.commit.receipts[-1], replayed=False)
    raise Unavailable()


async def _newest(
    command: WriteCommand, documents: DocumentStore, *, fresh: bool
) -> tuple[StoredDocument | None, Envelope | None]:
    """The document as the store has it.

    Unless `fresh`, the version this process last saw will do if it is the one the client names: that saves a read,
    and the conditional PUT still checks it.
    """
    if not (fresh or command.dry_run) and isinstance(command.precondition, IfMatch):
        remembered = documents.recall(command.key)
        head = envelope.load(remembered.data) if remembered else None
        if head and head.commit.etag == command.precondition.etag:
            return remembered, head
    stored = await documents.get(command.key)
    return stored, envelope.load(stored.data) if stored else None


async def _earlier_receipt(head: Envelope | None, command: WriteCommand, audit: AuditLog) -> Receipt | None:
    settled = commit.settle(head, command)
    if not isinstance(settled, commit.Elsewhere):
        return settled
    data = await audit.read(command.key.scope, settled.change_id)
    record = None if data is None else read_record(data)
    if data is not None and record is None:
        raise HistoryBroken(change_id=settled.change_id)
    return commit.recognise(record, settled, command)
