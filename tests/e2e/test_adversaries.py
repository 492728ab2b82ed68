"""Arguments and rows made to cost much more than they look like cost no more than others of their size."""

import time

import pytest

KEYS = 60_000
# what integers were hashed with in 0.2.0: keys that have the same hash in the lowest 32 bits and in the highest
MULTIPLIER = pow(0x9E3779B97F4A7C15, -1, 1 << 64)


def chosen_key(number):
    key = MULTIPLIER * ((number << 32) | number) % (1 << 64)
    return key - (1 << 64) if key >= 1 << 63 else key


@pytest.fixture(scope="module", autouse=True)
def tables(server, database):
    with server.connect(database) as connection:
        for name, key in [("chosen", chosen_key), ("others", lambda number: hash((number, "other")))]:
            connection.execute(f"CREATE TABLE {name} (id bigint, x float8, label boolean)")
            with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
                for number in range(1, KEYS + 1):
                    copy.write_row((key(number), number % 7, number % 5 > 2))
        connection.execute("CREATE TABLE wide AS SELECT i % 2 AS label FROM generate_series(1, 10) AS i")
        pairs = ", ".join(
            f"ADD COLUMN i{n} int[] DEFAULT '{{1}}', ADD COLUMN v{n} real[] DEFAULT '{{1}}'" for n in range(101)
        )
        connection.execute(f"ALTER TABLE wide {pairs}")


def seconds(connection, statement, parameters=None):
    started = time.monotonic()
    connection.execute(statement, parameters)
    return time.monotonic() - started


@pytest.mark.parametrize("order", ["id", "id DESC", "hashint8(id)"])
def test_keys_that_were_chosen_cost_no_more_than_others(connect, order):
    """A refresh in another order than the training's looks each key up."""
    connection = connect()
    took = {}
    for name in ["others", "chosen"]:
        connection.execute(f"CREATE VIEW rows AS SELECT * FROM {name} ORDER BY {order}")
        train = seconds(connection, "SELECT svm_train('rows', 'label', ARRAY['x'], key => 'id', model => 'm')")
        connection.execute(f"CREATE OR REPLACE VIEW rows AS SELECT * FROM {name} ORDER BY x, id")
        took[name] = train + seconds(connection, "SELECT svm_refresh('m')")
        connection.execute("DROP VIEW rows")
        connection.execute("SELECT svm_drop('m')")
    assert took["chosen"] < 3 * took["others"] + 0.5


def test_a_long_list_of_features_is_read_once(connect):
    connection = connect()
    features = [f"sparse(i{i}, v{v})" for i in range(101) for v in range(101)]
    train = "SELECT svm_train('wide', 'label', %s, model => 'm', max_passes => 1, tolerance => 0.9)"
    few, many = (seconds(connection, train, [features[:count]]) for count in [1_000, 10_000])
    assert many < 20 * few + 0.5
