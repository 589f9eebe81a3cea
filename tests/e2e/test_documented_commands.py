"""Every command on a page does what the page says."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source_tree import texts
from tests.e2e.documented import Block, Clone, blocks, differs, misformed

IN_ORDER = (
    "docs/write-a-profile.md",
    "docs/quickstart.md",
    "docs/stores.md",
    "docs/prompting.md",
    "docs/confirming.md",
    "docs/turns.md",
    "docs/recall.md",
    "docs/workspaces.md",
    "docs/subject-requests.md",
    "docs/blame.md",
    "docs/operations.md",
    "docs/runbook.md",
    "docs/recovery.md",
    "docs/client.md",
    "docs/me.md",
    "docs/mcp.md",
    "docs/frameworks.md",
    "docs/compatibility.md",
)
"""The pages whose commands are run. The first is the one whose reader adds a profile before starting the stack."""
LONG_ENOUGH = {"docs/quickstart.md": 8, "docs/write-a-profile.md": 8, "docs/runbook.md": 8, "docs/recovery.md": 8}
"""So many blocks are run at least: a page whose blocks are no longer found says nothing."""
README = "README.md"


@pytest.fixture
def clone(tmp_path: Path) -> Iterator[Clone]:
    made = Clone(tmp_path / "memnet")
    yield made
    made.close()


def runs(page: str) -> Iterator[list[Block]]:
    """The page's blocks that are run, split where the stack is started: what is set in a shell ends there."""
    together: list[Block] = []
    for block in blocks(page):
        if block.language == "sh":
            yield together
            yield [block]
            together = []
        elif block.language == "bash" or block.is_program:
            together.append(block)
    yield together


def test_every_command_does_what_its_page_says(clone: Clone) -> None:
    wrong = []
    for page in (*IN_ORDER, README):
        for together in filter(None, runs(page)):
            if together[0].language == "sh":
                (stack,) = together
                wrong.append(differs(stack, clone.run_stack(stack.code.strip())))
            else:
                wrong += [differs(block, printed) for block, printed in clone.run(together)]
    found = "\n".join(filter(None, wrong))
    assert not found, found


@pytest.mark.parametrize("page", LONG_ENOUGH)
def test_a_page_s_commands_are_found(page: str) -> None:
    assert sum(block.language == "bash" for block in blocks(page)) >= LONG_ENOUGH[page]


@pytest.mark.parametrize("page", [name for name in texts() if name.startswith("docs/") and name.endswith(".md")])
def test_commands_for_azure_have_their_form(page: str) -> None:
    assert [fault for block in blocks(page) if block.language == "azurecli" for fault in misformed(block)] == []


def test_no_page_has_commands_that_are_never_run() -> None:
    pages = [name for name in texts() if name.endswith(".md") and name not in (*IN_ORDER, README)]
    found = [block.place for page in pages for block in blocks(page) if block.language in ("bash", "sh")]
    assert found == []


def test_no_program_is_left_out() -> None:
    programs = [block for page in (*IN_ORDER, README) for block in blocks(page) if block.language == "python"]
    assert [block.place for block in programs if not block.is_program] == []
