"""The switches of a test: answers that fail, and keys that fail.

Set over HTTP at `/_emulator/faults`; Azure has no such thing.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from local.emulators.search.errors import SearchError, bad_request

OPERATIONS: Final = ("search", "index", "lookup", "count", "manage")
"""What a failure can be limited to; `manage` is everything about indexes."""

_MESSAGES: Final = {
    413: ("RequestEntityTooLarge", "The page was not displayed because the request entity is too large."),
    429: ("TooManyRequests", "You are sending too many requests. Please try again later."),
    503: ("ServiceUnavailable", "The service is temporarily unavailable. Please try again later."),
}
_MEMBERS: Final = {"fail_keys", "next_requests"}
_FAILURE_MEMBERS: Final = {"status", "count", "retry_after", "operation", "when"}


@dataclass
class Failure:
    """The next `remaining` requests fail: before they do anything, or after they have done everything."""

    status: int
    remaining: int = 1
    retry_after: int | None = None
    operation: str | None = None
    after: bool = False

    def error(self) -> SearchError:
        """Return what is answered."""
        code, message = _MESSAGES.get(self.status, ("InjectedFailure", "The emulator is set to fail this request."))
        return SearchError(self.status, code, message)


@dataclass
class Faults:
    """All switches."""

    failing_keys: dict[str, int] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)

    def take(self, operation: str) -> Failure | None:
        """Return the failure that hits this request, using it up once."""
        for failure in self.failures:
            if failure.remaining > 0 and failure.operation in (None, operation):
                failure.remaining -= 1
                return failure
        return None

    def clear(self) -> None:
        """Switch everything off."""
        self.failing_keys, self.failures = {}, []

    def set(self, body: object) -> None:
        """Take the switches that the body names; the others stay. Raises SearchError (400)."""
        if not isinstance(body, dict) or set(body) - _MEMBERS:
            raise bad_request(f"The switches are {', '.join(sorted(_MEMBERS))}.")
        if "fail_keys" in body:
            self.failing_keys = _failing_keys(body["fail_keys"])
        if "next_requests" in body:
            self.failures = [_failure(entry) for entry in _list(body["next_requests"])]


def _failing_keys(body: object) -> dict[str, int]:
    if not isinstance(body, dict):
        raise bad_request("fail_keys maps a key to a status.")
    return {str(key): _whole(status, 400, 599) for key, status in body.items()}


def _failure(body: object) -> Failure:
    if not isinstance(body, dict) or set(body) - _FAILURE_MEMBERS or "status" not in body:
        raise bad_request(f"An entry of next_requests has {', '.join(sorted(_FAILURE_MEMBERS))}.")
    operation, when = body.get("operation"), body.get("when", "before")
    if operation not in (None, *OPERATIONS) or when not in ("before", "after"):
        raise bad_request(f"The operation is one of {', '.join(OPERATIONS)}; when is before or after.")
    retry_after = body.get("retry_after")
    return Failure(
        status=_whole(body["status"], 400, 599),
        remaining=_whole(body.get("count", 1), 1, 1_000_000),
        retry_after=None if retry_after is None else _whole(retry_after, 0, 3600),
        operation=operation,
        after=when == "after",
    )


def _list(body: object) -> Iterable[object]:
    if not isinstance(body, list):
        raise bad_request("next_requests is a list.")
    return body


def _whole(value: object, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise bad_request(f"{value!r} is not a whole number from {low} to {high}.")
    return value
