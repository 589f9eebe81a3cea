"""Recall by whole words: the open entries of a profile's documents, the events, and the messages of turns."""

from collections.abc import Iterator
from dataclasses import replace
from typing import get_args

from memnet_client import prompt, ranking
from memnet_client.prompt import MIN_TOKENS, Format
from memnet_client.testing import entries
from memnet_client.testing.call import Answer, Call, need
from memnet_client.testing.claimants import disputes_of
from memnet_client.testing.context import clarification
from memnet_client.testing.events import find, words
from memnet_client.testing.json_patch import Json, canonical
from memnet_client.testing.refusals import Refusal
from memnet_client.testing.rules import Profile, covers
from memnet_client.testing.state import Document, Place, moment_of, text_of
from memnet_client.testing.turn_search import is_searchable, messages_of

_COMMON = """
    a about all am an and any are as at be been but by can did do does for from had has have he her him his how i if in
    is it its me my no not of on or our she so that the their them then there they this to up us was we were what when
    where which who why will with would you your
"""
COMMON = frozenset(_COMMON.split())
"""English words that find nothing."""
PIPELINE, HEADING = "evidence", "Relevant from recent conversations"
MAX_TOKENS, MAX_RESULTS, MAX_QUERY, SNIPPET = 1024, 100, 1000, 160


def recall(call: Call) -> Answer:
    """Return what has words of the question, best first, as text."""
    body, profile = call.body, call.profile(call.body["profile_id"])
    rules = profile.body.get("recall") or {}
    pipeline = _checked(body, rules)
    then, at = (None if body.get(name) is None else text_of(moment_of(body[name])) for name in ("as_of", "valid_at"))
    if then is not None:
        need({"Memory.Admin", "Memory.Audit"}, call.identity)
    include = body.get("include") or {}
    states = {"open", *(["closed"] if include.get("closed") or at else [])}
    states |= {"waiting"} if include.get("waiting") and rules.get("show_waiting") else set()
    weighs = any(one.get("stage") == "claims" for one in (rules.get("pipelines") or {}).get(pipeline, ()))
    disputed = disputes_of(call, profile) if weighs and then is None else set()
    known = [*_entries(call, profile, then, disputed), *_events(call), *_messages(call, profile)]
    rows = [row for row in known if row["state"] in states and _held(row, at) and _recorded(row, then)]
    ranked = _ranked(body["query"], rows)
    wanted = ranked[: body.get("limit") or MAX_RESULTS]
    budget = min(body.get("max_tokens") or MAX_TOKENS, rules.get("max_tokens") or MAX_TOKENS)
    format = body.get("format") or get_args(Format)[0]
    text, kept = _written(wanted, format, budget)
    reason = "limit" if len(kept) == body.get("limit") else "budget"
    left_out = [{**_cited(row), "reason": reason} for row in ranked if row not in kept]
    answer = {
        "text": text,
        "format": format,
        "tokens": prompt.tokens(text),
        "results": [{**_cited(row), "text": row["text"]} for row in kept],
        "left_out": left_out[:20],
        "mode": "lexical",
        "pipeline": pipeline,
        "degraded": [],
    }
    bindings = [(one["binding_id"], place) for place in call.memory.documents for one in profile.bindings]
    places = (pair for pair in bindings if covers(profile.binding(pair[0]), pair[1]))
    asked = None if then is not None else clarification(call, profile, places)
    answer |= {} if asked is None else {"clarification": asked}
    stages = [{"stage": "rank", "ranked": [{**_cited(row), "parts": {}} for row in ranked], "left_out": []}]
    return Answer({**answer, **({"stages": stages} if body.get("debug") else {})})


def _checked(body: Json, rules: Json) -> str:
    """Return the name of the pipeline. Raises Refusal MALFORMED_REQUEST, PIPELINE_NOT_FOUND."""
    limits = {"max_tokens": (MIN_TOKENS, float("inf")), "limit": (1, MAX_RESULTS), "recency_weight": (0, 1)}
    wrong = [name for name, (least, most) in limits.items() if not least <= (body.get(name) or least) <= most]
    wrong += ["limit"] if body.get("limit") == 0 else []
    wrong += ["query"] if not 1 <= len(body["query"]) <= MAX_QUERY else []
    wrong += ["format"] if body.get("format") not in (None, *get_args(Format)) else []
    if wrong:
        raise Refusal("MALFORMED_REQUEST", f"/{wrong[0]} is not valid here.", param=f"/{wrong[0]}")
    pipelines = sorted(rules.get("pipelines") or {PIPELINE: []})
    wanted = body.get("pipeline") or rules.get("default") or PIPELINE
    if wanted not in pipelines:
        raise Refusal("PIPELINE_NOT_FOUND", "The profile has no such pipeline.", param="/pipeline", known=pipelines)
    return str(wanted)


def _entries(call: Call, profile: Profile, then: str | None, disputed: set[tuple[Place, str]]) -> Iterator[Json]:
    for place, stored in sorted(call.memory.documents.items()):
        document = stored if then is None else _known_then(stored, then)
        covering = [(profile, binding) for binding in profile.bindings if covers(binding, place)]
        if document is None or not document.exists or not covering:
            continue
        for row in entries.rows_of(call, place, document, covering):
            evidence = row.get("evidence") or {}
            source, *also = [
                {name: one[name] for name in ("conversation_id", "message_ids", "snapshot_uri") if one.get(name)}
                for one in (evidence, *evidence.get("also", ()))
            ]
            named = ("state", "text", "binding_id", "namespace", "path", "pointer", "etag", "entry_id", "valid_from")
            shown = {name: row.get(name) for name in (*named, "valid_until")}
            yield {
                "kind": "entry",
                **shown,
                **source,
                "also": also or None,
                "disputed": (place, row["pointer"]) in disputed or None,
                "said_at": row.get("valid_from") or row.get("last_verified_at"),
            }


def _known_then(stored: Document, then: str) -> Document | None:
    """Return the document with its versions until then, or None."""
    count = sum(version.timestamp <= then for version in stored.versions)
    return replace(stored, versions=stored.versions[:count], records=stored.records[:count]) if count else None


def _events(call: Call) -> Iterator[Json]:
    for event in find(call.memory.events.values(), {}):
        row = {"kind": "event", "state": "open", "text": event["digest"], "said_at": event["timestamp"]}
        evidence = event.get("evidence") or {}
        source = {name: evidence.get(name) for name in ("conversation_id", "message_ids")}
        yield {**row, **source, "event_id": event["event_id"], "snapshot_uri": event.get("snapshot_uri")}


def _messages(call: Call, profile: Profile) -> Iterator[Json]:
    for message in messages_of(call, profile) if is_searchable(profile) else ():
        named = ("text", "said_at", "speaker", "conversation_id", "snapshot_uri")
        shown = {name: message[name] for name in named}
        yield {"kind": "turn", "state": "open", **shown, "message_ids": [message["message_id"]]}


def _held(row: Json, at: str | None) -> bool:
    since = row.get("valid_from") if row["kind"] == "entry" else row["said_at"]
    return at is None or ((since or at) <= at and (row.get("valid_until") is None or at < row["valid_until"]))


def _recorded(row: Json, then: str | None) -> bool:
    return then is None or row["kind"] == "entry" or row["said_at"] <= then


def _ranked(query: str, rows: list[Json]) -> list[Json]:
    asked = " ".join(word for word in words(query) if word not in COMMON)
    scores = ranking.scores(asked, [" ".join(words(row["text"])) for row in rows])
    found = [
        {**{name: value for name, value in row.items() if value is not None}, "score": round(score, 6), "uses": 0}
        for row, score in zip(rows, scores, strict=True)
        if score > 0
    ]
    return sorted(found, key=lambda row: (-row["score"], canonical(row)))


def _written(rows: list[Json], format: Format, max_tokens: int) -> tuple[str, list[Json]]:
    """Return the text, and the rows that are in it: those that fit, best first."""
    sheet = prompt.Sheet(format, prompt.tokens)
    items: list[prompt.Item] = []
    kept: list[Json] = []
    for row in rows:
        at = prompt.day(row["said_at"]) if row.get("said_at") else None
        under = [prompt.Heading(HEADING)]
        item = prompt.Item(under=under, id=len(kept) + 1, text=row["text"], by=row.get("speaker"), at=at)
        item = replace(item, disputed=row.get("disputed", False))
        if sheet.take(item, max_tokens - sheet.used) is not None:
            items.append(item)
            kept.append(row)
    return prompt.write(items, format) if items else "", kept


def _cited(row: Json) -> Json:
    snippet = " ".join(row["text"].split())[:SNIPPET]
    return {**{name: value for name, value in row.items() if name != "text"}, "snippet": snippet}
