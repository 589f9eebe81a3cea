"""The site that `make docs` makes of these pages: Sphinx reads this file. Decision 0033 says why it is so."""

import re
from pathlib import Path
from posixpath import dirname, normpath

from pygments.lexers.shell import BashLexer
from sphinx.application import Sphinx

project = "memnet"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "memnet"
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"footer_icons": []}
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

DECISIONS = "decisions/README"
EVERY_DECISION = "\n:::{toctree}\n:hidden:\n:glob:\n\n0*\n:::\n"
"""Put below the table of decisions in the site alone, so that the table stays plain Markdown."""
LINK = re.compile(r"\[([^\]]+)\]\(([^)#:\s]+)(?:#[^)\s]*)?\)")


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    # Blocks for Azure alone are shell; a name of their own keeps them apart from those that a test runs.
    app.add_lexer("azurecli", BashLexer)
    app.connect("source-read", read)


def read(app: Sphinx, docname: str, source: list[str]) -> None:
    """Change a page before it is parsed: a link to a file of the project that is no page becomes the file's name."""
    root = Path(app.srcdir).parent

    def told(link: re.Match[str]) -> str:
        place = normpath(f"docs/{dirname(docname)}/{link[2]}")
        outside = not place.startswith("docs/") and (root / place).is_file()
        return f"{link[1]} (`{place}`)" if outside else link[0]

    source[0] = LINK.sub(told, source[0]) + (EVERY_DECISION if docname == DECISIONS else "")
