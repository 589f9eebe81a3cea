"""The queues on disk, in one SQLite file.

The changes of one operation are one transaction, committed before the operation is acknowledged: a killed process loses
nothing that was acknowledged, and brings nothing back (a crash of the whole machine may lose the last moments). Only
one process can have the file open.
"""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from local.emulators.service_bus.changes import Change, Forgotten, Kept, Put, Remembered, Removed
from local.emulators.service_bus.messages import Burial, Content, Message, State

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS queues (name TEXT PRIMARY KEY, last_sequence INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS messages (queue TEXT NOT NULL, sequence INTEGER NOT NULL, first_sequence INTEGER NOT NULL,
    enqueued_at REAL NOT NULL, expires_at REAL NOT NULL, state INTEGER NOT NULL, deliveries INTEGER NOT NULL,
    buried INTEGER NOT NULL, reason TEXT, description TEXT,
    message_id TEXT, session_id TEXT, seconds_to_live REAL NOT NULL, due_at REAL NOT NULL,
    header BLOB NOT NULL, annotations BLOB NOT NULL, bare BLOB NOT NULL, PRIMARY KEY (queue, sequence));
CREATE TABLE IF NOT EXISTS remembered (queue TEXT NOT NULL, message_id TEXT NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (queue, message_id)) WITHOUT ROWID;
"""
_COLUMNS: Final = (
    "sequence, first_sequence, enqueued_at, expires_at, state, deliveries, buried, reason, description, "
    "message_id, session_id, seconds_to_live, due_at, header, annotations, bare"
)


class JournalBusyError(Exception):
    """Another process has the data directory open."""


class Journal:
    """The file."""

    def __init__(self, directory: Path) -> None:
        """Open or create the file in `directory`. Raises JournalBusyError."""
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / "service-bus.sqlite3"
        self._database = sqlite3.connect(path, isolation_level=None, timeout=2)
        try:
            # What is deleted is overwritten, whatever this SQLite was built to do.
            for pragma in ("locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=NORMAL", "secure_delete=ON"):
                self._database.execute(f"PRAGMA {pragma}")
            self._database.executescript(_SCHEMA)
        except sqlite3.OperationalError as error:
            self._database.close()
            if "locked" in str(error):
                raise JournalBusyError(f"{path} is open in another process") from error
            raise

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def load(self, queue: str) -> Kept:
        """Return what is on disk of one queue."""
        found = self._database.execute("SELECT last_sequence FROM queues WHERE name = ?", (queue,)).fetchone()
        messages = self._database.execute(
            f"SELECT {_COLUMNS} FROM messages WHERE queue = ? ORDER BY sequence", (queue,)
        ).fetchall()
        remembered = self._database.execute(
            "SELECT message_id, at FROM remembered WHERE queue = ? ORDER BY at", (queue,)
        ).fetchall()
        return Kept(found[0] if found else 0, [_message(row) for row in messages], remembered)

    def write(self, changes: Sequence[Change]) -> None:
        """Make the changes durable, all or none."""
        self._database.execute("BEGIN IMMEDIATE")
        try:
            for change in changes:
                self._write(change)
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    def _write(self, change: Change) -> None:
        execute = self._database.execute
        match change:
            case Put(queue, message):
                self._put(queue, message)
            case Removed(queue, sequence):
                execute("DELETE FROM messages WHERE queue = ? AND sequence = ?", (queue, sequence))
            case Remembered(queue, message_id, at):
                execute("INSERT OR REPLACE INTO remembered VALUES (?, ?, ?)", (queue, message_id, at))
            case Forgotten(queue, until):
                execute("DELETE FROM remembered WHERE queue = ? AND at <= ?", (queue, until))

    def _put(self, queue: str, message: Message) -> None:
        content, burial = message.content, message.burial
        values = (
            *(message.sequence, message.first_sequence, message.enqueued_at, message.expires_at),
            *(int(message.state), message.deliveries, burial is not None),
            *((burial.reason, burial.description) if burial else (None, None)),
            *(content.message_id, content.session_id, content.seconds_to_live, content.due_at),
            *(content.header, content.annotations, content.bare),
        )
        marks = ", ".join("?" * (len(values) + 1))
        self._database.execute(
            f"INSERT OR REPLACE INTO messages (queue, {_COLUMNS}) VALUES ({marks})", (queue, *values)
        )
        self._database.execute(
            "INSERT INTO queues VALUES (?, ?) "
            "ON CONFLICT DO UPDATE SET last_sequence = max(last_sequence, excluded.last_sequence)",
            (queue, message.sequence),
        )


def _message(row: Sequence[Any]) -> Message:
    sequence, first_sequence, enqueued_at, expires_at, state, deliveries, buried, reason, description, *sent = row
    message_id, session_id, seconds_to_live, due_at, header, annotations, bare = sent
    return Message(
        Content(bare, header, annotations, message_id, session_id, seconds_to_live, due_at),
        sequence=sequence,
        first_sequence=first_sequence,
        enqueued_at=enqueued_at,
        expires_at=expires_at,
        state=State(state),
        deliveries=deliveries,
        burial=Burial(reason, description) if buried else None,
    )
