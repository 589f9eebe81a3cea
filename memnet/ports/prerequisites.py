"""The prerequisites of the service, checked without side effects."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from memnet.domain.core.prerequisite import Finding


class Prerequisite(Protocol):
    """Something that must exist, or a right that the identity must have."""

    async def check(self) -> Finding:
        """Check with the smallest call that needs the permission, without side effects. Raises nothing."""


class CreatablePrerequisite(Prerequisite, Protocol):
    """A prerequisite that the service's own identity can create."""

    async def create(self) -> None:
        """Create it unless it exists. Raises Unavailable, also without the permission."""


@dataclass(frozen=True, slots=True)
class Prerequisites:
    """All prerequisites except the index, which is named in the container's register."""

    container: CreatablePrerequisite
    others: Sequence[Prerequisite]
