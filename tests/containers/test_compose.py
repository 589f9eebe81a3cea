"""compose.yaml: Microsoft's emulators and our images, with the settings that the service has elsewhere."""

import json
import re
from dataclasses import fields
from typing import Any

import pytest
import yaml

from local.emulators.issuer import AUDIENCE, Issuer, Keys
from local.emulators.key_vault import TOKEN
from local.emulators.service_bus.options import seconds
from local.stack.azurite_server import ACCOUNT_KEY
from local.stack.search_server import API_KEY
from local.stack.service_bus_server import CONFIG, KEY
from memnet import settings
from memnet.domain.core.job import DEAD_LETTERS, QUEUES
from memnet.settings import PREFIX, Settings
from tests.containers.dockerfile import ROOT, Dockerfile
from workers.function_app import CONNECTION

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"].startswith("memnet-")}
EMULATOR = ROOT / "docker" / "service-bus-emulator.json"
PINNED = re.compile(r"mcr\.microsoft\.com/[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}")
LONGEST = {"DuplicateDetectionHistoryTimeWindow": "PT5M", "DefaultMessageTimeToLive": "PT1H", "LockDuration": "PT5M"}
"""What the emulator takes, by its Config-schema.json."""
MOST_DELIVERIES = 10
"""The emulator takes no other number than this one."""


def environment(name: str) -> dict[str, str]:
    return dict(SERVICES[name].get("environment", {}))


def queues(text: str) -> dict[str, dict[str, Any]]:
    (namespace,) = json.loads(text)["UserConfig"]["Namespaces"]
    return {queue["Name"]: queue["Properties"] for queue in namespace["Queues"]}


def test_every_variable_is_a_setting_of_the_service() -> None:
    known = {PREFIX + field.name.upper() for field in fields(Settings)} | {CONNECTION}
    named = {name for service in SERVICES for name in environment(service) if name.startswith(PREFIX)}
    assert named - known == set()
    for service in ("api", "bootstrap", "workers"):
        found = settings.load(environment(service))
        assert None not in (found.search_url, found.queue_url, found.vault_url)


def test_the_api_and_the_workers_have_the_same_settings() -> None:
    def own(service: str) -> dict[str, str]:
        return {n: v for n, v in environment(service).items() if n.startswith(PREFIX) and n != CONNECTION}

    assert own("api") == own("bootstrap") == own("workers")


def test_the_keys_are_the_emulators_own() -> None:
    found = environment("api")
    assert found["MEMNET_STORAGE_KEY"] == ACCOUNT_KEY
    assert found["MEMNET_SEARCH_KEY"] == API_KEY
    assert found["MEMNET_QUEUE_KEY"] == KEY
    assert found["MEMNET_VAULT_TOKEN"] == TOKEN
    assert f"SharedAccessKey={KEY};" in environment("workers")[CONNECTION]
    assert f"AccountKey={ACCOUNT_KEY};" in environment("workers")["AzureWebJobsStorage"]


def test_the_addresses_are_where_the_parts_listen() -> None:
    found = environment("api")
    for url, service in (("SEARCH_URL", "search"), ("VAULT_URL", "vault"), ("ISSUER_URL", "issuer")):
        command = SERVICES[service]["command"]
        assert f"127.0.0.1:{command[command.index('--port') + 1]}" in found[PREFIX + url]
    issuer = Issuer("http://127.0.0.1:8081", Keys())
    assert (found["MEMNET_ISSUER_URL"], found["MEMNET_AUDIENCE"]) == (issuer.url, AUDIENCE)
    stack = json.loads((ROOT / COMPOSE["configs"]["stack"]["file"]).read_text("utf-8"))
    assert stack == {"audience": AUDIENCE, "token_url": issuer.token_url}
    for url in ("STORAGE_URL", "QUEUE_URL"):
        (host,) = re.findall(r"://([\w-]+)", found[PREFIX + url])
        assert host in SERVICES


def test_what_listens_on_this_machine_alone_is_reached_in_one_namespace() -> None:
    inside = {name for name, service in SERVICES.items() if service.get("network_mode") == "service:issuer"}
    assert inside == {"search", "vault", "bootstrap", "api", "workers"}
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    port = Dockerfile(ROOT / "docker" / "api.Dockerfile").final.environment["MEMNET_PORT"]
    assert published == {"issuer": [f"127.0.0.1:{port}:{port}"]}


@pytest.mark.parametrize("name", SERVICES)
class TestService:
    def test_each_image_is_built_here_or_pinned(self, name: str) -> None:
        image = SERVICES[name]["image"]
        if name not in OURS:
            assert PINNED.fullmatch(image)
            return
        built = [service["build"]["dockerfile"] for service in OURS.values() if "build" in service]
        assert f"docker/{image.removeprefix('memnet-')}.Dockerfile" in built
        assert (ROOT / f"docker/{image.removeprefix('memnet-')}.Dockerfile").is_file()

    def test_our_containers_have_few_permissions(self, name: str) -> None:
        if name in OURS:
            service = SERVICES[name]
            assert service["cap_drop"] == ["ALL"]
            assert service["security_opt"] == ["no-new-privileges:true"]
            # Azure's Functions host writes next to itself.
            assert service.get("read_only", False) is (name != "workers")
            assert not {"privileged", "user", "cap_add"} & service.keys()

    def test_read_only_containers_get_their_files_from_configs(self, name: str) -> None:
        """Compose would write any other kind into the container, and refuses to where nothing can be written."""
        service = SERVICES[name]
        for kind in ("configs", "secrets") if service.get("read_only") else ():
            for given in service.get(kind, ()):
                known = COMPOSE[kind][given["source"] if isinstance(given, dict) else given]
                assert set(known) == {"file"}
                assert (ROOT / known["file"]).is_file()

    def test_named_files_exist(self, name: str) -> None:
        service = SERVICES[name]
        assert {given["source"] for given in service.get("configs", ())} <= COMPOSE["configs"].keys()
        assert set(service.get("depends_on", ())) <= SERVICES.keys()
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            assert (ROOT / source).is_file() if source.startswith("./") else source in COMPOSE["volumes"]
        waits = service.get("depends_on", {})
        for other, how in waits.items() if isinstance(waits, dict) else ():
            if how["condition"] == "service_healthy":
                assert "healthcheck" in SERVICES[other]


def test_a_stop_leaves_time_for_running_requests() -> None:
    found = settings.load(environment("api"))
    grace = float(SERVICES["api"]["stop_grace_period"].removesuffix("s"))
    from api.main import GRACE_SECONDS
    from memnet.wiring import DRAIN_SECONDS

    assert grace >= found.drain_seconds + GRACE_SECONDS + DRAIN_SECONDS


class TestTheQueues:
    def test_both_files_name_the_queues_of_the_code(self) -> None:
        for file in (CONFIG, EMULATOR):
            found = queues(file.read_text("utf-8"))
            assert set(found) == {*QUEUES.values(), DEAD_LETTERS}
            for name in QUEUES.values():
                assert (found[name]["RequiresSession"], found[name]["RequiresDuplicateDetection"]) == (True, True)
            assert not {"RequiresSession", "RequiresDuplicateDetection"} & found[DEAD_LETTERS].keys()

    def test_the_emulator_has_the_same_settings_within_its_limits(self) -> None:
        ours, emulated = (queues(file.read_text("utf-8")) for file in (CONFIG, EMULATOR))
        for name, properties in ours.items():
            bounded = {
                member: min(value, LONGEST[member], key=seconds) if member in LONGEST else value
                for member, value in properties.items()
            }
            if "MaxDeliveryCount" in bounded:
                bounded["MaxDeliveryCount"] = min(bounded["MaxDeliveryCount"], MOST_DELIVERIES)
            assert emulated[name] == {**bounded, "DefaultMessageTimeToLive": LONGEST["DefaultMessageTimeToLive"]}

    def test_the_emulator_mounts_it(self) -> None:
        (mount,) = SERVICES["servicebus"]["volumes"]
        assert mount == f"./{EMULATOR.relative_to(ROOT)}:/ServiceBus_Emulator/ConfigFiles/Config.json:ro"
        assert json.loads(EMULATOR.read_text("utf-8"))["UserConfig"]["Namespaces"][0]["Name"] == "sbemulatorns"
