"""The `memnet` command. Each subcommand lives in its own module and is imported only when it is called."""

from importlib import import_module
from typing import Final

import click

from memnet import log_redaction

COMMANDS: Final = {
    "audit": "cli.audit:audit",
    "bootstrap": "cli.bootstrap:bootstrap",
    "compact": "cli.upkeep:compact",
    "cues": "cli.catalog:cues",
    "doctor": "cli.bootstrap:doctor",
    "erasure": "cli.erasure:erasure",
    "export": "cli.export:export",
    "import": "cli.export:import_",
    "keys": "cli.keys:keys",
    "legal-hold": "cli.retention:legal_hold",
    "migrate": "cli.migrate:migrate",
    "migrations": "cli.catalog:migrations",
    "outbox": "cli.upkeep:outbox",
    "pending": "cli.pending:pending",
    "profiles": "cli.catalog:profiles",
    "prompts": "cli.catalog:prompts",
    "rankers": "cli.catalog:rankers",
    "refresh": "cli.upkeep:refresh",
    "retention": "cli.retention:retention",
    "retract": "cli.retract:retract",
    "schemas": "cli.catalog:schemas",
    "search": "cli.search:search",
    "token": "cli.token:token",
}
"""The name of each command -> module:attribute of its click command."""


class LazyGroup(click.Group):
    """A group that imports a subcommand when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all subcommands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the subcommand, or None if there is no such name."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="memnet", message="%(prog)s %(version)s")
def main() -> None:
    """Operate a memnet service: that of the MEMNET_* settings, else the local stack that runs here."""


def run() -> None:
    """Run as the process `memnet`, without the texts of exceptions: its output may be stored."""
    log_redaction.install("warning")
    main(prog_name="memnet")


if __name__ == "__main__":
    run()
