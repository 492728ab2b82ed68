"""Several trainers where rows stream and where classes are many: the same certificate and objective as with one."""

import pytest

from harness.sessions import listen

TOLERANCE = 1e-3


@pytest.fixture(scope="module")
def table(server, database):
    """Twelve megabytes of rows, of two classes and of ten."""
    with server.connect(database) as connection:
        connection.execute("""
            CREATE UNLOGGED TABLE many AS
            SELECT i % 10 AS class, (i % 10 < 5) <> (i % 37 = 0) AS half,
                   ARRAY(SELECT (hashint4(40 * i + k) / 2e9)::real + CASE WHEN k = i % 10 THEN 1.5 ELSE 0 END
                         FROM generate_series(0, 29) AS k WHERE i > 0) AS x
            FROM generate_series(1, 100000) AS i""")
    return "many"


def trained(connection, target, trainers, cache, workers, **terms):
    """Trains; (weights of every head, sums of the primals, the largest gap)."""
    connection.execute(
        f"SET pgsvm.workers = {workers}; SET pgsvm.min_parallel_size = 0; SET pgsvm.cache_size = '{cache}';"
        f"SET pgsvm.trainers = {trainers}"
    )
    named = "".join(f", {name} => {value}" for name, value in terms.items())
    connection.execute(
        f"SELECT svm_train('many', '{target}', features => '{{x}}', model => 'several', c => 0.3, solver => 'stream'{named})"
    )
    weights = connection.execute(
        """SELECT array_agg(w.weights::text ORDER BY w.*::text)
           FROM svm_model m JOIN svm_version v ON v.model_id = m.id AND v.version = m.current_version
           JOIN svm_weight w ON w.version_id = v.id WHERE m.name = 'several'"""
    ).fetchone()[0]
    primal, gap = connection.execute("SELECT primal, gap FROM svm_models WHERE name = 'several'").fetchone()
    return weights, primal, gap


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("target", ["half", "class"])
def test_two_trainers_arrive_where_rows_stream(connection, table, target, loss):
    terms = {"loss": f"'{loss}'"}
    _, alone, _ = trained(connection, target, 1, "4MB", 0, **terms)
    told = listen(connection)
    weights, primal, gap = trained(connection, target, 2, "4MB", 0, **terms)
    assert "2 trainers" in [it.text for it in told if it.severity == "NOTICE"][-1]
    assert 0 <= gap <= TOLERANCE
    assert primal == pytest.approx(alone, rel=TOLERANCE)
    assert trained(connection, target, 2, "4MB", 1, **terms)[0] == weights, "wherever the trainers are"
    _, primal, gap = trained(connection, target, 2, "4MB", 2, **terms)
    assert 0 <= gap <= TOLERANCE
    assert primal == pytest.approx(alone, rel=TOLERANCE)


def test_four_trainers_arrive_with_ten_classes_in_memory(connection, table):
    _, alone, _ = trained(connection, "class", 1, "64MB", 0)
    weights, primal, gap = trained(connection, "class", 4, "64MB", 0)
    assert 0 <= gap <= TOLERANCE
    assert primal == pytest.approx(alone, rel=TOLERANCE)
    assert trained(connection, "class", 4, "64MB", 2)[0] == weights
