"""Verify a user's checkpoints, and the histories against them.

A history that begins at a baseline has no earlier changes: of a checkpoint from before it, only the signature and the
position in the chain can be verified. A baseline that is newer than all checkpoints is a fault: with one, a writer to
the storage could replace a signed history by any other.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from memnet.domain.core.canonical_json import sha256_hex
from memnet.domain.core.scope import UserScope
from memnet.domain.core.signature import PublicKeys
from memnet.domain.documents.audit_record import FIRST_HASH
from memnet.domain.documents.envelope import change_id
from memnet.domain.history.checkpoint import Checkpoint, CheckpointEntry, checkpoint_key, is_signed, read_checkpoint
from memnet.domain.history.reconstruction import VerifiedHistory


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """A blob stored among the checkpoints of a user: its name and its bytes."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class CheckpointReport:
    """The result of verifying a user's checkpoints."""

    count: int
    newest: Checkpoint | None
    """The newest one whose signature is valid, or was not verified."""
    fault: str | None
    """The first invalid checkpoint and the reason; None if all are valid."""
    is_checked: bool
    """False: there are signatures, and no public key was given to check them with."""
    since: int


def check_checkpoints(
    scope: UserScope,
    stored: Sequence[StoredCheckpoint],
    histories: Sequence[VerifiedHistory],
    *,
    public_keys: PublicKeys | None,
    expected: bytes | None = None,
) -> tuple[CheckpointReport, Sequence[VerifiedHistory]]:
    """Verify the checkpoints, in name order, and return the histories with the faults that only checkpoints show.

    `stored` must be read before the histories, or a checkpoint may be newer than them. `expected` is a checkpoint that
    was kept elsewhere. The histories contain the record hashes of `changes_of` all these. A document that is in a
    checkpoint and not in the storage becomes a history without versions.
    """
    trusted, fault = _chain(scope, stored, public_keys)
    newest = trusted[-1] if trusted else None
    if expected is not None:
        kept, lost = _compare(scope, expected, stored, public_keys)
        trusted, fault = [*trusted, *kept], fault or lost
    found = _against(trusted, histories)
    signed = {one.doc_id: one.sequence for one in newest.documents} if newest else {}
    is_checked = public_keys is not None or not (stored or expected)
    since = sum(max(0, one.last - max(signed.get(one.doc_id, 0), one.first - 1)) for one in found)
    return CheckpointReport(len(stored), newest, fault, is_checked, since), found


def changes_of(heads: Iterable[bytes]) -> Mapping[str, Collection[int]]:
    """Return the changes that these checkpoints name, by document, trusted or not."""
    found: dict[str, set[int]] = defaultdict(set)
    for checkpoint in filter(None, map(read_checkpoint, heads)):
        for entry in checkpoint.documents:
            found[entry.doc_id].add(entry.sequence)
    return found


def _chain(
    scope: UserScope, stored: Iterable[StoredCheckpoint], public_keys: PublicKeys | None
) -> tuple[list[Checkpoint], str | None]:
    """Return the trusted checkpoints, and the first fault. A broken link does not invalidate a signature."""
    trusted, faults = list[Checkpoint](), list[str]()
    following, previous = 1, FIRST_HASH
    for one in stored:
        number = _number(one.name)
        if number is None:
            faults.append(_checkpoint_fault(one.name, "this is no name of a head"))
            continue
        checkpoint = read_checkpoint(one.data)
        reason = _reason(checkpoint, scope, number, public_keys)
        if number != following:
            faults.append(_checkpoint_fault(checkpoint_key(scope, following).name, "the head is missing"))
        if reason is None and checkpoint is not None:
            trusted.append(checkpoint)
            if number == following and checkpoint.previous_head_hash != previous:
                reason = "the link to the head before it is broken"
        if reason is not None:
            faults.append(_checkpoint_fault(one.name, reason))
        following, previous = number + 1, sha256_hex(one.data)
    return trusted, faults[0] if faults else None


def _number(name: str) -> int | None:
    return int(name) if len(name) == 12 and name.isascii() and name.isdecimal() else None


def _reason(checkpoint: Checkpoint | None, scope: UserScope, number: int, public_keys: PublicKeys | None) -> str | None:
    """Return why the checkpoint cannot be trusted, or None. Without keys, signatures are not verified."""
    if checkpoint is None:
        return "the bytes are not those of a head"
    if checkpoint.scope != scope or checkpoint.sequence != number:
        return "the head belongs elsewhere"
    if public_keys is None:
        return None
    key = public_keys.get(checkpoint.key_id)
    if key is None:
        return f"signed with the key {checkpoint.key_id}, which is none of the public keys"
    return None if is_signed(checkpoint, key) else "the signature does not hold"


def _compare(
    scope: UserScope,
    expected: bytes,
    stored: Iterable[StoredCheckpoint],
    public_keys: PublicKeys | None,
) -> tuple[list[Checkpoint], str | None]:
    """Return the checkpoint that was kept elsewhere, if trusted, and the fault in it or in the stored ones."""
    checkpoint = read_checkpoint(expected)
    reason = _reason(checkpoint, scope, checkpoint.sequence if checkpoint else 0, public_keys)
    if checkpoint is None or reason is not None:
        return [], f"the head that was kept elsewhere: {reason}"
    name = checkpoint_key(scope, checkpoint.sequence).name
    found = {one.name: one.data for one in stored}.get(name)
    if found is None:
        return [checkpoint], _checkpoint_fault(name, "the head is missing, and was kept elsewhere")
    return [checkpoint], None if found == expected else _checkpoint_fault(
        name, "the head is not the one that was kept elsewhere"
    )


def _against(trusted: Iterable[Checkpoint], histories: Sequence[VerifiedHistory]) -> Sequence[VerifiedHistory]:
    """Return the histories, each with its own fault or the first one that a checkpoint shows."""
    by_id: dict[str, VerifiedHistory] = {}
    for one in histories:
        # A copy of a document elsewhere carries the same id, and is at fault.
        if one.doc_id not in by_id or by_id[one.doc_id].fault is not None:
            by_id[one.doc_id] = one
    faults: dict[str, str] = {}
    lost: dict[str, VerifiedHistory] = {}
    seen: set[CheckpointEntry] = set()
    in_order = sorted(trusted, key=lambda checkpoint: checkpoint.sequence)
    for checkpoint in in_order:
        is_newest = checkpoint is in_order[-1]
        for entry in (one for one in checkpoint.documents if is_newest or one not in seen):
            history = by_id.get(entry.doc_id)
            if history is None:
                lost.setdefault(entry.doc_id, _lost(entry, checkpoint))
            elif history.fault is None and (fault := _fault(entry, checkpoint, history, is_newest)):
                faults.setdefault(entry.doc_id, fault)
        seen.update(checkpoint.documents)
    known = [one if one.fault else replace(one, fault=faults.get(one.doc_id)) for one in histories]
    return [*known, *lost.values()]


def _lost(entry: CheckpointEntry, checkpoint: Checkpoint) -> VerifiedHistory:
    reason = f"head {checkpoint.sequence} has the document up to {entry.change_id}, and nothing of it is stored"
    fault = _change_fault(entry.doc_id, 1, reason)
    return VerifiedHistory(entry.doc_id, checkpoint.place(entry), 0, fault)


def _fault(entry: CheckpointEntry, checkpoint: Checkpoint, history: VerifiedHistory, is_newest: bool) -> str | None:
    """Compare a valid history with a checkpoint. The newest checkpoint must confirm a baseline."""
    first, last = history.first, history.last
    if entry.sequence < first:
        newest = f"head {checkpoint.sequence}, the newest, has the document up to {entry.change_id}"
        reason = f"the history begins here, and {newest}"
        return _change_fault(entry.doc_id, first, reason) if is_newest else None
    if entry.sequence > last:
        reason = f"the record is missing: head {checkpoint.sequence} has the document up to {entry.change_id}"
        return _change_fault(entry.doc_id, last + 1, reason)
    if history.marks[entry.sequence] != entry.record_hash:
        reason = f"the history is not the one of head {checkpoint.sequence}, which has another record there"
        return _change_fault(entry.doc_id, entry.sequence, reason)
    return None


def _checkpoint_fault(name: str, reason: str) -> str:
    return f"heads/{name}: {reason}"


def _change_fault(doc_id: str, sequence: int, reason: str) -> str:
    return f"{change_id(doc_id, sequence)}: {reason}"
