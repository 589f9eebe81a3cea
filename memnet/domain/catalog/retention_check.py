"""Check the limits of retention, and that no profile exceeds them."""

from collections.abc import Iterator

from memnet.domain.catalog.profile import Profile
from memnet.domain.catalog.retention_policy import Ceilings, Kind, Limits
from memnet.domain.core.json_patch import pointer_text
from memnet.domain.core.problem import Problem


def check_ceilings(ceilings: Ceilings) -> Iterator[Problem]:
    """Yield where a floor is above its ceiling, for the organisation and for each tenant as the two together are."""
    yield from _check_limits("", ceilings)
    for tenant_id in ceilings.tenants:
        yield from _check_limits(pointer_text(["tenants", tenant_id]), ceilings.of(tenant_id))


def _check_limits(at: str, limits: Limits) -> Iterator[Problem]:
    for kind in Kind:
        least, most = limits.least(kind), limits.most(kind)
        if least is not None and most is not None and least > most:
            yield Problem(f"{at}/{kind}_min_days", f"is above {kind}_max_days, {most}")


def check_rules(profile: Profile, limits: Limits) -> Iterator[Problem]:
    """Yield each rule of the profile that the organisation's limits do not allow."""
    for kind in Kind:
        days: int | None = getattr(profile.retention_rules, f"{kind}_days")
        least, most = limits.least(kind), limits.most(kind)
        at = f"/retention_rules/{kind}_days"
        if days is not None and most is not None and days > most:
            yield Problem(at, f"is above the organisation's ceiling of {most} days")
        if days is not None and least is not None and days < least:
            yield Problem(at, f"is below the organisation's floor of {least} days")
