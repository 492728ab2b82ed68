"""Many classes, folds and values of C on real data: read as often as one, and as good as LIBLINEAR."""

import pytest

from harness import data


def scans(connection, table):
    """Sequential scans of `table` so far."""
    connection.execute("SELECT pg_stat_force_next_flush()")
    query = "SELECT seq_scan FROM pg_stat_user_tables WHERE relname = %s"
    return connection.execute(query, [table]).fetchone()[0]


@pytest.fixture
def shuttle(connection):
    connection.execute("DROP TABLE IF EXISTS shuttle")
    columns = "a1 int, a2 int, a3 int, a4 int, a5 int, a6 int, a7 int, a8 int, a9 int, label int"
    data.load_csv(connection, "shuttle", columns, "shuttle/shuttle.trn.xz", "DELIMITER ' '")


@pytest.mark.parametrize("cache", ["64MB", "256kB"])
def test_seven_classes_five_folds_and_five_c_read_the_table_as_often_as_two_classes(connection, shuttle, cache):
    connection.execute("SET pgsvm.cache_size = '%s'" % cache)
    connection.execute("SET pgsvm.workers = 0")
    two = "SELECT svm_train_query('SELECT *, label = 1 AS one FROM shuttle', 'one', ARRAY['a1', 'a2', 'a5'], model => 'two')"
    # where nobody names the task, the first rows are looked at before
    seven = "SELECT svm_train('shuttle', 'label', task => 'classification')"
    many = "SELECT svm_train('shuttle', 'label', c => NULL, probability => true, options => '{\"costs\": [0.01, 0.1]}')"
    counts = []
    for statement in (two, seven, many):
        before = scans(connection, "shuttle")
        connection.execute(statement)
        counts.append(scans(connection, "shuttle") - before)
    assert counts == [1, 1, 1]


def test_ten_digits_with_a_chosen_c_are_read_as_well_as_by_liblinear_with_its_best(connection):
    best_of_liblinear = 0.911  # tests/reference/mnist.py
    data.load_dense(connection, "digits", "mnist/mnist.train.libsvm.xz", 784, rows=12_000)
    data.load_dense(connection, "more_digits", "mnist/mnist.t10k.libsvm.xz", 784)
    connection.execute("SET pgsvm.cache_size = '128MB'")
    costs = '{"costs": [0.001, 0.01, 0.1, 1], "folds": 3}'
    connection.execute(
        "SELECT svm_train('digits', 'label', c => NULL, loss => 'hinge', scale => 'maxabs', options => %s)", [costs]
    )
    assert connection.execute("SELECT c, classes FROM svm_models WHERE name = 'digits_label'").fetchone() == (0.1, 10)
    evaluated = "SELECT accuracy FROM svm_evaluate('digits_label', 'more_digits')"
    # as many rows as two solutions within their tolerances may differ by
    assert connection.execute(evaluated).fetchone()[0] >= best_of_liblinear - 0.001
