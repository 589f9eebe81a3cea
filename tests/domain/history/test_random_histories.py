"""Every scalar of a random history is blamed on the operation that wrote it, with baselines and retention in between.

The oracle knows nothing of trees: each text that an operation writes is a token that occurs once, so the last operation
that wrote a token is known by construction. Moves, copies and rewrites repeat tokens without writing them.
"""

import copy
import random
from typing import Any

import orjson
import pytest

from memnet.domain.core import json_patch
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import MemnetError
from memnet.domain.history.origin import Origin
from memnet.domain.history.origin_table import dump_origins, load_origins
from memnet.domain.history.origins import Origins
from tests.domain.history.test_origins import op, record

START: dict[str, Any] = {"notes": [], "facts": [], "box": {}, "waiting": []}
Key = tuple[int, int]


class Life:
    """A document, its random changes, and the operation that wrote each token."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.sequence, self.count = 1, 0
        self.content: Any = copy.deepcopy(START)
        self.writers: dict[str, Key] = {}
        self.records = [record(1, op("add", "", copy.deepcopy(START)))]
        self.fresh: list[str] = []

    def token(self) -> str:
        self.count += 1
        self.fresh.append(f"token {self.count}")
        return self.fresh[-1]

    def fact(self) -> dict[str, Any]:
        made = {"text": self.token(), "said": [self.token()], "by": {"name": self.token()}}
        return {"id": self.token(), **made} if self.random.random() < 0.6 else made

    def change(self) -> None:
        """Make one change; one that does not apply as a whole is none."""
        kind = self.random.choice([self.edits, self.edits, self.rewrite, self.redirect, self.confirm, self.merge])
        state, content, written = {"content": copy.deepcopy(self.content)}, None, dict[str, Key]()
        made = kind()
        if made is None:
            return
        reason, ops, more = made
        try:
            content = json_patch.apply(state, copy.deepcopy(ops))["content"]
        except MemnetError:
            return
        self.sequence += 1
        for index, one in enumerate(ops):
            tokens = texts(one.get("value"))
            known = tokens if reason == "confirmation" else [text for text in tokens if text not in self.writers]
            written |= dict.fromkeys(known, (self.sequence, index))
        self.writers |= written
        self.content = content
        self.records.append(record(self.sequence, *ops, reason=reason, **more))

    def spot(self, section: str) -> str:
        return str(self.random.randrange(len(self.content[section]) + 1))

    def edits(self) -> Any:
        return "live_update", [self.edit() for _ in range(self.random.randint(1, 3))], self.evidence()

    def edit(self) -> dict[str, Any]:
        at, name = self.random.choice(["0", "1", "-"]), self.random.choice(["x", "y", "a~1b"])
        note, fact = self.spot("notes"), self.spot("facts")
        choices = [
            lambda: op("add", f"/notes/{at}", self.token()),
            lambda: op("add", f"/facts/{at}", self.fact()),
            lambda: op("replace", f"/facts/{fact}/text", self.token()),
            lambda: op("add", f"/facts/{fact}/evidence", {"conversation_id": self.token()}),
            lambda: op("replace", f"/notes/{note}", self.token()),
            lambda: op("remove", f"/notes/{note}"),
            lambda: op("remove", f"/facts/{fact}"),
            lambda: op("move", f"/notes/{at}", **{"from": f"/content/notes/{note}"}),
            lambda: op("move", f"/facts/{at}", **{"from": f"/content/facts/{fact}"}),
            lambda: op("copy", f"/box/{name}", **{"from": f"/content/facts/{fact}"}),
            lambda: op("add", f"/box/{name}", {"deep": [self.token(), 7]}),
            lambda: op("test", "/box", copy.deepcopy(self.content["box"])),
        ]
        return self.random.choice(choices)()

    def rewrite(self) -> Any:
        """Write a part or the whole again: some of it in another order, some changed, some left out."""
        facts = [self.changed(one) for one in self.random.sample(self.content["facts"], len(self.content["facts"]))]
        facts = [one for one in facts if self.random.random() < 0.8]
        if self.random.random() < 0.5:
            return "live_update", [op("replace", "/facts", facts)], self.evidence()
        notes = [*self.random.sample(self.content["notes"], len(self.content["notes"])), self.token()]
        whole = {**copy.deepcopy(self.content), "facts": facts, "notes": notes}
        return "admin_migration", [op("add", "", whole)], {}

    def changed(self, fact: Any) -> Any:
        if not isinstance(fact, dict) or "id" not in fact or self.random.random() < 0.5:
            return copy.deepcopy(fact)
        return {**copy.deepcopy(fact), "text": self.token()}

    def redirect(self) -> Any:
        target = {"op": "add", "path": "/content/facts/-", "value": self.fact()}
        item = {"id": self.token(), "proposed_by": "svc-a", "proposed_at": "t", "target": target}
        return "replay_update", [op("add", "/waiting/-", item)], self.evidence()

    def confirm(self) -> Any:
        if not self.content["waiting"]:
            return None
        place = self.random.randrange(len(self.content["waiting"]))
        value = copy.deepcopy(self.content["waiting"][place]["target"]["value"])
        return "confirmation", [op("remove", f"/waiting/{place}"), op("add", "/facts/-", value)], {}

    def merge(self) -> Any:
        """One entry takes the evidence of another one, as upkeep does."""
        facts = self.content["facts"]
        if len(facts) < 2 or not all(isinstance(one, dict) for one in facts):
            return None
        kept = {**copy.deepcopy(facts[0]), "evidence": {"also": [{"message": self.token()}]}}
        rows = [{"from": ["/content/facts/1"], "into": "/content/facts/0"}]
        return "compaction", [op("replace", "/facts/0", kept), op("remove", "/facts/1")], {"evidence": {"merged": rows}}

    def evidence(self) -> dict[str, Any]:
        return {"evidence": {"conversation_id": f"c{self.sequence}"}} if self.random.random() < 0.5 else {}


def texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for child in value.values() for text in texts(child)]
    if isinstance(value, list):
        return [text for child in value for text in texts(child)]
    return [value] if isinstance(value, str) and value.startswith("token ") else []


def stored(origins: Origins, content: Any) -> Origins:
    """The origins as a baseline keeps them: all that is left when retention has removed the records before it."""
    assert origins.content is not None
    form = orjson.loads(canonical(dump_origins(origins.content)))
    return Origins(load_origins(form, content), sequence=origins.sequence)


def check(life: Life, origins: Origins) -> int:
    assert origins.content is not None
    assert origins.content.plain() == life.content
    blamed = [node for _, node in origins.values() if isinstance(node.value, str) and node.value in life.writers]
    for leaf in blamed:
        assert leaf.origin.key == life.writers[leaf.value], leaf.value
        assert len({source.key for source in leaf.sources()}) == len(leaf.sources()) > 0
    return len(blamed)


def live(seed: int) -> int:
    life = Life(seed)
    for _ in range(life.random.randint(5, 40)):
        life.change()
    whole, shortened = Origins(), Origins()
    seen = 0
    content: Any = None
    for one in life.records:
        whole.take(one)
        shortened.take(one)
        content = whole.content.plain() if whole.content else None
        if life.random.random() < 0.2:
            shortened = stored(shortened, content)
    for origins in (whole, shortened):
        seen += check(life, origins)
    assert whole.content is not None
    assert shortened.content is not None
    assert dump_origins(shortened.content) == dump_origins(whole.content)
    return seen


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_every_scalar_is_blamed_on_the_operation_that_wrote_it(first: int) -> None:
    assert sum(map(live, range(first, first + 100))) > 1000


@pytest.mark.slow
def test_every_scalar_of_ten_thousand_histories_is_blamed_on_the_operation_that_wrote_it() -> None:
    assert sum(map(live, range(10_000))) > 100_000


def test_an_origin_survives_its_compact_form() -> None:
    life = Life(7)
    for _ in range(30):
        life.change()
    origins = Origins()
    for one in life.records:
        origins.take(one)
    again = stored(origins, copy.deepcopy(life.content))
    assert origins.content is not None
    assert again.content is not None
    known: list[tuple[Origin, Any]] = [(node.origin, node.further) for _, node in origins.values()]
    assert [(node.origin, node.further) for _, node in again.values()] == known
