"""The upkeep rules of a profile: which entries are merged, trimmed, expired or returned to pending."""

from functools import cached_property
from typing import Annotated

from pydantic import Field

from memnet.domain.catalog.profile_types import Confidence, Identifier, Pointer, ProfilePart
from memnet.domain.core import json_patch

Share = Annotated[float, Field(gt=0, le=1)]
"""Of a limit: how full a document may be before sections give way."""


class Measure(ProfilePart):
    """A member of an entry that measures its value: a number, or with `order` one of these texts, lowest first.

    `default` counts for entries without the member; without a default they are worth least.
    """

    field: Identifier
    order: tuple[str, ...] = ()
    default: float | str | None = None


class SectionUpkeep(ProfilePart):
    """The upkeep of one array of the content; a binding's rules come in the order in which sections give way.

    `merge`: entries that say the same are folded into one. `keep`: the section gives way, but so many entries stay.
    Entries with the lowest value by `trim_by` go first, of equal ones the first in the array; their detail is written
    to an event before. `trim_below`: only entries less sure than this give way; a durable section gives way in no
    other way. `expires_field`: an entry whose time this is has passed goes, its detail to an event. `ttl_field`: a
    written entry that names one of the profile's `ttl_classes` there gets its `expires_field` from that class.
    `stale_after_days`: an entry not verified (`verified_field`) for so long goes back to the pending section. The
    other fields say where an entry that is an object has its text and what belongs to it.
    """

    section: Pointer
    merge: bool = False
    keep: Annotated[int, Field(ge=0)] | None = None
    trim_below: Confidence | None = None
    trim_by: tuple[Measure, ...] = ()
    expires_field: Identifier | None = None
    ttl_field: Identifier | None = None
    stale_after_days: Annotated[int, Field(ge=1)] | None = None
    verified_field: Identifier = "last_verified_at"
    text_field: Identifier = "text"
    confidence_field: Identifier = "confidence"
    evidence_field: Identifier = "evidence"
    id_field: Identifier = "id"

    @cached_property
    def place(self) -> json_patch.Pointer:
        """The parsed `section`."""
        return json_patch.pointer(self.section)
