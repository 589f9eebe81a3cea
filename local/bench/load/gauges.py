"""What the processes of a stack use, read from /proc."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

MIB = 1024 * 1024
OTHERS = "others on this machine"
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class NoGauges(Exception):
    """This system has no /proc, as Linux has it."""


@dataclass(frozen=True)
class Shares:
    """How many cores each process kept busy over a while: 1.0 is one of them, all the time."""

    cores: Mapping[str, float]
    machine: float
    """What everything on the machine kept busy together."""


class Gauges:
    """Watches some processes by their ids."""

    def __init__(self, pids: Mapping[str, int]) -> None:
        """`pids` are named as they are to be reported. Raises NoGauges."""
        if not Path("/proc/self/stat").exists():
            raise NoGauges("processor time and memory are read from /proc, which this system has not")
        self._pids = dict(pids)
        self.start()

    def start(self) -> None:
        """Begin to count."""
        self._started = perf_counter()
        self._before = {name: _seconds(pid) for name, pid in self._pids.items()}
        self._machine_before = _machine_seconds()

    def shares(self) -> Shares:
        """The shares since the start."""
        lasted = max(perf_counter() - self._started, 1e-9)
        cores = {name: (_seconds(pid) - self._before[name]) / lasted for name, pid in self._pids.items()}
        machine = (_machine_seconds() - self._machine_before) / lasted
        return Shares({**cores, OTHERS: max(0.0, machine - sum(cores.values()))}, machine)

    def memory(self, name: str) -> int:
        """What a process has in memory, in bytes."""
        return int(Path(f"/proc/{self._pids[name]}/statm").read_text("ascii").split()[1]) * _PAGE


def _seconds(pid: int) -> float:
    """Processor time of a process and its threads, in user and in kernel mode (proc_pid_stat(5), fields 14 and 15)."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii", errors="replace").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _machine_seconds() -> float:
    """Processor time of all processes (proc_stat(5)): all but idle and waiting for disks."""
    first = Path("/proc/stat").read_text("ascii").splitlines()[0].split()[1:]
    user, nice, system, _, _, irq, softirq = map(int, first[:7])
    return (user + nice + system + irq + softirq) / _TICKS
