"""What the vault refuses, in the error body of Key Vault's REST API."""

from typing import Any


class VaultError(Exception):
    """A refusal: HTTP status, error code, message, and perhaps a more specific code."""

    def __init__(self, status: int, code: str, message: str, inner: str | None = None) -> None:
        """`inner` becomes `innererror.code`."""
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.inner = inner

    def body(self) -> dict[str, Any]:
        """Return the error body."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.inner is not None:
            error["innererror"] = {"code": self.inner}
        return {"error": error}


def bad_parameter(message: str) -> VaultError:
    """A request that is not what the operation takes."""
    return VaultError(400, "BadParameter", message)


def not_found(name: str) -> VaultError:
    """There is no such secret, or no such version of it; a deleted one counts as none."""
    return VaultError(404, "SecretNotFound", f"A secret with (name/id) {name} was not found in this key vault.")


def deleted_not_found(name: str) -> VaultError:
    """There is no deleted secret of this name."""
    return VaultError(404, "SecretNotFound", f"Deleted Secret not found: {name}")


def is_deleted(name: str) -> VaultError:
    """The name belongs to a deleted secret."""
    message = f"Secret {name} is deleted but recoverable; until it is recovered or purged its name cannot be reused."
    return VaultError(409, "Conflict", message, "ObjectIsDeletedButRecoverable")
