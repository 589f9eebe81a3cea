"""The MCP server: one handler for each kind of request. It keeps nothing between requests.

It is built on the low-level server of the SDK. The high-level one drops unknown arguments silently, turns texts that
look like JSON into JSON, and configures the logging of the process.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from mcp import types
from mcp.server.lowlevel import Server
from pydantic import ValidationError

from memnet_client import AsyncUser, Retry, __version__
from memnet_client.errors import MemnetError
from memnet_client.mcp import listing, prompts, resources
from memnet_client.mcp.arguments import Arguments
from memnet_client.mcp.listing import Context, Page, offered
from memnet_client.mcp.refusals import Refused, as_protocol_error, as_result, invalid_arguments, unexpected
from memnet_client.mcp.tool import Call, Tool

SECONDS = 30.0
"""The time limit of a request."""
RETRY = Retry(deadline=25.0)
"""How the tools retry: they give up within the time limit, and report why."""
ASKING_VERSION = "2026-07-28"
"""The first version of the protocol in which a result may ask the person and the server keeps nothing meanwhile."""
T = TypeVar("T")


def create_server(
    user_of: Callable[[Context], AsyncUser],
    *,
    seconds: float = SECONDS,
    may_consolidate: Callable[[Context], bool] = lambda _: False,
) -> Server[Any]:
    """Return a server. `user_of` returns whose memory a request is about: the transport knows it, no argument has it.

    `seconds` is the time limit of a request. `may_consolidate` returns whether a request is offered
    `memory_consolidate`; without it there is no such tool. Raises PoisonedDescriptions.
    """
    listing.check()
    handlers = _Handlers(user_of, seconds, may_consolidate)
    server: Server[Any] = Server(
        "memnet",
        title="memnet",
        version=__version__,
        instructions=listing.INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=listing.list_resources,
        on_list_resource_templates=listing.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=listing.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )
    server.middleware.clear()  # its spans record the text of exceptions
    return server


class _Handlers:
    def __init__(
        self, user_of: Callable[[Context], AsyncUser], seconds: float, may_consolidate: Callable[[Context], bool]
    ) -> None:
        self._user_of = user_of
        self._seconds = seconds
        self._may_consolidate = may_consolidate

    async def list_tools(self, context: Context, page: Page) -> types.ListToolsResult:
        """Answer tools/list."""
        return types.ListToolsResult(tools=listing.listed(self._offered(context)))

    def _offered(self, context: Context) -> Mapping[str, Tool]:
        return offered(consolidate=self._may_consolidate(context))

    async def call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Answer tools/call; a refusal is a result that is an error."""
        tool = self._offered(context).get(params.name)
        if tool is None:
            raise as_protocol_error(Refused("TOOL_NOT_FOUND", "There is no such tool.", status=404))
        call = Call(self._user_of(context), _can_ask(context), params.input_responses or {})
        try:
            given = _checked(tool.arguments, params.arguments or {})
            result = await self._bounded(tool.run(call, given))
        except MemnetError as error:
            return as_result(error)
        if isinstance(result, types.InputRequiredResult):
            return result
        text = types.TextContent(text=result.model_dump_json())
        return types.CallToolResult(content=[text], structured_content=result.model_dump(mode="json"))

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Answer resources/read."""
        try:
            text = await self._bounded(resources.read(self._user_of(context), params.uri))
        except MemnetError as error:
            raise as_protocol_error(error) from None
        content = types.TextResourceContents(uri=params.uri, mime_type=resources.JSON, text=text)
        return types.ReadResourceResult(contents=[content])

    async def get_prompt(self, context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """Answer prompts/get."""
        try:
            return await self._bounded(prompts.get(self._user_of(context), params.name, params.arguments or {}))
        except MemnetError as error:
            raise as_protocol_error(error) from None

    async def _bounded(self, work: Awaitable[T]) -> T:
        """Return the result of `work`. Raises MemnetError, whatever happens."""
        try:
            async with asyncio.timeout(self._seconds):
                return await work
        except MemnetError:
            raise
        except TimeoutError:
            raise Refused("TOOL_TIMEOUT", f"There is no answer after {self._seconds:.0f} s.") from None
        except Exception as error:
            raise unexpected(error) from None


def _can_ask(context: Context) -> bool:
    """Whether a result may ask the person. An empty capability means forms: the only kind before there were two."""
    capabilities = context.session.client_capabilities
    ability = capabilities.elicitation if capabilities else None
    has_forms = ability is not None and (ability.form is not None or ability.url is None)
    return has_forms and context.protocol_version >= ASKING_VERSION


def _checked(kind: type[Arguments], arguments: dict[str, Any]) -> Arguments:
    """Return the arguments that a tool takes. Raises Refused."""
    try:
        json.dumps(arguments, allow_nan=False, ensure_ascii=False).encode()
        return kind.model_validate(arguments)
    except ValidationError as error:
        raise invalid_arguments(error) from None
    except (ValueError, RecursionError):
        raise Refused("INVALID_ARGUMENTS", "The arguments hold a value that is not JSON (RFC 8259).") from None
