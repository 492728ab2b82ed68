"""Tests of the solver crate under valgrind's memcheck: those that reach its unsafe code (cache, ring, rows, kernels, spool)
on inputs that end in minutes. Left out are what takes long, and a comparison of roundings, which valgrind's own arithmetic
does not keep.
"""

import os
import re
import shutil
import subprocess
import time

import pytest

from harness.effort import LONG, record
from harness.server import ROOT

pytestmark = [
    pytest.mark.skipif(not LONG, reason="memcheck takes minutes"),
    pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed here: apt install valgrind"),
]

RUNNER = "valgrind --quiet --error-exitcode=1 --leak-check=no"
SKIPPED = ["every_interleaving", "between_threads", "dense_loops_for_many_heads", "more_rows_than_a_run"]
SETS = {
    "unit tests": ["--lib", "--", *(word for name in SKIPPED for word in ("--skip", name))],
    "the two roles": [
        "--test",
        "trainings",
        "--",
        "roles::the_reader_is_blocked",
        "roles::the_trainer_is_blocked",
        "roles::progress_is_counted",
    ],
    "numbers at the edges": [
        "--test",
        "trainings",
        "--",
        *(f"numbers::{name}" for name in ("one_row", "few_rows", "the_same_row")),
    ],
}


@pytest.mark.parametrize("what", SETS)
def test_memcheck_finds_nothing(what):
    environment = os.environ | {
        "CARGO_TARGET_DIR": os.environ.get("PGSVM_BUILD_CORE", str(ROOT / "target" / "build")),
        "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER": RUNNER,
    }
    # one test after the other: memcheck runs one thread at a time anyway
    command = ["cargo", "test", "--release", "--locked", "--package", "pgsvm-*", *SETS[what], "--test-threads=1"]
    started = time.monotonic()
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    passed = sum(int(count) for count in re.findall(r"^test result: ok\. (\d+) passed", ran.stdout, re.M))
    assert ran.returncode == 0 and passed, ran.stdout[-3000:] + ran.stderr[-3000:]
    record("valgrind", what=what, tests=passed, errors=0, seconds=round(time.monotonic() - started))
