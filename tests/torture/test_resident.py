"""The memory promise on inputs of ten and a hundred times the cache: dense, sparse and with many classes, and under a
limit of the operating system's.

PGSVM_CGROUP names a folder of the memory controller (version 1 or 2) that the tests may write to, made by whoever runs
the machine: a group in it holds the whole server to what is promised and its own. Without it each process is held to so
much data (RLIMIT_DATA, which counts address space), and their sum is watched.
"""

import os
import pathlib

import pytest

from harness.effort import LONG, record
from harness.memory import MB, PROMISE_BYTES, children, data_bytes, set_data_limit, watch
from harness.sessions import NO_WORKER, TWO_WORKERS, model, one

CACHE_BYTES = 2 * MB
COLUMNS = 50
TERMS = "model => 'm', c => 0.01, tolerance => 1e-6, max_passes => 3"

PROCESSES = {"two workers": TWO_WORKERS} | ({"no worker": NO_WORKER} if LONG else {})
# rows of 200 bytes, dense, and of 160, sparse: ten times the cache and a hundred times
TIMES = {10: 100_000, 100: 1_000_000} if LONG else {10: 100_000}
SOURCES = {
    "dense": ("svm_train_query('SELECT label, features FROM many WHERE id <= {}', 'label', {})", 1),
    "sparse": (
        "svm_train_query('SELECT label, idx, val FROM thin WHERE id <= {}', 'label', {}, features => ARRAY['sparse(idx, val)'])",
        1,
    ),
    "ten classes": ("svm_train_query('SELECT class, features FROM many WHERE id <= {}', 'class', {})", 10),
}


@pytest.fixture(scope="module", autouse=True)
def tables(server, database):
    """many: dense rows, windows of one long list of random numbers; thin: sparse rows of 100,000 features."""
    rows = max(TIMES.values())
    with server.connect(database) as connection:
        connection.execute("SELECT setseed(0.5)")
        connection.execute(
            f"""
            CREATE UNLOGGED TABLE many AS
            SELECT i AS id, list[i] + list[i + 1] - list[i + 2] + (hashint4(i) / 2e9) > 0.5 AS label,
                   abs(hashint4(i) % 10) AS class, list[i : i + {COLUMNS - 1}] AS features
            FROM generate_series(1, {rows}) AS i,
                 (SELECT array_agg(random()::real) AS list FROM generate_series(1, {rows + COLUMNS})) AS numbers
            """
        )
        connection.execute(
            """
            CREATE UNLOGGED TABLE thin AS
            SELECT id, label, ARRAY(SELECT k * 5000 + 1 + (id % 5000 * 7919 + k) % 5000 FROM generate_series(0, 19) AS k) AS idx,
                   features[1:20] AS val
            FROM many
            """
        )
    yield
    with server.connect(database) as connection:
        connection.execute("DROP TABLE many, thin")


# The server's own, beside the backends' private memory.
SHARED_BUFFERS_BYTES = 128 * MB
OTHER_PROCESSES_BYTES = 64 * MB


@pytest.fixture
def limited(server):
    """Puts the server under a limit of the system's, in bytes for one training, and out of it again; tells which kind."""
    folder = os.environ.get("PGSVM_CGROUP")
    yield from limited_by_cgroup(server, pathlib.Path(folder)) if folder else limited_by_process(server)


def limited_by_cgroup(server, folder):
    group = folder / f"pgsvm-{server.postmaster()}"
    group.mkdir()
    limit = next(name for name in ("memory.max", "memory.limit_in_bytes") if (group / name).exists())

    def limit_to(backend, promised, cache):
        (group / limit).write_text(str(promised + SHARED_BUFFERS_BYTES + OTHER_PROCESSES_BYTES))
        for pid in {server.postmaster()} | children(server.postmaster()):
            (group / "cgroup.procs").write_text(str(pid))
        return "cgroup"

    yield limit_to
    for pid in (group / "cgroup.procs").read_text().split():
        (group.parent / "cgroup.procs").write_text(pid)
    group.rmdir()


def limited_by_process(server):
    """Workers inherit from the postmaster."""
    held = {server.postmaster()}

    def limit_to(backend, promised, cache):
        held.add(backend)
        at_rest = data_bytes(backend)
        for pid in held:
            set_data_limit(pid, at_rest + promised - cache)
        return "RLIMIT_DATA"

    yield limit_to
    for pid in held:
        set_data_limit(pid, "unlimited")


def allowed(kind, rows, features):
    """Bytes for cache, dual variables, weights and everything else, as docs/architecture.md has them."""
    heads = SOURCES[kind][1]
    wide = -(-heads // 8) * 8 if heads > 1 else 1
    # four vectors, one more for heads that have ended, two for the metric and two for verifying, of 4 bytes a head
    weights = features * (4 * wide * 9 if heads > 1 else 8 * 5 + 20)
    return CACHE_BYTES + (4 * wide * rows) + weights + PROMISE_BYTES


@pytest.mark.parametrize("processes", PROCESSES)
@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("kind", SOURCES)
def test_a_training_keeps_the_memory_promise(server, connect, limited, kind, times, processes):
    connection = connect()
    connection.execute(
        "SELECT svm_train_query('SELECT label, features FROM many LIMIT 100', 'label', model => 'small')"
    )
    connection.execute("SELECT count(*), (SELECT count(*) FROM many) FROM thin")
    rows = TIMES[times]
    settings = PROCESSES[processes] | {"pgsvm.cache_size": f"{CACHE_BYTES // MB}MB"}
    features = 100_000 if kind == "sparse" else COLUMNS
    limit = allowed(kind, rows, features)
    # shared memory is not a process's own
    shared = CACHE_BYTES if processes == "two workers" else 0
    way = limited(connection.info.backend_pid, limit, shared)
    seen = watch(server, connection, settings, "SELECT " + SOURCES[kind][0].format(rows, TERMS))
    trained = model(connection, "m")
    record(
        "memory",
        what=kind,
        rows=rows,
        times_the_cache=times,
        processes=processes,
        spool_mb=round(seen.spooled / MB),
        peak_mb=round(seen.peak / MB, 1),
        allowed_mb=round(limit / MB, 1),
        enforced_by=way,
    )
    assert trained["rows_used"] == rows
    assert seen.spooled > 0, "the training was to go through a temporary file"
    assert seen.peak < limit
    assert one(connection, "SELECT svm_drop('m')") == "m"
