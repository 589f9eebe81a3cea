"""The issuer's keys over a real connection: discovery, rotation, an issuer that is down or lies."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import jwt
import pytest
from aiohttp import ClientSession, web
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key

from api.issuer_keys import COOLDOWN_SECONDS, MAX_AGE_SECONDS, RETRY_SECONDS, IssuerKeys, connect_issuer_keys
from memnet.adapters.memory.clock import FrozenClock
from memnet.domain.core.errors import Unavailable


def jwk(key: Any, kid: str, **members: Any) -> dict[str, Any]:
    algorithm = (
        jwt.algorithms.ECAlgorithm if isinstance(key, ec.EllipticCurvePrivateKey) else jwt.algorithms.RSAAlgorithm
    )
    return {**json.loads(algorithm.to_jwk(key.public_key())), "kid": kid, **members}


class FakeIssuer:
    """Serves a configuration and a key set, and counts how often it was asked."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.asked = 0
        self.status = 200
        self.configuration: dict[str, Any] = {}
        self.url = ""
        self.arrived = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()

    async def configure(self, request: web.Request) -> web.Response:
        self.asked += 1
        self.arrived.set()
        await self.gate.wait()
        standard = {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        return web.json_response(standard | self.configuration, status=self.status)

    async def keys(self, request: web.Request) -> web.Response:
        return web.json_response({"keys": self.rows})


@pytest.fixture
async def issuer() -> AsyncIterator[FakeIssuer]:
    fake = FakeIssuer()
    app = web.Application()
    app.router.add_get("/t1/.well-known/openid-configuration", fake.configure)
    app.router.add_get("/t1/keys", fake.keys)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    fake.url = f"http://127.0.0.1:{runner.addresses[0][1]}/t1"
    yield fake
    await runner.cleanup()


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
async def keys(issuer: FakeIssuer, clock: FrozenClock) -> AsyncIterator[IssuerKeys]:
    async with ClientSession() as session:
        source = IssuerKeys(issuer.url, session=session, clock=clock)
        yield source
        await source.close()


def later(clock: FrozenClock, seconds: float) -> None:
    clock.advance(timedelta(seconds=seconds + 1))


@pytest.fixture(scope="module")
def key() -> RSAPrivateKey:
    return generate_private_key(65537, 2048)


async def test_a_key_is_found_and_asked_for_once(issuer: FakeIssuer, keys: IssuerKeys, key: RSAPrivateKey) -> None:
    issuer.rows = [jwk(key, "a", use="sig", alg="RS256")]
    found = await asyncio.gather(*(keys.find("a") for _ in range(20)))
    assert {one and one.public_numbers() for one in found} == {key.public_key().public_numbers()}
    assert await keys.find("a") is not None
    assert issuer.asked == 1


async def test_a_new_key_is_found_and_a_withdrawn_one_is_gone(
    issuer: FakeIssuer, keys: IssuerKeys, key: RSAPrivateKey, clock: FrozenClock
) -> None:
    issuer.rows = [jwk(key, "a")]
    await keys.find("a")
    issuer.rows = [jwk(key, "b")]
    later(clock, COOLDOWN_SECONDS)
    assert await keys.find("b") is not None
    assert await keys.find("a") is None


async def test_unknown_ids_do_not_flood_the_issuer(
    issuer: FakeIssuer, keys: IssuerKeys, key: RSAPrivateKey, clock: FrozenClock
) -> None:
    issuer.rows = [jwk(key, "a")]
    for number in range(20):
        assert await keys.find(f"x{number}") is None
    assert issuer.asked == 1
    clock.advance(timedelta(seconds=COOLDOWN_SECONDS - 1))
    assert await keys.find("x") is None
    assert issuer.asked == 1
    later(clock, 1)
    assert await keys.find("x") is None
    assert issuer.asked == 2


async def test_old_keys_serve_while_they_are_refreshed(
    issuer: FakeIssuer, keys: IssuerKeys, key: RSAPrivateKey, clock: FrozenClock
) -> None:
    issuer.rows = [jwk(key, "a")]
    await keys.find("a")
    issuer.rows = []
    later(clock, MAX_AGE_SECONDS)
    issuer.gate.clear()
    issuer.arrived.clear()
    assert await keys.find("a") is not None
    await asyncio.wait_for(issuer.arrived.wait(), timeout=60)
    issuer.gate.set()
    await keys.start_refresh()
    assert await keys.find("a") is None


async def test_known_keys_outlive_the_issuer(
    issuer: FakeIssuer, keys: IssuerKeys, key: RSAPrivateKey, clock: FrozenClock
) -> None:
    issuer.rows = [jwk(key, "a")]
    await keys.find("a")
    issuer.status = 500
    later(clock, MAX_AGE_SECONDS)
    assert await keys.find("a") is not None
    await keys.start_refresh()
    assert await keys.find("a") is not None
    await keys.check()
    with pytest.raises(Unavailable):
        await keys.find("b")


async def test_an_issuer_that_comes_up_late_is_found(
    issuer: FakeIssuer, keys: IssuerKeys, key: RSAPrivateKey, clock: FrozenClock
) -> None:
    issuer.status = 503
    with pytest.raises(Unavailable):
        await keys.find("a")
    with pytest.raises(Unavailable):
        await keys.check()
    clock.advance(timedelta(seconds=RETRY_SECONDS / 2))
    with pytest.raises(Unavailable):
        await keys.find("a")
    assert issuer.asked == 1
    issuer.status, issuer.rows = 200, [jwk(key, "a")]
    later(clock, RETRY_SECONDS)
    await keys.check()
    assert await keys.find("a") is not None


async def test_the_configuration_must_be_of_this_issuer(
    issuer: FakeIssuer, keys: IssuerKeys, key: RSAPrivateKey
) -> None:
    issuer.rows = [jwk(key, "a")]
    issuer.configuration = {"issuer": issuer.url + "/"}
    with pytest.raises(Unavailable):
        await keys.find("a")


# 0.0.0.0 does reach this machine, but is not one of its loopback names.
@pytest.mark.parametrize("uri", ["http://0.0.0.0:{port}/t1/keys", "ftp://127.0.0.1:{port}/t1/keys", None])
async def test_keys_are_fetched_over_https(
    issuer: FakeIssuer, keys: IssuerKeys, key: RSAPrivateKey, uri: str | None
) -> None:
    issuer.rows = [jwk(key, "a")]
    issuer.configuration = {"jwks_uri": uri and uri.format(port=issuer.url.split(":")[2].partition("/")[0])}
    with pytest.raises(Unavailable):
        await keys.find("a")


async def test_only_strong_rsa_signing_keys_are_taken(issuer: FakeIssuer, keys: IssuerKeys, key: RSAPrivateKey) -> None:
    issuer.rows = [
        jwk(key, "good"),
        jwk(key, "encryption", use="enc"),
        jwk(key, "another algorithm", alg="RS512"),
        jwk(generate_private_key(65537, 1024), "weak"),
        jwk(ec.generate_private_key(ec.SECP256R1()), "curve"),
        {"kty": "oct", "kid": "secret", "k": "c2VjcmV0"},
        {"kty": "RSA", "kid": "broken", "n": "!", "e": 7},
        {**jwk(key, ""), "kid": None},
        {},
    ]
    assert await keys.find("good") is not None
    for other in ("encryption", "another algorithm", "weak", "curve", "secret", "broken", ""):
        assert await keys.find(other) is None


@pytest.mark.parametrize("url", ["http://issuer.example/t1", "https://", "issuer.example", "file:///keys"])
async def test_an_issuer_in_the_clear_is_refused_at_the_start(url: str, clock: FrozenClock) -> None:
    with pytest.raises(ValueError, match="https"):
        async with connect_issuer_keys(url, clock):
            pass


async def test_opening_does_not_wait_for_the_issuer(issuer: FakeIssuer, clock: FrozenClock) -> None:
    issuer.gate.clear()
    async with connect_issuer_keys(issuer.url, clock):
        pass
    issuer.gate.set()
