"""The error conditions of Azure Service Bus, which the SDK turns into its exceptions."""

from typing import Final

NOT_FOUND: Final = "amqp:not-found"
NOT_ALLOWED: Final = "amqp:not-allowed"
NOT_IMPLEMENTED: Final = "amqp:not-implemented"
DECODE_ERROR: Final = "amqp:decode-error"
TOO_LARGE: Final = "amqp:link:message-size-exceeded"
ARGUMENT_ERROR: Final = "com.microsoft:argument-error"
MESSAGE_LOCK_LOST: Final = "com.microsoft:message-lock-lost"
MESSAGE_NOT_FOUND: Final = "com.microsoft:message-not-found"
SESSION_LOCK_LOST: Final = "com.microsoft:session-lock-lost"
SESSION_TAKEN: Final = "com.microsoft:session-cannot-be-locked"
TIMEOUT: Final = "com.microsoft:timeout"

_STATUS: Final = {NOT_FOUND: 404, MESSAGE_NOT_FOUND: 404, MESSAGE_LOCK_LOST: 410, SESSION_LOCK_LOST: 410} | {
    NOT_IMPLEMENTED: 501,
    TIMEOUT: 408,
}


class RefusedError(Exception):
    """The emulator refuses a request; nothing has changed."""

    def __init__(self, condition: str, text: str) -> None:
        """`condition` is one of this module's, `text` a sentence for people."""
        super().__init__(text)
        self.condition = condition
        self.text = text

    @property
    def status(self) -> int:
        """The status code in an answer of the management node."""
        return _STATUS.get(self.condition, 400)
