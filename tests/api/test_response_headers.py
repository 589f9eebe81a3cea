"""Headers that hold browsers, caches and gateways back, on whatever is answered."""

import re
from base64 import b64encode
from hashlib import sha256

import httpx
import pytest
from fastapi import FastAPI

from tests.api.conftest import DYNAMIC, patch_body

ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


def check(response: httpx.Response, **other: str) -> None:
    """Each header is there, once."""
    wanted = ALWAYS | {name.replace("_", "-"): value for name, value in other.items()}
    assert {name: response.headers.get_list(name) for name in wanted} == {n: [value] for n, value in wanted.items()}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", DYNAMIC, 200),
        ("HEAD", DYNAMIC, 200),
        ("PATCH", DYNAMIC, 428),
        ("GET", DYNAMIC, 304),  # RFC 9110, 15.4.5: as the 200 would have had them
        ("POST", DYNAMIC, 405),
        ("GET", "/nowhere", 404),
        ("GET", "/health/live", 200),
        ("GET", "/openapi.json", 200),
    ],
)
async def test_every_response_has_them(
    client: httpx.AsyncClient, etag: str, method: str, path: str, status: int
) -> None:
    headers = {"If-None-Match": etag} if status == 304 else None
    response = await client.request(method, path, json=patch_body() if method == "PATCH" else None, headers=headers)
    assert response.status_code == status
    check(response)


async def test_who_is_not_let_in_and_a_defect_get_them_too(anonymous: httpx.AsyncClient, app: FastAPI) -> None:
    refused = await anonymous.get(DYNAMIC)
    assert refused.status_code == 401
    check(refused)
    del app.state.identity
    broken = await anonymous.get(DYNAMIC)
    assert broken.status_code == 500
    check(broken)


async def test_nothing_but_the_page_s_own_scripts_runs_in_it(anonymous: httpx.AsyncClient) -> None:
    page = await anonymous.get("/docs")
    policy = page.headers["Content-Security-Policy"]
    check(page, Content_Security_Policy=policy)
    rules = {rule.partition(" ")[0]: rule.partition(" ")[2] for rule in policy.split("; ")}
    (script,) = re.findall(r"<script>(.*?)</script>", page.text, re.DOTALL)
    assert rules["script-src"] == f"'self' 'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"
    assert len(re.findall("<script", page.text)) == 2  # that one, and the bundle
    for name in ("default-src", "frame-ancestors", "base-uri", "form-action"):
        assert rules[name] == "'none'"
    assert "unsafe" not in rules["script-src"]


async def test_the_page_s_files_may_be_kept_if_they_are_asked_for_again(anonymous: httpx.AsyncClient) -> None:
    path = "/docs/assets/swagger-ui.css"
    first = await anonymous.get(path)
    check(first, Cache_Control="no-cache")
    again = await anonymous.get(path, headers={"If-None-Match": first.headers["ETag"]})
    assert again.status_code == 304
    check(again, Cache_Control="no-cache")


async def test_no_other_site_is_allowed(client: httpx.AsyncClient, etag: str) -> None:
    """No CORS: a browser lets no other site's script read an answer, nor send what is not a plain form."""
    origin = {"Origin": "https://evil.example"}
    read = await client.get(DYNAMIC, headers=origin)
    asked = await client.options(DYNAMIC, headers={**origin, "Access-Control-Request-Method": "PATCH"})
    assert asked.status_code == 405
    for response in (read, asked):
        assert not [name for name in response.headers if name.startswith("access-control-")]
    assert "set-cookie" not in read.headers
