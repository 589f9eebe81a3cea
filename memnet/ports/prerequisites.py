"""What the service needs around it, looked at without using it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from memnet.domain.core.prerequisite import Finding


class Prerequisite(Protocol):
    """Something that has to be there, or a right to something that is."""

    async def check(self) -> Finding:
        """Look, and leave no trace: the least call that takes the right. Raises nothing: the finding says it all."""
        ...


class CreatablePrerequisite(Prerequisite, Protocol):
    """Something that the service's own identity can make."""

    async def create(self) -> None:
        """Make it; one that is there is left as it is. Raises Unavailable, also when it is not allowed."""
        ...


@dataclass(frozen=True, slots=True)
class Prerequisites:
    """All of them but the index, which the register tells of; the container is where that register is."""

    container: CreatablePrerequisite
    others: Sequence[Prerequisite]
