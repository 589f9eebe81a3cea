"""Recalled memory inside a conversation: how it is marked, and how it is taken out before anything is extracted.

What an orchestrator puts into a conversation from memory stands between `<memnet-context>` and `</memnet-context>`.
Extracted again, it would confirm itself: so it is stripped from every message, whoever's role it has. Where the
markers do not pair, more is stripped and not less: what may have been recalled is not taken for said.
"""

import re
from collections.abc import Sequence

from memnet.domain.replay.snapshot import Message

NAME = "memnet-context"
_MARKER = re.compile(rf"<(/?){NAME}(?![\w-])[^>]*(?:>|\Z)", re.IGNORECASE)
"""With attributes or without, in any case; one that the end of the message cuts off counts, too."""
_BEGINNING = re.compile(rf"<(?=/?{NAME})", re.IGNORECASE)
_NEUTRAL = "&lt;"


def wrap(text: str) -> str:
    """Mark `text` as recalled. Markers inside of it are made harmless, so that nothing in it can end the mark."""
    return f"<{NAME}>\n{neutral(text)}\n</{NAME}>"


def neutral(text: str) -> str:
    """`text` in which no marker stands: the bracket that begins one becomes `&lt;`."""
    return _BEGINNING.sub(_NEUTRAL, text)


def is_marked(text: str) -> bool:
    """Whether any marker stands in the text."""
    return _MARKER.search(text) is not None


def strip(text: str) -> str:
    """What is left of a message without what was injected; empty if it was only that.

    An opening marker without its closing one reaches to the end of the message, and a closing one without its opening
    one from the beginning. What is left contains no marker, and stays as it is if there was none.
    """
    kept: list[str] = []
    depth = start = 0
    for marker in _MARKER.finditer(text):
        if not marker[1]:
            if depth == 0:
                kept.append(text[start : marker.start()])
            depth += 1
        elif depth == 0:
            kept.clear()
        else:
            depth -= 1
        start = marker.end()
    if start == 0:
        return text
    if depth == 0:
        kept.append(text[start:])
    # Joined by a line's end, so that what stood apart does not make a new marker.
    return "\n".join(part.strip() for part in kept if part.strip())


def strip_messages(messages: Sequence[Message]) -> list[Message]:
    """The messages without what was injected into them; one that was only that has no content left."""
    return [message.model_copy(update={"content": strip(message.content)}) for message in messages]
