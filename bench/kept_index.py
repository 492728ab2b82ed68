"""An index that is kept (svm_index): how long it takes to make, how large it is, and trainings from it beside trainings from the table.

In turns, in the session itself without workers and helpers, in a cache that holds all rows: seconds of the statement and until the
last row is there (svm_training_log). Bytes are blocks of 8 kB that the training took from the index's table and from that
of the rows, out-of-line values included, whether a buffer had them or not; the few pages of their B-trees, met again and again, aside.
Of texts the pass that learns their words comes before the one whose last row that is: there the seconds of the statement tell.
"""

import numpy as np

import server
from machine import Stopwatch, median

CACHE = "1500MB"
REPEATS = {"quick": 3, "full": 7}
ARRAYS = {"float4[784], out of line": (40_000, 784), "float4[1536], out of line": (40_000, 1536)}
COLUMNS = {"54 float4 columns": (400_000, 54)}
LABEL = "hashint4(i) / 2 + hashint4(i + 1) / 4 > hashint4(i + 77) / 8 AS label"
MADE = {
    "20 numeric columns": "CREATE TABLE kept AS SELECT "
    + ", ".join(f"(hashint4(i + {k}) / 1e6)::numeric(12, 3) AS x{k}" for k in range(20))
    + f", {LABEL} FROM generate_series(1, 400000) AS i",
    "numbers, times and categories": "CREATE TABLE kept AS SELECT hashint4(i + 1) / 2e9 AS a, 'place ' || i % 40 AS b,"
    " (hashint4(i + 2) / 1e6)::numeric(12, 3) AS c, timestamptz '2026-01-01 00:00+00' + i * interval '1 minute' AS d,"
    f" {LABEL} FROM generate_series(1, 600000) AS i",
}
# of some 50,000 features and words those with small numbers come often
OFTEN = "(50000 * power((hashint4({0}) + 2147483648) / 4294967296.0, 4))::int"


def sparse(rows, entries, made):
    """A table of so many sparse rows of about so many entries, in the columns that are made of `index` and `value`."""
    columns = ", ".join(f"{expression} AS {name}" for name, expression in made.items())
    return f"""CREATE TABLE kept AS SELECT lists.*, {LABEL} FROM generate_series(1, {rows}) AS i, LATERAL (
        SELECT {columns} FROM (
            SELECT DISTINCT ON (1) {OFTEN.format(f"i * {entries} + k")} AS index, (hashint4(i + k) / 2147483648.0)::real AS value
            FROM generate_series(1, {entries}) AS k ORDER BY 1) AS entries) AS lists"""


PAIRS = {"idx": "array_agg(index ORDER BY index)", "val": "array_agg(value ORDER BY index)"}
LINE = {"line": "string_agg(index || ':' || value, ' ' ORDER BY index)"}
# words of three to ten letters
WORD = "left(md5({0}::text), 3 + {0} % 8)"


def texts(rows, words):
    """A table of so many texts of so many words."""
    word = WORD.format(OFTEN.format(f"i * {words} + k"))
    return f"""CREATE TABLE kept AS SELECT body, {LABEL} FROM generate_series(1, {rows}) AS i, LATERAL (
        SELECT string_agg({word}, ' ' ORDER BY k) AS body FROM generate_series(1, {words}) AS k) AS texts"""


# what the index has and the training takes, and the table
LISTS = {
    "75 entries, as arrays": ("sparse(idx, val)", sparse(100_000, 75, PAIRS)),
    "600 entries, as arrays": ("sparse(idx, val)", sparse(20_000, 600, PAIRS)),
    "75 entries, as LIBSVM has them": ("libsvm(line)", sparse(100_000, 75, LINE)),
    "texts of 100 words": ("text(body)", texts(60_000, 100)),
    "texts of 1,000 words": ("text(body)", texts(12_000, 1000)),
    "lexemes of texts of 100 words": ("text(body, english)", texts(20_000, 100)),
}
BLOCKS = [f"{what}_blks_{how}" for what in ("heap", "toast") for how in ("read", "hit")]
BYTES = f"""
    SELECT 8192 * ({" + ".join(f"coalesce({blocks}, 0)" for blocks in BLOCKS)}) FROM pg_statio_all_tables
    WHERE relid = %s::regclass"""


def measure(run):
    found = []
    with server.connect() as connection:
        connection.execute("SET client_min_messages = error")
        connection.execute(f"SET pgsvm.cache_size = '{CACHE}'; SET pgsvm.workers = 0; SET pgsvm.helpers = 0")
        for kind in [*ARRAYS, *COLUMNS, *MADE, *LISTS]:
            cell = {"kind": kind, **cell_of(connection, kind, REPEATS["quick" if run.quick else "full"])}
            run.say(f"  {cell}")
            found.append(cell)
    return found


def load(connection, kind):
    connection.execute("DROP TABLE IF EXISTS kept")
    made = {**MADE, **{kind: table for kind, (_, table) in LISTS.items()}}
    if kind in made:
        connection.execute(made[kind])
        server.settle(connection, "kept")
        return
    rows, features = {**ARRAYS, **COLUMNS}[kind]
    random = np.random.default_rng(5)
    x = random.standard_normal((rows, features), dtype=np.float32)
    y = np.where(x[:, 0] - x[:, 1] + random.standard_normal(rows) > 0, 1, -1)
    put = server.load_arrays if kind in ARRAYS else server.load_columns
    put(connection, "kept", y, x)


def cell_of(connection, kind, repeats):
    load(connection, kind)
    features = [LISTS[kind][0]] if kind in LISTS else None
    with Stopwatch() as made:
        connection.execute("SELECT svm_index('kept', %s, 'bench', '{label}')", [features])
    size = connection.execute("SELECT bytes FROM svm_indexes WHERE name = 'bench'").fetchone()[0]
    table = connection.execute("SELECT pg_table_size('kept')").fetchone()[0]
    runs = {"table": [], "index": []}
    for _ in range(1 + repeats):
        for source, of in runs.items():
            of.append(train(connection, features, source == "index"))
    cell = {"made": made.usage.wall, "index_bytes": size, "table_bytes": table}
    for source, of in runs.items():
        # the first finds its memory
        cell[source] = {what: median([each[what] for each in of[1:]]) for what in of[0]}
    objectives = [cell[source]["objective"] for source in runs]
    assert objectives[0] == objectives[1], f"objectives {objectives}"
    connection.execute("SELECT svm_drop_index('bench')")
    return cell


def train(connection, features, by_index):
    option = ', "index": "bench"' if by_index else ""
    before = read(connection)
    with Stopwatch() as used:
        connection.execute(
            f"""SELECT svm_train('kept', 'label', %s, 'bench', c => 0.1, options => '{{"inherit": false{option}}}')""",
            [features],
        )
    bytes = [after - before for after, before in zip(read(connection), before, strict=True)]
    seconds, objective = connection.execute("""
        SELECT (SELECT max(seconds) FROM svm_training_log('bench') WHERE event = 'load'), primal
        FROM svm_models WHERE name = 'bench'""").fetchone()
    connection.execute("SELECT svm_drop('bench')")
    return {
        "wall": used.usage.wall,
        "loaded": seconds,
        "objective": objective,
        "of_index": bytes[0],
        "of_table": bytes[1],
    }


def read(connection):
    """Bytes taken so far from the index's table and from that of the rows."""
    connection.execute("SELECT pg_stat_force_next_flush()")
    return [connection.execute(BYTES, [table]).fetchone()[0] for table in ("svm_index_chunk", "kept")]
