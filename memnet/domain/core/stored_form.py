"""Read stored bytes: whatever is wrong with their form is one error."""

from dataclasses import dataclass
from types import TracebackType

from memnet.domain.core.errors import InvalidIdentifier, MalformedRequest, MemnetError

_OTHER_FORM = (ValueError, LookupError, TypeError, AttributeError, InvalidIdentifier, MalformedRequest)


@dataclass(frozen=True, slots=True)
class Reading:
    """Raises `error` if what is read within has another form than was written."""

    error: MemnetError

    def __enter__(self) -> None:
        """Begin to read."""

    def __exit__(
        self, _kind: type[BaseException] | None, cause: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        """Raise the error instead of what another form has raised."""
        if isinstance(cause, _OTHER_FORM):
            raise self.error from cause
