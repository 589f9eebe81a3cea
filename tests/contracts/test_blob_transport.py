"""The transport's HTTP/1.1: what it reuses, what it repeats, what it never confuses."""

import asyncio
import ipaddress
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from azure.core.exceptions import ServiceRequestError, ServiceResponseError
from azure.core.rest import HttpRequest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from memnet.adapters.azure.blob_transport import MAX_CONNECTIONS, BlobTransport
from tests.contracts.scripted_server import CLOSE, HANG, Echo, ScriptedServer, answer, scripted_server, serving


@asynccontextmanager
async def transport_to(
    server: ScriptedServer, timeout_seconds: float = 10, tls: ssl.SSLContext | None = None
) -> AsyncIterator[BlobTransport]:
    async with BlobTransport(server.url, timeout_seconds=timeout_seconds, tls=tls) as transport:
        yield transport


async def get(transport: BlobTransport, server: ScriptedServer, name: str = "a") -> bytes:
    response = await transport.send(HttpRequest("GET", f"{server.url}/{name}"))
    assert response.status_code == 200
    return response.content


async def test_one_connection_serves_one_after_another():
    async with scripted_server(answer(200, body=b"1"), answer(200, body=b"2")) as server, transport_to(server) as sent:
        assert [await get(sent, server), await get(sent, server)] == [b"1", b"2"]
        assert len(server.connections) == 1


async def test_a_connection_that_the_server_will_close_is_not_used_again():
    async with (
        scripted_server(answer(200, body=b"1", Connection="close"), answer(200, body=b"2")) as server,
        transport_to(server) as sent,
    ):
        assert [await get(sent, server), await get(sent, server)] == [b"1", b"2"]


async def test_an_idle_connection_that_ends_under_a_request_is_replaced_at_once():
    async with (
        scripted_server(answer(200, body=b"1"), CLOSE, answer(200, body=b"2")) as server,
        transport_to(server) as sent,
    ):
        assert [await get(sent, server), await get(sent, server)] == [b"1", b"2"]
        assert len(server.asked) == 3


async def test_a_new_connection_that_ends_is_an_error():
    async with scripted_server(CLOSE, answer(200)) as server, transport_to(server) as sent:
        with pytest.raises(ServiceResponseError):
            await get(sent, server)
        assert len(server.asked) == 1


async def test_an_answer_that_ends_halfway_is_not_asked_for_again():
    half = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\nhalf"
    async with scripted_server(answer(200), half, answer(200)) as server, transport_to(server) as sent:
        await get(sent, server)
        with pytest.raises(ServiceResponseError):
            await get(sent, server)
        assert len(server.asked) == 2


async def test_an_answer_too_many_is_not_given_to_the_next_request():
    surplus = answer(200, body=b"1") + answer(200, body=b"surplus")
    async with scripted_server(surplus, answer(200, body=b"2")) as server, transport_to(server) as sent:
        assert [await get(sent, server), await get(sent, server)] == [b"1", b"2"]


@pytest.mark.parametrize("timeout_seconds", [0.05, 10])
async def test_a_request_given_up_leaves_its_connection_to_nobody(timeout_seconds):
    async with (
        scripted_server(HANG, answer(200, body=b"2")) as server,
        transport_to(server, timeout_seconds) as sent,
    ):
        waiting = asyncio.create_task(get(sent, server))
        await server.busy.wait()
        if timeout_seconds > 1:
            waiting.cancel()
        with pytest.raises((asyncio.CancelledError, ServiceResponseError)):
            await waiting
        assert await get(sent, server) == b"2"


async def test_requests_at_once_get_their_own_answers():
    names = [f"n{number}" for number in range(2 * MAX_CONNECTIONS)]
    async with serving(Echo([])) as server, transport_to(server) as sent:
        bodies = await asyncio.gather(*(get(sent, server, name) for name in names))
        assert [body.decode().rpartition("/")[2] for body in bodies] == names
        assert len(server.connections) <= MAX_CONNECTIONS


async def test_chunks_and_interim_answers_are_understood():
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    async with (
        scripted_server(b"HTTP/1.1 100 Continue\r\n\r\n" + chunked, answer(200, body=b"2")) as server,
        transport_to(server) as sent,
    ):
        assert [await get(sent, server), await get(sent, server)] == [b"abcde", b"2"]


async def test_header_names_have_no_case():
    async with scripted_server(answer(200, ETAG='"1"')) as server, transport_to(server) as sent:
        headers = (await sent.send(HttpRequest("GET", f"{server.url}/a"))).headers
        assert (headers["etag"], headers["ETag"], headers.get("x"), "Etag" in headers) == ('"1"', '"1"', None, True)


async def test_a_body_arrives_whole():
    async with scripted_server(answer(201)) as server, transport_to(server) as sent:
        body = bytes(range(256)) * 20_000
        headers = {"Content-Length": str(len(body))}
        response = await sent.send(HttpRequest("PUT", f"{server.url}/a", headers=headers, content=body))
        assert response.status_code == 201
        assert server.asked[0][2] == body


@pytest.mark.parametrize("headers", [{"x-a": "1\r\nx-b: 2"}, {"x-a\r\nx-b": "2"}, {"x-a": "1\n"}])
async def test_a_header_cannot_smuggle_another(headers):
    async with scripted_server(answer(200)) as server, transport_to(server) as sent:
        request = HttpRequest("GET", f"{server.url}/a")
        request.headers = headers
        with pytest.raises(ValueError, match="line break"):
            await sent.send(request)
        assert server.asked == []


async def test_tls_is_verified(tmp_path: Path):
    serving_tls, trusting = tls_for("127.0.0.1", tmp_path)
    async with serving(ScriptedServer([answer(200, body=b"1")]), serving_tls) as server:
        assert server.url.startswith("https://")
        async with transport_to(server, tls=trusting) as sent:
            assert await get(sent, server) == b"1"
            assert await get(sent, server) == b"1"
            assert len(server.connections) == 1
        async with transport_to(server) as sent:
            with pytest.raises(ServiceRequestError):
                await get(sent, server)
    other, trusting_other = tls_for("127.0.0.2", tmp_path)
    async with (
        serving(ScriptedServer([answer(200)]), other) as server,
        transport_to(server, tls=trusting_other) as sent,
    ):
        with pytest.raises(ServiceRequestError):
            await get(sent, server)


def tls_for(address: str, directory: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's context with a fresh certificate for `address`, and a client's that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    chain = directory / f"{address}.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    chain.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(chain)
    return server, ssl.create_default_context(cafile=str(chain))
