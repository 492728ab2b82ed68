"""Allocations that fail: of each test of the regress suite the large allocations of its session are counted, and then the test
is run again and again, each time with another one of them failing. However it ends, it is an ordinary error (or nothing at
all, where what was asked for can be done without), the session goes on, and the server has not restarted.

Takes a library with in-backend tests (`pgrx-tests/allocation.rs`).
"""

import os
import random
import re
import subprocess
import time

import psycopg
import pytest

from harness.effort import LONG, SEED, record, seconds
from harness.server import ROOT, new_database, programs_of

DATABASE = "allocation"
OUT_OF_MEMORY = "53200"
# Each of a few seconds at most; numbers of allocations are those of one process, so that a worker fails at the same.
TESTS = [
    "arguments",
    "classes",
    "categories",
    "evaluation",
    "exchange",
    "explain",
    "follow",
    "gamma",
    "kept_lists",
    "kept_texts",
    "kernel_following",
    "large",
    "libsvm_model",
    "long",
    "models",
    "predict",
    "shared_memory",
    "stored",
    "train",
    "tutorial",
]
QUICK_TESTS = ["categories", "exchange", "follow", "large", "long"]


@pytest.fixture(scope="module", autouse=True)
def counting(server):
    """Skips without the settings."""
    with server.connect() as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS pgsvm")
        connection.execute("SELECT svm_internal.svm_version_id('') WHERE false")
        connection.execute("LOAD 'pgsvm'")
        known = connection.execute("SELECT count(*) FROM pg_settings WHERE name = 'pgsvm.fail_allocation'").fetchone()
    if known == (0,):
        pytest.skip("the library was built without in-backend tests")


def script_of(test):
    """A test of the regress suite, or one beside this that asks for much of everything."""
    found = ROOT / "tests" / "sql" / f"{test}.sql"
    return found if found.exists() else ROOT / "tests" / "torture" / f"{test}.sql"


def run(server, test, fails=0):
    """Runs the test in a new database with that allocation failing; what psql says, errors with their SQLSTATE, and the
    number of large allocations."""
    new_database(server, DATABASE)
    with server.connect(DATABASE) as connection:
        connection.execute("CREATE EXTENSION pgsvm")
    where = ["-h", server.socket_directory, "-p", "5432", "-U", "postgres", "-d", DATABASE]
    psql = [programs_of(server.version) / "psql", *where, "-X", "-a", "-q", "-v", "VERBOSITY=verbose"]
    script = script_of(test).read_text()
    script = f"LOAD 'pgsvm';\nSET pgsvm.fail_allocation = {fails};\n{script}\n\\echo the end\nSHOW pgsvm.large_allocations;\n"
    environment = os.environ | {"PG_ABS_SRCDIR": str(ROOT / "tests")}
    done = subprocess.run(
        psql,
        input=script,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    told, end, rest = done.stdout.rpartition("the end\n")
    count = re.search(r"^ *(\d+)$", rest, re.MULTILINE)
    assert end and count, f"{test}, allocation {fails}: the session did not go on:\n{done.stdout[-2000:]}"
    return told, int(count[1])


@pytest.mark.parametrize("test", TESTS if LONG else QUICK_TESTS)
def test_an_allocation_that_fails_ends_in_an_ordinary_error(server, test):
    until = time.monotonic() + seconds(2, 1 / len(TESTS))
    numbers = random.Random(SEED)
    told, count = run(server, test)
    before = told.count(OUT_OF_MEMORY)
    assert count > 0
    # a sample of all of them in no order, as many as there is time for
    sample = numbers.sample(range(1, count + 1), count)
    failed = refused = 0
    for number in sample:
        if failed and time.monotonic() > until:
            break
        complaints = server.complaints()
        told, _ = run(server, test, number)
        assert server.complaints() == complaints, f"{test}, allocation {number}"
        internal = re.findall(r"(?:ERROR|FATAL|PANIC): +XX000: .*", told)
        assert not internal, f"{test}, allocation {number}: {internal[:3]}"
        failed += 1
        refused += told.count(OUT_OF_MEMORY) > before
    record(
        "allocation", test=test, allocations=count, failed=failed, errors_53200=refused, done_without=failed - refused
    )


def test_the_session_that_failed_works_on(server):
    new_database(server, DATABASE)
    with server.connect(DATABASE) as connection:
        connection.execute("CREATE EXTENSION pgsvm")
        connection.execute(
            "CREATE TABLE rows AS SELECT sin(i) AS x, sin(i) > 0.3 AS good FROM generate_series(1, 50000) AS i"
        )
        train = "SELECT svm_train('rows', 'good', model => 'm')"
        connection.execute(train)
        connection.execute("SET pgsvm.large_allocations = 0")
        connection.execute("SET pgsvm.fail_allocation = 1")
        with pytest.raises(psycopg.errors.OutOfMemory):
            connection.execute(train)
        connection.execute(train)
