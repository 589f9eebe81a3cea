"""Signing what has become of an erasure: once, whoever comes first."""

from memnet.domain.governance.erasure_receipt import Remainder, Status, is_signed, read_receipt
from memnet.operations.governance.erasure_request import sign_erasure
from tests.domain.erasure_samples import erasure
from tests.operations.erasure_scenario import U1, ErasureWorld

HELD = Remainder("audit", 1, "legal_hold", "user")


async def test_the_receipt_stands_signed():
    world = ErasureWorld()
    receipt = await sign_erasure(erasure(U1), [HELD], world.erasing())
    (key,) = await world.services.signing.public_keys()
    assert is_signed(receipt, key)
    assert receipt.status is Status.PARTIAL
    stored = await world.services.erasures.read_receipt(U1.tenant_id, receipt.members["erasure_id"])
    assert stored is not None
    assert read_receipt(stored) == receipt


async def test_the_first_one_counts():
    world = ErasureWorld()
    first = await sign_erasure(erasure(U1), [], world.erasing())
    assert await sign_erasure(erasure(U1), [HELD], world.erasing()) == first
    assert first.status is Status.COMPLETE
