"""The memory that the processes of a training take, watched from outside while it runs."""

import os
import pathlib
import re
import subprocess
import time
from dataclasses import dataclass

from harness.server import ROOT
from harness.sessions import Running, configure

MB = 1 << 20

# What all processes of a training may take beside the cache, the dual variables and the weights.
PROMISE_BYTES = 64 * MB


def private_bytes(pid):
    """Anonymous memory of a process, in which neither files nor shared memory count; 0 when it is gone."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"RssAnon:\s*(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0


def segments(pid):
    """Files of the dynamic shared memory that a process has mapped."""
    try:
        return set(re.findall(r"/dev/shm/PostgreSQL\.\d+", pathlib.Path(f"/proc/{pid}/maps").read_text()))
    except OSError:
        return set()


def allocated_bytes(path):
    """Bytes that a file takes, pages never touched left out; 0 when it is gone."""
    try:
        return os.stat(path).st_blocks * 512
    except OSError:
        return 0


def sample(pids):
    """Bytes that the processes hold together, shared memory counted once and the server's buffers not at all."""
    mapped = set().union(*map(segments, pids))
    return sum(map(private_bytes, pids)) + sum(map(allocated_bytes, mapped))


def children(postmaster):
    return {int(pid) for pid in pathlib.Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()}


@dataclass
class Seen:
    """What a training took at most, beside what its backend had before."""

    peak: int
    spooled: int
    samples: int


def watch(server, connection, settings, statement):
    """Runs a training on the session that reads and predicts before, and watches the memory of its processes."""
    configure(connection, settings)
    backend = connection.info.backend_pid
    before = children(server.postmaster())
    at_rest, files_before = sample([backend]), server.temporary_files()
    running = Running(connection, statement)
    seen = Seen(0, 0, 0)
    while not running.over:
        workers = children(server.postmaster()) - before
        seen.peak = max(seen.peak, sample({backend} | workers) - at_rest)
        seen.spooled = max(seen.spooled, sum(size for _, size in server.temporary_files() - files_before))
        seen.samples += 1
        time.sleep(0.02)
    ended = running.end()
    assert isinstance(ended, list), ended
    return seen


def data_bytes(pid):
    """Bytes of a process's data, as RLIMIT_DATA counts them."""
    return int(re.search(r"VmData:\s*(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) * 1024


def set_data_limit(pid, limit):
    """As the server's user, who may do that to processes of its own."""
    command = '. "$0/scripts/env.sh"; as_server_user prlimit "$@"'
    subprocess.run(["bash", "-c", command, ROOT, "--pid", str(pid), f"--data={limit}:unlimited"], check=True)
