"""The LanguageModels port over HTTP: Azure OpenAI, or any endpoint with OpenAI's Responses or Chat Completions API."""

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

from azure.core.exceptions import AzureError
from openai import APIConnectionError, APIStatusError, AsyncOpenAI, BadRequestError, OpenAIError, omit

from memnet.adapters.azure.model_providers import ModelProvider
from memnet.adapters.azure.openai_client import UNREADABLE, describe, open_client
from memnet.domain.core import canonical_json
from memnet.domain.core.errors import MalformedRequest, Unavailable
from memnet.ports import Clock, ModelAnswer, ModelOutcome, ModelRequest

ROUNDS = 3
"""Tries of one call at a provider with a temporary failure."""
MAX_REST_SECONDS = 60.0
"""The longest time for which a failed provider is skipped, whatever its Retry-After says."""
PASSING = frozenset({408, 409, 429})
"""Temporary failures, in addition to 5xx, timeouts and broken connections."""
REFUSED_PROMPT = frozenset({"content_filter", "content_policy_violation", "invalid_prompt"})
"""Error codes of a 400 that refuses the content of a request, not its form."""
MAX_MODEL_NAME = 200

_log = logging.getLogger("memnet.models")


class Unreadable(Exception):
    """A completion is not JSON."""


class Failed(Exception):
    """A response says that the model failed."""


class _Endpoint:
    """One provider. `ask` raises what the client raises, and Unreadable, Failed."""

    def __init__(self, provider: ModelProvider, client: AsyncOpenAI) -> None:
        self.provider = provider
        self.rests_until: datetime | None = None
        self._client = client
        self._takes_temperature = True
        self._ask = self._ask_chat if provider.style == "chat" else self._ask_responses

    async def ask(self, request: ModelRequest) -> ModelAnswer:
        """Send one request, and a second one if the model does not support a temperature, as reasoning models."""
        if self._takes_temperature:
            try:
                return await self._ask(request, 0.0)
            except BadRequestError as error:
                if "temperature" not in f"{error.param} {error.message}":
                    raise
            self._takes_temperature = False
        return await self._ask(request, None)

    async def _ask_responses(self, request: ModelRequest, temperature: float | None) -> ModelAnswer:
        """ "Create a model response" of OpenAI's API reference; nothing is kept there."""
        answer = await self._client.responses.create(
            model=self.provider.model,
            instructions=request.instructions,
            input=request.material,
            text={
                "format": {
                    "type": "json_schema",
                    "name": request.schema_name,
                    "schema": request.schema,
                    "strict": True,
                }
            },
            max_output_tokens=request.max_output_tokens,
            temperature=omit if temperature is None else temperature,
            store=False,
        )
        if answer.status == "incomplete":
            reason = answer.incomplete_details.reason if answer.incomplete_details else None
            if reason == "max_output_tokens":
                return self._answer(answer.output_text, ModelOutcome.TRUNCATED, answer.model)
            if reason == "content_filter":
                return self._answer("", ModelOutcome.REFUSED, answer.model)
        if answer.status not in ("completed", None):
            raise Failed
        parts = [part for item in answer.output if item.type == "message" for part in item.content]
        refusals = [part.refusal for part in parts if part.type == "refusal"]
        if refusals:
            return self._answer("".join(refusals), ModelOutcome.REFUSED, answer.model)
        return self._complete(answer.output_text, answer.model)

    async def _ask_chat(self, request: ModelRequest, temperature: float | None) -> ModelAnswer:
        """ "Create chat completion" of OpenAI's API reference; nothing is kept there."""
        answer = await self._client.chat.completions.create(
            model=self.provider.model,
            messages=[
                {"role": "system", "content": request.instructions},
                {"role": "user", "content": request.material},
            ],
            response_format={
                "type": "json_schema",
                "json_schema": {"name": request.schema_name, "schema": request.schema, "strict": True},
            },
            max_completion_tokens=request.max_output_tokens,
            temperature=omit if temperature is None else temperature,
            store=False,
        )
        choice = answer.choices[0]
        if choice.finish_reason == "content_filter" or choice.message.refusal:
            return self._answer(choice.message.refusal or "", ModelOutcome.REFUSED, answer.model)
        if choice.finish_reason == "length":
            return self._answer(choice.message.content or "", ModelOutcome.TRUNCATED, answer.model)
        return self._complete(choice.message.content, answer.model)

    def _complete(self, text: str | None, model: Any) -> ModelAnswer:
        try:
            canonical_json.parse((text or "").encode("utf-8"))
        except (MalformedRequest, UnicodeEncodeError):
            raise Unreadable from None
        return self._answer(text or "", ModelOutcome.COMPLETE, model)

    def _answer(self, text: str, outcome: ModelOutcome, model: Any) -> ModelAnswer:
        """`model` is what the answer names, which is more exact than what was asked for, if it is a name at all."""
        is_name = isinstance(model, str) and 0 < len(model) <= MAX_MODEL_NAME and model.isprintable()
        return ModelAnswer(text, outcome, model if is_name else self.provider.model)


class OpenAIModels:
    """The LanguageModels port: the first completion is used, also a refused or truncated one."""

    def __init__(
        self, endpoints: Sequence[_Endpoint], *, budget_seconds: float, rest_seconds: float, clock: Clock
    ) -> None:
        """Use `open_models`."""
        self._endpoints = endpoints
        self._budget = budget_seconds
        self._rest_seconds = rest_seconds
        self._clock = clock

    async def answer(self, request: ModelRequest) -> ModelAnswer:
        """Ask the models in order; those that have just failed come last. Raises Unavailable."""
        deadline = asyncio.get_running_loop().time() + self._budget
        try:
            async with asyncio.timeout_at(deadline):
                found = await self._first(request, deadline)
        except TimeoutError:
            _log.warning("models: the budget of %g s is used up", self._budget)
            found = None
        if found is None:
            raise Unavailable(dependency="models")
        return found

    async def _first(self, request: ModelRequest, deadline: float) -> ModelAnswer | None:
        now = self._clock.now()
        # In the configured order, with the resting ones last.
        waiting = sorted(self._endpoints, key=lambda one: one.rests_until is not None and one.rests_until > now)
        for remaining in reversed(range(ROUNDS)):
            rests: list[tuple[float, _Endpoint]] = []
            for endpoint in waiting:
                found = await self._try(endpoint, request)
                if isinstance(found, ModelAnswer):
                    return found
                if found is not None:
                    rests.append((found, endpoint))
            pause = min((seconds for seconds, _ in rests), default=math.inf)
            if remaining == 0 or asyncio.get_running_loop().time() + pause >= deadline:
                return None
            await asyncio.sleep(pause)
            waiting = [endpoint for _, endpoint in rests]
        return None

    async def _try(self, endpoint: _Endpoint, request: ModelRequest) -> ModelAnswer | float | None:
        """Return the completion, or the seconds for which the provider rests; None if waiting does not help."""
        try:
            async with asyncio.timeout(endpoint.provider.timeout_seconds):
                answer = await endpoint.ask(request)
        except (OpenAIError, AzureError, TimeoutError, Unreadable, Failed, *UNREADABLE) as error:
            _log.warning("models: provider %d: %s", self._endpoints.index(endpoint) + 1, describe(error))
            if isinstance(error, BadRequestError) and error.code in REFUSED_PROMPT:
                return ModelAnswer("", ModelOutcome.REFUSED, endpoint.provider.model)
            seconds = _rest(error, self._rest_seconds)
            if seconds is not None:
                endpoint.rests_until = self._clock.now() + timedelta(seconds=seconds)
            return seconds
        endpoint.rests_until = None
        return answer


@asynccontextmanager
async def open_models(
    providers: Sequence[ModelProvider], *, budget_seconds: float, clock: Clock, rest_seconds: float = 2.0
) -> AsyncIterator[OpenAIModels]:
    """Connect to the providers; all of them together have `budget_seconds` for one completion.

    `rest_seconds` is how long a failed provider without Retry-After is skipped. Nothing is sent before the first call.
    Raises ValueError: there is no credential for a provider; the text names it by its number.
    """
    async with AsyncExitStack() as stack:
        endpoints = []
        for number, provider in enumerate(providers, 1):
            # The client does not retry: the next provider is called instead.
            opened = open_client(
                provider.url, key=provider.key, timeout_seconds=provider.timeout_seconds, max_retries=0
            )
            try:
                endpoints.append(_Endpoint(provider, await stack.enter_async_context(opened)))
            except ValueError as error:
                raise ValueError(f"provider {number} {error}") from None
        yield OpenAIModels(endpoints, budget_seconds=budget_seconds, rest_seconds=rest_seconds, clock=clock)


def _rest(error: BaseException, usual: float) -> float | None:
    """Return how long a provider with this failure is skipped; None if waiting does not help."""
    if isinstance(error, APIStatusError):
        if error.status_code not in PASSING and error.status_code < 500:
            return None
        return _retry_after(error, usual)
    return usual if isinstance(error, (APIConnectionError, TimeoutError, Failed)) else None


def _retry_after(error: APIStatusError, usual: float) -> float:
    """Read Retry-After-Ms or Retry-After in seconds; other values are ignored."""
    headers = error.response.headers
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        if seconds >= 0:
            return min(seconds, MAX_REST_SECONDS)
    return usual
