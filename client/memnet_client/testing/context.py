"""Assemble a context: documents by priority, one of each family by its names, events, and what was dropped."""

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass

from memnet_client.outline import describe, outline, render, view_of
from memnet_client.prompt import GUIDANCE_NOTE, tokens
from memnet_client.testing.call import Answer, Call, check_identifier
from memnet_client.testing.events import find, words
from memnet_client.testing.json_patch import ROOT, Json, Pointer, canonical, pointer, pointer_text, resolve
from memnet_client.testing.questions import shown_in
from memnet_client.testing.rules import Profile, place_of, variable
from memnet_client.testing.state import Place

OWNER = ("tenant_id", "user_id")
CLARIFICATION = ("pending_id", "binding_id", "question", "choices")


@dataclass(frozen=True)
class Candidate:
    """A document of a binding; `row` is its place in the response."""

    binding_id: str
    place: Place
    row: Json
    guidance: Sequence[Json] = ()

    @property
    def size(self) -> int:
        """The characters of its content and guidance."""
        parts = [self.row["document"][ROOT], *(section["entries"] for section in self.guidance)]
        return sum(len(canonical(part)) for part in parts)


def assemble_context(call: Call) -> Answer:
    """Collect the documents of a profile for the start of a conversation."""
    body, profile = call.body, call.profile(call.body["profile_id"])
    hint = {name: value for name, value in (body.get("conversation_hint") or {}).items() if value is not None}
    text = hint.pop("text", "")
    variables = {variable(binding) for binding in profile.bindings}
    selected = {name: check_identifier(name, value) for name, value in hint.items() if name in variables}
    debug = _route(call, profile, text, selected)
    kept, dropped = [], []
    for binding in profile.bindings:
        place = place_of(binding, selected)
        row: Json = {"binding_id": binding["binding_id"], "namespace": binding["namespace"]}
        if place is None:
            dropped.append({**row, "reason": "not_routed"})
        elif (found := _candidate(call, profile, binding, place)) is None:
            dropped.append({**row, "path": place[1], "reason": "document_not_found"})
        else:
            kept.append(found)
    asked = clarification(call, profile, [(candidate.binding_id, candidate.place) for candidate in kept])
    dropped += _pack(kept, body.get("max_docs"), body.get("max_chars_total"))
    answer: Json = {
        "selected_project_id": selected.get("project_id"),
        "selected": selected,
        "documents": [candidate.row for candidate in kept],
        "dropped_bindings": dropped,
    }
    guidance = [section for candidate in kept for section in candidate.guidance]
    if guidance:
        answer |= {"guidance_note": GUIDANCE_NOTE, "guidance": guidance}
    if body.get("routing_debug"):
        answer["routing_debug"] = debug
    if body.get("include_events"):
        left = body.get("max_chars_total")
        left = None if left is None else left - sum(candidate.size for candidate in kept)
        answer |= _events(call, body["include_events"], text, selected.get("project_id"), left)
    if asked is not None:
        answer["clarification"] = asked
    if body.get("render"):
        answer |= _prompt(call, profile, answer, body["render"])
    return Answer(answer)


def clarification(call: Call, profile: Profile, places: Iterable[tuple[str, Place]]) -> Json:
    """Return the oldest pending item that waits for the user's decision, or None.

    A question whose entry is not open any more is not asked. `places`: those of the profile's documents, each with the
    id of its binding.
    """
    asked = []
    for binding_id, place in places:
        section = profile.body["pending_sections"].get(binding_id)
        stored = call.memory.at(place)
        content = stored.newest.view[ROOT] if stored else None
        try:
            items = resolve(content, pointer(section)) if section and stored else []
        except LookupError:
            items = []
        asked += [
            {**item, "binding_id": binding_id}
            for item in items
            if item.get("decides") == "user"
            and item.get("question")
            and ("contradicts" not in item or shown_in(item, content, profile.statements(binding_id)))
        ]
    oldest = min(asked, key=lambda item: (item["proposed_at"], item["id"]), default=None)
    if oldest is None:
        return None
    return {name: oldest[name if name != "pending_id" else "id"] for name in CLARIFICATION}


def _prompt(call: Call, profile: Profile, answer: Json, wish: Json) -> Json:
    views = {}
    for row in answer["documents"]:
        binding = profile.binding(row["binding_id"])
        schema = call.world.schemas.get((binding["schema_id"], binding["schema_version"])) or {}
        views[row["binding_id"]] = view_of(
            sorted(row["document"][ROOT]),
            schema=schema,
            guidance=profile.body["guidance_sections"].get(row["binding_id"], ()),
            pending=profile.body["pending_sections"].get(row["binding_id"]),
            family_id=answer["selected"].get(variable(binding)),
            rendering=[one for one in profile.body["rendering"] if one["binding_id"] == row["binding_id"]],
        )
    parts = outline(answer, views)
    # The service counts with a tokenizer. The estimate is larger for most texts.
    prompt = render(parts, wish["format"], tokens, wish.get("max_tokens"))
    return {"prompt": prompt.text, "prompt_tokens": tokens(prompt.text), "prompt_parts": describe(parts, prompt)}


def _candidate(call: Call, profile: Profile, binding: Json, place: Place) -> Candidate | None:
    stored = call.memory.at(place)
    if stored is None:
        return None
    binding_id, view = binding["binding_id"], deepcopy(stored.newest.view)
    left_out = _without_closed(view[ROOT], profile.statements(binding_id))
    guidance = []
    for section in profile.guidance(binding_id):
        entries = _taken(view[ROOT], section)
        if entries:
            row = {"binding_id": binding_id, "pointer": pointer_text((ROOT, *section)), "entries": entries}
            guidance.append(row)
    row = {
        "binding_id": binding_id,
        "namespace": place[0],
        "path": place[1],
        "etag": stored.newest.etag,
        "document": view,
        **({"left_out": left_out} if left_out else {}),
    }
    return Candidate(binding_id, place, row, guidance)


def _without_closed(content: Json, rules: dict[Pointer, Json]) -> list[str]:
    """Remove the closed statements, and return their pointers in the stored document."""
    left_out = []
    for section, rule in rules.items():
        try:
            entries = resolve(content, section)
        except LookupError:
            continue
        closed = [index for index, one in enumerate(entries) if one.get(rule["until_field"]) is not None]
        left_out += [pointer_text((ROOT, *section, str(index))) for index in closed]
        for index in reversed(closed):
            del entries[index]
    return left_out


def _taken(content: Json, section: Pointer) -> list[Json]:
    try:
        found = resolve(content, section[:-1]).pop(section[-1], None)
    except (LookupError, AttributeError):
        return []
    return found if isinstance(found, list) else [found] if found else []


def _pack(kept: list[Candidate], max_docs: int | None, max_chars: int | None) -> list[Json]:
    """Drop the last documents until the others fit, and return a row for each."""
    most = len(kept) if max_docs is None else max_docs
    dropped = [_dropped(candidate, "max_docs") for candidate in kept[most:]]
    del kept[most:]
    while max_chars is not None and sum(candidate.size for candidate in kept) > max_chars:
        dropped.append(_dropped(kept.pop(), "max_chars_total"))
    return dropped


def _dropped(candidate: Candidate, reason: str) -> Json:
    namespace, path = candidate.place
    row = {"binding_id": candidate.binding_id, "namespace": namespace, "path": path}
    return {**row, "reason": reason, "size": candidate.size}


def _events(call: Call, wish: Json, text: str, project: str | None, left: int | None) -> Json:
    found = find(call.memory.events.values(), {"query": text.strip() or None, "project_id": project})
    limits = [(left, "max_chars_total"), (wish.get("max_chars"), "max_chars")]
    limit, reason = min(((size, name) for size, name in limits if size is not None), default=(None, ""))
    cited, dropped, used = [], [], 0
    for event in found[: wish["top_k"]]:
        row = {name: value for name, value in event.items() if name not in OWNER}
        size = len(canonical(row))
        if limit is not None and used + size > limit:
            dropped.append({"event_id": row["event_id"], "reason": reason, "size": size})
        else:
            cited.append(row)
            used += size
    return {"events": cited, "dropped_events": dropped}


def _route(call: Call, profile: Profile, text: str, selected: dict[str, str]) -> Json:
    """Select an id by names and keywords in the text; an ambiguous result selects none."""
    rules = profile.body["routing"]
    name = next((v for binding in profile.body["document_bindings"] if (v := variable(binding))), None)
    if rules is None or name is None:
        return _debug("profile_has_no_routing", 0.0)
    if name in selected:
        return _debug("explicit_id", 1.0)
    said = f" {' '.join(words(text))} "
    scores: dict[str, float] = {}
    for entry in _entries(call, profile, rules):
        names = [entry[rules["id_field"]], *_texts(entry, rules.get("alias_fields", ()))]
        longest = max((len(words(one)) for one in names if f" {' '.join(words(one))} " in said), default=0)
        keywords = _texts(entry, rules.get("keyword_fields", ()))
        hits = sum(f" {' '.join(words(one))} " in said for one in keywords)
        score = min(0.99, 0.9 + 0.02 * longest) if longest else min(0.8, 0.4 + 0.1 * hits) if hits else 0.0
        scores[names[0]] = max(scores.get(names[0], 0.0), score)
    best = max(scores.values(), default=0.0)
    winners = [one for one, score in scores.items() if score == best]
    if not said.strip() or best < max(rules.get("min_score", 0.5), 0.01):
        return _debug("no_match" if said.strip() else "no_text", best)
    if len(winners) > 1:
        return {**_debug("ambiguous", best), "candidates": sorted(winners)}
    selected[name] = winners[0]
    return _debug("alias_match" if best > 0.8 else "keyword_match", best)


def _debug(reason: str, score: float) -> Json:
    return {"deterministic_score": score, "semantic_score": None, "reason": reason}


def _entries(call: Call, profile: Profile, rules: Json) -> list[Json]:
    place = place_of(profile.binding(rules["source_binding"]), {})
    stored = call.memory.at(place) if place else None
    try:
        rows = resolve(stored.newest.view[ROOT], pointer(rules["entries"])) if stored else []
    except LookupError:
        return []
    return [row for row in rows if isinstance(row, dict) and isinstance(row.get(rules["id_field"]), str)]


def _texts(row: Json, names: Sequence[str]) -> list[str]:
    found = []
    for name in names:
        value = row.get(name)
        found += value if isinstance(value, list) else [value]
    return [text for text in found if isinstance(text, str)]
