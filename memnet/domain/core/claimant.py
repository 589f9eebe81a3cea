"""Who claims a statement in a workspace: a code that only the claimant's own data key can make.

A workspace is the memory of a scope that several people speak to. Its documents name no person: each statement has the
code of its claimant. The code is the HMAC-SHA-256 (RFC 2104) of the workspace under a key that HKDF (RFC 5869) derives
from the first data key of the claimant. A rotation keeps that key, so the code stays the same. An erasure destroys it,
so the code cannot be made again, and no one can test whose it was.
"""

from typing import Annotated, Final

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from pydantic import BaseModel, ConfigDict, Field

from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.scope import SEGMENT, UserScope

PREFIX: Final = "clm-"
CODE_PATTERN: Final = f"^{PREFIX}[0-9a-f]{{32}}$"
KEY_BYTES: Final = 32
_PURPOSE: Final = b"memnet claimant code 1"
_DIGEST_PURPOSE: Final = "memnet claimant digest 1"
_CODE_DIGITS: Final = 32
"""128 bits: two claimants of a workspace never share a code by chance."""


class Claimant(BaseModel):
    """The user of the same tenant who makes the statements of a turn or of a patch."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    user_id: Annotated[str, Field(pattern=f"^{SEGMENT.pattern}$")]


def claimant_digest(code: str) -> str:
    """Return what a record that is not sealed has in place of a code: it can be compared, and shows no code."""
    return sha256_hex(canonical([_DIGEST_PURPOSE, code]))[:_CODE_DIGITS]


def claimant_code(first_key: bytes, workspace: UserScope) -> str:
    """Return the code, in a workspace, of the claimant whose first data key this is."""
    key = HKDF(SHA256(), KEY_BYTES, salt=None, info=_PURPOSE).derive(first_key)
    code = HMAC(key, SHA256())
    code.update(canonical([workspace.tenant_id, workspace.user_id]))
    return f"{PREFIX}{code.finalize().hex()[:_CODE_DIGITS]}"
