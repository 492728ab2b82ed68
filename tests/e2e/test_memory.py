"""The memory promise: beside cache, dual variables and weights, a training's processes take less than 64 MB."""

import pathlib
import re
import threading

import pytest

ROWS = 600_000
COLUMNS = 20
CACHE_MB = 4
PROMISE_BYTES = 64 << 20


@pytest.fixture(scope="module")
def readings(server, database):
    with server.connect(database) as connection:
        columns = ", ".join(f"random()::real AS c{i}" for i in range(1, COLUMNS + 1))
        connection.execute(f"""
            CREATE TABLE readings AS
            SELECT *, c1 - c2 + 0.5 * random() > 0.25 AS label
            FROM (SELECT {columns} FROM generate_series(1, {ROWS})) AS drawn""")
    return "readings"


def private_bytes(pid):
    """Memory that is the process's own: neither files nor shared memory. 0 once the process is gone."""
    try:
        return int(re.search(r"RssAnon:\s*(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) << 10
    except (OSError, TypeError):
        return 0


@pytest.mark.parametrize("workers", [2, 0])
def test_processes_stay_within_the_promise(server, connect, readings, workers):
    connection = connect()
    connection.execute(f"SET pgsvm.cache_size = '{CACHE_MB}MB'; SET pgsvm.workers = {workers}")
    backend = connection.info.backend_pid
    connection.execute("SELECT count(*) FROM readings")
    before = server.in_use()
    at_start = private_bytes(backend)
    training = threading.Thread(
        target=connection.execute, args=("SELECT svm_train('readings', 'label', c => 0.01, max_passes => 5)",)
    )
    training.start()
    peak, segments, spooled = 0, set(), 0
    while training.is_alive():
        now = server.in_use().since(before)
        peak = max(peak, private_bytes(backend) - at_start + sum(map(private_bytes, now.workers)))
        segments |= {size for _, size in now.shared_memory}
        spooled = max(spooled, sum(size for _, size in now.temporary_files))
        training.join(timeout=0.02)

    dual_variables, weights = 4 * ROWS, 8 * COLUMNS
    in_process_cache = 0 if workers else CACHE_MB << 20
    assert peak < PROMISE_BYTES + dual_variables + weights + in_process_cache
    assert spooled >= ROWS * COLUMNS * 4, "the rows were to stream from a temporary file"
    if workers:
        assert segments and max(segments) < (CACHE_MB << 20) + (8 << 20)
    assert not server.left_over(before)
