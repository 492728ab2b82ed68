"""Sampling profiles by perf: where the processor time of a program or a server process goes.

perf takes the stack of the process at regular intervals of processor time. Most of the solver is inlined into a few
large functions, so each address in the files asked for is looked up in the compiler's line table, which knows what was
inlined there.
"""

import collections
import os
import pathlib
import re
import shutil
import subprocess

from machine import ROOT, TARGET

SAMPLES_PER_SECOND = 2500
EVENT = ["-e", "cpu-clock", "-F", str(SAMPLES_PER_SECOND)]
# of stack copied with each sample: a server's goes through the executor, and none may end before a function of ours
PROGRAM_STACK_BYTES = 2048
SERVER_STACK_BYTES = 8192
DATA = TARGET / "profile.data"

# One function of a stack: its name, its source file (below the checkout's root where it is of this checkout, nothing
# where there is no line table), and the program, library or kernel it is part of.
Frame = collections.namedtuple("Frame", "function file binary")


def missing():
    """Why no profile can be taken here; None when one can."""
    if not shutil.which("perf") or not shutil.which("addr2line"):
        return "perf (Debian's linux-perf) or addr2line is not installed"
    TARGET.mkdir(parents=True, exist_ok=True)
    tried = subprocess.run(["perf", "record", *EVENT, "-o", DATA, "true"], capture_output=True, text=True)
    return None if tried.returncode == 0 else "perf is not permitted here: " + tried.stderr.strip().split("\n")[0]


def of_program(command, binaries):
    """Stacks of one run of a program, innermost frame first, and its output."""
    call = ["perf", "record", *EVENT, *_stacks(PROGRAM_STACK_BYTES), "-o", DATA, *map(str, command)]
    ran = subprocess.run(call, capture_output=True, text=True)
    if ran.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {ran.stderr}")
    return _read(binaries), ran.stdout


class Attached:
    """`with Attached(pid, binaries) as profile` leaves the process's stacks of that time in `profile.stacks`."""

    def __init__(self, pid, binaries):
        self._pid, self._binaries = pid, binaries

    def __enter__(self):
        ours, theirs = os.pipe(), os.pipe()
        # begins when told to, and says so
        control = ["-D", "-1", "--control", f"fd:{ours[0]},{theirs[1]}"]
        call = ["perf", "record", *EVENT, *_stacks(SERVER_STACK_BYTES), *control, "-o", DATA, "-p", str(self._pid)]
        self._perf = subprocess.Popen(
            call, pass_fds=(ours[0], theirs[1]), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        os.close(ours[0])
        os.close(theirs[1])
        self._tell, self._told = ours[1], theirs[0]
        self._say("enable")
        return self

    def __exit__(self, kind, *_):
        self._say("stop")
        os.close(self._tell)
        os.close(self._told)
        errors = self._perf.communicate()[1]
        if kind is None:
            if self._perf.returncode != 0:
                raise RuntimeError(f"perf record: {errors.decode()}")
            self.stacks = _read(self._binaries)

    def _say(self, word):
        os.write(self._tell, f"{word}\n".encode())
        if b"ack" not in os.read(self._told, 16):
            raise RuntimeError(f"perf record did not {word}: {self._perf.communicate()[1].decode()}")


def _stacks(stack_bytes):
    return ["--call-graph", f"dwarf,{stack_bytes}"]


def _read(binaries):
    """The stacks in DATA. `binaries`: files in whose line tables addresses are looked up."""
    call = ["perf", "script", "--no-inline", "-i", DATA, "-F", "ip,sym,dso"]
    text = subprocess.run(call, capture_output=True, text=True, check=True).stdout
    # an address, what perf calls the function there, and in brackets the file: in it the address counts bytes
    line = re.compile(r"^\s*([0-9a-f]+) (.*) \((\S+)\)$", re.MULTILINE)
    samples = [line.findall(sample) for sample in re.split(r"\n\s*\n", text)]
    samples = [sample for sample in samples if sample]
    inlined = {}
    for binary in map(str, binaries):
        inlined[binary] = _inlined(
            binary, {address for sample in samples for address, _, file in sample if file == binary}
        )
    stacks = []
    for sample in samples:
        stack = []
        for address, function, file in sample:
            stack += inlined.get(file, {}).get(address) or [Frame(function, "", pathlib.Path(file).name)]
        stacks.append(stack)
    return stacks


def _inlined(binary, addresses):
    """For each address what is inlined there, innermost first, down to the function that the linker knows."""
    addresses = sorted(addresses)
    segments = _segments(binary)
    places = [_place(int(address, 16), segments) for address in addresses]
    call = ["addr2line", "-a", "-i", "-f", "-C", "-e", binary]
    output = subprocess.run(call, input="\n".join(map(hex, places)), capture_output=True, text=True, check=True).stdout
    name = pathlib.Path(binary).name
    found = []
    for part in re.split(r"^0x[0-9a-f]+\n", output, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        files = [line.rsplit(":", 1)[0].removeprefix(f"{ROOT}/") for line in lines[1::2]]
        known = files[0] != "??"
        found.append([Frame(*frame, name) for frame in zip(lines[::2], files)] if known else None)
    return dict(zip(addresses, found))


def _segments(binary):
    """Where the file's parts lie in it and in memory: (offset, address, bytes)."""
    text = subprocess.run(["readelf", "-lW", binary], capture_output=True, text=True, check=True).stdout
    fields = re.findall(r"^\s*LOAD\s+(0x\w+)\s+(0x\w+)\s+0x\w+\s+(0x\w+)", text, re.MULTILINE)
    return [tuple(int(field, 16) for field in part) for part in fields]


def _place(offset, segments):
    for start, address, size in segments:
        if start <= offset < start + size:
            return offset - start + address
    return offset
