"""Indexes and documents on disk, in one SQLite file.

A batch is one transaction, committed before it is answered: a killed process loses nothing that was acknowledged (a
crash of the whole machine may lose the last moments). Only one process can have the file open.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import numpy as np
import orjson

from local.emulators.search.documents import Document
from local.emulators.search.schema import IndexDefinition, Json, parse_definition

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS indexes (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE,
    etag TEXT NOT NULL, definition BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS documents (sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    number INTEGER NOT NULL REFERENCES indexes ON DELETE CASCADE, key TEXT NOT NULL, content BLOB NOT NULL,
    UNIQUE (number, key));
CREATE TABLE IF NOT EXISTS vectors (sequence INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    field TEXT NOT NULL, content BLOB NOT NULL, PRIMARY KEY (sequence, field)) WITHOUT ROWID;
"""


class StorageBusyError(Exception):
    """Another process has the data directory open."""


class Storage:
    """The file. Every method that writes commits, except inside `batch`."""

    def __init__(self, directory: Path | None) -> None:
        """Open or create the file in `directory`; None: in memory. Raises StorageBusyError."""
        if directory is not None:
            directory.mkdir(parents=True, exist_ok=True)
        path = ":memory:" if directory is None else str(directory / "search.sqlite3")
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=2)
        self._removed = False
        try:
            # What is deleted is overwritten, whatever this SQLite was built to do.
            own = ("foreign_keys=ON", "secure_delete=ON")
            for pragma in ("locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=NORMAL", *own):
                self._database.execute(f"PRAGMA {pragma}")
            self._database.executescript(_SCHEMA)
        except sqlite3.OperationalError as error:
            self._database.close()
            if "locked" in str(error):
                raise StorageBusyError(f"{path} is open in another process") from error
            raise

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def indexes(self) -> list[tuple[int, str, IndexDefinition]]:
        """Return number, ETag and definition of every index."""
        rows = self._database.execute("SELECT number, etag, definition FROM indexes ORDER BY name").fetchall()
        return [(number, etag, parse_definition(orjson.loads(text))) for number, etag, text in rows]

    def create_index(self, definition: IndexDefinition, etag: str) -> int:
        """Add an index; return its number."""
        cursor = self._database.execute(
            "INSERT INTO indexes (name, etag, definition) VALUES (?, ?, ?)",
            (definition.name, etag, orjson.dumps(definition.body())),
        )
        return int(cursor.lastrowid or 0)

    def update_index(self, number: int, definition: IndexDefinition, etag: str) -> None:
        """Replace the definition of an index."""
        self._database.execute(
            "UPDATE indexes SET etag = ?, definition = ? WHERE number = ?",
            (etag, orjson.dumps(definition.body()), number),
        )

    def delete_index(self, number: int) -> None:
        """Remove an index with its documents."""
        self._database.execute("DELETE FROM indexes WHERE number = ?", (number,))
        self._empty_log()

    def documents(self, number: int) -> Iterator[Document]:
        """Yield every document of an index in order of arrival."""
        rows = self._database.execute(
            "SELECT sequence, key, content FROM documents WHERE number = ? ORDER BY sequence", (number,)
        )
        for sequence, key, content in rows.fetchall():
            yield self._document(sequence, key, content)

    def document(self, number: int, key: str) -> Document | None:
        """Return the last version of one document, or None."""
        row = self._database.execute(
            "SELECT sequence, key, content FROM documents WHERE number = ? AND key = ?", (number, key)
        ).fetchone()
        return None if row is None else self._document(*row)

    def begin(self) -> None:
        """Begin the transaction of a batch."""
        self._database.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Make the batch durable. What it has removed or replaced is not in the file's log afterwards either."""
        self._database.execute("COMMIT")
        if self._removed:
            self._empty_log()

    def roll_back(self) -> None:
        """Undo the batch."""
        self._database.execute("ROLLBACK")

    def put(self, number: int, document: Document) -> None:
        """Write a document; one that changes goes to the end of the order, as it does in memory."""
        self.delete(number, document.key)
        cursor = self._database.execute(
            "INSERT INTO documents (number, key, content) VALUES (?, ?, ?)",
            (number, document.key, orjson.dumps(document.values)),
        )
        self._put_vectors(
            (int(cursor.lastrowid or 0), name, vector.tobytes()) for name, vector in document.vectors.items()
        )

    def delete(self, number: int, key: str) -> None:
        """Remove a document if it is there."""
        found = self._database.execute("DELETE FROM documents WHERE number = ? AND key = ?", (number, key))
        self._removed = self._removed or found.rowcount > 0

    def _empty_log(self) -> None:
        """Move the write-ahead log into the file, and truncate it (SQLite, "PRAGMA wal_checkpoint")."""
        self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self._removed = False

    def _put_vectors(self, rows: Iterable[tuple[int, str, bytes]]) -> None:
        self._database.executemany("INSERT INTO vectors VALUES (?, ?, ?)", rows)

    def _document(self, sequence: int, key: str, content: bytes) -> Document:
        vectors = self._database.execute("SELECT field, content FROM vectors WHERE sequence = ?", (sequence,))
        values: Json = orjson.loads(content)
        return Document(key, values, {name: np.frombuffer(raw, dtype=np.float32) for name, raw in vectors})
