"""What the service needs around it, as it was found, and what can be done about what is missing."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class PrerequisiteStatus(StrEnum):
    """How one prerequisite was found."""

    READY = "ready"
    MISSING = "missing"
    """It is not there."""
    WRONG = "wrong"
    """It is there, and not as the service needs it."""
    DENIED = "denied"
    """The identity may not do what the service does with it."""
    UNREACHABLE = "unreachable"
    """It does not answer, or nothing is at hand to prove an identity with."""
    UNKNOWN = "unknown"
    """It cannot be told before something else is ready."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One prerequisite; `detail` says what is wrong and who can put it right, never a secret."""

    subject: str
    standing: PrerequisiteStatus
    detail: str = ""
    creatable: bool = False
    """Whether bootstrap makes it, if it is missing."""


@dataclass(frozen=True, slots=True)
class BootstrapReport:
    """What was found, and what was made before."""

    findings: tuple[Finding, ...]
    created: tuple[str, ...] = ()

    @property
    def ready(self) -> bool:
        """Whether the service can do all its work."""
        return all(finding.standing is PrerequisiteStatus.READY for finding in self.findings)

    @property
    def to_create(self) -> Sequence[Finding]:
        """What bootstrap would make."""
        return [
            finding for finding in self.findings if finding.creatable and finding.standing is PrerequisiteStatus.MISSING
        ]

    @property
    def by_hand(self) -> Sequence[Finding]:
        """What somebody else has to put right; what is unknown follows from it, or from what is yet to be made."""
        left = {PrerequisiteStatus.READY, PrerequisiteStatus.UNKNOWN}
        return [finding for finding in self.findings if finding.standing not in left and finding not in self.to_create]
