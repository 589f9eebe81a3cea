"""The secrets in one SQLite file; a change is on disk when its method returns."""

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from local.emulators.key_vault.errors import VaultError, deleted_not_found, is_deleted, not_found

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS secrets (name TEXT PRIMARY KEY COLLATE NOCASE, deleted INTEGER);
CREATE TABLE IF NOT EXISTS versions (
    number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL COLLATE NOCASE, version TEXT NOT NULL UNIQUE,
    value TEXT NOT NULL, enabled INTEGER NOT NULL, created INTEGER NOT NULL, updated INTEGER NOT NULL,
    not_before INTEGER, expires INTEGER, content_type TEXT, tags TEXT
);
"""
COLUMNS: Final = "name, version, value, enabled, created, updated, not_before, expires, content_type, tags"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attributes:
    """The attributes that a client may set on a version."""

    enabled: bool = True
    not_before: int | None = None
    expires: int | None = None
    content_type: str | None = None
    tags: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a secret; times are whole seconds since 1970."""

    name: str
    version: str
    value: str
    enabled: bool
    created: int
    updated: int
    not_before: int | None
    expires: int | None
    content_type: str | None
    tags: dict[str, str] | None


class SecretStore:
    """The secrets of one vault. Names compare without regard to case, as in Azure. Errors are VaultErrors."""

    def __init__(self, file: Path, now: Callable[[], float]) -> None:
        """Open `file`, or make it, readable for its owner alone; `now` returns the time in seconds since 1970."""
        os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
        self._now = now
        self._database = sqlite3.connect(file, isolation_level=None)
        # What is committed is on the disk.
        for pragma in ("journal_mode=DELETE", "synchronous=FULL"):
            self._database.execute(f"PRAGMA {pragma}")
        self._database.executescript(SCHEMA)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def set(self, name: str, value: str, attributes: Attributes) -> Version:
        """Add a version, and the secret if it is new. A deleted one is a conflict."""
        now = int(self._now())
        given = (attributes.not_before, attributes.expires, attributes.content_type, attributes.tags)
        with self._change():
            if self._deleted(name) is not None:
                raise is_deleted(name)
            self._database.execute("INSERT OR IGNORE INTO secrets VALUES (?, NULL)", (name,))
            added = Version(name, uuid4().hex, value, attributes.enabled, now, now, *given)
            marks = ", ".join("?" * len(fields(Version)))
            self._database.execute(f"INSERT INTO versions ({COLUMNS}) VALUES ({marks})", _row(added))
        return added

    def get(self, name: str, version: str = "") -> Version:
        """Return a version, the newest for ""."""
        if self._deleted(name) is None:
            found = self._versions("name = ? AND (? IN (version, ''))", (name, version))
            if found:
                return found[-1][1]
        raise not_found(f"{name}/{version}" if version else name)

    def update(self, name: str, version: str, change: Callable[[Version], Version]) -> Version:
        """Change what is said of a version, the newest for ""; its name and value stay."""
        with self._change():
            before = self.get(name, version)
            after = replace(change(before), updated=int(self._now()))
            assignments = ", ".join(f"{column} = ?" for column in COLUMNS.split(", "))
            self._database.execute(
                f"UPDATE versions SET {assignments} WHERE version = ?", (*_row(after), before.version)
            )
        return after

    def list_versions(self, name: str, after: int, limit: int) -> list[tuple[int, Version]]:
        """Return up to `limit` versions behind the number `after`, with their numbers; none for a missing secret."""
        condition = "name = ? AND number > ? AND name IN (SELECT name FROM secrets WHERE deleted IS NULL)"
        return self._versions(condition, (name, after), limit)

    def list_newest(self, after: int, limit: int) -> list[tuple[int, Version]]:
        """Return the newest versions of up to `limit` secrets behind the number `after`, with their numbers."""
        secrets = "SELECT name FROM secrets WHERE deleted IS NULL"
        newest = f"SELECT MAX(number) FROM versions WHERE name IN ({secrets}) GROUP BY name"
        return self._versions(f"number > ? AND number IN ({newest})", (after,), limit)

    def delete(self, name: str) -> Version:
        """Delete all versions; return the newest."""
        with self._change():
            newest = self.get(name)
            self._database.execute("UPDATE secrets SET deleted = ? WHERE name = ?", (int(self._now()), name))
        return newest

    def get_deleted(self, name: str) -> tuple[int, Version]:
        """Return when a secret was deleted, and its newest version."""
        since = self._deleted(name)
        if since is None:
            raise deleted_not_found(name)
        return since, self._versions("name = ?", (name,))[-1][1]

    def _deleted(self, name: str) -> int | None:
        row = self._database.execute("SELECT deleted FROM secrets WHERE name = ?", (name,)).fetchone()
        return None if row is None else row[0]

    def _versions(self, condition: str, values: Sequence[Any], limit: int = -1) -> list[tuple[int, Version]]:
        query = f"SELECT number, {COLUMNS} FROM versions WHERE {condition} ORDER BY number LIMIT ?"
        return [(row[0], _version(row[1:])) for row in self._database.execute(query, (*values, limit))]

    @contextmanager
    def _change(self) -> Iterator[None]:
        """One transaction; an error undoes it."""
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except VaultError:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")


def _row(version: Version) -> tuple[Any, ...]:
    *values, tags = astuple(version)
    return (*values, None if tags is None else json.dumps(tags))


def _version(row: Sequence[Any]) -> Version:
    named = dict(zip(COLUMNS.split(", "), row, strict=True))
    tags = named["tags"]
    return Version(**{**named, "enabled": bool(named["enabled"]), "tags": None if tags is None else json.loads(tags)})
