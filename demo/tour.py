"""The tour behind `make demo`: trains and predicts in the server that PGHOST names, with the SQL shown.

scikit-learn serves twice: its bundled data sets are the tables, and its LinearSVC solves the same problem on the same
standardized columns, so that objective and accuracy can stand side by side.
"""

import os
import subprocess
import sys
import textwrap
import time

import numpy
import psycopg
from psycopg import sql
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

ON_TERMINAL = sys.stdout.isatty()
SENSORS = 24
PROGRESS = "SELECT role, phase, rows_loaded, pass, percent_of_pass, gap, seconds_left FROM svm_progress ORDER BY role"
# of the columns of PROGRESS
WIDTHS = [8, 9, 12, 5, 16, 8, 13]


def heading(text):
    print(f"\n\033[1m{text}\033[0m\n" if ON_TERMINAL else f"\n{text}\n{'-' * len(text)}\n")


def say(text):
    print(textwrap.fill(" ".join(text.split()), 100) + "\n")


def run(statement, expanded=False):
    """Shows a statement as psql's prompt would and what psql prints for it."""
    show(statement + ("\n\\gx" if expanded else ";"))
    command = ["psql", "-X", "-q", "-P", "footer=off"] + ["-x"] * expanded + ["-c", statement]
    output = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(output.stdout.rstrip() + "\n")
    output.check_returncode()


def show(statement):
    prompt = "pgsvm=# "
    for line in textwrap.dedent(statement).strip().split("\n"):
        print(f"\033[36m{prompt}\033[0m\033[1m{line}\033[0m" if ON_TERMINAL else prompt + line)
        prompt = "pgsvm=# " if line.endswith(";") else "pgsvm-# "
    sys.stdout.flush()


def load(connection, table, columns, rows):
    """Makes a table of (name, type) columns and fills it by COPY."""
    definition = sql.SQL(", ").join(sql.SQL("{} {}").format(sql.Identifier(n), sql.SQL(t)) for n, t in columns)
    connection.execute(sql.SQL("CREATE TABLE {} ({})").format(sql.Identifier(table), definition))
    with connection.cursor().copy(sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(table))) as copy:
        for row in rows:
            copy.write_row(row)
    connection.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(table)))


def linear_svc(train, train_positive, test, test_positive):
    """scikit-learn's objective over the standardized training rows, and its accuracy on the test rows."""
    scaler = StandardScaler().fit(train)
    x, y = scaler.transform(train), numpy.where(train_positive, 1, -1)
    started = time.perf_counter()
    model = LinearSVC(C=1.0, loss="hinge", tol=1e-6, max_iter=1_000_000).fit(x, y)
    seconds = time.perf_counter() - started
    w, b = model.coef_[0], model.intercept_[0]
    objective = 0.5 * (w @ w + b * b) + numpy.maximum(0, 1 - y * (x @ w + b)).sum()
    accuracy = model.score(scaler.transform(test), numpy.where(test_positive, 1, -1))
    return objective, accuracy, seconds


def compare(connection, model, accuracy_query, reference):
    objective, seconds = connection.execute(
        "SELECT primal, seconds FROM svm_models WHERE name = %s", (model,)
    ).fetchone()
    accuracy = connection.execute(accuracy_query).fetchone()[0]
    print(f"{'same C, same standardized columns':36}{'objective':>12}{'test accuracy':>16}{'seconds':>10}")
    print(f"{'pgsvm, in the database':36}{objective:12.4f}{accuracy:16.4f}{seconds:10.3f}")
    print(f"{'scikit-learn LinearSVC (hinge)':36}{reference[0]:12.4f}{reference[1]:16.4f}{reference[2]:10.3f}\n")


def tumours(connection):
    heading("1. Thirty numeric columns and a text label: breast cancer")
    data = load_breast_cancer()
    names = [name.replace(" ", "_") for name in data.feature_names]
    benign = data.target == 1
    train, test, train_benign, test_benign = train_test_split(data.data, benign, random_state=0)
    columns = [(name, "float8") for name in names] + [("diagnosis", "text")]
    for table, rows, labels in [("tumours", train, train_benign), ("tumours_test", test, test_benign)]:
        values = ([*map(float, row), "benign" if label else "malignant"] for row, label in zip(rows, labels))
        load(connection, table, columns, values)
    say(f"""Table tumours has {len(train)} rows of scikit-learn's bundled set, tumours_test {len(test)} others. One call
        trains on every column but the label and stores the model; its name is returned.""")
    run("SELECT svm_train('tumours', 'diagnosis', C => 1.0)")
    say("A prediction takes the row as it is: columns are matched by name, scaling is part of the model.")
    run("""
        SELECT diagnosis, svm_classify('tumours_diagnosis', t) AS predicted,
               round(svm_decision('tumours_diagnosis', t)::numeric, 2) AS decision
        FROM tumours_test t LIMIT 5""")
    compare(
        connection,
        "tumours_diagnosis",
        "SELECT avg((svm_classify('tumours_diagnosis', t) = diagnosis)::int)::float8 FROM tumours_test t",
        linear_svc(train, train_benign, test, test_benign),
    )


def digits(connection):
    heading("2. An array column and a boolean label: is this handwritten digit an 8?")
    data = load_digits()
    train, test, train_digit, test_digit = train_test_split(data.data, data.target, random_state=0)
    columns = [("pixels", "float4[]"), ("digit", "int"), ("eight", "boolean")]
    for table, rows, labels in [("digits", train, train_digit), ("digits_test", test, test_digit)]:
        values = (([float(v) for v in row], int(label), bool(label == 8)) for row, label in zip(rows, labels))
        load(connection, table, columns, values)
    say("Each image is 64 grey values in one float4[]. Which columns are features can be said, here just the array.")
    run("SELECT svm_train('digits', 'eight', features => ARRAY['pixels'], model => 'eights', C => 1.0)")
    say("Which digits does it take for an 8, wrongly?")
    run("""
        SELECT digit, count(*) AS images, sum(svm_predict('eights', pixels)) AS called_eight
        FROM digits_test GROUP BY digit ORDER BY called_eight DESC, digit LIMIT 5""")
    compare(
        connection,
        "eights",
        "SELECT avg((svm_predict('eights', pixels) = eight::int)::int)::float8 FROM digits_test",
        linear_svc(train, train_digit == 8, test, test_digit == 8),
    )


def machines(connection):
    heading("3. A million rows through a cache that holds a part of them")
    columns = ", ".join(f"random()::real AS s{i}" for i in range(1, SENSORS + 1))
    weights = " + ".join(f"{(-1) ** i * (1 + i % 5)} * (s{i} - 0.5)" for i in range(1, SENSORS // 2 + 1))
    say(f"A made-up table: a million machines, {SENSORS} sensors each, half of which matter, with noise in the label.")
    connection.execute("SELECT setseed(0.5)")
    connection.execute(f"""
        CREATE TABLE machines AS
        SELECT *, {weights} + 2 * (random() - 0.5) > 0 AS fails
        FROM (SELECT {columns} FROM generate_series(1, 1000000) OFFSET 0) AS readings""")
    connection.execute("ANALYZE machines")
    run("SELECT count(*), pg_size_pretty(pg_table_size('machines')) AS table_size FROM machines")
    say("With 16 MB for the cache, a reader process streams rows past a trainer process, pass after pass.")
    train_and_watch("SET pgsvm.cache_size = '16MB'", "SELECT svm_train('machines', 'fails', C => 0.01)")
    run("""
        SELECT count(*) FILTER (WHERE svm_predict('machines_fails', m) = 1) AS predicted_to_fail,
               round(avg((svm_predict('machines_fails', m) = fails::int)::int), 4) AS accuracy
        FROM machines m""")


def train_and_watch(setting, statement):
    """Trains in one psql while a second connection asks svm_progress twice a second; shows each row once."""
    show(f"{setting};\n{statement};")
    command = ["psql", "-X", "-q", "-P", "footer=off", "-c", setting, "-c", statement]
    training = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print("\nMeanwhile, in a second connection:\n")
    show(PROGRESS + ";")
    seen = set()
    with psycopg.connect(autocommit=True) as watcher:
        while training.poll() is None:
            cursor = watcher.execute(PROGRESS)
            if not seen:
                seen.add(table_line(column.name for column in cursor.description))
                print(*seen, flush=True)
            for row in cursor.fetchall():
                line = table_line(row)
                if line not in seen:
                    print(line, flush=True)
                seen.add(line)
            time.sleep(0.5)
    print("\n" + training.stdout.read().rstrip() + "\n")
    if training.returncode != 0:
        raise SystemExit("the training failed")


def table_line(values):
    return " |".join(f"{'' if value is None else str(value):>{width}}" for value, width in zip(values, WIDTHS))


def models():
    heading("4. What is stored")
    say("""Models are rows: they commit and roll back, come along with pg_dump, and have versions. Each carries a
        certificate: primal is the objective at the stored weights, no model on earth has one below dual.""")
    run("SELECT * FROM svm_models WHERE name = 'machines_fails'", expanded=True)


def farewell():
    heading("Where to go next")
    print(
        textwrap.dedent("""\
        make install PG_CONFIG=/path/to/pg_config   put the extension into a server of yours, then
                                                    CREATE EXTENSION pgsvm;
        docs/reference/                             every function, setting and view
        docs/architecture.md                        which process does what, in which memory
        make test                                   every test, on PostgreSQL 15 to 18
        """)
    )


def main():
    with psycopg.connect(autocommit=True) as connection:
        connection.execute("CREATE DATABASE demo")
    os.environ["PGDATABASE"] = "demo"
    with psycopg.connect(autocommit=True) as connection:
        run("CREATE EXTENSION pgsvm")
        tumours(connection)
        digits(connection)
        machines(connection)
        models()
    farewell()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("\nstopped")
        sys.exit(130)
