"""The sensitive-content rules of a profile: the kinds it allows, and the additional ones it refuses."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from memnet.domain.catalog.profile_types import Identifier, ProfilePart


class Kind(StrEnum):
    """The kinds of sensitive content that are refused by their value."""

    CARD_NUMBER = "card_number"
    IBAN = "iban"
    SOCIAL_SECURITY_NUMBER = "social_security_number"
    PRIVATE_KEY = "private_key"
    ACCESS_TOKEN = "access_token"
    PASSWORD = "password"
    SECURITY_CODE = "security_code"


Shape = Annotated[str, StringConstraints(pattern=r"^[ -~]*([#@][ -~]*){4}$", max_length=64)]
"""The form of a value: `#` is any digit, `@` any ASCII letter, every other printable ASCII character is itself."""


class SensitiveContent(ProfilePart):
    """A profile's changes to what is refused: `allow` takes kinds out, `shapes` adds values by kind and form.

    A shape such as `EMP-######` needs four `#` or `@` at least, so that no common word matches it.
    """

    allow: tuple[Kind, ...] = ()
    shapes: dict[Identifier, Shape] = Field(default_factory=dict)


STRICTEST = SensitiveContent()
"""Applies where there is no profile."""
