"""Report the prerequisites of the service: their status, and which of them bootstrap can create."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class PrerequisiteStatus(StrEnum):
    """The status of a prerequisite."""

    READY = "ready"
    MISSING = "missing"
    WRONG = "wrong"
    """It exists with another configuration than the service needs."""
    DENIED = "denied"
    """The identity may not do what the service does with it."""
    UNREACHABLE = "unreachable"
    """It does not respond, or no credential is available."""
    UNKNOWN = "unknown"
    """It cannot be checked before another prerequisite is ready."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The status of one prerequisite; `detail` says what is wrong and who can correct it."""

    subject: str
    standing: PrerequisiteStatus
    detail: str = ""
    creatable: bool = False


@dataclass(frozen=True, slots=True)
class BootstrapReport:
    """All findings, and the prerequisites that were created."""

    findings: tuple[Finding, ...]
    created: tuple[str, ...] = ()

    @property
    def ready(self) -> bool:
        """Whether the service can do all its work."""
        return all(finding.standing is PrerequisiteStatus.READY for finding in self.findings)

    @property
    def to_create(self) -> Sequence[Finding]:
        """The findings that bootstrap would create."""
        return [
            finding for finding in self.findings if finding.creatable and finding.standing is PrerequisiteStatus.MISSING
        ]

    @property
    def by_hand(self) -> Sequence[Finding]:
        """The findings that an operator has to correct. Unknown ones depend on others."""
        left = {PrerequisiteStatus.READY, PrerequisiteStatus.UNKNOWN}
        return [finding for finding in self.findings if finding.standing not in left and finding not in self.to_create]
