"""Which document, whose, and which version."""

from dataclasses import dataclass
from typing import Any, NewType

from memnet.domain.core.identifiers import check_identifier, check_path

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
