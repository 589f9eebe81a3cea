"""`memnet-mcp`: what it needs, what it says when it cannot start, and that standard output is the protocol's."""

import json
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest
from mcp import Client, StdioServerParameters

from tests.client.mcp.hosts import PROFILE
from tests.e2e.service import Service

pytestmark = pytest.mark.asyncio(loop_scope="module")

COMMAND = [sys.executable, "-m", "memnet_client.mcp.main"]
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


def started(
    *arguments: str, token: str = "", cwd: Path | None = None, sent: str = ""
) -> "subprocess.CompletedProcess[str]":
    """Run the command until its standard input ends."""
    environment = {"MEMNET_TOKEN": token, "PYTHONPATH": ""}
    return subprocess.run(
        [*COMMAND, *arguments], env=environment, cwd=cwd, input=sent, capture_output=True, text=True, check=False
    )


async def test_standard_output_is_the_protocol_and_nothing_else(service: Service) -> None:
    where = ("--url", service.api.url, "--tenant", "t1", "--user", f"u-{uuid4().hex}", "--profile", PROFILE)
    ended = started(*where, token=service.token(), sent=f"{json.dumps(INITIALIZE)}\n")
    (line,) = ended.stdout.splitlines()
    assert json.loads(line)["result"]["serverInfo"]["name"] == "memnet"
    assert (ended.returncode, ended.stderr) == (0, "")


async def test_consolidation_is_offered_with_its_option(service: Service) -> None:
    for options, expected in (((), False), (("--consolidate",), True)):
        where = ["--url", service.api.url, "--user", f"u-{uuid4().hex}", "--profile", PROFILE, *options]
        server = StdioServerParameters(
            command=COMMAND[0], args=[*COMMAND[1:], *where], env={"MEMNET_TOKEN": service.token()}
        )
        async with Client(server) as client:
            assert ("memory_consolidate" in [one.name for one in (await client.list_tools()).tools]) is expected


async def test_a_refused_start_says_why_on_standard_error(service: Service) -> None:
    url, user = ("--url", service.api.url), ("--user", "maya")
    unknown = started(*url, *user, "--profile", "none", token=service.token())
    forbidden = started(*url, *user, "--profile", PROFILE, token=service.token("Memory.Write"))
    untrusted = started(*url, *user, "--profile", PROFILE, token="x")
    hostile = started(*url, "--user", "../u2", "--profile", PROFILE, token=service.token())
    for ended, code in (
        (unknown, "PROFILE_NOT_FOUND"),
        (forbidden, "ROLE_REQUIRED"),
        (untrusted, "UNAUTHENTICATED"),
        (hostile, "INVALID_IDENTIFIER"),
    ):
        assert (ended.returncode, ended.stdout) == (1, "")
        assert ended.stderr.startswith(f"memnet-mcp: {code}: ")
        assert ended.stderr.count("\n") == 1


async def test_without_a_local_stack_it_says_how_to_start_one(tmp_path: Path) -> None:
    ended = started("--local", "--user", "maya", "--profile", PROFILE, cwd=tmp_path)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "Start one with `make dev`" in ended.stderr


async def test_arguments_that_are_missing_are_named(tmp_path: Path) -> None:
    ended = started("--local", "--profile", PROFILE, cwd=tmp_path)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "--user" in ended.stderr
