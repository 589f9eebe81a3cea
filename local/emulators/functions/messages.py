"""The protocol's messages, as the runtime fills them in: in Azure they are protobuf classes, here plain objects."""

import json
from types import SimpleNamespace
from typing import Any


class Message:
    """A protobuf message by duck typing: what was not set is None, and one field of a `oneof` is."""

    def __init__(self, **fields: Any) -> None:
        """Set the fields."""
        self.__dict__.update(fields)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "TypedData":  # the runtime asks for it to tell a wrapper from the data
            raise AttributeError(name)
        return None

    def WhichOneof(self, group: str) -> str | None:
        """Name the field of the group that is set."""
        return next(iter(self.__dict__), None) if group == "data" else "data"


class TypedData(Message):
    """A value with its kind: `string=`, `bytes=`, `json=` …"""


class ParameterBinding(Message):
    """A value and the parameter it is for."""


class BindingInfo(Message):
    """A binding's direction and kind of data."""

    undefined, inout, out = -1, 2, 1
    DataType = SimpleNamespace(undefined=0, string=1, binary=2, stream=3)


class StatusResult(Message):
    """How a request ended."""

    Failure, Success = 0, 1


class RpcHttpCookie(Message):
    """A cookie of an HTTP answer."""

    SameSite = SimpleNamespace(Lax=1, Strict=2, ExplicitNone=3)


_PLAIN = (
    "FunctionEnvironmentReloadResponse",
    "FunctionLoadResponse",
    "FunctionMetadataResponse",
    "InvocationResponse",
    "NullableBool",
    "NullableDouble",
    "NullableString",
    "NullableTimestamp",
    "RpcException",
    "RpcFunctionMetadata",
    "RpcHttp",
    "RpcRetryOptions",
    "WorkerInitResponse",
    "WorkerMetadata",
)

PROTOS = SimpleNamespace(
    BindingInfo=BindingInfo,
    ParameterBinding=ParameterBinding,
    RpcHttpCookie=RpcHttpCookie,
    StatusResult=StatusResult,
    TypedData=TypedData,
    **{name: type(name, (Message,), {}) for name in _PLAIN},
)
"""What the runtime takes for the module of protobuf classes."""


def as_json(value: Any) -> TypedData:
    """Wrap a value as JSON."""
    return TypedData(json=json.dumps(value))


def as_text(value: object) -> TypedData:
    """Wrap a value as text; None is empty."""
    return TypedData(string="" if value is None else str(value))
