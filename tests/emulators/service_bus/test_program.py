"""The program: memnet's own queues, what can be set, how it starts and stops, and who talks to it wrongly."""

import subprocess
import sys
from pathlib import Path

import pytest
from azure.servicebus import NEXT_AVAILABLE_SESSION, ServiceBusClient

from local.emulators.service_bus.options import ConfigError, QueueOptions, load, seconds
from local.stack.process import ROOT
from local.stack.service_bus_server import CONFIG, ServiceBus
from memnet.domain.core.job import DEAD_LETTERS, QUEUES
from tests.emulators.service_bus.bus import Bus, message, take, texts, write_config

RECEIVER = """
import sys, time
from azure.servicebus import ServiceBusClient
client = ServiceBusClient.from_connection_string(sys.argv[1])
receiver = client.get_queue_receiver(sys.argv[2], session_id="s")
print(*receiver.receive_messages(1), flush=True)
time.sleep(600)
"""


def test_memnets_queues_are_in_the_file_with_sessions_and_duplicate_detection() -> None:
    ours = QueueOptions(lock_duration=60, max_deliveries=10, duplicate_window=600, sessions=True)
    letters = QueueOptions(max_deliveries=2000)
    assert load(CONFIG) == {name: ours for name in QUEUES.values()} | {DEAD_LETTERS: letters}


def test_the_lock_duration_can_be_replaced() -> None:
    assert {options.lock_duration for options in load(CONFIG, lock_seconds=2.5).values()} == {2.5}


@pytest.mark.parametrize(("text", "expected"), [("PT0.5S", 0.5), ("P1D", 86_400), ("P1DT1H1M1S", 90_061)])
def test_durations_are_iso_8601(text: str, expected: float) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["", "PT", "1M", "P1Y", "-PT1M"])
def test_other_durations_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        seconds(text)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{}", "UserConfig"),
        ('{"UserConfig": {"Namespaces": []}}', "one namespace"),
        ('{"UserConfig": {"Namespaces": [{"Queues": [], "Topics": [{}]}]}}', "without topics"),
        ('{"UserConfig": {"Namespaces": [{"Queues": [{"Name": "q", "Properties": {"Lock": 1}}]}]}}', "Lock"),
        ('{"UserConfig": {"Namespaces": [{"Queues": [{"Name": "q", "Properties": {"ForwardTo": "r"}}]}]}}', "Forward"),
    ],
)
def test_a_file_that_cannot_be_used_is_said(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "Config.json"
    path.write_text(content)
    with pytest.raises(ConfigError, match=said):
        load(path)


def test_it_is_found_at_its_address_and_stops_in_order(tmp_path: Path) -> None:
    with ServiceBus(log=tmp_path / "log", directory=tmp_path / "data", lock_seconds=5) as broker:
        assert broker.url == f"sb://127.0.0.1:{broker.connection_string.partition(';')[0].rpartition(':')[2]}"
        assert broker.key in broker.connection_string
        with (
            ServiceBusClient.from_connection_string(broker.connection_string) as client,
            client.get_queue_sender("memnet-replay") as sender,
        ):
            sender.send_messages(message("x", session_id="s", message_id="1"))
        assert broker.child.stop() == 0
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["service-bus.sqlite3"]
    assert (tmp_path / "log").read_text() == ""


def start(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "local.emulators.service_bus", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


def test_a_directory_and_a_port_belong_to_one_process(tmp_path: Path) -> None:
    with ServiceBus(log=tmp_path / "log", directory=tmp_path / "data") as broker:
        second = start("--port", "1", "--data", str(tmp_path / "data"))
        assert (second.returncode, "is open in another process" in second.stderr) == (1, True)
        port = broker.url.rpartition(":")[2]
        second = start("--port", port)
        assert (second.returncode, f"cannot use port {port}" in second.stderr) == (1, True)
    (tmp_path / "Config.json").write_text("{}")
    second = start("--config", str(tmp_path / "Config.json"))
    assert (second.returncode, "cannot start" in second.stderr) == (1, True)


def test_a_receiver_that_is_killed_leaves_its_session_at_once_and_the_attempt_counts(bus: Bus) -> None:
    queue = bus.queue("sessions")
    bus.sender(queue).send_messages(message("x", session_id="s"))
    command = [sys.executable, "-c", RECEIVER, bus.broker.connection_string, queue]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "x\n"
        process.kill()
    [got] = take(bus.receiver(queue, session_id=NEXT_AVAILABLE_SESSION), 1)
    assert (texts([got]), got.delivery_count) == (["x"], 1)


def test_the_documented_settings_are_those_of_microsofts_emulator(tmp_path: Path) -> None:
    path = write_config(
        tmp_path / "Config.json",
        {
            "all": {
                "DeadLetteringOnMessageExpiration": True,
                "DefaultMessageTimeToLive": "PT1H",
                "DuplicateDetectionHistoryTimeWindow": "PT20S",
                "ForwardDeadLetteredMessagesTo": "",
                "ForwardTo": "",
                "LockDuration": "PT1M",
                "MaxDeliveryCount": 3,
                "RequiresDuplicateDetection": False,
                "RequiresSession": False,
            }
        },
    )
    expected = QueueOptions(lock_duration=60, max_deliveries=3, seconds_to_live=3600, dead_letter_expired=True)
    assert load(path) == {"all": expected}
