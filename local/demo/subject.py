"""Who the demo's user is, and what an administrator puts down about them before the first session."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from local.demo.conversation import SHIPPED, Session

TENANT: Final = "acme"
OTHER_TENANT: Final = "globex"
USER: Final = "u1"
OTHER_USER: Final = "u2"
PROFILE: Final = "project-copilot-v1"
COPILOT: Final = "svc-copilot"
MAIL: Final = "svc-mail"
ADMIN: Final = "admin-console"
PRIVACY: Final = "svc-privacy"

MAYA: Final[dict[str, Any]] = {
    "profile": {"display_name": "Maya Okafor", "locale": "en-GB", "role": "Head of Search"},
    "projects_index": [
        {"project_id": "atlas", "aliases": ["Project Atlas"], "keywords": ["reranker", "latency", "retrieval"]},
        {"project_id": "harbor", "aliases": ["Project Harbor"], "keywords": ["onboarding", "sign-up"]},
    ],
}


def static_content(file: Path, sessions: Sequence[Session]) -> dict[str, Any]:
    """The content of the user's static document: of a file that is not ours, only the speaker's name is known."""
    if file.resolve() == SHIPPED:
        return MAYA
    speakers = (turn.speaker for session in sessions for turn in session.turns if turn.role == "user")
    return {"profile": {"display_name": next(speakers, "user")}, "projects_index": []}
