"""Which document, whose, and which version."""

import re
from dataclasses import dataclass
from typing import Any, NewType

from memnet.domain.core.errors import InvalidIdentifier

SEGMENT = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,126}[A-Za-z0-9_-])?", re.ASCII)
"""No dot at the end: Blob Storage takes it away from every segment of a name ("Naming and referencing containers,
blobs, and metadata"), so two ids would share one blob.
"""
MAX_SEGMENTS = 8
RESERVED = "memnet-"
"""The prefix of names that only the service gives: to the principals of its own jobs and to its events. No token may
name such a principal, and no client may choose such an event id. So no client can use the Idempotency-Key or the event
id of a job, although both follow from ids that clients know.
"""
MAX_PATH = 512
"""Characters of a path. With the longest tenant, user and namespace a blob's name so stays within the 1,024 characters
that Azure takes ("Naming and referencing containers, blobs, and metadata").
"""
MAX_SEGMENT = 128


def check_identifier(kind: str, value: str) -> str:
    """Return `value` unchanged if it is one segment; raise InvalidIdentifier naming `kind` otherwise."""
    if not SEGMENT.fullmatch(value):
        raise InvalidIdentifier(kind=kind)
    return value


def is_reserved(name: str) -> bool:
    """Whether only the service may give this name."""
    return name.startswith(RESERVED)


def check_not_reserved(kind: str, value: str) -> str:
    """Return `value` unchanged if a client may choose it; raise InvalidIdentifier naming `kind` otherwise."""
    if is_reserved(value):
        raise InvalidIdentifier(f"Names that begin with {RESERVED} are the service's own.", kind=kind)
    return value


def check_path(value: str) -> str:
    """Return `value` unchanged if it is 1 to 8 segments joined by '/', together at most MAX_PATH characters.

    Raises InvalidIdentifier.
    """
    if not _is_path(value):
        raise InvalidIdentifier(kind="path")
    return value


def check_path_prefix(value: str) -> str:
    """Return `value` unchanged if some valid path starts with it; raise InvalidIdentifier otherwise."""
    if not (_is_path(value) or _is_path(f"{value}0")):
        raise InvalidIdentifier(kind="prefix")
    return value


def _is_path(value: str) -> bool:
    segments = value.split("/")
    return (
        len(value) <= MAX_PATH
        and len(segments) <= MAX_SEGMENTS
        and all(SEGMENT.fullmatch(segment) for segment in segments)
    )


ETag = NewType("ETag", str)
"""The logical, quoted entity tag of a version (RFC 9110, 8.8.3), as clients send and see it."""

StorageETag = NewType("StorageETag", str)
"""The store's own tag of the bytes; guards the PUT and never leaves the service."""

Json = Any
"""A parsed JSON value: dict, list, str, int, float, bool or None."""


@dataclass(frozen=True, slots=True)
class UserScope:
    """One user of one tenant: everything stored for them lies below one prefix. Raises InvalidIdentifier."""

    tenant_id: str
    user_id: str

    def __post_init__(self) -> None:
        check_identifier("tenant_id", self.tenant_id)
        check_identifier("user_id", self.user_id)

    @property
    def prefix(self) -> str:
        """The storage prefix, with its closing slash."""
        return f"tenants/{self.tenant_id}/users/{self.user_id}/"


@dataclass(frozen=True, slots=True)
class DocumentKey:
    """One document of one user. Raises InvalidIdentifier."""

    scope: UserScope
    namespace: str
    path: str

    def __post_init__(self) -> None:
        check_identifier("namespace", self.namespace)
        check_path(self.path)

    @property
    def blob_name(self) -> str:
        """The name of the document's blob."""
        return f"{self.scope.prefix}documents/{self.namespace}/{self.path}"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts, as the token says: the principal's id and its roles."""

    principal: str
    roles: frozenset[str]
