"""A function app, indexed and invoked by Microsoft's worker runtime, in this process."""

import asyncio
import json
import logging
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace, TracebackType
from typing import Any, Self
from uuid import uuid4

from local.emulators.functions.counts import Counts
from local.emulators.functions.host_options import HostError, HostOptions, read_host_options
from local.emulators.functions.messages import PROTOS, ParameterBinding, StatusResult, TypedData

log = logging.getLogger("memnet.functions")


@dataclass(frozen=True, slots=True)
class Invocation:
    """How one ended: None or the type of the exception, and the values of the outputs by their binding's name."""

    error: str | None
    outputs: Mapping[str, str | bytes]


@dataclass(frozen=True, slots=True)
class IndexedFunction:
    """A function as the runtime describes it to the host; bindings are as in a function.json."""

    name: str
    function_id: str
    trigger: Mapping[str, Any]
    outputs: tuple[Mapping[str, Any], ...]


class IndexedApp:
    """The app in a directory. One a process: the runtime keeps what it has indexed to itself."""

    def __init__(self, directory: Path) -> None:
        """Read its host.json; nothing is imported yet. Raises HostError."""
        self.directory = directory.resolve()
        self.options: HostOptions = read_host_options(self.directory)
        self.functions: dict[str, IndexedFunction] = {}
        self.counts = Counts(())

    async def __aenter__(self) -> Self:
        """Import and index the app. Raises HostError with what the runtime says of it."""
        # Not at the top: it looks at the environment when it is imported.
        import azure_functions_runtime  # type: ignore[import-untyped]

        self._runtime = azure_functions_runtime
        if str(self.directory) not in sys.path:
            sys.path.insert(0, str(self.directory))
        self._runtime.start_threadpool_executor()
        started = await self._runtime.worker_init_request(
            _request(worker_init_request=SimpleNamespace(capabilities={}, function_app_directory=str(self.directory)))
        )
        if started.result.status != StatusResult.Success:
            raise HostError(f"{self.directory} cannot be indexed: {started.result.exception.message}")
        described = await self._runtime.functions_metadata_request(_request())
        if not described.function_metadata_results:
            raise HostError(f"{self.directory} has no functions")
        self.functions = {each.name: _function(each) for each in described.function_metadata_results}
        self.counts = Counts(self.functions)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._runtime.stop_threadpool_executor()

    async def invoke(self, name: str, value: TypedData, metadata: Mapping[str, TypedData] | None = None) -> Invocation:
        """Run a function once. The result carries an exception; an invocation that takes too long is cancelled."""
        function = self.functions[name]
        request = SimpleNamespace(
            invocation_id=str(uuid4()),
            function_id=function.function_id,
            input_data=[ParameterBinding(name=function.trigger["name"], data=value)],
            trigger_metadata=metadata or {},
            trace_context=SimpleNamespace(
                trace_parent=f"00-{uuid4().hex}-{uuid4().hex[:16]}-01", trace_state="", attributes={}
            ),
            retry_context=SimpleNamespace(retry_count=0, max_retry_count=0, exception=None),
        )
        self.counts.started(name)
        error: str | None = "CancelledError"
        try:
            async with asyncio.timeout(self.options.function_timeout_seconds):
                answer = await self._runtime.invocation_request(_request(invocation_request=request))
            error = _error(answer)
        except TimeoutError:
            error = "FunctionTimeout"
        finally:
            self.counts.ended(name, error)
        if error is not None:
            log.error("function_failed function=%s error=%s", name, error)
            return Invocation(error, {})
        return Invocation(None, {output.name: _value(output.data) for output in answer.output_data or ()})


def _request(**members: Any) -> Any:
    return SimpleNamespace(request=SimpleNamespace(**members), properties={"host": "127.0.0.1", "protos": PROTOS})


def _function(described: Any) -> IndexedFunction:
    bindings = [json.loads(binding) for binding in described.raw_bindings]
    triggers = [binding for binding in bindings if binding["type"].lower().endswith("trigger")]
    outputs = tuple(binding for binding in bindings if binding not in triggers)
    if len(triggers) != 1:
        raise HostError(f"{described.name} needs exactly one trigger")
    if unknown := {each["type"] for each in bindings} - {"serviceBusTrigger", "timerTrigger", "serviceBus"}:
        raise HostError(f"{described.name}: the local host has no {', '.join(sorted(unknown))}")
    return IndexedFunction(described.name, described.function_id, triggers[0], outputs)


def _error(answer: Any) -> str | None:
    """The exception's type alone: its text may hold memory."""
    if answer.result.status == StatusResult.Success:
        return None
    return str(answer.result.exception.message).partition(":")[0]


def _value(data: TypedData) -> str | bytes:
    value = next(iter(data.__dict__.values()))
    return value if isinstance(value, bytes) else str(value)
