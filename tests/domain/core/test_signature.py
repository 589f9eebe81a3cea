"""Signatures: RFC 8032's own vectors, one purpose each, and keys that other tools read."""

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from memnet.domain.core.signature import PublicKey, SigningKey, by_id, from_pem, holds, sign, to_pem

KEY = SigningKey("v1", bytes(range(32)))
OTHER = SigningKey("v2", bytes(32))


def test_the_public_half_is_that_of_rfc_8032() -> None:
    """Section 7.1, test 1."""
    secret = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    assert SigningKey("v1", secret).public.raw.hex() == public


def test_a_signature_holds_for_its_key_purpose_and_payload_alone() -> None:
    signature = sign(KEY, "a", b"payload")
    assert signature == sign(KEY, "a", b"payload")
    assert holds(KEY.public, "a", b"payload", signature)
    assert not holds(OTHER.public, "a", b"payload", signature)
    assert not holds(KEY.public, "b", b"payload", signature)
    assert not holds(KEY.public, "a", b"payloae", signature)
    assert not holds(KEY.public, "a", b"payload", signature[:-1])
    assert not holds(KEY.public, "a", b"payload", b"")
    assert not holds(PublicKey(b"short"), "a", b"payload", signature)


def test_a_key_is_named_by_its_public_half() -> None:
    assert by_id([KEY.public, OTHER.public])[KEY.public.key_id] == KEY.public
    assert KEY.public.key_id != OTHER.public.key_id
    assert len(KEY.public.key_id) == 64


def test_the_secret_is_in_no_text() -> None:
    assert "secret" not in repr(KEY)


def test_pem_round_trip_ignores_other_text() -> None:
    text = f"# one\n{to_pem(KEY.public)}\nand another:\n{to_pem(OTHER.public)}"
    assert from_pem(text) == [KEY.public, OTHER.public]


def other_curve() -> str:
    public = ec.generate_private_key(ec.SECP256R1()).public_key()
    return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no public key"),
        ("-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----", "no public key"),
        ("-----BEGIN PUBLIC KEY-----\n????\n-----END PUBLIC KEY-----", "cannot be read"),
        ("-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n-----END PUBLIC KEY-----", "cannot be read"),
        (other_curve(), "not of Ed25519"),
    ],
)
def test_a_file_without_usable_keys_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        from_pem(text)
