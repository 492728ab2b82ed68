"""Tables as people have them train as they are, as well as scikit-learn does after preparing them.

Reference values: tests/reference/real_tables.py.
"""

import re

import psycopg
import pytest

from harness.data import load_csv, load_dense
from harness.sessions import NO_WORKER, TWO_WORKERS, configure, listen, model, one

ADULT_PRIMAL, ADULT_ACCURACY = 11093.59, 0.8528
TITANIC_PRIMAL, TITANIC_ACCURACY = 437.00, 0.7833

ADULT = """age int, workclass text, fnlwgt int, education text, education_num int, marital_status text, occupation text,
    relationship text, race text, sex text, capital_gain int, capital_loss int, hours_per_week int, native_country text,
    income text"""
TITANIC = """pclass int, survived int, name text, sex text, age float8, sibsp int, parch int, ticket text, fare float8,
    cabin text, embarked text, boat text, body int, "home.dest" text"""


@pytest.fixture(scope="module")
def adult(server, database):
    with server.connect(database) as connection:
        load_csv(connection, "adult", ADULT, "adult/adult.data.xz")
        load_csv(connection, "adult_test", ADULT, "adult/adult.test.xz")
        # the file's mark of a missing value read as one
        load_csv(connection, "adult_nulls", ADULT, "adult/adult.data.xz", "FORMAT csv, NULL ' ?'")
        load_csv(connection, "adult_nulls_test", ADULT, "adult/adult.test.xz", "FORMAT csv, NULL ' ?'")


def accuracy(connection, name, table):
    """Share of the test rows predicted right; their labels end in a dot."""
    return one(
        connection, f"SELECT avg((svm_classify(%s, t) = rtrim(income, '.'))::int)::float8 FROM {table} AS t", [name]
    )


in_and_out_of_memory = pytest.mark.parametrize(
    "settings",
    [NO_WORKER, TWO_WORKERS | {"pgsvm.cache_size": "512kB"}],
    ids=["in_memory", "through_a_small_cache"],
)


@in_and_out_of_memory
def test_adult_trains_straight_from_its_csv(adult, connection, settings):
    configure(connection, settings)
    name = f"adult_{len(settings)}"
    connection.execute("SELECT svm_train('adult', 'income', model => %s, loss => 'hinge')", [name])
    trained = model(connection, name)
    assert trained["primal"] == pytest.approx(ADULT_PRIMAL, rel=1e-3)
    assert 0 <= trained["gap"] <= 1e-3
    assert trained["features"] == 108
    assert accuracy(connection, name, "adult_test") == pytest.approx(ADULT_ACCURACY, abs=0.003)


def test_what_makes_probabilities_is_told_and_better_on_other_rows(connection):
    load_dense(connection, "engines", "ijcnn1/ijcnn1.trn.xz", 22)
    load_dense(connection, "more_engines", "ijcnn1/ijcnn1.tst.xz", 22)
    said = listen(connection)
    losses = {}
    for name, options in {"chosen": "{}", "platt": '{"calibration": "sigmoid"}'}.items():
        connection.execute(
            "SELECT svm_train('engines', 'label', model => %s, probability => true, options => %s)", [name, options]
        )
        losses[name] = one(connection, "SELECT log_loss FROM svm_evaluate(%s, 'more_engines')", [name])
    told = r"Probabilities by isotonic regression: on 49990 rows held out its log loss is (\S+), and that of Platt's sigmoid (\S+); the smaller"
    found = [re.search(told, it.text) for it in said]
    chosen, other = map(float, next(filter(None, found)).groups())
    assert chosen < other - 0.005
    # of scikit-learn's CalibratedClassifierCV around LinearSVC: 0.1916 and 0.2100
    assert losses["chosen"] == pytest.approx(0.1916, abs=0.003)
    assert losses["platt"] == pytest.approx(0.2100, abs=0.003)
    shown = "SELECT name, calibration FROM svm_versions WHERE name IN ('chosen', 'platt') ORDER BY name"
    assert connection.execute(shown).fetchall() == [("chosen", "isotonic"), ("platt", "sigmoid")]


def test_null_as_a_category_is_what_a_mark_for_it_is(adult, connection):
    with pytest.raises(psycopg.errors.NullValueNotAllowed) as refused:
        connection.execute("SELECT svm_train('adult_nulls', 'income', nulls => 'error')")
    assert '"workclass" (1836), "occupation" (1843), "native_country" (583)' in refused.value.diag.message_detail
    connection.execute(
        "SELECT svm_train('adult_nulls', 'income', model => 'adult_mean', nulls => 'mean', loss => 'hinge')"
    )
    assert model(connection, "adult_mean")["primal"] == pytest.approx(ADULT_PRIMAL, rel=1e-3)
    assert accuracy(connection, "adult_mean", "adult_nulls_test") == pytest.approx(ADULT_ACCURACY, abs=0.003)
    nulls = connection.execute("SELECT column_name, nulls FROM svm_features('adult_mean') WHERE nulls > 0").fetchall()
    assert nulls == [("workclass", 1836), ("occupation", 1843), ("native_country", 583)]


@in_and_out_of_memory
def test_missing_numbers_are_the_mean_of_the_others(adult, connection, settings):
    """The first row lacks both numbers; the mean is of the rows that have one."""
    configure(connection, settings)
    train = "SELECT svm_train_query(%s, 'income', model => %s, nulls => %s, tolerance => 1e-4)"
    source = "SELECT {} AS age, {} AS hours, capital_gain, education, income FROM adult"
    patchy = source.format("nullif(age, 39)", "nullif(hours_per_week, 40)")
    connection.execute(train, [patchy, "patchy", "mean"])
    filled = source.format(
        "coalesce(nullif(age, 39), (SELECT avg(nullif(age, 39)) FROM adult))",
        "coalesce(nullif(hours_per_week, 40), (SELECT avg(nullif(hours_per_week, 40)) FROM adult))",
    )
    connection.execute(train, [filled, "filled", "error"])
    assert model(connection, "patchy")["primal"] == pytest.approx(model(connection, "filled")["primal"], rel=1e-4)
    means = connection.execute("SELECT mean FROM svm_features('patchy') WHERE treatment = 'number'").fetchall()
    expected = one(
        connection,
        "SELECT ARRAY[avg(nullif(age, 39)), avg(nullif(hours_per_week, 40)), avg(capital_gain)]::float8[] FROM adult",
    )
    assert [mean for (mean,) in means] == pytest.approx(expected)


@pytest.fixture
def titanic(connection):
    load_csv(connection, "pg_temp.titanic", TITANIC, "titanic/titanic_openML.csv.xz", "FORMAT csv, HEADER, NULL '?'")


def test_what_a_hint_says_about_keys_works(titanic, connection):
    with pytest.raises(psycopg.errors.InvalidParameterValue) as refused:
        connection.execute("SELECT svm_train('titanic', 'survived', nulls => 'mean')")
    assert refused.value.diag.message_primary == 'columns "ticket", "cabin" look like keys'
    exclude = re.search(r"exclude => '\{.*?\}'", refused.value.diag.message_hint)[0]
    options = re.search(r"options => '\{.*?\}'", refused.value.diag.message_hint)[0]
    for said in (exclude, options):
        connection.execute(f"SELECT svm_train('titanic', 'survived', nulls => 'mean', {said})")


def test_titanic_trains_with_missing_ages_and_ports(titanic, connection):
    connection.execute(
        """SELECT svm_train_query('SELECT * FROM titanic WHERE length(name) % 4 <> 0', 'survived', model => 'titanic',
           features => ARRAY['pclass', 'age', 'sibsp', 'parch', 'fare', 'sex', 'embarked'], nulls => 'mean', loss => 'hinge')"""
    )
    assert model(connection, "titanic")["primal"] == pytest.approx(TITANIC_PRIMAL, rel=1e-3)
    right = one(
        connection,
        "SELECT avg((svm_predict('titanic', t) = survived)::int)::float8 FROM titanic t WHERE length(name) % 4 = 0",
    )
    assert right == pytest.approx(TITANIC_ACCURACY, abs=0.01)
    # the mean of the rows trained on
    learned = one(connection, "SELECT mean FROM svm_features('titanic') WHERE column_name = 'age'")
    assert learned == pytest.approx(one(connection, "SELECT avg(age) FROM titanic WHERE length(name) % 4 <> 0"))


def test_the_notice_names_columns_that_are_left_out_and_columns_that_are_hashed(connection):
    connection.execute(
        """CREATE TABLE shops AS SELECT 'City ' || i % 1500 AS city, '{}'::json AS notes, i % 1500 < 700 AS south
           FROM generate_series(1, 6000) AS i"""
    )
    told = listen(connection)
    connection.execute("SELECT svm_train('shops', 'south', options => '{\"max_categories\": 1000}')")
    assert (
        "\nColumns not used: notes (json; notes ->> 'field' is a category).\nColumns with hashed values: city."
        in told[0].text
    )
