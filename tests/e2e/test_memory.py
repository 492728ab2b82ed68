"""The memory promise: a training out of core takes the cache, 8 bytes a row, the weights and less than 64 MB."""

import pytest

from harness.memory import MB, PROMISE_BYTES, watch
from harness.sessions import NO_WORKER, ONE_WORKER, TWO_WORKERS, model

ROWS, COLUMNS = 1_000_000, 50
CACHE_BYTES = 16 * MB
DUAL_BYTES, WEIGHT_BYTES = 8 * ROWS, 8 * COLUMNS

PROCESSES = {"two_workers": TWO_WORKERS, "one_worker": ONE_WORKER, "no_worker": NO_WORKER}
# every way with the default solver; the solver that splits its rows and holds a byte a row more, in one
CASES = [*((processes, "stream") for processes in PROCESSES), ("two_workers", "selective_block")]


@pytest.fixture(scope="module", autouse=True)
def wide(server, database):
    """1,000,000 rows of real[50], 200 MB: windows of one long list of random numbers; labels are noisy."""
    with server.connect(database) as connection:
        connection.execute("SELECT setseed(0.5)")
        connection.execute(
            f"""
            CREATE UNLOGGED TABLE wide AS
            SELECT list[i] + list[i + 1] - list[i + 2] + (hashint4(i) / 2e9) > 0.5 AS label,
                   list[i : i + {COLUMNS - 1}] AS features
            FROM generate_series(1, {ROWS}) AS i,
                 (SELECT array_agg(random()::real) AS list FROM generate_series(1, {ROWS + COLUMNS})) AS numbers
            """
        )
    yield
    with server.connect(database) as connection:
        connection.execute("DROP TABLE wide")


@pytest.fixture
def watched(server, connect):
    """Runs a statement and watches the memory of its processes."""

    def watched(settings, statement):
        connection = connect()
        # a backend that has read the table and predicted: caches of the catalog are not the training's
        connection.execute("SELECT svm_train_query('SELECT * FROM wide LIMIT 100', 'label', model => 'small')")
        connection.execute("SELECT count(*) FROM wide")
        seen = watch(server, connection, settings | {"pgsvm.cache_size": f"{CACHE_BYTES // MB}MB"}, statement)
        trained = model(connection, "m")
        print(
            f"peak {seen.peak / MB:.1f} MB, {seen.samples} samples, {trained['seconds']:.1f} s, "
            f"spool {seen.spooled / MB:.0f} MB"
        )
        assert seen.samples >= 20
        assert seen.spooled > 0, "the training was to go through a temporary file, compressed or not"
        assert seen.peak > CACHE_BYTES, "the cache was to be seen"
        return trained, seen

    return watched


@pytest.mark.parametrize(("processes", "solver"), CASES)
def test_a_training_out_of_core_keeps_the_memory_promise(watched, processes, solver):
    limits = "max_passes => 4, tolerance => 1e-6"
    statement = f"SELECT svm_train('wide', 'label', model => 'm', c => 0.01, solver => '{solver}', {limits})"
    trained, seen = watched(PROCESSES[processes], statement)
    assert trained["rows_used"] == ROWS
    assert seen.peak < CACHE_BYTES + DUAL_BYTES + WEIGHT_BYTES + PROMISE_BYTES


def test_many_long_categories_keep_the_memory_promise(watched):
    """As many values as are kept, and many more that are hashed."""
    columns = ", ".join(f"lpad((features[{i}] * 1e5)::int::text, 300 * {i}, 'x') AS text{i}" for i in range(1, 4))
    trained, seen = watched(
        TWO_WORKERS,
        f"""SELECT svm_train_query($$SELECT label, features, {columns} FROM wide LIMIT 200000$$, 'label', model => 'm',
            max_passes => 4, tolerance => 1e-6, options => '{{"max_categories": 50000, "hash_bits": 10}}')""",
    )
    assert seen.peak < CACHE_BYTES + 4 * trained["rows_used"] + 8 * trained["features"] + PROMISE_BYTES


def test_a_grid_over_gamma_keeps_the_memory_promise(watched):
    """The rows are read once, and mapped three times: for two gammas and for the final machine."""
    options = '{"gammas": [0.01, 0.1], "folds": 2, "method": "low_rank"}'
    terms = f"kernel => 'rbf', rank => 30, c => 0.001, max_passes => 2, tolerance => 0.1, options => '{options}'"
    trained, seen = watched(NO_WORKER, f"SELECT svm_train('wide', 'label', model => 'm', {terms})")
    assert trained["rows_used"] == ROWS
    # of each of two folds a head, in whole eights, their held-out decisions, and a group for each row
    heads = (8 * 8 + 3 + 8 + 4) * ROWS
    assert seen.peak < CACHE_BYTES + heads + PROMISE_BYTES
