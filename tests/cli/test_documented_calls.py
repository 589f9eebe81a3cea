"""Every call of the command that a page shows is one that the command understands."""

import re
import shlex
from collections.abc import Iterator

import click
import pytest

from cli.main import main
from tests.architecture.source_tree import texts

FENCE = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ENDS = {"|", "||", ">", ">>", "<", "&&", ";"}
"""What the shell makes of the rest is not the command's."""


def calls() -> Iterator[tuple[str, list[str]]]:
    for page, text in texts().items():
        if page.endswith(".md"):
            for block in FENCE.findall(text):
                for line in block.replace("\\\n", " ").splitlines():
                    words = (
                        shlex.split(re.sub(r"[\[\]]", "", line), comments=True) if line.startswith("memnet ") else []
                    )
                    if words:
                        end = next((at for at, word in enumerate(words) if word in ENDS), len(words))
                        yield page, words[1:end]


def fault(words: list[str]) -> str | None:
    command: click.Command = main
    context = click.Context(main)
    while isinstance(command, click.Group) and words and (found := command.get_command(context, words[0])):
        command, words = found, words[1:]
        context = click.Context(command, parent=context)
    try:
        _, left, _ = command.make_parser(context).parse_args(list(words))
    except click.UsageError as error:
        return error.format_message()
    return f"nothing takes {left}" if left or isinstance(command, click.Group) else None


def test_calls_are_found() -> None:
    pages = {page for page, _ in calls()}
    assert {"README.md", "docs/export.md", "docs/migrations.md", "docs/operations.md", "docs/retention.md"} <= pages


@pytest.mark.parametrize(("words", "told"), [(["keys", "list", "--tenent", "t"], "No such option"), (["key"], "takes")])
def test_a_call_that_is_none_is_found(words: list[str], told: str) -> None:
    assert told in (fault(words) or "")


def test_the_command_understands_what_the_pages_show() -> None:
    assert [f"{page}: memnet {shlex.join(words)}: {why}" for page, words in calls() if (why := fault(words))] == []
