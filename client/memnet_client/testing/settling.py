"""Settle the statements in a patch, so that at most one entry about a thing is open.

The fake settles additions, replacements and removals of whole entries. It neither joins entries that complete one
another nor splits an interval: what is stated later about an earlier time only shortens what held then.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field

from memnet_client.testing.json_patch import ROOT, Json, Pointer, apply, pointer, pointer_text, resolve
from memnet_client.testing.questions import joined
from memnet_client.testing.refusals import Refusal
from memnet_client.testing.state import moment_of, text_of
from memnet_client.testing.statements import contradicting, is_open, takes_several, thing_of, value_of

PRECISION = 6


@dataclass
class Settling:
    """One patch: who states it, when, how sure, and from which source."""

    rules: dict[Pointer, Json]
    at: str
    principals: set[str | None]
    confidence: float | None
    evidence: Json
    ask: Callable[[Json, Json, Json], Json]
    """Makes a pending item of the operation with a statement, for its rule and the entry that it contradicts."""
    new_id: Callable[[], str]
    pending: Pointer | None
    is_confirmed: bool = False
    claimed_by: str | None = None
    answer: Json = None
    """The item of evidence of the answer to a question, if the patch is one."""
    closes_rivals: bool = False
    """Whether the answer ends what other claimants say about the thing."""
    now: str = ""
    settled: list[Json] = field(default_factory=list)
    _content: Json = None

    def settle(self, content: Json, ops: list[Json]) -> list[Json]:
        """Return the operations that write what follows from the statements; `content` is not changed."""
        state, made = {ROOT: deepcopy(content)}, list[Json]()
        for index, op in enumerate(ops):
            place = pointer(op["path"])[1:]
            rule, self._content = self.rules.get(place[:-1]), state[ROOT]
            parts = [op] if rule is None or op["op"] not in ("add", "replace", "remove") else None
            if parts is None:
                parts = self._settled(index, op, place, rule, resolve(state[ROOT], place[:-1]))
            made += parts
            state = apply(state, deepcopy(parts))
        return made

    def _settled(self, index: int, op: Json, place: Pointer, rule: Json, entries: list[Json]) -> list[Json]:
        apply({ROOT: {"entries": deepcopy(entries)}}, [{**op, "path": f"/{ROOT}/entries/{place[-1]}"}])
        section, old = place[:-1], None if op["op"] == "add" else entries[int(place[-1])]
        if op["op"] == "remove":
            self._check_own(index, old, rule, is_stated=False)
            closes = old is not None and old.get(rule["until_field"]) is None
            return [_put(section, int(place[-1]), rule["until_field"], self.at)] if closes else [op]
        new = self._claimed(index, op["value"], old, rule)
        if old is not None and (thing_of(old, rule)[0] != thing_of(new, rule)[0] or old.get(rule["until_field"])):
            path = pointer_text((ROOT, *place))
            raise Refusal("STATEMENT_CONTRADICTED", "The entry is closed, or about something else.", pointers=[path])
        return self._state(index, section, new, rule, entries)

    def _claimed(self, index: int, value: Json, old: Json, rule: Json) -> Json:
        """Return the entry with the code of its claimant. Raises Refusal PATH_NOT_WRITABLE."""
        name, new = rule.get("claimed_by_field"), deepcopy(value)
        if name is None or self.is_confirmed:
            return new
        if new.get(name) not in (None, self.claimed_by):
            raise Refusal("PATH_NOT_WRITABLE", "The service writes the code.", param=f"/ops/{index}/value/{name}")
        if old is not None:
            self._check_own(index, old, rule, is_stated=value_of(old, rule) != value_of(new, rule))
        return new if self.claimed_by is None else {**new, name: self.claimed_by}

    def _check_own(self, index: int, old: Json, rule: Json, *, is_stated: bool) -> None:
        """Refuse a change of what another claimant says, or any by a claimant. Raises Refusal PATH_NOT_WRITABLE."""
        name = rule.get("claimed_by_field")
        if name is None or self.is_confirmed or not isinstance(old, dict) or old.get(name) == self.claimed_by:
            return
        if is_stated or self.claimed_by is not None:
            raise Refusal("PATH_NOT_WRITABLE", "The entry is another claimant's.", param=f"/ops/{index}")

    def _state(self, index: int, section: Pointer, new: Json, rule: Json, entries: list[Json]) -> list[Json]:
        about = [(n, one) for n, one in enumerate(entries) if thing_of(one, rule) == thing_of(new, rule)]
        others = [one for one in entries if thing_of(one, rule)[0] == thing_of(new, rule)[0] and is_open(one, rule)]
        since, until, own = rule["from_field"], rule["until_field"], rule["id_field"]
        earlier = [row for row in about if row[1].get(since, "") <= self.at]
        later = sorted((row for row in about if row[1].get(since, "") > self.at), key=lambda row: str(row[1][since]))
        holder = max(earlier, key=lambda row: str(row[1].get(since, "")), default=None)
        if holder is not None and not is_open(holder[1], rule) and holder[1][until] <= self.at:
            holder = None
        same = next(
            (row for row in [holder, *later[:1]] if row and value_of(row[1], rule) == value_of(new, rule)), None
        )
        if same is not None:
            self._report(index, "same", same[1].get(own))
            return self._joined(section, *same, new, rule)
        rivals = [] if later or rule.get("between_claimants") != "review" else contradicting(new, entries, rule)
        if rivals and not self.is_confirmed:
            shown = max(rivals, key=lambda row: str(row[1].get(since, "")))[1]
            return self._refused(index, "ask", section, new, rule, shown, decides="tenant")
        refusal = None if holder is None or later else self._refusal(new, holder[1], rule)
        if holder is not None and refusal is not None:
            return self._refused(index, refusal, section, new, rule, holder[1])
        entry = {name: value for name, value in new.items() if name not in _kept(rule)}
        if not isinstance(entry.get(own), str) or any(one.get(own) == entry[own] for one in entries):
            entry[own] = self.new_id()
        source = {**(new.get("evidence") or self.evidence or {}), "at": self.at}
        entry |= {since: self.at, "evidence": source | ({} if self.answer is None else {"also": [self.answer]})}
        links: Json = {} if holder is None else {rule["replaces_field"]: holder[1].get(own)}
        ops: list[Json] = []
        if later:
            place, after = later[0]
            links |= {rule["replaced_field"]: after.get(own), until: after[since]}
            ops.append(_put(section, place, rule["replaces_field"], entry[own]))
        if holder is not None:
            ops.append(_put(section, holder[0], rule["replaced_field"], entry[own]))
            ops.append(_put(section, holder[0], until, self.at))
        for place, _ in rivals if self.closes_rivals else ():
            ops += [_put(section, place, rule["replaced_field"], entry[own]), _put(section, place, until, self.now)]
        verdict = (
            "late" if later else "superseded" if holder else "beside" if takes_several(new, rule) and others else "new"
        )
        named = {"replaces": links.get(rule["replaces_field"]), "replaced_by": links.get(rule["replaced_field"])}
        self._report(index, verdict, entry[own], **named)
        return [*ops, {"op": "add", "path": pointer_text((ROOT, *section, "-")), "value": entry | links}]

    def _joined(self, section: Pointer, place: int, entry: Json, new: Json, rule: Json) -> list[Json]:
        source = {**(new.get("evidence") or self.evidence or {}), "at": self.at}
        had = entry.get("evidence") or {}
        ops = [_put(section, place, "evidence", {**had, "also": [*had.get("also", ()), source]})]
        if entry[rule["from_field"]] > self.at:
            ops.append(_put(section, place, rule["from_field"], self.at))
        return ops

    def _refusal(self, new: Json, held: Json, rule: Json) -> str | None:
        if self.is_confirmed:
            return None
        evidence = held.get("evidence") or {}
        confirmed = {one.get("confirmed_by") for one in [evidence, *evidence.get("also", ())]} - {None}
        sure, claimed, margin = held.get("confidence"), new.get("confidence"), rule.get("unless_less_sure_by")
        claimed = self.confidence if claimed is None else claimed
        doubtful = margin is not None and sure is not None and round(sure - (claimed or 0.0), PRECISION) > margin
        if confirmed - self.principals or doubtful:
            return "ask"
        wanted = str(rule.get("on_contradiction", "supersede"))
        return None if wanted == "supersede" else wanted

    def _refused(
        self,
        index: int,
        refusal: str,
        section: Pointer,
        new: Json,
        rule: Json,
        held: Json,
        *,
        decides: str | None = None,
    ) -> list[Json]:
        stays = held.get(rule["id_field"])
        if refusal == "keep" or self.pending is None:
            self._report(index, "kept", None, replaced_by=stays)
            return []
        item = self.ask({"op": "add", "path": pointer_text((ROOT, *section, "-")), "value": new}, rule, held)
        item |= {} if decides is None else {"decides": decides}
        place, waits = self._question(item, section, rule)
        if place is not None:
            made = joined(waits, item, lambda entry: value_of(entry, rule))
            if made is None:
                self._report(index, "kept", None, replaced_by=stays)
                return []
            self._report(index, "asked", None, replaced_by=stays, pending_id=waits["id"])
            return [{"op": "replace", "path": pointer_text((ROOT, *self.pending, str(place))), "value": made}]
        self._report(index, "asked", None, replaced_by=stays, pending_id=item["id"])
        return [{"op": "add", "path": pointer_text((ROOT, *self.pending, "-")), "value": item}]

    def _question(self, item: Json, section: Pointer, rule: Json) -> tuple[int | None, Json]:
        """Return the question that waits about the same thing, with its index; None: there is none."""
        path, thing = pointer_text((ROOT, *section, "-")), thing_of(item["target"]["value"], rule)
        try:
            waiting = resolve(self._content, self.pending or ())
        except LookupError:
            waiting = []
        for place, other in enumerate(waiting):
            is_question = "contradicts" in other and other["target"]["path"] == path
            if is_question and thing_of(other["target"]["value"], rule) == thing:
                return place, other
        return None, None

    def _report(self, index: int, verdict: str, entry_id: str | None, **links: str | None) -> None:
        known = {name: value for name, value in links.items() if value is not None}
        self.settled.append({"op_index": index, "verdict": verdict, "entry_id": entry_id, **known})


def source_time(given: str | None, now: str) -> str:
    """Return the time of the statements in a patch."""
    return now if given is None else text_of(moment_of(given))


def _kept(rule: Json) -> tuple[str, ...]:
    return tuple(rule[name] for name in ("from_field", "until_field", "replaces_field", "replaced_field"))


def _put(section: Pointer, place: int, name: str, value: Json) -> Json:
    return {"op": "add", "path": pointer_text((ROOT, *section, str(place), name)), "value": value}
