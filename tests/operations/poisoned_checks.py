"""Checks of a retraction of the poisoned conversation that know nothing of how one is planned."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from memnet.domain.context.context import AssembleContext, IncludeEvents
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.json_patch import pointer
from memnet.domain.core.scope import DocumentKey, Json
from memnet.domain.events.event_search import EventQuery
from memnet.domain.governance.retraction import RetractionPlan, ValueFate
from memnet.domain.recall.recalled import RecallRequest
from memnet.operations.context import assemble_context
from memnet.operations.documents.read import get_document
from memnet.operations.events.search_events import search_events
from memnet.operations.history.read_origins import read_origins
from memnet.operations.history.verify_audit import verify_audit
from memnet.operations.recall.recall import recall
from tests.operations.poisoned_scenario import (
    COPILOT,
    DOCUMENTS,
    LIVE,
    PERSONAL_MEMORY,
    POISON,
    WORD,
    PoisonedWorld,
)
from tests.operations.rebuilt import rebuilt_histories
from tests.operations.turn_search_scenario import ONE
from tests.operations.withdrawn_scenario import drain

Contents = Mapping[DocumentKey, Json]
QUESTIONS = (
    f"What has {WORD} said?",
    "Where does the user live?",
    "What is the favourite tea?",
    "Which money was sent, and to whom?",
)
OWN = frozenset({"id", "proposed_at", "proposed_on"})
"""Members of an entry that depend on who was the first to say it."""


async def contents_of(world: PoisonedWorld) -> dict[DocumentKey, Json]:
    """The contents of the documents."""
    return {key: await world.content(key) for key in DOCUMENTS}


def normal(content: Json) -> Json:
    """A content in which entries are named by what they say, and not by their ids; in no order of an array."""
    names = {one["id"]: _said(one) for one in _objects(content) if isinstance(one.get("id"), str)}
    return _normal(content, names)


def _normal(value: Json, names: Mapping[str, str]) -> Json:
    if isinstance(value, dict):
        return {name: _normal(member, names) for name, member in value.items() if name not in OWN}
    if isinstance(value, list):
        return sorted((_normal(one, names) for one in value), key=canonical)
    return names.get(value, value) if isinstance(value, str) else value


def _said(entry: dict[str, Any]) -> str:
    return f"what says {entry.get('text')} from {entry.get('valid_from')}"


def _objects(value: Json) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(one)


def planned(content: Json, rows: Sequence[tuple[str, Json]]) -> Json:
    """What a document is if exactly the values of these rows change: (pointer, what it becomes); None: it is gone."""
    named = {pointer(text)[1:]: after for text, after in rows if not text.endswith("/-")}
    made = _rebuilt(content, (), named)
    for text, after in rows:
        *section, last = pointer(text)[1:]
        if last == "-":
            here = made
            for name in section:
                here = here[name]
            here.append(after)
    return made


def _rebuilt(value: Json, place: tuple[str, ...], named: Mapping[tuple[str, ...], Json]) -> Any:
    if place in named:
        return named[place]
    if isinstance(value, dict):
        return {
            name: _rebuilt(one, (*place, name), named)
            for name, one in value.items()
            if named.get((*place, name), one) is not None or one is None
        }
    if isinstance(value, list):
        kept = [(*place, str(index)) for index in range(len(value))]
        return [
            _rebuilt(one, where, named)
            for where, one in zip(kept, value, strict=True)
            if where not in named or named[where] is not None
        ]
    return value


def check_planned(before: Contents, after: Contents, plan: RetractionPlan) -> None:
    """The values of the plan's rows became what the rows say, and no other scalar or its place has changed."""
    rows: dict[DocumentKey, list[tuple[str, Json]]] = {key: [] for key in before}
    for document in plan.documents:
        for value in document.values:
            assert value.fate is not ValueFate.UNRESOLVED
            rows[document.key(ONE)].append((value.pointer, value.after))
    for key, content in before.items():
        assert canonical(after[key]) == canonical(planned(content, rows[key])), key.path


def check_clean(after: Contents, clean: Contents) -> None:
    """The documents are those of the world in which the conversation did not take place."""
    for key, content in clean.items():
        assert normal(after[key]) == normal(content), key.path


async def check_gone(world: PoisonedWorld) -> None:
    """Nothing that is read, recalled, assembled or searched has a word or an item of the conversation."""
    readable = world.stored("documents", "events")
    for name, data in readable.items():
        content = orjson.loads(data)
        shown = canonical(content.get("content", content)).decode()
        assert WORD not in shown, name
        assert f'"{POISON}"' not in shown, name
    assert not [name for name in world.stored("snapshots") if f"/{POISON}/" in name]
    assert not world.stored("conflicts")
    for row in await world.indexed():
        assert WORD not in row
        assert f'"{POISON}"' not in row
    for found in await _answers(world):
        assert WORD not in found
        assert f"'{POISON}'" not in found


async def _answers(world: PoisonedWorld) -> list[str]:
    found = []
    for question in QUESTIONS:
        for profile_id in (COPILOT, PERSONAL_MEMORY):
            for closed in (False, True):
                request = RecallRequest(
                    scope=ONE, actor=LIVE, profile_id=profile_id, query=question, waiting=True, closed=closed
                )
                recalled = await recall(request, world.service)
                assert not recalled.degraded
                found.append(repr((recalled.text, recalled.results)))
            command = AssembleContext(
                scope=ONE,
                actor=LIVE,
                profile_id=profile_id,
                text=f"{question} About alpha.",
                explicit_ids={},
                include_events=IncludeEvents(top_k=20),
            )
            found.append(repr(await assemble_context(command, world.service)))
        for text in (question, None):
            query = EventQuery(scope=ONE, text=text, top=50)
            found.append(repr(await search_events(query, cursor=None, service=world.service)))
            found.append(repr(await world.search(text, profile_id=PERSONAL_MEMORY)))
    return found


async def check_histories(world: PoisonedWorld) -> None:
    """The audit holds, and each version is the one that its records give."""
    await drain(world.service)
    report = await verify_audit(ONE, world.service)
    assert (report.ok, report.faults) == (True, [])
    service = world.service
    for history in await rebuilt_histories(ONE, documents=service.documents, audit=service.audit):
        key = history.rebuilt.key
        assert history.rebuilt.fault is None
        assert key is not None
        assert canonical(await world.content(key)) == history.versions[-1].content
        for version in history.versions:
            if version.content is not None:
                view = await get_document(key, service, as_of=str(version.change["change_id"]))
                assert canonical(orjson.loads(view.document)["content"]) == version.content


async def check_blame(world: PoisonedWorld) -> None:
    """No scalar rests on the conversation alone, as blame has it."""
    for key in DOCUMENTS:
        traced = await read_origins(key, world.service)
        for place, node in traced.origins.values():
            cited = [dict(one.evidence or {}).get("conversation_id") for one in node.sources()]
            assert isinstance(node.value, dict | list) or set(cited) != {POISON}, (key.path, place)
