"""`memnet token`: a token from the issuer of the local stack."""

import json
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

import click

from cli import local_stack


@click.command()
@click.option("--tenant", "tenants", multiple=True, required=True, help="Tenant the token may access (repeatable).")
@click.option("--principal", required=True, help="Application (client) id the token is issued to.")
@click.option("--roles", required=True, help="Roles, separated by commas, e.g. Memory.Read,Memory.Write.")
@click.option("--lifetime", type=click.IntRange(min=1), default=3600, show_default=True, help="In seconds.")
def token(tenants: tuple[str, ...], principal: str, roles: str, lifetime: int) -> None:
    """Print a token for the local stack that runs here."""
    stack = local_stack.find()
    form = {
        "grant_type": "client_credentials",
        "scope": f"{stack.audience}/.default",
        "client_id": principal,
        "tenant": tenants,
        "roles": roles,
        "lifetime": lifetime,
    }
    body = urlencode(form, doseq=True).encode("ascii")
    try:
        with build_opener(ProxyHandler({})).open(stack.token_url, body, timeout=10) as response:
            click.echo(json.load(response)["access_token"])
    except HTTPError as error:
        with error:
            refusal = json.load(error)
        raise click.ClickException(f"the issuer refused: {refusal['error_description']}") from error
    except OSError as error:
        message = f"the local stack's issuer at {stack.token_url} does not answer: {error}"
        raise click.ClickException(message) from error
