"""`memnet retention` and `memnet legal-hold` on Azurite."""

import json

import pytest
from azure.storage.blob import ContainerClient

from memnet.domain.core.scope import Actor, UserScope
from memnet.domain.events.event import Event
from memnet.domain.governance.legal_hold import HoldTarget
from memnet.operations.events.write_event import write_event
from memnet.operations.governance.legal_holds import place_hold
from memnet.service import Service
from memnet.settings import Settings
from tests.cli.conftest import Memnet, on

LEGAL = Actor("svc-legal", frozenset())


def write(storage: Settings, *users: str, timestamp: str = "2020-01-01T00:00:00Z") -> None:
    body = {
        "event_id": "old",
        "service_id": "svc-a",
        "timestamp": timestamp,
        "source_type": "chat",
        "digest": "A meeting.",
    }

    async def work(services: Service) -> None:
        for user in users:
            await write_event(UserScope("t1", user), Event.model_validate(body), services)

    on(storage, work)


def hold(storage: Settings, user: str | None, reason: str) -> None:
    target = HoldTarget("t1") if user is None else HoldTarget("t1", user)
    on(storage, lambda services: place_hold(target, reason, services, actor=LEGAL))


def events(blobs: ContainerClient) -> list[str]:
    return [blob.name for blob in blobs.list_blobs(name_starts_with="tenants/") if "/events/" in blob.name]


def test_expired_events_of_all_users_are_deleted(memnet: Memnet, storage: Settings, blobs: ContainerClient) -> None:
    write(storage, "u1", "u2")
    write(storage, "u3", timestamp="2999-01-01T00:00:00Z")
    dry = memnet("retention", "apply", "--tenant", "t1", "--dry-run")
    assert dry.exit_code == 0, dry.output
    assert "events: 2 to remove, 0 on hold, 0 blocked, 0 deferred, 1 retained\n" in dry.stdout
    assert dry.stdout.endswith("3 users, 0 under a legal hold, 0 failed; 0 histories to shorten\n")
    assert len(events(blobs)) == 3
    done = memnet("retention", "apply", "--tenant", "t1")
    assert done.exit_code == 0, done.output
    assert "events: 2 removed, 0 on hold, 0 blocked, 0 deferred, 1 retained\n" in done.stdout
    assert events(blobs) == ["tenants/t1/users/u3/events/old.json"]
    again = memnet("retention", "apply", "--tenant", "t1")
    assert "events: 0 removed, 0 on hold, 0 blocked, 0 deferred, 1 retained\n" in again.stdout


def test_the_rules_apply_as_of_another_time(memnet: Memnet, history: list[bytes]) -> None:
    result = memnet("retention", "apply", "--tenant", "t1", "--dry-run", "--as-of", "2999-01-01T00:00:00Z")
    # Three records, and the versions before the newest changes of two documents.
    assert "audit: 5 to remove" in result.stdout
    assert result.stdout.endswith("2 histories to shorten\n")
    result = memnet("retention", "apply", "--tenant", "t1", "--as-of", "2020-01-01T00:00:00Z")
    assert "audit: 0 removed, 0 on hold, 0 blocked, 0 deferred, 5 retained\n" in result.stdout
    assert memnet("audit", "verify", "--tenant", "t1", "--user", "u1").exit_code == 0


def test_a_hold_is_listed_and_blocks_deletion(memnet: Memnet, storage: Settings, blobs: ContainerClient) -> None:
    write(storage, "u1", "u2")
    assert memnet("legal-hold", "list", "--tenant", "t1").stdout == "0 legal holds in tenant t1\n"
    hold(storage, "u1", "Litigation\n17")
    lines = memnet("legal-hold", "list", "--tenant", "t1").stdout.splitlines()
    target, _, actor, reason = lines[0].split("  ")
    assert (target, actor, json.loads(reason)) == ("user u1", "svc-legal", "Litigation\n17")
    assert lines[1:] == ["1 legal hold in tenant t1"]
    result = memnet("retention", "apply", "--tenant", "t1")
    assert "events: 1 removed, 1 on hold, 0 blocked, 0 deferred, 0 retained\n" in result.stdout
    assert "2 users, 1 under a legal hold" in result.stdout
    hold(storage, None, "audit")
    assert memnet("legal-hold", "list", "--tenant", "t1").stdout.startswith("tenant  ")
    assert events(blobs) == ["tenants/t1/users/u1/events/old.json"]


def test_an_unreadable_item_is_counted_and_fails(memnet: Memnet, storage: Settings, blobs: ContainerClient) -> None:
    write(storage, "u1")
    blobs.upload_blob("tenants/t1/users/u1/events/broken.json", b"{}")
    result = memnet("retention", "apply", "--tenant", "t1")
    assert result.exit_code == 1
    assert ", 1 unreadable\n" in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("retention", "apply"),
        ("retention", "apply", "--tenant", "../t"),
        ("retention", "apply", "--tenant", "t1", "--as-of", "yesterday"),
        ("legal-hold", "list"),
        ("legal-hold", "list", "--tenant", "../t"),
    ],
)
def test_a_wrong_call_exits_with_2(memnet: Memnet, storage: Settings, arguments: tuple[str, ...]) -> None:
    assert memnet(*arguments).exit_code == 2
