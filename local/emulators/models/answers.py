"""The two APIs: what of a request is looked at, and what an answer looks like."""

import json
from typing import Any, Final

from local.emulators.models.behaviour import Behaviour, Kind
from local.emulators.models.strict_schema import problem

SNAPSHOT: Final = "-2026-01-01"
"""What is added to a model's name in its answers, as services do that tell which version answered."""
LEAST_TOKENS: Final = 16
RESPONSES: Final = frozenset(
    {"model", "input", "instructions", "text", "max_output_tokens", "temperature", "store", "stream", "reasoning"}
)
CHAT: Final = frozenset(
    {"model", "messages", "response_format", "max_completion_tokens", "temperature", "store", "stream"}
)


def check_request(body: dict[str, Any], *, chat: bool) -> tuple[str, str] | None:
    """Return the parameter and the message a service would refuse the request with; None: it is good."""
    unknown = sorted(body.keys() - (CHAT if chat else RESPONSES))
    if unknown:
        return unknown[0], f"Unknown parameter: '{unknown[0]}'."
    size = body.get("max_completion_tokens" if chat else "max_output_tokens", LEAST_TOKENS)
    if type(size) is not int or size < LEAST_TOKENS:
        return "max_output_tokens", f"Expected a value >= {LEAST_TOKENS}."
    temperature = body.get("temperature", 1)
    if type(temperature) not in (int, float) or not 0 <= temperature <= 2:
        return "temperature", "Expected a value from 0 to 2."
    return _check_texts(body, chat=chat) or _check_format(body, chat=chat)


def _check_texts(body: dict[str, Any], *, chat: bool) -> tuple[str, str] | None:
    if chat:
        messages = body.get("messages")
        good = isinstance(messages, list) and messages and all(isinstance(one.get("content"), str) for one in messages)
        return None if good else ("messages", "Expected an array of messages.")
    return None if isinstance(body.get("input"), str) else ("input", "Expected a text.")


def _check_format(body: dict[str, Any], *, chat: bool) -> tuple[str, str] | None:
    wanted = body.get("response_format") if chat else body.get("text", {}).get("format")
    if wanted is None or wanted.get("type") != "json_schema":
        return None
    described = wanted.get("json_schema", {}) if chat else wanted
    if described.get("strict") is not True:
        return None
    fault = problem(described.get("name"), described.get("schema"))
    place = "response_format" if chat else "text.format.schema"
    return None if fault is None else (place, f"Invalid schema for response_format: {fault}.")


def asks_for_schema(body: dict[str, Any]) -> bool:
    """Whether the request wants structured output."""
    wanted = body.get("response_format") or body.get("text", {}).get("format") or {}
    return bool(wanted.get("type") == "json_schema")


def answer_of(behaviour: Behaviour, body: dict[str, Any], *, chat: bool) -> dict[str, Any]:
    """Return the body of a 200 in which the model has its say."""
    name = body["model"] + SNAPSHOT
    return _chat_answer(behaviour, name) if chat else _response(behaviour, body, name)


def error_of(message: str, *, code: str | None = None, param: str | None = None) -> dict[str, Any]:
    """Return OpenAI's error body."""
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


def _response(behaviour: Behaviour, body: dict[str, Any], model: str) -> dict[str, Any]:
    status = {Kind.TRUNCATED: "incomplete", Kind.FILTERED: "incomplete", Kind.FAILED: "failed"}
    reasons = {Kind.TRUNCATED: "max_output_tokens", Kind.FILTERED: "content_filter"}
    reason = reasons.get(behaviour.kind)
    part: dict[str, Any] = {"type": "output_text", "text": behaviour.text, "annotations": []}
    if behaviour.kind is Kind.REFUSED:
        part = {"type": "refusal", "refusal": behaviour.text}
    failed = {"code": "server_error", "message": "The model failed."} if behaviour.kind is Kind.FAILED else None
    message = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [part]}
    said = [] if behaviour.kind in (Kind.FILTERED, Kind.FAILED) else [message]
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_767_225_600,
        "status": status.get(behaviour.kind, "completed"),
        "error": failed,
        "incomplete_details": None if reason is None else {"reason": reason},
        "instructions": body.get("instructions"),
        "model": model,
        "output": [{"type": "reasoning", "id": "rs_1", "summary": []}, *said],
        "parallel_tool_calls": True,
        "store": body.get("store", True),
        "temperature": body.get("temperature", 1.0),
        "tool_choice": "auto",
        "tools": [],
        "usage": {"input_tokens": 1, "output_tokens": len(json.dumps(behaviour.text)), "total_tokens": 2},
    }


def _chat_answer(behaviour: Behaviour, model: str) -> dict[str, Any]:
    ends = {Kind.TRUNCATED: "length", Kind.FILTERED: "content_filter"}
    refused = behaviour.kind is Kind.REFUSED
    silent = refused or behaviour.kind is Kind.FILTERED
    message = {
        "role": "assistant",
        "content": None if silent else behaviour.text,
        "refusal": behaviour.text if refused else None,
    }
    choice = {"index": 0, "finish_reason": ends.get(behaviour.kind, "stop"), "logprobs": None, "message": message}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_767_225_600,
        "model": model,
        "choices": [] if behaviour.kind is Kind.FAILED else [choice],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
