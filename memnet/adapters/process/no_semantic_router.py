"""The SemanticRouter port without embeddings: a request that words do not decide stays unrouted."""

from collections.abc import Sequence


class NoSemanticRouter:
    """Returns no ranking."""

    async def score(self, text: str, candidates: Sequence[str]) -> Sequence[float] | None:
        return None
