"""Codes of claimants: the same for one key and workspace, another for any other, and no way back."""

import hmac
from hashlib import sha256

import pytest
from pydantic import ValidationError

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.claimant import CODE_PATTERN, Claimant, claimant_code, claimant_digest
from memnet.domain.core.scope import UserScope

KEY, ACME = bytes(range(32)), UserScope("t1", "workspace-acme")


def hkdf(secret: bytes, info: bytes) -> bytes:
    """RFC 5869 without a salt, for one block."""
    extracted = hmac.digest(bytes(32), secret, sha256)
    return hmac.digest(extracted, info + b"\x01", sha256)


def test_the_code_is_the_hmac_of_the_workspace_under_the_derived_key() -> None:
    expected = hmac.digest(hkdf(KEY, b"memnet claimant code 1"), canonical(["t1", "workspace-acme"]), sha256)
    assert claimant_code(KEY, ACME) == f"clm-{expected.hex()[:32]}"


def test_a_digest_compares_codes_and_has_nothing_of_them() -> None:
    one, other = claimant_code(KEY, ACME), claimant_code(bytes(32), ACME)
    assert claimant_digest(one) == claimant_digest(one) != claimant_digest(other)
    assert claimant_digest(one) not in one
    assert one.removeprefix("clm-") not in claimant_digest(one)


def test_each_key_and_each_workspace_has_a_code_of_its_own() -> None:
    workspaces = [ACME, UserScope("t1", "workspace-zeta"), UserScope("t2", "workspace-acme"), UserScope("t1", "t1")]
    keys = [KEY, bytes(32), KEY[::-1]]
    assert len({claimant_code(key, workspace) for key in keys for workspace in workspaces}) == 12
    assert claimant_code(KEY, ACME) == claimant_code(bytes(range(32)), UserScope("t1", "workspace-acme"))


@pytest.mark.parametrize(
    "wrong", [{}, {"user_id": ""}, {"user_id": "a/b"}, {"user_id": 7}, {"user_id": "a", "name": "A"}]
)
def test_a_claimant_is_one_user_id(wrong: object) -> None:
    with pytest.raises(ValidationError):
        Claimant.model_validate(wrong)
    assert CODE_PATTERN == "^clm-[0-9a-f]{32}$"
