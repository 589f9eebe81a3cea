"""Versions of one document as several processes would commit them, without a store."""

from collections.abc import Callable

import orjson

from memnet.domain.core.scope import ETag
from memnet.domain.documents.commands import IfAbsent, IfMatch
from memnet.domain.documents.commit import next_version
from memnet.domain.documents.envelope import Envelope
from memnet.stores import AuditLog
from tests.domain.samples import NOW, SCOPE, SEALING, History, op, patch_command
from tests.memory_blobs import storage_of

DOC = "doc-1"


def versions(
    count: int, *, flushed: int | Callable[[int], int] = 0, months: int = 10_000, text: str = ""
) -> list[Envelope]:
    """Return so many versions; a month has `months` changes.

    `flushed` is what the process that commits a change knows to be stored. `text` makes the chain another one.
    """
    history, found = History(), list[Envelope]()
    for number in range(1, count + 1):
        current = found[-1] if found else None
        etag: ETag | None = current.commit.etag if current else None
        command = patch_command(
            op("add", "/content/n", value=f"{text}{number}"),
            precondition=IfMatch(etag) if etag else IfAbsent(),
            idempotency_key=f"k{number}",
        )
        now = f"2026-{2 + (number - 1) // months:02}{NOW[7:]}"
        known = flushed if isinstance(flushed, int) else flushed(number)
        decision = history.decide(command, current)
        found.append(next_version(current, command, decision, now=now, new_doc_id=DOC, flushed=known, sealing=SEALING))
    return found


def stored_numbers(audit: AuditLog) -> dict[int, list[int]]:
    """Return the changes in each segment, by its first change."""
    storage, folder = storage_of(audit), f"{SCOPE.prefix}audit/{DOC}/"
    return {
        int(name.removeprefix(folder)[:12]): [orjson.loads(row)["sequence"] for row in storage.data(name).splitlines()]
        for name in storage.names(folder)
        if name.endswith(".jsonl")
    }
