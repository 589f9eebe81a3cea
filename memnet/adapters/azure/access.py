"""Interpret a refusal of an Azure service."""

from azure.core.exceptions import AzureError, ClientAuthenticationError
from azure.servicebus.exceptions import ServiceBusAuthenticationError, ServiceBusAuthorizationError

from memnet.domain.core.prerequisite import Finding, PrerequisiteStatus

_REFUSED = frozenset({401, 403})


def refusal(subject: str, error: BaseException, role: str) -> Finding:
    """Return the finding for a call that failed with `error`, or with a port's error that has it as its cause.

    `role` is the least role that allows the call.
    """
    cause = error if isinstance(error, AzureError | TimeoutError) else error.__cause__ or error
    status = getattr(getattr(cause, "response", None), "status_code", None)
    if status in _REFUSED or isinstance(cause, ServiceBusAuthenticationError | ServiceBusAuthorizationError):
        return Finding(
            subject, PrerequisiteStatus.DENIED, f"the role {role} is missing, or the key is not the right one"
        )
    if isinstance(cause, ClientAuthenticationError):
        return Finding(
            subject, PrerequisiteStatus.UNREACHABLE, "there is no Entra identity: a managed one, or that of az login"
        )
    return Finding(subject, PrerequisiteStatus.UNREACHABLE, f"it does not answer ({type(cause).__name__})")
