"""The SemanticRouter port where nothing ranks by meaning: what words leave ambiguous stays unrouted."""

from collections.abc import Sequence


class NoSemanticRouter:
    """Has no ranking to give."""

    async def score(self, text: str, candidates: Sequence[str]) -> Sequence[float] | None:
        return None
