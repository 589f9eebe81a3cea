"""The client, its fake and the service agree on every operation and its main refusals."""

import ast
import inspect
import json
import sys
from collections.abc import Callable

import pytest

from memnet_client import AsyncMemnet, AsyncUser, Memnet, PendingWrite, User, errors
from memnet_client.testing.operations import OPERATIONS
from tests.client.contract import claimant_calls, governance_calls, memory_calls, retraction_calls, service_calls
from tests.client.contract.sides import Side
from tests.client.specification import Specification

MODULES = (memory_calls, governance_calls, service_calls, retraction_calls, claimant_calls)
CALLS: dict[str, Callable[[Side], None]] = {
    name: call for module in MODULES for name, call in vars(module).items() if name in {one.name for one in OPERATIONS}
}
DRIVERS = {"run", "rows", "close", "local"}
"""Methods that are no calls on the service."""


@pytest.mark.parametrize("operation", CALLS)
def test_the_operation_succeeds_and_refuses_alike(operation: str, side: Side, served: Specification) -> None:
    CALLS[operation](side)
    answered = {served.operation_of(one.request) for one in side.exchanges if one.response.is_success}
    assert operation in answered


def test_patches_are_refused_alike(side: Side) -> None:
    memory_calls.refused_patches(side)


def test_claimants_are_accepted_and_refused_alike(side: Side) -> None:
    claimant_calls.claimants(side)


def test_what_claimants_contradict_is_marked_or_asked_alike(side: Side) -> None:
    claimant_calls.disputed_claims(side)


def test_a_caller_is_refused_alike(side: Side) -> None:
    with pytest.raises(errors.Unauthenticated):
        list(side.client(token="no-token").user(side.user_id).documents())
    foreign = side.token("my-agent", ["Memory.Read"], "t2")
    with pytest.raises(errors.TenantForbidden):
        list(side.client(token=foreign).user(side.user_id).documents())


def test_a_lost_write_is_sent_again_alike(side: Side) -> None:
    first = side.user().append("user_dynamic", "/preferences", "Answer briefly.", key="k1")
    sent = next(one.request for one in side.exchanges if one.request.method == "PATCH")
    headers = {name: sent.headers[name] for name in ("Idempotency-Key", "If-None-Match")}
    place = {"operation": "patch_document", "method": "PATCH", "path": sent.url.path, "params": {}}
    again = side.client().send(PendingWrite.from_json(place | {"headers": headers, "body": json.loads(sent.content)}))
    assert (again.status, again.change_id) == ("replayed", first.change_id)


def test_every_operation_has_a_call(served: Specification) -> None:
    assert set(CALLS) == set(served.operations)


@pytest.mark.parametrize(("user", "client"), [(User, Memnet), (AsyncUser, AsyncMemnet)])
def test_every_method_of_the_client_is_called(user: type, client: type) -> None:
    methods = {name for kind in (user, client) for name, _ in inspect.getmembers(kind, callable) if name[0] != "_"}
    sources = [inspect.getsource(module) for module in (*MODULES, sys.modules[__name__])]
    named = {node.attr for source in sources for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)}
    assert methods - named <= DRIVERS
