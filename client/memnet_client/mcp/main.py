"""`memnet-mcp`: one user's memory over stdio. Standard output carries the protocol alone; messages are on stderr."""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence

from mcp.server.stdio import stdio_server

from memnet_client import AsyncMemnet
from memnet_client.aio import SCOPE
from memnet_client.credentials import Credential
from memnet_client.mcp.refusals import Refused
from memnet_client.mcp.server import RETRY, create_server

TOKEN = "MEMNET_TOKEN"
"""The variable with the bearer token; without it, azure-identity gets tokens."""
USAGE = 2
"""The exit code for arguments that cannot be used, as argparse has it."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Serve until the host closes standard input; return the exit code: 0, 1 (cannot start) or 2 (usage)."""
    given = _parser().parse_args(arguments)
    try:
        asyncio.run(_serve(_client(given), given.user, consolidate=given.consolidate))
    except Exception as error:  # a credential may raise anything
        print(f"memnet-mcp: {error or type(error).__name__}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="memnet-mcp", description="Serve one user's memory as an MCP server over stdio."
    )
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--url", help="address of the service; the token is in MEMNET_TOKEN or from azure-identity")
    where.add_argument("--local", action="store_true", help="the local stack of this directory or one above")
    parser.add_argument("--tenant", default="t1", help="the tenant (default: t1)")
    parser.add_argument("--user", required=True, help="the user whose memory it is")
    parser.add_argument("--profile", required=True, help="the profile")
    parser.add_argument("--principal", default="mcp-host", help="with --local: the product that acts")
    parser.add_argument(
        "--consolidate", action="store_true", help="offer memory_consolidate, for a token that may consolidate"
    )
    parser.add_argument("--scope", default=SCOPE, help="with azure-identity: the scope of the service")
    return parser


def _client(given: argparse.Namespace) -> AsyncMemnet:
    if given.local:
        return AsyncMemnet.local(given.principal, tenant=given.tenant, profile=given.profile, retry=RETRY)
    credential = _credential(given.scope)
    return AsyncMemnet(given.url, credential=credential, tenant=given.tenant, profile=given.profile, retry=RETRY)


def _credential(scope: str) -> Credential:
    """Return the token of the environment, or a function that gets tokens from azure-identity.

    Raises LookupError without either.
    """
    given = os.environ.get(TOKEN)  # noqa: TID251 - a host gives it to its server, and there are no settings
    if given:
        return given
    try:
        from azure.identity import DefaultAzureCredential
    except ImportError:
        raise LookupError(f"Set {TOKEN}, or install memnet-client[azure].") from None
    azure = DefaultAzureCredential()

    def token() -> str:
        try:
            return azure.get_token(scope).token
        except Exception as error:  # each of its ways to sign in has errors of its own
            reason = str(error).partition("\n")[0]
            raise Refused("CREDENTIAL_FAILED", f"No token was obtained. {reason}") from None

    return token


async def _serve(client: AsyncMemnet, user_id: str, *, consolidate: bool) -> None:
    async with client:
        user = client.user(user_id)
        server = create_server(lambda context: user, may_consolidate=lambda context: consolidate)
        await client.run(user.memory.profile())  # so that a wrong address, token or profile is reported at the start
        async with stdio_server() as (received, sent):
            await server.run(received, sent, server.create_initialization_options())


if __name__ == "__main__":
    sys.exit(run())
