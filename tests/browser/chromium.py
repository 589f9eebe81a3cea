"""A headless Chromium for the tests: the one that `make test` has unpacked here, or the one that CHROMIUM names.

The package carries Chromium for Linux on x86-64 with the libraries it needs, so nothing has to be installed on the
machine. On any other, name a Chromium: CHROMIUM=/path/to/chromium make test.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Browser, async_playwright

DIRECTORY = Path(__file__).parent / "node_modules"
UNPACKED = DIRECTORY / ".chromium"
AXE = DIRECTORY / "axe-core" / "axe.min.js"
"""The accessibility checks, as a script."""


class BrowserMissing(Exception):
    """There is no Chromium to test with: run `make test`, or name one by the environment variable CHROMIUM."""


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """A browser while the context is open. Raises BrowserMissing."""
    named = os.environ.get("CHROMIUM")
    program = Path(named) if named else UNPACKED / "chromium"
    if not program.is_file() or not AXE.is_file():
        raise BrowserMissing(BrowserMissing.__doc__)
    own = {} if named else {"LD_LIBRARY_PATH": str(UNPACKED / "lib"), "FONTCONFIG_PATH": str(UNPACKED)}
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=program,
            env={**os.environ, **own},
            # The tests' own pages alone are opened in it, and its sandbox takes rights that containers do not have.
            args=["--no-sandbox", "--disable-gpu"],
        )
        try:
            yield browser
        finally:
            await browser.close()
