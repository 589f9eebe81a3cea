"""The one exception of the emulator, which knows the status and the body Azure AI Search would answer with."""

from typing import Any


class SearchError(Exception):
    """A request that is answered with an error: `{"error": {"code", "message", "details"?}}`."""

    def __init__(self, status: int, code: str, message: str, *, details: tuple[tuple[str, str], ...] = ()) -> None:
        """`details` are pairs of code and message, as Azure adds them to a refused request."""
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.details = details

    def body(self) -> dict[str, Any]:
        """Return the body of the answer."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.details:
            error["details"] = [{"code": code, "message": message} for code, message in self.details]
        return {"error": error}


def bad_request(message: str, *, detail: str = "", code: str = "InvalidRequestParameter") -> SearchError:
    """400. `detail` is Azure's finer code for the same message."""
    return SearchError(400, code, message, details=((detail, message),) if detail else ())


def bad_expression(message: str, parameter: str, *, detail: str = "") -> SearchError:
    """400 for a part of a query that cannot be understood, in Azure's words."""
    return bad_request(f"Invalid expression: {message}\r\nParameter name: {parameter}", detail=detail)


def not_found(message: str) -> SearchError:
    """404."""
    return SearchError(404, "ResourceNotFound", message)


def not_supported(what: str) -> SearchError:
    """501: Azure can do this, the emulator cannot, and it will not pretend."""
    return SearchError(501, "NotImplementedInEmulator", f"The search emulator does not support {what}.")
