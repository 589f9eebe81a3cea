"""A running erasure to build on."""

from typing import Any

from memnet.domain.core.scope import StorageETag, UserScope
from memnet.domain.core.signature import SigningKey
from memnet.domain.governance.erasure import Erasure, Found, Store, erasure_id_of

WHOSE = UserScope("tenant-of-many", "user-who-leaves")
KEY = SigningKey("v1", b"k" * 32)
THEN = "2026-01-01T00:00:00.000000Z"


def found(*names: str, tag: str = '"0x1"') -> tuple[Found, ...]:
    """What a listing finds under these names."""
    return tuple(Found(name, StorageETag(tag)) for name in names)


def erasure(scope: UserScope = WHOSE, **members: Any) -> Erasure:
    """One that was accepted just now, unless `members` say otherwise."""
    given: dict[str, Any] = {
        "scope": scope,
        "erasure_id": erasure_id_of(scope, "request-1"),
        "requested_by": "svc-privacy",
        "accepted_at": THEN,
        "stores": tuple(Store),
        "settle_seconds": 960,
        "started_at": THEN,
    }
    return Erasure(**given | members)
