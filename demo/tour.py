"""The tour behind `make demo`: trains and predicts in the server that PGHOST names, with the SQL shown.

What a section tells about its numbers is a claim (screen.py), and tests/e2e/test_demo.py runs all sections on fewer rows. No claim is about
seconds: they are shown as they are, on whatever machine this is.
"""

import os
import sys
import time

import peer
import psycopg
from psycopg import sql
from screen import claim, heading, run, run_and_watch, say, table

MACHINES = 1_000_000
SENSORS = [f"s{i}" for i in range(1, 17)]

# to try on the server that `make demo KEEP=1` leaves running
STATEMENTS = [
    "SELECT feature, weight, importance FROM svm_weights('tumours_diagnosis') LIMIT 5;",
    "SELECT svm_classify('notes', 'convert a string to lower case'::text);",
    "SELECT svm_train('rings', 'ring', model => 'cubic', kernel => 'polynomial');",
]


def load(connection, relation, columns, rows):
    """Makes a table of (name, type) columns and fills it by COPY."""
    definition = sql.SQL(", ").join(sql.SQL("{} {}").format(sql.Identifier(n), sql.SQL(t)) for n, t in columns)
    connection.execute(sql.SQL("CREATE TABLE {} ({})").format(sql.Identifier(relation), definition))
    with connection.cursor().copy(sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(relation))) as copy:
        for row in rows:
            copy.write_row(row)
    connection.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(relation)))


def one(connection, query):
    return connection.execute(query).fetchone()[0]


def accuracy(connection, model, relation):
    return one(connection, f"SELECT accuracy FROM svm_evaluate('{model}', '{relation}')")


def trained(connection, model):
    """Objective, seconds and gap of a model."""
    return connection.execute("SELECT primal, seconds, gap FROM svm_models WHERE name = %s", [model]).fetchone()


def visits(connection, model):
    """How often its training went to a row to see whether it changes the weights."""
    return one(connection, f"SELECT max(visits) FROM svm_training_log('{model}')")


def tumours(connection):
    heading("1. A table with a text label, beside scikit-learn")
    split = peer.breast_cancer()
    columns = [(name, "float8") for name in split.names] + [("diagnosis", "text")]
    for relation, rows, labels in [
        ("tumours", split.train, split.train_label),
        ("tumours_test", split.test, split.test_label),
    ]:
        values = ([*map(float, row), "benign" if label else "malignant"] for row, label in zip(rows, labels))
        load(connection, relation, columns, values)
    say(f"""Table tumours has {len(split.train)} rows of breast cancer data, tumours_test {len(split.test)} others. One call
        trains on every column but the label, and stores a model.""")
    run("SELECT svm_train('tumours', 'diagnosis')")
    say("A prediction takes a row as it is. The model finds its columns by name, and scales them.")
    run("""
        SELECT diagnosis, svm_classify('tumours_diagnosis', t) AS predicted,
               round(svm_decision('tumours_diagnosis', t)::numeric, 2) AS decision
        FROM tumours_test AS t LIMIT 4""")
    say("""First the same function on both sides: squared hinge, C = 1, standardized columns, and an intercept that is
        regularized. Both are asked for more digits than by default.""")
    run("SELECT svm_train('tumours', 'diagnosis', model => 'exact', tolerance => 1e-6)")
    same_function(connection, split)
    both_defaults(connection, split)


def same_function(connection, split):
    ours, seconds, _ = trained(connection, "exact")
    scaled = peer.standardized(split)
    theirs = peer.linear_svc(scaled, loss="squared_hinge", C=1.0, tol=1e-8, max_iter=1_000_000)
    found = [[ours, accuracy(connection, "exact", "tumours_test"), seconds], theirs]
    names = ["pgsvm, in the database", "scikit-learn, on standardized arrays"]
    table(["the same function", "objective", "test accuracy", "seconds"], [[n, *f] for n, f in zip(names, found)])
    claim(
        """Both reach the same objective, to four digits and more, and so the same accuracy on the rows set aside. The
        objective is what both make as small as they can. Our seconds go from the call to the stored model, those of
        scikit-learn are of fit() alone.""",
        abs(ours - theirs[0]) <= 1e-4 * theirs[0] and abs(found[0][1] - theirs[1]) < 1 / len(split.test),
    )


def both_defaults(connection, split):
    ours = [accuracy(connection, "tumours_diagnosis", "tumours_test"), trained(connection, "tumours_diagnosis")[1]]
    raw, scaled = peer.linear_svc(split)[1:], peer.linear_svc(peer.standardized(split))[1:]
    table(
        ["what the least typed gives", "test accuracy", "seconds"],
        [
            ["svm_train('tumours', 'diagnosis')", *ours],
            ["LinearSVC() on the columns as they are", *raw],
            ["LinearSVC() behind a StandardScaler()", *scaled],
        ],
    )
    count = len(split.test)
    apart = round((raw[0] - ours[0]) * count)
    unscaled = f"{abs(apart)} {'fewer' if apart < 0 else 'more'} of them right" if apart else "as many of them right"
    claim(
        f"""The defaults of both are this same function, but svm_train standardizes by itself: it is right as often as
        scikit-learn with a scaler in front, to within one of the {count} rows set aside. On the columns as they are
        LinearSVC minimizes another function, whose objective compares with nothing here; it has {unscaled}.""",
        abs(ours[0] - scaled[0]) < 1.5 / count,
    )


def rings(connection):
    heading("2. What no line separates: two rings")
    connection.execute("SELECT setseed(0.5)")
    for relation in ["rings", "rings_test"]:
        connection.execute(f"""
            CREATE TABLE {relation} AS
            SELECT radius * cos(angle) AS x, radius * sin(angle) AS y, CASE WHEN i % 2 = 0 THEN 'inner' ELSE 'outer' END AS ring
            FROM (SELECT i, 2 * pi() * random() AS angle, 1 + i % 2 + 0.3 * (random() + random() + random() - 1.5) AS radius
                  FROM generate_series(1, 2000) AS i) AS drawn""")
    say("Points of an inner ring and of an outer one.")
    warning = run("SELECT svm_train('rings', 'ring', model => 'line')", answer=False)
    claim(
        "A linear model cannot tell them apart. A WARNING says so, and its hint names a kernel.",
        "WARNING" in warning and "kernel => 'rbf'" in warning,
    )
    run("SELECT svm_train('rings', 'ring', model => 'round', kernel => 'rbf')", answer=False)
    say("The plane as each of them sees it, # for the inner ring:")
    run("""
        SELECT translate(string_agg(left(svm_classify('line', p), 1), '' ORDER BY x), 'io', '#.')
                   AS by_a_line,
               translate(string_agg(left(svm_classify('round', p), 1), '' ORDER BY x), 'io', '#.')
                   AS by_rbf
        FROM (SELECT i / 8.0 AS x, j / 4.0 AS y
              FROM generate_series(-20, 20) AS i, generate_series(-8, 8) AS j) AS p
        GROUP BY y ORDER BY y DESC""")
    line, rbf = (accuracy(connection, model, "rings_test") for model in ["line", "round"])
    claim(
        f"On 2000 other points the line is right for {line:.1%}, hardly more than by chance, the kernel for {rbf:.1%}.",
        line < 0.65 and rbf > 0.95,
    )


def texts(connection):
    heading("3. Texts")
    connection.execute("""
        CREATE TABLE catalog AS
        SELECT objoid::text AS object, description AS body, substr(classoid::regclass::text, 4) AS kind FROM pg_description
        WHERE objoid < 16384 AND objsubid = 0 AND classoid::regclass::text IN
            ('pg_proc', 'pg_operator', 'pg_type', 'pg_conversion', 'pg_collation')""")
    say("""PostgreSQL's own comments on its functions (proc), operators, types, conversions and collations. What is a comment
        about? text(body) makes a feature of each word; svm_split sets a fifth of the rows aside by their key.""")
    run("""
        CREATE VIEW notes_train AS SELECT * FROM catalog WHERE svm_split(object);
        CREATE VIEW notes_test AS SELECT * FROM catalog WHERE NOT svm_split(object)""")
    run("SELECT svm_train('notes_train', 'kind', '{text(body)}', model => 'notes')", answer=False)
    run("""
        SELECT body, kind, svm_classify('notes', body) AS predicted
        FROM notes_test WHERE length(body) < 60 ORDER BY md5(object) LIMIT 6""")
    right = accuracy(connection, "notes", "notes_test")
    commonest = one(connection, "SELECT max(n) / sum(n) FROM (SELECT count(*) AS n FROM notes_test GROUP BY kind) AS k")
    claim(
        f"""Of the comments set aside it places {right:.1%}; always saying the commonest kind would place
        {commonest:.1%}.""",
        right > max(0.85, commonest),
    )


def machines(connection, rows):
    heading(f"4. {rows:,} rows through a cache that holds a part of them")
    columns = ", ".join(f"random()::real AS {name}" for name in SENSORS)
    weights = " + ".join(f"{(-1) ** i * (1 + i % 5)} * (s{i} - 0.5)" for i in range(1, len(SENSORS) // 2 + 1))
    connection.execute("SELECT setseed(0.5)")
    connection.execute(f"""
        CREATE TABLE machines AS SELECT *, {weights} + 2 * (random() - 0.5) > 0 AS fails
        FROM (SELECT i AS id, {columns} FROM generate_series(1, {rows}) AS i OFFSET 0) AS readings""")
    connection.execute("VACUUM ANALYZE machines")
    say(f"""A made-up table: each machine has a key and {len(SENSORS)} sensors, half of which matter, and the label is
        noisy.""")
    run("SELECT count(*), pg_size_pretty(pg_table_size('machines')) AS table_size FROM machines")
    say("""A cache of 8 MB stands here for a table larger than memory. A reader process fetches the rows and keeps them in a
        temporary file. It streams them past a trainer process, pass after pass.""")
    roles = run_and_watch(
        "SET pgsvm.cache_size = '8MB'",
        "SELECT svm_train('machines', 'fails', model => 'streamed', solver => 'stream')",
    )
    solver, workers, passes, gap = connection.execute(
        "SELECT solver, workers, passes, gap FROM svm_models WHERE name = 'streamed'"
    ).fetchone()
    claim(
        f"""Both processes were seen at work, a reader and a trainer. After {passes} passes the model is proven to be within
        {100 * gap:.2g} % of the least possible objective, over all rows.""",
        roles.get("training") == {"reader", "trainer"}
        and (solver, workers) == ("stream", 2)
        and passes > 1
        and gap <= 1e-3,
    )


def refresh(connection):
    heading("5. The table changes, the model follows")
    say("A model with a key remembers which rows it was trained on. Here the cache holds all of them.")
    cache = "SET pgsvm.cache_size = '256MB';\n"
    run(cache + "SELECT svm_train('machines', 'fails', model => 'followed', key => 'id')", answer=False)
    say("""One machine in a thousand gets a new sensor. The refresh begins from what the model knows and stores a new version; its
        DETAIL says how many rows lie so far from the margin that they need no look.""")
    run("UPDATE machines SET s1 = random() WHERE id % 1000 = 0")
    run(cache + """SELECT svm_refresh('followed', '{"keep_scaling": true}')""", answer=False)
    say("The changed table from nothing, to compare:")
    run(cache + "SELECT svm_train('machines', 'fails', model => 'anew', key => 'id')", answer=False)
    (refreshed, fast, near), (anew, slow, nearer) = trained(connection, "followed"), trained(connection, "anew")
    less, more = visits(connection, "followed"), visits(connection, "anew")
    table(
        ["", "objective", "visits of rows", "seconds"],
        [["svm_refresh", refreshed, f"{less:,}", fast], ["svm_train", anew, f"{more:,}", slow]],
    )
    claim(
        f"""Both models are proven to be within a thousandth of the least objective. The refresh made {less / more:.0%} of the
        visits to rows that the training made, and took {fast / slow:.0%} of its time.""",
        less < more / 2 and max(near, nearer) <= 1e-3 and abs(refreshed - anew) <= 1e-3 * anew,
    )


def export(connection):
    heading("6. In the database, and by an export to Python")
    say("""The same table again, with the defaults of both sides, from the table to a model. The export takes the fastest way
        out, COPY's binary form, to a client on this machine.""")
    started = time.perf_counter()
    run("SELECT svm_train('machines', 'fails', model => 'inside')", answer=False)
    inside = time.perf_counter() - started
    steps, theirs = peer.exported("machines", SENSORS, "fails")
    ours, workers = connection.execute("SELECT primal, workers FROM svm_models WHERE name = 'inside'").fetchone()
    rows = [[step, "", f"{taken:.2f}"] for step, taken in steps.items()]
    rows.append(["svm_train: read, standardize, train, prove, store", f"{inside:.2f}", ""])
    outside = sum(steps.values())
    rows.append(["together", f"{inside:.2f}", f"{outside:.2f}"])
    table(["seconds", "pgsvm", "scikit-learn"], rows)
    claim(
        f"""Both end at the same objective, {ours:,.0f} and {theirs:,.0f}. svm_train had {workers} worker processes, Python has one
        process and the server's. The model in the database took {inside / outside:.0%} of the time. It is stored beside the
        table and predicts in SQL. That of Python still has to be kept somewhere, its scaler too, and new rows have to
        be exported to it.""",
        abs(ours - theirs) <= 1e-3 * theirs,
    )


def farewell():
    heading("Where to go next")
    connect = os.environ.get("PGSVM_DEMO_CONNECT")
    if connect:
        print(f"The server is still running. Connect, and try these:\n\n  {connect}\n")
    else:
        print("These can be tried on the server that `make demo KEEP=1` leaves running:\n")
    print("\n".join(f"  {statement}" for statement in STATEMENTS) + "\n")
    if connect:
        print(f"It stops, and its data goes, by\n\n  {os.environ['PGSVM_DEMO_STOP']}\n")
    print("To put the extension into a server of yours: make install PG_CONFIG=/path/to/pg_config")
    print("Every function, setting and view: docs/reference. An hour with real data: docs/first-hour.md\n")


def sections(connection, rows):
    """The tour, with so many rows in its large table."""
    run("CREATE EXTENSION pgsvm")
    tumours(connection)
    rings(connection)
    texts(connection)
    machines(connection, rows)
    refresh(connection)
    export(connection)


def main():
    with psycopg.connect(autocommit=True) as connection:
        connection.execute("CREATE DATABASE demo")
    os.environ["PGDATABASE"] = "demo"
    with psycopg.connect(autocommit=True) as connection:
        sections(connection, MACHINES)
    farewell()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("\nstopped")
        sys.exit(130)
