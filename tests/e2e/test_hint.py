"""A training that chooses C of a linear model says so where a kernel machine is clearly better on a sample of the rows, and only there."""

import re

import pytest

from harness.sessions import NO_WORKER, TWO_WORKERS, configure

ROWS = """
    CREATE TABLE rows AS
    SELECT (radius < 1.5)::int AS ring, x > 0.3 * y AS side, i % 3 = 0 AS noise, i / 2 % 3 AS third, x, y,
        CASE WHEN i % 10 > 0 THEN x END AS gaps, CASE WHEN x > 0 THEN 'east' ELSE 'west' END AS colour,
        format('1:%s 5:%s', x, y) AS entries, (4 * angle / 6.2832)::int % 4 + (radius < 1.5)::int * 4 AS eight
    FROM (
        SELECT i, radius, angle, radius * cos(angle) AS x, radius * sin(angle) AS y
        FROM (SELECT i, 1 + i % 2 + 0.2 * sin(i * i) AS radius, 6.2832 * (hashint4(i) & 65535) / 65536 AS angle
              FROM generate_series(1, 20000) AS i) AS drawn
    ) AS placed
"""


@pytest.fixture(scope="module", autouse=True)
def tables(server, database):
    with server.connect(database) as connection:
        connection.execute(ROWS)


@pytest.fixture
def hints(connect):
    """The hints of the NOTICE of the model that is trained."""
    connection = connect()
    configure(connection, NO_WORKER | {"pgsvm.cache_size": "64MB"})

    def of(arguments, settings=None, function="svm_train"):
        said = []
        configure(connection, settings or {})
        connection.add_notice_handler(
            lambda it: (
                said.append(it.message_hint)
                if it.severity_nonlocalized == "NOTICE" and it.message_primary.startswith("model m@")
                else None
            )
        )
        connection.execute(f"SELECT {function}({arguments}, model => 'm')")
        assert said
        return [hint for hint in said if hint]

    return of


CLEAR = {
    "two rings": "'rows', 'ring', '{x, y}', c => NULL",
    "values of c given": """'rows', 'ring', '{x, y}', options => '{"costs": [0.1, 1]}'""",
    "several classes": "'rows', 'eight', '{x, y}', c => NULL",
    "sparse rows": "'rows', 'ring', '{libsvm(entries)}', c => NULL, scale => 'none'",
    "values missing": "'rows', 'ring', '{gaps, y}', c => NULL, nulls => 'mean'",
    "categories, balanced classes": "'rows', 'ring', '{x, y, colour}', c => NULL, class_weight => 'balanced'",
    "the hinge": "'rows', 'ring', '{x, y}', c => NULL, loss => 'hinge', probability => true",
    "a column of folds": "'rows', 'ring', '{x, y}', c => NULL, options => '{\"fold_column\": \"third\"}'",
}


@pytest.mark.parametrize("what", CLEAR)
def test_it_is_said_where_it_is_clear(hints, what):
    (hint,) = hints(CLEAR[what])
    assert hint.startswith("Try kernel => 'rbf': of 2000 rows drawn")


NOT = {
    "a line does": "'rows', 'side', '{x, y}', c => NULL",
    "nothing does": "'rows', 'noise', '{x, y}', c => NULL",
    "no row is held out": "'rows', 'ring', '{x, y}', c => 1",
    "a kernel machine": "'rows', 'ring', '{x, y}', kernel => 'rbf', rank => 20, c => NULL",
}


@pytest.mark.parametrize("what", NOT)
def test_it_is_not_said_where_it_is_not(hints, what):
    assert hints(NOT[what]) == []


def test_few_rows_and_rows_that_workers_read_say_nothing(hints):
    few = "'SELECT x, y, ring FROM rows LIMIT 200', 'ring', c => NULL"
    assert hints(few, function="svm_train_query") == []
    assert hints(CLEAR["two rings"], TWO_WORKERS) == []


def test_the_model_is_the_same_with_and_without(connect, hints):
    """Looking at a sample changes nothing of what is learned."""
    connection = connect()
    configure(connection, NO_WORKER)
    weights = "SELECT array_agg(weight ORDER BY feature) FROM svm_weights('m')"
    hints(CLEAR["two rings"])
    chosen = connection.execute("SELECT c, primal, dual FROM svm_models WHERE name = 'm'").fetchone()
    found = connection.execute(weights).fetchone()
    hints(f"'rows', 'ring', '{{x, y}}', c => {chosen[0]}")
    assert connection.execute("SELECT c, primal, dual FROM svm_models WHERE name = 'm'").fetchone() == chosen
    assert connection.execute(weights).fetchone() == found


NOISE = "DROP TABLE IF EXISTS noise; CREATE TABLE noise AS SELECT sin(i * i) AS x, cos(3 * i * i) AS y, hashint4(i) % 2 = 0 AS label FROM generate_series(1, 3000) AS i"
TOO_DEAR = {
    "seconds": ("c => 1e7", "64MB", 'An exact machine would take about .*: options => \'{"method": "exact"}\'.'),
    "memory": ("c => 1", "1MB", "An exact machine needs a larger cache: SET pgsvm.cache_size = '[0-9]+MB'."),
}


@pytest.mark.parametrize("why", TOO_DEAR)
def test_a_machine_of_low_rank_that_nobody_asked_for_says_why(connect, why):
    c, cache, expected = TOO_DEAR[why]
    connection = connect()
    connection.execute(NOISE)
    configure(connection, NO_WORKER | {"pgsvm.cache_size": cache})
    said = []
    connection.add_notice_handler(lambda it: said.append(it.message_detail or ""))
    train = f"SELECT svm_train('noise', 'label', '{{x, y}}', 'noisy', kernel => 'rbf', {c})"
    connection.execute(train)
    assert re.search(expected, said[0]), said[0]
    if why == "memory":
        # what it says to type does
        enough = re.search("pgsvm.cache_size = '([0-9]+MB)'", said[0])[1]
        configure(connection, {"pgsvm.cache_size": enough})
        said.clear()
        connection.execute(train)
        assert "exact, " in said[0]
    connection.execute("DROP TABLE noise; SELECT svm_drop('noisy')")
