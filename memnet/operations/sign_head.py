"""Sign a head for a user: the newest change of each of their documents."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum

from memnet.domain import envelope
from memnet.domain.document import DocumentKey, UserScope
from memnet.domain.envelope import Envelope
from memnet.domain.errors import SealBroken
from memnet.domain.head import (
    DataKeys,
    Head,
    HeadEntry,
    content_key_ids,
    entry_of,
    follows,
    going_back,
    head_key,
    next_head,
    standing,
)
from memnet.domain.removal import Explanations, Gone
from memnet.domain.sealing import DataKey
from memnet.domain.signature import by_id
from memnet.domain.timestamps import to_text
from memnet.operations.find_receipts import find_receipts
from memnet.operations.open_data_keys import open_data_keys
from memnet.operations.read_newest_head import read_newest_head
from memnet.operations.read_stored_records import PARALLEL, read_stored_records
from memnet.operations.take_current_key import take_current_key
from memnet.ports import Clock, SigningKeys, StoreConflict
from memnet.stores import (
    AuditLog,
    DocumentStore,
    ErasureStore,
    ListedDocument,
    RecordStore,
    Vault,
)

PAGE = 1000


class Signed(StrEnum):
    """What became of it."""

    SIGNED = "signed"
    UNCHANGED = "unchanged"
    """Nothing is newer than the newest head."""
    POSTPONED = "postponed"
    """Another process has signed a head at the same time, which may hold less."""


async def sign_head(
    scope: UserScope,
    *,
    accept: bool = False,
    documents: DocumentStore,
    audit: AuditLog,
    records: RecordStore,
    keys: SigningKeys,
    clock: Clock,
    erasures: ErasureStore,
) -> Signed:
    """Write a head if a document has changed since the newest one.

    Writers may go on meanwhile. Raises HistoryBroken, having signed nothing, if a document cannot be read, lies behind
    the newest head or does not follow from it by its records: whoever took changes away is not to get a signature for
    it. Documents that an erasure has removed, as its signed receipt tells, are no loss: the head names it. `accept`
    signs what is stored all the same, for a person who has looked; what the heads before it show stays.
    What documents hold is signed under the user's data key; where that does not open, their chains alone are. Raises
    ErasureRunning, Unavailable, VaultUnavailable, and SealBroken if there is no key to sign with.
    """
    previous = await read_newest_head(scope, records=records)
    rows = await _list(scope, documents)
    if _places(previous) == {row.key: row.summary.sequence for row in rows}:
        return Signed.UNCHANGED
    # A document in the head may be gone.
    found = await _read({*_places(previous), *(row.key for row in rows)}, documents)
    keys_then = await _keys_of(previous, audit.vault)
    removed: Mapping[str, str] = {}
    if not accept:
        removed = await _removed(previous, found, erasures, keys)
        await _check(previous, found, keys_then, removed, audit)
    data_key, then = await _current_key(scope, audit.vault), _entries(previous)
    now = [standing(key, stored) for key, stored in found.items()]
    entries = [entry_of(one, then.get(one.doc_id), data_key=data_key, keys=keys_then) for one in now]
    signed_at, signing = to_text(clock.now()), await keys.newest()
    head = next_head(scope, previous, entries, signed_at=signed_at, key=signing, erasures=removed.values())
    if head is None:
        return Signed.UNCHANGED
    try:
        await records.write(head_key(scope, head.sequence), head.data, replaces=None)
    except StoreConflict:
        return Signed.POSTPONED
    return Signed.SIGNED


def _places(head: Head | None) -> dict[DocumentKey, int]:
    return {head.place(one): one.sequence for one in head.documents} if head else {}


def _entries(head: Head | None) -> dict[str, HeadEntry]:
    return {one.doc_id: one for one in head.documents} if head else {}


async def _list(scope: UserScope, documents: DocumentStore) -> Sequence[ListedDocument]:
    found: list[ListedDocument] = []
    cursor: str | None = None
    while True:
        page = await documents.list(scope, "", limit=PAGE, cursor=cursor)
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            return found


async def _read(keys: Iterable[DocumentKey], documents: DocumentStore) -> dict[DocumentKey, Envelope]:
    gate = asyncio.Semaphore(PARALLEL)
    found: dict[DocumentKey, Envelope] = {}

    async def one(key: DocumentKey) -> None:
        async with gate:
            stored = await documents.get(key)
        if stored is not None:
            found[key] = envelope.load(stored.data)

    await asyncio.gather(*map(one, keys))
    return found


async def _keys_of(head: Head | None, vault: Vault | None) -> DataKeys:
    """The data keys that it takes to hold contents against the head, those that open."""
    if head is None or vault is None:
        return {}
    return await open_data_keys(head.scope, content_key_ids([head]), vault=vault)


async def _current_key(scope: UserScope, vault: Vault | None) -> DataKey | None:
    """None if the user's keys do not open: what can be signed without them is signed all the same."""
    try:
        return None if vault is None else await take_current_key(scope, vault=vault)
    except SealBroken:
        return None


async def _removed(
    previous: Head | None, found: Mapping[DocumentKey, Envelope], erasures: ErasureStore, keys: SigningKeys
) -> Mapping[str, str]:
    """Of the documents that the newest head has and that are gone, the erasures; nothing unless all are explained."""
    there = {document.doc_id for document in found.values()}
    gone = {one.doc_id for one in previous.documents if one.doc_id not in there} if previous else set()
    if previous is None or not gone:
        return {}
    public_keys = by_id(await keys.public_keys())
    receipts = await find_receipts(previous.scope, erasures=erasures, public_keys=public_keys)
    return Explanations(receipts).all_of({doc_id: Gone(previous.signed_at) for doc_id in gone})


async def _check(
    previous: Head | None,
    found: Mapping[DocumentKey, Envelope],
    keys: DataKeys,
    removed: Collection[str],
    audit: AuditLog,
) -> None:
    """Raise HistoryBroken unless each document goes on from where the newest head has it."""
    then = _entries(previous)
    now = [(key.scope, document, standing(key, document)) for key, document in found.items()]
    broken = going_back(previous, [one for _, _, one in now], keys, removed)
    for scope, document, one in now:
        if broken is None and one.doc_id in then:
            signed = then[one.doc_id]
            records = await read_stored_records(scope, document, signed.sequence + 1, one.sequence, audit=audit)
            broken = follows(signed, records.values(), one)
    if broken is not None:
        raise broken
