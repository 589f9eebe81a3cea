"""Azurite as the stack and the tests run it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from azure.storage.blob import BlobType

from local.stack.azurite_server import PACKAGE, Azurite, container_client, node
from local.stack.process import ROOT, Child, StackError


def alive(pid: int) -> bool:
    """Say whether the process runs; one that has ended and waits for its parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_data_on_disk_survives_a_stop_at_once_and_the_address_stays(tmp_path: Path) -> None:
    with Azurite(log=tmp_path / "log", directory=tmp_path / "data") as azurite:
        before = azurite.account_url
        with container_client(azurite.account_url, "kept") as client:
            client.create_container()
            client.upload_blob("a", b"1")
            client.upload_blob("log", b"one", blob_type=BlobType.APPENDBLOB)
            client.upload_blob("log", b"two", blob_type=BlobType.APPENDBLOB)
            client.upload_blob("gone", b"1")
            client.delete_blob("gone")
            azurite.stop()
            assert azurite.child.pid is None
            azurite.start()
            assert azurite.account_url == before
            assert client.download_blob("a").readall() == b"1"
            assert client.download_blob("log").readall() == b"onetwo"
            assert list(client.list_blob_names()) == ["a", "log"]


COUNT_LOOKS = """
const Loki = require("lokijs");
require("./speed");
const indices = ["accountName", "containerName", "name", "snapshot"];
const blobs = new Loki("x").addCollection("blobs", { indices });
let looks = 0;
const counted = (value) => ({ enumerable: true, get: () => (looks++, value) });
for (let i = 0; i < 1000; i++) {
  for (const snapshot of i === 500 ? ["", "s1"] : [""]) {
    const blob = { containerName: "c", snapshot };
    blobs.insert(Object.defineProperties(blob, { accountName: counted("a"), name: counted(`b-${i}`) }));
  }
}
function looksOf(operation) {
  looks = 0;
  operation();
  return looks;
}
const query = { name: { $regex: "^b\\-50" }, accountName: "a", containerName: "c" };
let listed, after;
const list = looksOf(() => (listed = blobs.chain().find(query).data()));
const remove = looksOf(() => blobs.findAndRemove({ accountName: "a", containerName: "c", name: "b-500" }));
const nothing = looksOf(() => blobs.findAndRemove({ accountName: "a", name: "b-3", snapshot: "s1" }));
after = blobs.chain().find(query).data();
const rest = blobs.count();
blobs.findAndRemove({ accountName: "a", containerName: "c" });
const names = (found) => found.map((blob) => blob.name + blob.snapshot);
console.log(JSON.stringify({ list, remove, nothing, rest, end: blobs.count(), names: [names(listed), names(after)] }));
"""


def test_a_deletion_and_a_listing_do_not_look_at_all_blobs() -> None:
    """Of 1,000 blobs and a snapshot, one blob is deleted with its snapshot, then a snapshot that does not exist."""
    ran = subprocess.run([node(), "-e", COUNT_LOOKS], cwd=PACKAGE, capture_output=True, check=True)
    found = json.loads(ran.stdout)
    before, after = found.pop("names")
    assert before == [f"b-50{rest}" for rest in ("", "0", "0s1", *"123456789")]
    assert after == [f"b-50{rest}" for rest in ("", *"123456789")]
    assert all(found.pop(kind) < 250 for kind in ("list", "remove", "nothing")), found
    assert found == {"rest": 999, "end": 0}


def test_it_outlives_no_parent_that_was_killed(tmp_path: Path) -> None:
    program = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from local.stack.azurite_server import Azurite\n"
        "azurite = Azurite(log=Path(sys.argv[1]))\n"
        "azurite.start()\n"
        "print(azurite.child.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "log")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        handle = os.pidfd_open(pid)
        try:
            assert alive(pid)
            parent.send_signal(signal.SIGKILL)
            parent.wait()
            waiter = Child("unknown", [], environment={}, log=tmp_path / "none")
            waiter.wait_until(lambda: not alive(pid), seconds=30)
        finally:
            if alive(pid):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            os.close(handle)


def test_child_that_dies_at_once_is_reported_with_the_end_of_its_log(tmp_path: Path) -> None:
    child = Child("x", [sys.executable, "-c", "print('the reason'); exit(3)"], environment={}, log=tmp_path / "log")
    child.start()
    with pytest.raises(StackError, match=r"x ended with exit code 3\.\n(.|\n)*the reason"):
        child.wait_until(lambda: False, seconds=30)
    child.stop()


def test_child_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    program = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
    child = Child("x", [sys.executable, "-c", program], environment={}, log=tmp_path / "log")
    child.start()
    child.wait_until(lambda: "up" in child.last_lines(), seconds=30)
    pid = child.pid
    assert pid is not None
    assert child.stop(seconds=0.1) == -signal.SIGKILL
    assert not alive(pid)


def test_the_npm_lock_names_no_host_and_the_pinned_version() -> None:
    lock = (PACKAGE / "package-lock.json").read_text("utf-8")
    assert '"resolved": "http' not in lock
    assert '"azurite": "3.37.0"' in lock
    assert '"node_modules/applicationinsights": {\n      "resolved": "no-telemetry"' in lock


def test_missing_package_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("local.stack.azurite_server.PACKAGE", tmp_path)
    with pytest.raises(StackError, match="make setup"):
        Azurite(log=tmp_path / "log")
