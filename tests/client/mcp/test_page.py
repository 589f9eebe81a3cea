"""docs/mcp.md names every tool, resource and prompt, and its configurations start the server."""

import json
import re
import sys
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from memnet_client.mcp import main, prompts, resources
from memnet_client.mcp.listing import TOOLS, offered
from tests.architecture.source_tree import texts
from tests.client.mcp.hosts import PROFILE
from tests.e2e.service import Service

PAGE = texts()["docs/mcp.md"]
JSON: list[Any] = [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)]
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_every_tool_has_a_row() -> None:
    assert re.findall(r"^\| `(memory_\w+)` \|", PAGE, re.MULTILINE) == list(TOOLS)


def test_every_resource_and_prompt_is_named() -> None:
    names = [one.uri for one in resources.RESOURCES] + [one.uri_template for one in resources.TEMPLATES]
    names += [one.name for one in prompts.PROMPTS]
    assert [name for name in names if f"`{name}`" not in PAGE] == []


def test_a_quick_start_has_at_most_ten_lines() -> None:
    assert [program for program in PROGRAMS if len(list(filter(str.strip, program.splitlines()))) > 10] == []


def test_the_example_of_an_error_has_its_members() -> None:
    assert [list(example) for example in JSON if "code" in example] == [["code", "message", "details", "remedy"]]


@pytest.mark.asyncio(loop_scope="module")
async def test_the_configuration_of_a_host_starts_the_server(service: Service) -> None:
    (configured,) = (example["mcpServers"]["memory"] for example in JSON if "mcpServers" in example)
    assert configured["command"] == "memnet-mcp"
    where = ["--url", service.api.url, "--tenant", "t1"]
    arguments = [part for given in configured["args"] for part in (where if given == "--local" else [given])]
    assert arguments[-1] == PROFILE
    server = StdioServerParameters(
        command=sys.executable, args=["-m", main.__name__, *arguments], env={"MEMNET_TOKEN": service.token()}
    )
    async with Client(server) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == list(offered(consolidate=False))
