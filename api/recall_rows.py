"""What a recall found, as members of a response."""

from collections.abc import Sequence
from typing import Final

from memnet.domain.core.json_types import present
from memnet.domain.core.scope import Json
from memnet.domain.recall.candidate import Candidate
from memnet.domain.recall.ranking import LeftOut, Scored, Trace
from memnet.domain.recall.recalled import Recalled

SNIPPET: Final = 160
"""Characters of a snippet."""
SHOWN: Final = 20
"""How many left-out results an answer without `debug` has."""
TRACED: Final = 100
"""How many results of a stage a trace has."""
DIGITS: Final = 6
"""Of a score, after the point."""


def answer(recalled: Recalled, *, debug: bool) -> dict[str, Json]:
    """Return the members of the answer; `debug` adds the parts of each score, and what each stage returned."""
    left = sorted(recalled.left_out, key=lambda one: (-one.score, one.candidate.key))
    members: dict[str, Json] = {
        "text": recalled.text,
        "format": recalled.format,
        "tokens": recalled.tokens,
        "results": [_result(one, debug=debug) for one in recalled.results],
        "left_out": [_left_out(one) for one in (left if debug else left[:SHOWN])],
        "mode": recalled.mode.value,
        "pipeline": recalled.pipeline,
        "degraded": [reason.value for reason in recalled.degraded],
    }
    if recalled.clarification is not None:
        members["clarification"] = dict(recalled.clarification)
    return members | ({"stages": [_trace(one) for one in recalled.traces]} if debug else {})


def snippet(text: str) -> str:
    """Return the beginning of a text on one line."""
    return " ".join(text.split())[:SNIPPET]


def _result(scored: Scored, *, debug: bool) -> dict[str, Json]:
    row = {"score": round(scored.score, DIGITS), **_cited(scored.candidate), "text": scored.candidate.text}
    row |= {"disputed": True} if scored.disputed else {}
    return {**row, "parts": _parts(scored)} if debug else row


def _left_out(one: LeftOut) -> dict[str, Json]:
    return {"score": round(one.score, DIGITS), **_cited(one.candidate), "reason": one.reason}


def _trace(trace: Trace) -> dict[str, Json]:
    return {
        "stage": trace.stage,
        "ranked": _ranked(trace.ranked),
        "left_out": [_left_out(one) for one in trace.left_out[:TRACED]],
    }


def _ranked(ranked: Sequence[Scored]) -> list[Json]:
    return [
        {"score": round(one.score, DIGITS), **_cited(one.candidate), "parts": _parts(one)} for one in ranked[:TRACED]
    ]


def _parts(scored: Scored) -> dict[str, float]:
    return {name: round(value, DIGITS) for name, value in scored.parts.items()}


def _cited(one: Candidate) -> dict[str, Json]:
    """Return what a citation needs: what it is, where it is, who said it and when; without members of no value."""
    place = one.place
    where = (
        {}
        if place is None
        else {
            "binding_id": place.binding_id,
            "namespace": place.namespace,
            "path": place.path,
            "pointer": place.pointer,
            "etag": str(place.etag),
            "entry_id": place.entry_id,
        }
    )
    return present(
        kind=one.kind.value,
        state=one.state.value,
        snippet=snippet(one.text),
        **where,
        event_id=one.event_id,
        conversation_id=one.conversation_id,
        message_ids=list(one.message_ids) or None,
        snapshot_uri=one.snapshot_uri,
        also=[present(**{**source, "message_ids": list(source["message_ids"])}) for source in one.also] or None,
        speaker=one.speaker,
        said_at=one.said_at,
        valid_from=one.validity.valid_from,
        valid_until=one.validity.valid_until,
        importance=one.importance,
        uses=one.uses,
    )
