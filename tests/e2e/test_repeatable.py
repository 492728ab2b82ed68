"""The same seed gives the same weights where nothing depends on timing, and the same objective where something does."""

import pytest

from harness.sessions import listen, one

TOLERANCE = 1e-3


@pytest.fixture(scope="module")
def table(server, database):
    with server.connect(database) as connection:
        connection.execute("SELECT setseed(0.75)")
        connection.execute("""
            CREATE TABLE points AS
            SELECT x[1] - x[2] + x[3] * x[4] + 0.3 * (random() - 0.5) > 0 AS label, x
            FROM (SELECT ARRAY(SELECT (random() - 0.5)::float4 FROM generate_series(1, 10) WHERE g > 0) AS x
                  FROM generate_series(1, 40000) g) AS drawn""")
    return "points"


def train(connection, workers, cache, seed=7, trainers=1, solver="stream"):
    """Trains and returns (weights of every chunk, primal)."""
    connection.execute(
        f"SET pgsvm.workers = {workers}; SET pgsvm.min_parallel_size = 0; SET pgsvm.cache_size = '{cache}';"
        f"SET pgsvm.trainers = {trainers}"
    )
    model = connection.execute(
        "SELECT svm_train('points', 'label', c => 1.0, tolerance => %s, seed => %s, solver => %s)",
        (TOLERANCE, seed, solver),
    ).fetchone()[0]
    weights = connection.execute(
        """SELECT v.intercept, array_agg(w.weights::text ORDER BY w.first_feature)
           FROM svm_model m JOIN svm_version v ON v.model_id = m.id AND v.version = m.current_version
           JOIN svm_weight w ON w.version_id = v.id WHERE m.name = %s GROUP BY v.intercept""",
        (model,),
    ).fetchone()
    primal = connection.execute("SELECT primal FROM svm_models WHERE name = %s", (model,)).fetchone()[0]
    return weights, primal


# a tenth of the rows, and all of them, which Newton's method trains too
@pytest.mark.parametrize("cache", ["400kB", "64MB"])
@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("solver", ["stream", "auto"])
def test_one_process_with_one_seed_gives_the_same_weights_bit_for_bit(connection, table, workers, cache, solver):
    first, _ = train(connection, workers, cache, solver=solver)
    second, _ = train(connection, workers, cache, solver=solver)
    assert first == second


def test_two_trainers_and_one_seed_give_the_same_weights_bit_for_bit_in_any_process(connection, table):
    alone, primal = train(connection, 0, "64MB")
    told = listen(connection)
    together, primal_together = train(connection, 0, "64MB", trainers=2)
    assert "no workers, 2 trainers" in [it.text for it in told if it.severity == "NOTICE"][-1]
    assert together == train(connection, 0, "64MB", trainers=2)[0]
    assert together == train(connection, 2, "64MB", trainers=2)[0]
    assert together != alone, "the passes were to be divided"
    assert primal_together == pytest.approx(primal, rel=TOLERANCE)


def test_a_scan_that_another_left_half_way_gives_the_same_weights(connection):
    """A table large enough for PostgreSQL to start a scan where the one before has stopped."""
    columns = ", ".join(f"(hashint4(i + {k}) / 2e9)::real AS x{k}" for k in range(1, 41))
    connection.execute(
        f"CREATE UNLOGGED TABLE long AS SELECT hashint4(-i) > 0 AS label, {columns} FROM generate_series(1, 250000) AS i"
    )

    def train_long():
        connection.execute("SET pgsvm.cache_size = '64MB'")
        connection.execute("SELECT svm_train('long', 'label', max_passes => 2, model => 'long')")
        return one(
            connection,
            "SELECT array_agg(weights::text) FROM svm_weight WHERE version_id = (SELECT id FROM svm_version ORDER BY trained_at DESC LIMIT 1)",
        )

    first = train_long()
    connection.execute("SELECT FROM long LIMIT 100000")
    first_row = one(connection, "SELECT ctid FROM long LIMIT 1")
    connection.execute("SELECT FROM long LIMIT 100000")
    assert first_row != "(0,1)", "PostgreSQL was to start in the middle"
    assert train_long() == first


@pytest.mark.parametrize("cache", ["400kB", "64MB"])
def test_two_workers_reach_the_objective_of_one_process(connection, table, cache):
    _, alone = train(connection, 0, "64MB")
    _, together = train(connection, 2, cache)
    assert together == pytest.approx(alone, rel=TOLERANCE)


@pytest.mark.parametrize("cache", ["8MB", "128MB"])
@pytest.mark.parametrize("kind", ["", "PARTITION BY LIST (label)"])
def test_helpers_fetch_rows_and_change_nothing(connection, kind, cache):
    """A table whose arrays lie out of line, and one with partitions; out of core and in memory; in the session itself too."""
    connection.execute(f"DROP TABLE IF EXISTS afar; CREATE TABLE afar (label boolean, x real[]) {kind}")
    for label in ["true", "false"] if kind else []:
        connection.execute(f"CREATE TABLE afar_{label} PARTITION OF afar FOR VALUES IN ({label})")
    connection.execute(
        """INSERT INTO afar
           SELECT hashint4(-i) > 0, ARRAY(SELECT (hashint4(i + k) / 2e9)::real
                                          FROM generate_series(1, CASE WHEN i > 0 THEN 600 END) AS k)
           FROM generate_series(1, 10000) AS i"""
    )
    told = listen(connection)

    def train_with(helpers):
        connection.execute(f"SET pgsvm.helpers = {helpers}; SET pgsvm.workers = 1; SET pgsvm.cache_size = '{cache}'")
        connection.execute("SELECT svm_train('afar', 'label', max_passes => 3, model => 'afar')")
        helped = {0: [], 1: ["1 helper"]}.get(helpers, [f"{helpers} helpers"])
        trained = ["1 worker"] if cache != "128MB" else [] if helpers else ["no workers"]
        text = [it.text for it in told if it.severity == "NOTICE"][-1]
        assert f" cache, {', '.join(trained + helped)}; 0." in text
        return one(
            connection,
            "SELECT array_agg(weights::text) FROM svm_weight WHERE version_id = (SELECT id FROM svm_version ORDER BY trained_at DESC LIMIT 1)",
        )

    alone = train_with(0)
    assert all(train_with(helpers) == alone for helpers in [1, 2, 4])
