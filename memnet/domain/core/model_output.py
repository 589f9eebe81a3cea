"""Read what a model has returned: JSON of one form, or nothing."""

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from memnet.domain.core.canonical_json import parse
from memnet.domain.core.errors import MalformedRequest

Form = TypeVar("Form", bound=BaseModel)


def read_as(form: type[Form], output: str, most: int) -> Form | None:
    """Return an output of at most `most` characters in this form; None: it is longer, or has another form."""
    if len(output) > most:
        return None
    try:
        return form.model_validate(parse(output.encode()))
    except (MalformedRequest, UnicodeEncodeError, ValidationError):
        return None
