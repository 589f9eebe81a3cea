"""The site: it is made without a warning, has every page in its navigation, and loads nothing from elsewhere."""

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.architecture.source_tree import ROOT, texts

LOADS = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "object": "data"}


def build(pages: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """Make a site as `make docs` does, elsewhere."""
    (recipe,) = re.findall(r"^docs:.*\n\t@\$\(BIN\)/python (.*) -d \S+ docs build/site$", texts()["Makefile"], re.M)
    command = [sys.executable, *recipe.split(), "-d", str(site.parent / "cache"), str(pages), str(site)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("docs") / "site"
    done = build(ROOT / "docs", place)
    assert (done.returncode, done.stderr) == (0, "")
    return place


class _Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.targets: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        self.loaded += filter(None, [found.get(LOADS.get(tag, ""))])
        self.targets += filter(None, [found.get("href")])


def pages(site: Path) -> Iterator[tuple[str, _Page]]:
    for path in sorted(site.rglob("*.html")):
        yield path.relative_to(site).as_posix(), _Page(path.read_text("utf-8"))


def test_every_page_is_there(site: Path) -> None:
    written = {name.removeprefix("docs/") for name in texts() if name.startswith("docs/") and name.endswith(".md")}
    assert {name for name in written if not (site / name).with_suffix(".html").is_file()} == set()


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    elsewhere = re.compile(r"(?:https?:)?//")
    assert [(name, url) for name, page in pages(site) for url in page.loaded if elsewhere.match(url)] == []
    styles = {path.name: path.read_text("utf-8") for path in site.rglob("*.css")}
    assert styles
    assert [name for name, text in styles.items() if re.search(r"(?:@import|url\()\s*['\"]?(?:https?:)?//", text)] == []


def test_every_link_in_it_leads_to_a_page_of_it(site: Path) -> None:
    broken = []
    for name, page in pages(site):
        for target in page.targets:
            place = re.split(r"[?#]", target)[0]
            if not re.match(r"[a-z]+:|#", target) and not (site / name).parent.joinpath(place).exists():
                broken.append(f"{name}: {target}")
    assert broken == []


@pytest.mark.parametrize(
    ("index", "text", "named"),
    [
        (":::{toctree}\nsecond\n:::\n", "[there](nowhere.md)", "nowhere.md"),
        (":::{toctree}\nsecond\n:::\n", "[there](second.md#nowhere)", "nowhere"),
        ("Without navigation.", "Lost.", "second.md"),
    ],
)
def test_what_leads_nowhere_and_what_nothing_leads_to_ends_the_build(
    tmp_path: Path, index: str, text: str, named: str
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "conf.py").write_text((ROOT / "docs" / "conf.py").read_text("utf-8"), "utf-8")
    (docs / "index.md").write_text(f"# Site\n\n{index}\n", "utf-8")
    (docs / "second.md").write_text(f"# Second\n\n{text}\n", "utf-8")
    done = build(docs, tmp_path / "site")
    assert done.returncode != 0
    assert named in done.stderr
