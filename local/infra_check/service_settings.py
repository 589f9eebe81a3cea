"""The settings of API and workers: each exists in memnet/settings.py, and memnet accepts them."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Final

from local.infra_check.finding import Finding
from local.infra_check.plan import Plan
from memnet.settings import PREFIX, Settings, SettingsError, load

_CODE: Final = "setting"
_LISTS: Final = {
    "Microsoft.App/containerApps": "properties.template.containers.0.env",
    "Microsoft.Web/sites": "properties.siteConfig.appSettings",
    "Microsoft.Web/sites/slots": "properties.siteConfig.appSettings",
}
_REQUIRED: Final = tuple(f"{PREFIX}{name}" for name in ("SEARCH_URL", "QUEUE_URL", "VAULT_URL"))
"""Settings that memnet does not require to start, but a deployment does."""


def check_settings(plan: Plan) -> Iterator[Finding]:
    """Return findings about the environment variables of each service of a plan."""
    known = {PREFIX + field.name.upper() for field in fields(Settings)}
    for app in plan.of(*_LISTS):
        listed = app.at(_LISTS[app.type]) or []
        given = {one["name"]: str(one.get("value")) for one in listed}
        for name in sorted(given):
            if name.startswith(PREFIX) and name not in known and "__" not in name:
                yield app.finding("properties", _CODE, f"memnet/settings.py has no {name}")
        for name in _REQUIRED:
            if not given.get(name):
                yield app.finding("properties", _CODE, f"{name} is not set")
        if len(given) != len(listed):
            yield app.finding("properties", _CODE, "a variable is set twice")
        try:
            load(given)
        except SettingsError as error:
            yield app.finding("properties", _CODE, f"memnet/settings.py refuses the settings: {error}")
