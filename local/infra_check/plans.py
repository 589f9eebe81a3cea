"""The plans that are looked at: both parameter files, and what an operator may choose besides."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from local.infra_check.decided import check_decided
from local.infra_check.elsewhere import check_elsewhere
from local.infra_check.finding import Finding
from local.infra_check.functions import Refused
from local.infra_check.grants import check_grants
from local.infra_check.inventory import check_inventory
from local.infra_check.pages import check_alerts_page, check_parameters_page
from local.infra_check.plan import Plan, Resource, Situation
from local.infra_check.reach import check_reach
from local.infra_check.services import check_services
from local.infra_check.syntax import Source
from local.infra_check.values import NoSuchMember
from local.infra_check.watch import check_alerts, check_watch

MAIN: Final = "infra/main.bicep"
_DEV, _PROD = "infra/main.dev.bicepparam", "infra/main.prod.bicepparam"
_SET: Final = {
    "AZURE_ENV_NAME": "shop", "AZURE_LOCATION": "northeurope", "MEMNET_ISSUER_URL": "https://issuer.example/v2.0",
    "MEMNET_AUDIENCE": "00000000-0000-0000-0000-00000000000a", "MEMNET_BUILT_RELEASE": "two",
    "MEMNET_ALERT_EMAILS": "a@b.c",
}  # fmt: skip
_REGULATED: Final = {
    "MEMNET_CUSTOMER_MANAGED_KEYS": "true", "MEMNET_SERVICE_MAKES_KEYS": "false", "MEMNET_STORAGE_ACCESS_LOGS": "true",
    "MEMNET_OPENAI_ACCOUNT": "models", "MEMNET_OPENAI_RESOURCE_GROUP": "rg-models",
}  # fmt: skip
_NEXT: Final = {
    "MEMNET_SERVING_RELEASE": "one", "MEMNET_SERVING_REVISION": "ca-memnet-api--0000001",
    "MEMNET_SERVING_WORKERS": "green",
}  # fmt: skip
SITUATIONS: Final = (
    Situation(_DEV, _SET),
    Situation(_DEV, {**_SET, "MEMNET_BUILT_RELEASE": "", "MEMNET_SERVING_RELEASE": "one"}),
    Situation(_DEV, {**_SET, "MEMNET_BUILT_RELEASE": "", "MEMNET_SERVING_RELEASE": "one"}, {"apiHost": "appService"}),
    Situation(_DEV, {**_SET, **_NEXT, "MEMNET_SERVING_RELEASE": "two"}),
    Situation(_DEV, _SET, {"privateNetworking": True}),
    Situation(_DEV, {**_SET, **_NEXT}, {"apiHost": "appService"}),
    Situation(_PROD, {**_SET, **_NEXT}),
    Situation(_PROD, {**_SET, **_REGULATED}, {"apiIsPublic": False}),
    Situation(_PROD, {**_SET, **_REGULATED}, {"apiHost": "appService", "apiIsPublic": False}),
    Situation(_PROD, {**_SET, "MEMNET_PRIVATE_NETWORKING": "false", "MEMNET_OPENAI_ACCOUNT": "models"}),
)
REFUSED: Final[Mapping[str, Situation]] = {
    "apiIsPublic false without privateNetworking": Situation(_DEV, _SET, {"apiIsPublic": False}),
    "another servingRelease without a servingRevision": Situation(_DEV, {**_SET, "MEMNET_SERVING_RELEASE": "one"}),
}
"""Nobody would reach such an API, or the wrong one."""


def check_plans(root: Path, sources: Mapping[str, Source]) -> Iterator[Finding]:
    """Findings about what would be deployed."""
    yield from check_elsewhere(root, sources)
    yield from check_alerts(root)
    yield from check_parameters_page(root, sources)
    yield from check_alerts_page(root)
    made: list[Resource] = []
    for situation in SITUATIONS:
        try:
            plan = Plan(sources, MAIN, situation)
            made += plan.resources
            for check in (check_reach, check_watch, check_decided):
                yield from check(plan)
            yield from check_grants(root, plan)
            yield from check_services(root, plan)
        except Refused as error:
            yield Finding(situation.file, 1, "refused", f"the template refuses these parameters: {error}")
        except NoSuchMember as error:
            yield Finding(MAIN, 1, "not-planned", str(error))
    yield from check_inventory(made)
    for told, situation in REFUSED.items():
        try:
            Plan(sources, MAIN, situation)
            yield Finding(MAIN, 1, "service", f"{told} has to be refused")
        except Refused:
            pass
