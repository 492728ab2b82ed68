"""Time, processor time and memory of this process, of child processes and of a server's processes; paired repeats."""

import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[1]
TARGET = ROOT / "target" / "bench"
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass
class Usage:
    """What a step cost: wall and processor seconds, peak memory in bytes (0: not measured) and the shared part of it,
    bytes read from files and written to them, out of the page cache or not."""

    wall: float = 0.0
    cpu: float = 0.0
    peak_bytes: int = 0
    shared_bytes: int = 0
    read_bytes: int = 0
    written_bytes: int = 0

    def __add__(self, other):
        moved = self.read_bytes + other.read_bytes, self.written_bytes + other.written_bytes
        return Usage(self.wall + other.wall, self.cpu + other.cpu, *max(self._memory(), other._memory()), *moved)

    def _memory(self):
        return self.peak_bytes, self.shared_bytes


def run_child(command, log=None):
    """Runs a program to its end: its usage and its standard output."""
    started = time.perf_counter()
    with open(log or os.devnull, "w") as errors:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        output = child.stdout.read()
        _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - started
    if child.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {child.returncode}: {output[-500:]}")
    return Usage(wall, used.ru_utime + used.ru_stime, used.ru_maxrss << 10), output


def run_python(script, *arguments):
    """Runs a script of ours, whose first line says what starting Python and importing took: usage without that, output."""
    command = [sys.executable, str(script), str(time.time()), *map(str, arguments)]
    usage, output = run_child(command)
    said = json.loads(output.splitlines()[0])
    return Usage(usage.wall - said["wall"], usage.cpu - said["cpu"], usage.peak_bytes), said


class Stopwatch:
    """`with Stopwatch() as watch` leaves the block's usage of this thread in `watch.usage`."""

    def __enter__(self):
        self._started = time.perf_counter(), time.thread_time()
        return self

    def __exit__(self, *_):
        wall, cpu = self._started
        self.usage = Usage(time.perf_counter() - wall, time.thread_time() - cpu)


class ServerWatch:
    """What one connection's backend and the workers it starts use while a block runs.

    Processor time and bytes are those of the backend plus all children of the postmaster that ended meanwhile, so nothing
    else may run in the server. Pages found in shared buffers are not read. Memory is private memory of backend (above its start) and workers together with new shared
    segments, looked at every few milliseconds.
    """

    INTERVAL_SECONDS = 0.005

    def __init__(self, connection):
        self._connection = connection
        self._backend = connection.info.backend_pid
        self._postmaster = _parent(self._backend)

    def __enter__(self):
        # a prior statement's workers may still be on their way out
        time.sleep(0.05)
        self._before = _children(self._postmaster)
        self._segments = _segments(self._backend)
        self._at_start = _private_bytes(self._backend)
        self._cpu, self._moved = self._cpu_seconds(), self._bytes()
        self._peak = 0, 0
        self._ended = threading.Event()
        self._sampler = threading.Thread(target=self._sample)
        self._sampler.start()
        self._started = time.perf_counter()
        return self

    def __exit__(self, *_):
        wall = time.perf_counter() - self._started
        self._ended.set()
        self._sampler.join()
        time.sleep(0.05)
        moved = (now - before for now, before in zip(self._bytes(), self._moved))
        self.usage = Usage(wall, self._cpu_seconds() - self._cpu, *self._peak, *moved)

    def _sample(self):
        while not self._ended.wait(self.INTERVAL_SECONDS):
            private = _private_bytes(self._backend) - self._at_start
            for pid in _children(self._postmaster) - self._before:
                private += _private_bytes(pid)
            now = _segments(self._backend)
            shared = sum(size for name, size in now.items() if name not in self._segments)
            self._peak = max(self._peak, (private + shared, shared))

    def _bytes(self):
        """Read and written; a process has in its account what its children had when they ended."""
        accounts = [pathlib.Path(f"/proc/{pid}/io").read_text() for pid in (self._backend, self._postmaster)]
        return [sum(int(re.search(rf"{key}: (\d+)", account)[1]) for account in accounts) for key in ("rchar", "wchar")]

    def _cpu_seconds(self):
        own = _stat(self._backend)
        ended_children = _stat(self._postmaster)
        return (int(own[11]) + int(own[12]) + int(ended_children[13]) + int(ended_children[14])) / TICKS_PER_SECOND


def processor_seconds(pid):
    """What a process has used so far, to the nanosecond."""
    return int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def _stat(pid):
    """Fields of /proc/PID/stat from the third on."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()


def _parent(pid):
    return int(_stat(pid)[1])


def _children(pid):
    try:
        return {int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}
    except OSError:
        return set()


def _private_bytes(pid):
    try:
        return int(re.search(r"RssAnon:\s*(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) << 10
    except (OSError, TypeError):
        return 0


def _segments(pid):
    """Shared segments that a process has mapped, name to bytes; other servers on the machine have their own."""
    found = {}
    try:
        maps = pathlib.Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return found
    for name in set(re.findall(r"/dev/shm/(PostgreSQL\.\d+)", maps)):
        try:
            # blocks in use: a segment counts as far as it has been touched
            found[name] = (pathlib.Path("/dev/shm") / name).stat().st_blocks * 512
        except OSError:
            continue
    return found


def median(values):
    return statistics.median(values)


def spread(values):
    """Median, least and largest."""
    return {"median": statistics.median(values), "least": min(values), "largest": max(values), "runs": len(values)}


def trainings(all):
    """Of the trainings of one setting, as (usage, row of svm_models): times, bytes, passes and the largest gap."""
    return {
        "wall": spread([usage.wall for usage, _ in all]),
        "cpu": spread([usage.cpu for usage, _ in all]),
        "read": median([usage.read_bytes for usage, _ in all]),
        "written": median([usage.written_bytes for usage, _ in all]),
        "passes": median([model["passes"] for _, model in all]),
        "gap": max(model["gap"] for _, model in all),
    }


def description():
    """The machine and how busy it is, for the head of the results."""
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    memory = int(re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text())[1]) / (1 << 20)
    git = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return {
        "at": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "cpu": model[1] if model else platform.machine(),
        "cores": os.cpu_count(),
        "memory_gb": round(memory),
        "load": os.getloadavg()[0],
        "commit": git.stdout.strip(),
    }
