"""Language models with preset completions."""

import asyncio
from collections.abc import Iterable

from memnet.domain.core.errors import Unavailable
from memnet.ports import ModelAnswer, ModelOutcome, ModelRequest

MODEL = "scripted"


class ScriptedModels:
    """The LanguageModels port for tests: returns its completions in order, and then the last one again.

    `asked` has every request so far.
    """

    def __init__(self, answers: Iterable[ModelAnswer | str | Exception]) -> None:
        """A text is a complete output; an exception is raised. Without completions no model is available."""
        self._answers = list(answers)
        self.asked: list[ModelRequest] = []

    async def answer(self, request: ModelRequest) -> ModelAnswer:
        """Return the next completion, or raise it."""
        await asyncio.sleep(0)
        self.asked.append(request)
        if not self._answers:
            raise Unavailable(dependency="models")
        given = self._answers[min(len(self.asked), len(self._answers)) - 1]
        if isinstance(given, Exception):
            raise given
        return given if isinstance(given, ModelAnswer) else ModelAnswer(given, ModelOutcome.COMPLETE, MODEL)
