"""Read stored bytes: whatever is wrong with their form is one error."""

from collections.abc import Iterator
from contextlib import contextmanager

from memnet.domain.core.errors import InvalidIdentifier, MalformedRequest, MemnetError


@contextmanager
def reading(error: MemnetError) -> Iterator[None]:
    """Raise `error` if what is read within has another form than was written."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, InvalidIdentifier, MalformedRequest) as cause:
        raise error from cause
