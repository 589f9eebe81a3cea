"""What the server lists: small, complete, and without a name for anybody's identity."""

from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from mcp import Client, types

from memnet_client.mcp.server import create_server

MAX_LISTED = 9300
"""Characters of tools/list: they are a part of every conversation of every host."""
IDENTITY = ("tenant", "user", "principal", "role", "token")


def no_user(context: object) -> Any:
    raise AssertionError("a list is about no user")


async def everything() -> types.ListToolsResult:
    async with Client(create_server(no_user, may_consolidate=lambda context: True)) as client:
        return await client.list_tools()


async def listed() -> types.ListToolsResult:
    async with Client(create_server(no_user)) as client:
        return await client.list_tools()


async def test_the_tools_have_titles_descriptions_hints_and_both_schemas() -> None:
    tools = (await everything()).tools
    assert [tool.name for tool in tools] == [
        "memory_context",
        "memory_search",
        "memory_read",
        "memory_remember",
        "memory_correct",
        "memory_pending",
        "memory_resolve",
        "memory_hand_in",
        "memory_replay",
        "memory_consolidate",
    ]
    assert [tool.name for tool in (await listed()).tools] == [tool.name for tool in tools[:-1]]
    for tool in tools:
        assert tool.title
        assert tool.description
        assert tool.annotations is not None
        assert tool.annotations.open_world_hint is False
        assert tool.input_schema["additionalProperties"] is False
        assert tool.output_schema is not None
        for schema in (tool.input_schema, tool.output_schema):
            jsonschema.Draft202012Validator.check_schema(schema)
            assert (schema["type"], leftovers(schema)) == ("object", [])


def leftovers(schema: Any, name: str = "") -> list[str]:
    """The places in a schema that still refer to a definition, or have a title."""
    if isinstance(schema, list):
        return [found for item in schema for found in leftovers(item, name)]
    if not isinstance(schema, dict):
        return []
    found = [name] if {"$ref", "$defs", "title"} & schema.keys() else []
    return found + [fault for key, value in schema.items() for fault in leftovers(value, key)]


async def test_the_hints_say_which_tools_write() -> None:
    hints = {tool.name: tool.annotations for tool in (await everything()).tools}
    reading = {name for name, hint in hints.items() if hint and hint.read_only_hint}
    destructive = {name for name, hint in hints.items() if hint and hint.destructive_hint}
    idempotent = {name for name, hint in hints.items() if hint and hint.idempotent_hint}
    assert reading == {"memory_context", "memory_search", "memory_read", "memory_pending", "memory_replay"}
    assert destructive == {"memory_correct", "memory_resolve", "memory_consolidate"}
    assert reading | idempotent == hints.keys()


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_the_list_of_tools_is_short(era: str) -> None:
    async with Client(create_server(no_user), mode=era) as client:
        found = await client.list_tools()
    assert len(found.model_dump_json(by_alias=True, exclude_none=True)) < MAX_LISTED


async def test_nothing_that_a_model_fills_in_names_an_identity() -> None:
    async with Client(create_server(no_user)) as client:
        tools = (await everything()).tools
        templates = (await client.list_resource_templates()).resource_templates
        prompts = (await client.list_prompts()).prompts
    names = [name for tool in tools for name in members(tool.input_schema)]
    names += [template.uri_template for template in templates]
    names += [argument.name for prompt in prompts for argument in prompt.arguments or ()]
    assert [name for name in names if any(word in name.lower() for word in IDENTITY)] == []


def members(schema: Any) -> list[str]:
    """The names of the members that a schema describes, at any depth."""
    if isinstance(schema, list):
        return [name for item in schema for name in members(item)]
    if not isinstance(schema, dict):
        return []
    return [*schema.get("properties", {}), *(name for value in schema.values() for name in members(value))]


async def test_resources_templates_and_prompts_have_titles_and_descriptions() -> None:
    async with Client(create_server(no_user)) as client:
        resources = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
        prompts = (await client.list_prompts()).prompts
    assert [resource.uri for resource in resources] == ["memory://profile"]
    assert [template.uri_template for template in templates] == [
        "memory://documents/{binding_id}",
        "memory://documents/{binding_id}/{id}",
    ]
    assert [prompt.name for prompt in prompts] == ["with_memory", "review_pending"]
    titles = [one.title for one in (*resources, *templates, *prompts)]
    descriptions = [one.description for listed in (resources, templates, prompts) for one in listed]
    assert len([text for text in (*titles, *descriptions) if text]) == 10


async def test_answers_may_not_be_kept_by_shared_caches() -> None:
    assert ((await listed()).cache_scope, (await listed()).ttl_ms) == ("private", 0)
