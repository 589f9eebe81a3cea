"""Measure how often statements that say the same become one, and how often different ones would, over pairs of both.

The rule is that of the section `facts` of the personal memory, with other thresholds.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from local.stack.process import ROOT
from memnet.adapters.process.local_embeddings import LOCAL_MODELS, LocalEmbedder
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.upkeep.near_statements import Cluster, Vectors, find_clusters

PAIRS: Final = Path(__file__).parent / "statements.json"
SAME: Final = "same"
"""The kind of the pairs that say the same; every other kind says how the statements of a pair differ."""
ABOVE: Final = (0.8, 0.85, 0.9)
PROFILE: Final = ROOT / "profiles" / "personal-memory-v1.json"
Statement = tuple[str, str, str]
"""A text, what it is about, and its value."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two statements about the same subject."""

    kind: str
    language: str
    one: Statement
    other: Statement

    @property
    def says_the_same(self) -> bool:
        """Whether a person would say that one of the two is enough."""
        return self.kind == SAME


@dataclass(frozen=True, slots=True)
class Joined:
    """Of all pairs, how many that say the same are joined, and how many that do not."""

    right: int
    wrong: int
    same: int

    @property
    def recall(self) -> float:
        """The share of those that say the same."""
        return self.right / self.same


def read_pairs() -> Sequence[Pair]:
    """Return the pairs that ship with the repository."""
    rows = json.loads(PAIRS.read_text("utf-8"))
    return [Pair(row["kind"], row["language"], tuple(row["one"]), tuple(row["other"])) for row in rows]


def becomes_one(pair: Pair, above: float, vectors: Vectors | None, *, is_judged: bool = False) -> bool:
    """Whether the two become one, whichever of them is surer; `is_judged`: whether a model is asked about them."""
    rule = _rule(above)
    orders = ((pair.one, pair.other), (pair.other, pair.one))
    return any(_found(first, second, rule, vectors, is_judged=is_judged) for first, second in orders)


def joined(pairs: Sequence[Pair], above: float, vectors: Vectors | None, *, is_judged: bool = False) -> Joined:
    """Count what becomes one, or what a model is asked about."""
    found = [pair for pair in pairs if becomes_one(pair, above, vectors, is_judged=is_judged)]
    right = sum(pair.says_the_same for pair in found)
    return Joined(right, len(found) - right, sum(pair.says_the_same for pair in pairs))


def near(pairs: Sequence[Pair], above: float, vectors: Vectors) -> Joined:
    """Count what is near, by similarity alone."""

    def similarity(pair: Pair) -> float:
        return sum(a * b for a, b in zip(vectors[pair.one[0]], vectors[pair.other[0]], strict=True))

    found = [pair for pair in pairs if similarity(pair) >= above]
    right = sum(pair.says_the_same for pair in found)
    return Joined(right, len(found) - right, sum(pair.says_the_same for pair in pairs))


async def embedded(pairs: Sequence[Pair], model: str) -> Vectors:
    """Return the vectors of the texts by one of the local models."""
    texts = sorted({text for pair in pairs for text, _, _ in (pair.one, pair.other)})
    vectors = await LocalEmbedder(LOCAL_MODELS[model]).embed(texts)
    return dict(zip(texts, vectors, strict=True))


async def table() -> str:
    """Return the measurement of each local model and threshold as a table in Markdown."""
    pairs = read_pairs()
    lines = [
        "| embeddings | `above` | near | asked of a model | become one without a model |",
        "|---|---|---|---|---|",
    ]
    for model in ("none", *LOCAL_MODELS):
        vectors = None if model == "none" else await embedded(pairs, model)
        for above in ABOVE:
            columns = (
                None if vectors is None else near(pairs, above, vectors),
                joined(pairs, above, vectors, is_judged=True),
                joined(pairs, above, vectors),
            )
            cells = ["" if one is None else f"{100 * one.recall:.0f} %, {one.wrong} others" for one in columns]
            lines.append(f"| `{model}` | {above:.2f} | {' | '.join(cells)} |")
    return "\n".join(lines)


@cache
def _rule(above: float) -> SectionUpkeep:
    rules = json.loads(PROFILE.read_text("utf-8"))["upkeep_rules"]["personal"]
    (facts,) = [rule for rule in rules if rule["section"] == "/facts"]
    return SectionUpkeep.model_validate_json(json.dumps(facts | {"consolidate": {"above": above}}))


def _found(
    first: Statement, second: Statement, rule: SectionUpkeep, vectors: Vectors | None, *, is_judged: bool
) -> Sequence[Cluster]:
    entries = [
        {"id": name, "subject": "user", "text": text, "attribute": about, "value": value, "confidence": sure}
        for name, sure, (text, about, value) in (("s1", 0.9, first), ("s2", 0.8, second))
    ]
    return find_clusters(entries, rule, (), vectors, is_judged=is_judged)
