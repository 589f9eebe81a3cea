"""The worked example: everything about a user in one old document, split into the two of the starter profile."""

import shutil
from pathlib import Path

from memnet.settings import ROOT

HERE = Path(__file__).resolve().parent
PARTS = ("profiles", "schemas", "migrations")


def write_catalog(root: Path) -> dict[str, str]:
    """What ships and the example's own files below `root`; return the settings that lead there."""
    for part in PARTS:
        shutil.copytree(ROOT / part, root / part)
        shutil.copytree(HERE / part, root / part, dirs_exist_ok=True)
    return {f"MEMNET_{part.upper()}_DIR": str(root / part) for part in PARTS}
