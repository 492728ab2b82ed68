"""Models with millions of features: they store, zero weights cost nothing, and a cancel finds its way in."""

import time

import psycopg
import pytest

from harness.memory import MB, watch
from harness.sessions import NO_WORKER, TWO_WORKERS, configure, model, one

PROCESSES = {"two_workers": TWO_WORKERS, "no_worker": NO_WORKER}


@pytest.fixture(scope="module", autouse=True)
def tables(server, database):
    """far_apart: 1,000 ids over 30 million; full: 1 million ids, each in one row."""
    with server.connect(database) as connection:
        connection.execute(
            """
            CREATE TABLE far_apart AS
            SELECT CASE WHEN i % 3 = 0 THEN 1 ELSE -1 END AS label, ARRAY[i * 30000] AS idx, ARRAY[1]::real[] AS val
            FROM generate_series(1, 1000) AS i;
            CREATE TABLE full_rows AS
            SELECT i % 2 AS label, array_agg(1 + i + 100 * k) AS idx, array_agg(1::real) AS val
            FROM generate_series(0, 99) AS i, generate_series(0, 9999) AS k GROUP BY i
            """
        )


def weights(connection, name):
    """(rows of svm_weight, weights in them, weights that are zero) of the model's version."""
    return connection.execute(
        """
        SELECT count(DISTINCT first_feature), count(*), count(*) FILTER (WHERE w = 0)
        FROM svm_model m JOIN svm_version v ON v.model_id = m.id AND v.version = m.current_version
        JOIN svm_weight ON version_id = v.id, unnest(weights) AS w WHERE m.name = %s
        """,
        [name],
    ).fetchone()


@pytest.mark.parametrize("processes", PROCESSES)
def test_thirty_million_features_store_and_zero_weights_cost_nothing(connection, processes):
    configure(connection, PROCESSES[processes])
    connection.execute("SELECT svm_train('far_apart', 'label', ARRAY['sparse(idx, val)'], 'far', intercept => false)")
    assert model(connection, "far")["features"] >= 30_000_000
    rows, stored, zeros = weights(connection, "far")
    assert (rows, stored, zeros) == (1000, 1000, 0)
    right = "SELECT count(*) FROM far_apart AS t WHERE svm_predict('far', t) = label"
    assert one(connection, right) == 1000
    assert one(connection, "SELECT svm_predict('far', '29970000:1')") == 1
    assert one(connection, "SELECT svm_decision('far', '5:1') = svm_decision('far', '29999999:1')")


@pytest.mark.parametrize("processes", PROCESSES)
def test_a_million_weights_that_all_count_come_back(connection, processes):
    configure(connection, PROCESSES[processes] | {"pgsvm.cache_size": "64MB"})
    connection.execute("SELECT svm_train('full_rows', 'label', ARRAY['sparse(idx, val)'], 'full')")
    rows, stored, zeros = weights(connection, "full")
    assert rows == 62  # 16,384 to a row
    assert stored - zeros == 1_000_000
    assert one(connection, "SELECT count(*) FROM full_rows AS t WHERE svm_predict('full', t) = label") == 100


@pytest.mark.parametrize("processes", PROCESSES)
@pytest.mark.parametrize("moment", [0.1, 0.9])
def test_a_cancel_finds_its_way_into_a_training_with_millions_of_weights(connect, run, moment, processes):
    connection = connect()
    configure(connection, PROCESSES[processes] | {"pgsvm.cache_size": "64MB"})
    statement = "SELECT svm_train('full_rows', 'label', ARRAY['sparse(idx, val)'], 'never', c => 0.0001)"
    before = one(connection, "SELECT count(*) FROM svm_version")
    started = time.monotonic()
    connection.execute("BEGIN; " + statement + "; ROLLBACK")
    whole = time.monotonic() - started
    running = run(connection, statement)
    time.sleep(whole * moment)
    asked = time.monotonic()
    connection.cancel_safe()
    if isinstance(running.end(), psycopg.errors.QueryCanceled):
        assert running.seconds_until_end(since=asked) < 1.0
        assert one(connection, "SELECT count(*) FROM svm_version") == before


# What a backend may take for models, and for one more that it reads beside them.
MODELS_BYTES, ONE_BYTES = 256 * MB, 32 * MB
MANY = 60


def test_one_statement_over_many_wide_models_keeps_the_memory_promise(server, connection):
    """Models of a million features, 9 MB each in memory: all of them at once would take twice what is promised."""
    train = "svm_train('full_rows', 'label', ARRAY['sparse(idx, val)'], 'first', max_passes => 1)"
    connection.execute(f"SELECT {train}")
    connection.execute(
        f"""
        CREATE TEMPORARY TABLE first AS
        SELECT v.* FROM svm_version AS v JOIN svm_model AS m ON m.id = model_id WHERE name = 'first';
        INSERT INTO svm_model (name, current_version) SELECT 'of_' || i, 1 FROM generate_series(0, {MANY - 1}) AS i;
        CREATE TEMPORARY TABLE copies AS SELECT id FROM svm_model WHERE name ~ '^of_';
        INSERT INTO svm_version SELECT (populated).* FROM (
            SELECT jsonb_populate_record(NULL::svm_version, to_jsonb(first)
                || jsonb_build_object('id', copies.id, 'model_id', copies.id, 'version', 1)) AS populated
            FROM first, copies OFFSET 0) AS all_of_them;
        INSERT INTO svm_head SELECT (populated).* FROM (
            SELECT jsonb_populate_record(NULL::svm_head, to_jsonb(h) || jsonb_build_object('version_id', copies.id))
                AS populated
            FROM svm_head AS h JOIN first ON first.id = h.version_id, copies OFFSET 0) AS all_of_them;
        INSERT INTO svm_weight (version_id, head, first_feature, features, weights)
        SELECT copies.id, head, first_feature, w.features, weights
        FROM svm_weight AS w JOIN first ON first.id = version_id, copies
        """
    )
    asked = f"SELECT count(svm_decision('of_' || i % {MANY}, '1:1')) FROM generate_series(1, {3 * MANY}) AS i"
    one(connection, "SELECT svm_decision('first', '1:1')")
    seen = watch(server, connection, {}, asked)
    print(f"peak {seen.peak / MB:.1f} MB, {seen.samples} samples")
    assert seen.samples >= 20
    assert seen.peak > MODELS_BYTES / 2, "models were to be kept"
    assert seen.peak < MODELS_BYTES + ONE_BYTES
    connection.execute("SELECT svm_drop(name) FROM svm_models WHERE name ~ '^of_' OR name = 'first'")
    connection.execute("DROP TABLE first, copies")
