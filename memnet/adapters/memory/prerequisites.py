"""Prerequisites with preset findings. Every call yields to the event loop first."""

import asyncio

from memnet.domain.core.errors import Unavailable
from memnet.domain.core.prerequisite import Finding, PrerequisiteStatus


class MemoryPrerequisite:
    """The Prerequisite and CreatablePrerequisite ports for tests."""

    def __init__(
        self, subject: str, standing: PrerequisiteStatus = PrerequisiteStatus.READY, *, creatable: bool = False
    ) -> None:
        """Set `standing` to change the finding, and `refuses` to make `create` fail."""
        self._subject = subject
        self._creatable = creatable
        self.standing = standing
        self.refuses = False

    async def check(self) -> Finding:
        await asyncio.sleep(0)
        return Finding(self._subject, self.standing, creatable=self._creatable)

    async def create(self) -> None:
        await asyncio.sleep(0)
        if self.refuses:
            raise Unavailable(dependency="blob_storage")
        self.standing = PrerequisiteStatus.READY
