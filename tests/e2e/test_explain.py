"""Many classes, probabilities and explanations of models trained on real tables; their decisions as SQL in SQLite."""

import json
import sqlite3

import pytest

from harness.data import load_csv, load_dense
from harness.sessions import one

ADULT = """age int, workclass text, fnlwgt int, education text, education_num int, marital_status text, occupation text,
    relationship text, race text, sex text, capital_gain int, capital_loss int, hours_per_week int, native_country text,
    income text"""
SHUTTLE = "a1 int, a2 int, a3 int, a4 int, a5 int, a6 int, a7 int, a8 int, a9 int, label int"
# a row for every treatment of a column and a NULL in each; "order" and "O'Brien" must be quoted
PEOPLE = '''
    CREATE TABLE people AS SELECT i AS id, nullif(i % 67, 3) AS age, nullif(sin(i), sin(5)) AS "order",
        nullif(i % 3, 0) = 1 AS member, (ARRAY['Private', 'O''Brien', ' ?', NULL])[i % 4 + 1] AS "work ""class""",
        (i * 7 % 5 - 2) * 1000000000000 AS worth, (cos(i) * 100)::numeric(10, 3) AS rate,
        (ARRAY['low', 'mid', 'high'])[CASE WHEN i % 67 > 40 OR i % 4 = 1 THEN 3 WHEN i % 3 = 1 THEN 2 ELSE 1 END] AS level
    FROM generate_series(1, 3000) AS i'''


@pytest.fixture(scope="module")
def tables(server, database):
    with server.connect(database) as connection:
        load_csv(connection, "adult", ADULT, "adult/adult.data.xz")
        load_csv(connection, "shuttle", SHUTTLE, "shuttle/shuttle.trn.xz", "DELIMITER ' '")


def in_sqlite(connection, table, expression):
    """The expression's value for each row of the table, in the order of its first column, by SQLite."""
    rows = connection.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()
    names = [column.name for column in connection.execute(f"SELECT * FROM {table} LIMIT 0").description]
    plain = [[float(value) if type(value).__name__ == "Decimal" else value for value in row] for row in rows]
    other = sqlite3.connect(":memory:")
    columns = ", ".join('"%s"' % name.replace('"', '""') for name in names)
    other.execute(f"CREATE TABLE t ({columns})")
    other.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", plain)
    return [value for (value,) in other.execute(f"SELECT {expression} FROM t ORDER BY rowid")]


def check_as_sql(connection, model, label, table, apart=1e-9):
    """Both databases come to the model's decision from its expression, for each row, but for so much."""
    check_sql_for(connection, f"svm_decision('{model}', t, '{label}')", (model, label), table, apart)


def check_sql_for(connection, decision, asked, table, apart):
    """The same of what svm_as_sql says to what is asked, and another SQL for the decision."""
    expression = one(connection, "SELECT svm_as_sql(%s, %s)", asked)
    decisions = connection.execute(f"SELECT {decision}, {expression} FROM {table} AS t ORDER BY id").fetchall()
    assert any(decision is not None for decision, _ in decisions)
    for (decision, by_postgres), by_sqlite in zip(decisions, in_sqlite(connection, table, expression), strict=True):
        if decision is None:
            assert by_postgres is None and by_sqlite is None
        else:
            assert by_postgres == pytest.approx(decision, rel=apart, abs=apart)
            assert by_sqlite == pytest.approx(decision, rel=apart, abs=apart)


@pytest.mark.parametrize("nulls", ["mean", "zero", "skip"])
def test_a_decision_as_sql_is_the_same_number_in_postgresql_and_in_sqlite(connection, nulls):
    connection.execute("DROP TABLE IF EXISTS people")
    connection.execute(PEOPLE)
    features = ["age", "order", "member", 'work "class"', "worth", "rate"]
    connection.execute(
        "SELECT svm_train('people', 'level', %s, model => 'people', nulls => %s, max_passes => 20)", [features, nulls]
    )
    connection.execute(
        "SELECT svm_train_query('SELECT *, level = ''high'' AS high FROM people', 'high', %s, model => 'high', nulls => %s,"
        " max_passes => 20)",
        [features, nulls],
    )
    for label in ("low", "mid", "high"):
        check_as_sql(connection, "people", label, "people")
    for label in ("true", "false"):
        check_as_sql(connection, "high", label, "people")


# svm_decision compares rows in 32 bits, the expression in 64
OF_KERNELS = 2e-5


@pytest.mark.parametrize("nulls", ["mean", "zero", "skip"])
def test_a_kernel_machine_as_sql_decides_alike_in_postgresql_and_in_sqlite(connection, nulls):
    connection.execute("DROP TABLE IF EXISTS people")
    connection.execute(PEOPLE)
    connection.execute("DELETE FROM people WHERE id > 300")
    features = ["age", "order", "member", 'work "class"', "worth", "rate"]
    for kernel, gamma, multiclass in [
        ("rbf", 0.1, "one_vs_one"),
        ("polynomial", 0.2, "one_vs_rest"),
        ("sigmoid", 1e-5, "one_vs_one"),
    ]:
        connection.execute(
            "SELECT svm_train('people', 'level', %s, model => 'curved', nulls => %s, kernel => %s, gamma => %s,"
            " options => %s)",
            [features, nulls, kernel, gamma, f'{{"multiclass": "{multiclass}"}}'],
        )
        for label in ("low", "mid", "high"):
            check_as_sql(connection, "curved", label, "people", OF_KERNELS)


@pytest.mark.parametrize("nulls", ["mean", "zero", "skip"])
@pytest.mark.parametrize("kernel, unit_rows", [(None, False), (None, True), ("rbf", False)])
def test_quantiles_as_sql_are_the_same_numbers_in_postgresql_and_in_sqlite(connection, nulls, kernel, unit_rows):
    connection.execute("DROP TABLE IF EXISTS people")
    connection.execute(PEOPLE)
    connection.execute("DELETE FROM people WHERE id > 300")
    connection.execute(
        "SELECT svm_train_query('SELECT *, id %% 67 + 20 * sin(id) AS amount FROM people', 'amount', %s, model => 'band',"
        " nulls => %s, kernel => %s, options => %s)",
        [
            ["age", "order", "member", 'work "class"', "worth", "rate"],
            nulls,
            kernel,
            json.dumps({"quantiles": [0.45, 0.5, 0.55], "normalize_rows": unit_rows}),
        ],
    )
    # rows of unit length have 32 bits too
    apart = OF_KERNELS if kernel or unit_rows else 1e-9
    for place, tau in enumerate((0.45, 0.5, 0.55), start=1):
        check_sql_for(connection, f"(svm_predict_quantiles('band', t))[{place}]", ("band", tau), "people", apart)
    check_sql_for(connection, "svm_predict('band', t)", ("band", None), "people", apart)


# a file, its features, the rows taken of it, and how they are trained on
REAL = {
    "svmguide1": ("svmguide1/svmguide1.xz", 4, 3089, {"method": "exact"}),
    "ijcnn1": ("ijcnn1/ijcnn1.trn.xz", 22, 5000, {"method": "low_rank"}),
    "mnist": ("mnist/mnist.train.libsvm.xz", 784, 600, {"method": "low_rank"}),
}


@pytest.mark.parametrize("name", [*REAL, "shuttle"])
def test_kernel_machines_of_real_tables_as_sql_predict_what_they_do(tables, connection, name):
    """Decisions for each class, and the class that they speak for."""
    table, options = name, {"method": "low_rank"}
    if name in REAL:
        file, features, rows, options = REAL[name]
        load_dense(connection, name, file, features, rows=rows)
    else:
        table = "some_shuttle"
        connection.execute("CREATE TABLE some_shuttle AS SELECT * FROM shuttle LIMIT 4000")
    connection.execute(
        f"SELECT svm_train('{table}', 'label', model => '{name}', kernel => 'rbf', options => %s)",
        [json.dumps(options)],
    )
    labels = one(connection, f"SELECT label_values FROM svm_version WHERE id = svm_internal.svm_version_id('{name}')")
    asked = labels if len(labels) > 2 else labels[1:]
    columns = [
        f"svm_decision('{name}', t, '{label}'), " + one(connection, "SELECT svm_as_sql(%s, %s)", [name, label])
        for label in asked
    ]
    rows = connection.execute(
        f"SELECT svm_classify('{name}', t), {', '.join(columns)} FROM {table} AS t LIMIT 500"
    ).fetchall()
    assert len(rows) == 500
    for predicted, *numbers in rows:
        decisions, by_sql = numbers[::2], numbers[1::2]
        assert by_sql == pytest.approx(decisions, rel=OF_KERNELS, abs=OF_KERNELS)
        found = labels[by_sql.index(max(by_sql))] if len(labels) > 2 else labels[by_sql[0] >= 0]
        assert found == predicted


def test_adult_explained(tables, connection):
    connection.execute("SELECT svm_train('adult', 'income', model => 'adult', loss => 'hinge', probability => true)")
    # every row's contributions, in full and cut, sum to its decision
    worst = one(
        connection,
        """SELECT max(abs(total - decision) / greatest(abs(decision), 1))
           FROM (SELECT svm_decision('adult', t) AS decision,
                     (SELECT sum(contribution) FROM svm_explain('adult', t, n)) AS total
                 FROM (SELECT * FROM adult LIMIT 2000) AS t, (VALUES (3), (NULL)) AS v (n)) AS s""",
    )
    assert worst < 1e-12
    # those of the weights by name, too
    weights = dict(connection.execute("SELECT feature, weight FROM svm_weights('adult')").fetchall())

    # education_num says the same as education, so the two columns share what schooling adds
    def of_schooling(education, years):
        return weights[f"education= {education}"] + weights["education_num"] * years

    assert of_schooling("Doctorate", 16) > of_schooling("Bachelors", 13) > of_schooling("7th-8th", 4)
    row, decision = connection.execute(
        "SELECT to_jsonb(t), svm_decision('adult', t) FROM adult AS t LIMIT 1"
    ).fetchone()
    by_name = sum(
        weights.get(f"{name}={value}", 0) if isinstance(value, str) else weights.get(name, 0) * value
        for name, value in row.items()
        if name != "income"
    )
    assert by_name + weights["(intercept)"] == pytest.approx(decision)
    # the rows whose label is doubted most
    suspects = connection.execute("SELECT * FROM svm_suspects('adult', 'adult', 50)").fetchall()
    margins = [margin for _, _, _, margin in suspects]
    assert len(suspects) == 50 and margins == sorted(margins) and margins[-1] < 0
    assert all(label != predicted for _, label, predicted, _ in suspects)
    least = one(
        connection,
        "SELECT min(svm_decision('adult', t) * CASE income WHEN ' >50K' THEN 1 ELSE -1 END) FROM adult AS t",
    )
    assert margins[0] == pytest.approx(least)
    # what is called 80 % probable happens about as often
    probable, happened = connection.execute(
        """SELECT avg(p), avg((income = ' >50K')::int)::float8 FROM (SELECT svm_probability('adult', t) AS p, income
           FROM adult AS t) AS s WHERE p BETWEEN 0.7 AND 0.9"""
    ).fetchone()
    assert happened == pytest.approx(probable, abs=0.06)


def test_many_answers_of_several_rows_leave_no_memory_behind(tables, connection):
    connection.execute(
        "SELECT svm_train('shuttle', 'label', ARRAY['a1', 'a2'], model => 'small', c => 0.1, max_passes => 2)"
    )
    used = "SELECT sum(used_bytes)::bigint FROM pg_backend_memory_contexts"
    with connection.transaction():
        connection.execute(
            """DECLARE answers CURSOR FOR SELECT FROM generate_series(1, 1000000) AS i,
                   svm_predict_set('small', ARRAY[i, 1], 2) AS s, svm_explain('small', ARRAY[i, 1]) AS e"""
        )
        connection.execute("MOVE 1000 FROM answers")
        before = one(connection, used)
        connection.execute("MOVE 200000 FROM answers")
        assert one(connection, used) - before < 1 << 20


def test_the_search_for_suspects_is_shared_among_workers(tables, connection):
    connection.execute("SELECT svm_train('shuttle', 'label', model => 'shared', c => 0.1, max_passes => 5)")
    connection.execute("LOAD 'auto_explain'")
    connection.execute("SET auto_explain.log_min_duration = 0; SET auto_explain.log_nested_statements = on")
    connection.execute("SET auto_explain.log_analyze = on; SET client_min_messages = log")
    connection.execute("SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0")
    notices = []
    connection.add_notice_handler(lambda notice: notices.append(notice.message_primary))
    connection.execute("SELECT count(*) FROM svm_suspects('shared', 'shuttle', 5)")
    plans = "\n".join(notices)
    assert "Workers Launched" in plans and "Parallel Seq Scan" in plans, plans


def test_shuttle_has_seven_classes(tables, connection):
    connection.execute("SELECT svm_train('shuttle', 'label', probability => true, c => 0.1)")
    right, agree, sums = connection.execute(
        """SELECT avg((predicted = label)::int)::float8, every(predicted = best AND predicted = typed),
               max(abs(1 - (SELECT sum(probability) FROM svm_predict_set('shuttle_label', t))))
           FROM (SELECT t, label, svm_predict('shuttle_label', t)::int AS predicted,
                     (SELECT class::int FROM svm_predict_set('shuttle_label', t, 1)) AS best,
                     svm_predict('shuttle_label', t, NULL::int) AS typed
                 FROM (SELECT * FROM shuttle LIMIT 3000) AS t) AS s"""
    ).fetchone()
    assert right > 0.8 and agree and sums < 1e-12
