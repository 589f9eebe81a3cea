"""Hashes outlive releases: one value, its canonical text and its digest, as they were for the first record."""

from memnet.domain.core.canonical_json import canonical, parse, sha256_hex

TEXT = '{"é":"\\u20ac\\/","b":[1.0,1,1e300,0.1,-0.0,18446744073709551615],"a":{"z":null,"A":true}}'
CANONICAL = '{"a":{"A":true,"z":null},"b":[1.0,1,1e+300,0.1,-0.0,18446744073709551615],"é":"€/"}'
DIGEST = "5201f1f55e15cff8a83e8ba635e149d4a69e06d14aa8a8a66b3d16d126f924c0"


def test_the_canonical_form_and_its_digest_do_not_change() -> None:
    data = canonical(parse(TEXT.encode()))
    assert data.decode() == CANONICAL
    assert sha256_hex(data) == DIGEST
