"""The sync and the async client offer the same calls, and together all of the API's operations."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from api import client_errors
from memnet_client import AsyncMemnet, AsyncUser, Memnet, User, aio, requests, retraction_requests, sync
from memnet_client.errors import BY_CODE
from memnet_client.memory import Memory

PAIRS = [
    (Memnet, AsyncMemnet),
    (User, AsyncUser),
    (sync.Replay, aio.AsyncReplay),
    (sync.Conversation, aio.AsyncConversation),
]


MODULES = (requests, retraction_requests)


def requested() -> dict[str, str]:
    """The functions that build requests, each with its module."""
    return {
        name: module.__name__.rpartition(".")[2]
        for module in MODULES
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if not name.startswith("_") and function.__module__ == module.__name__
    }


def calls(kind: type) -> dict[str, list[str]]:
    """The public methods with their parameters."""
    found = inspect.getmembers(kind, inspect.isroutine)
    return {name: list(inspect.signature(call).parameters)[1:] for name, call in found if not name.startswith("_")}


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_both_clients_have_the_same_calls(one: type, other: type) -> None:
    assert calls(one) == calls(other)


def test_every_call_on_a_memory_is_a_method_of_a_user() -> None:
    inner = {"profile", "place", "wait_for_replay"}
    assert set(calls(Memory)) - inner == set(calls(User)) - {"conversation"}


def test_every_call_is_described() -> None:
    for kind in (Memnet, AsyncMemnet, User, AsyncUser):
        for name in calls(kind):
            assert inspect.getdoc(getattr(kind, name)), f"{kind.__name__}.{name}"


def test_every_operation_has_one_request(app: FastAPI) -> None:
    described: Any = app.openapi()
    operations = {operation["operationId"] for path in described["paths"].values() for operation in path.values()}
    helpers = {"tenant_root", "user_root", "document_path"}
    assert requested().keys() - helpers == operations


def test_every_request_is_used() -> None:
    code = "".join(Path(module).read_text("utf-8") for module in Path(str(requests.__file__)).parent.glob("*.py"))
    unused = {name for name, module in requested().items() if not re.search(rf"\b{module}\.{name}\(", code)}
    assert unused <= {"document_path"}


def test_the_error_classes_are_those_of_the_error_table() -> None:
    assert client_errors.MODULE.read_text("utf-8") == client_errors.render()
    assert all(BY_CODE[code].__name__ == client_errors.class_name(code) for code in BY_CODE)
