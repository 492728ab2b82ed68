"""Every solver brings real data sets to the same objective through a cache of a tenth, and its log tells how."""

import json
import lzma

import pytest

from harness.data import data_file, examples
from harness.sessions import TWO_WORKERS, configure, model, one

AGREEMENT = 1e-3
SOLVERS = {
    "stream": ("stream", {}),
    "paper": ("stream", {"policy": "paper"}),
    "block": ("block", {}),
    "selective_block": ("selective_block", {}),
    "indexed": ("indexed", {}),
}
# C for each set
SETS = {"a9a": 0.1, "mnist": 0.001, "kddcup99": 0.01}
KDD_COLUMNS = 41


@pytest.fixture(scope="module", params=SETS)
def data_set(request, server, database):
    """A table of this name with a column `positive`, and the size of its encoded rows in kilobytes."""
    name = request.param
    with server.connect(database) as connection:
        if name == "kddcup99":
            return name, load_kddcup(connection, name)
        file, positive = {"a9a": ("a9a/a9a.xz", 1), "mnist": ("mnist/mnist.train.libsvm.xz", 8)}[name]
        return name, load_one_against_the_rest(connection, name, file, positive)


def load_one_against_the_rest(connection, table, file, positive):
    connection.execute(f"CREATE TABLE {table} (positive boolean, idx int4[], val float4[])")
    with connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
        for label, pairs in examples(file):
            numbers = ["{" + ",".join(side) + "}" for side in zip(*pairs)]
            copy.write_row([label == positive, *(numbers or ["{}", "{}"])])
    if table == "mnist":
        connection.execute("UPDATE mnist SET val = ARRAY(SELECT v / 255 FROM unnest(val) AS v)")
    return one(connection, f"SELECT sum(8 * cardinality(idx) + 16) / 1024 FROM {table}")


def load_kddcup(connection, table):
    columns = ", ".join(f"c{k} {'text' if k in (1, 2, 3) else 'float4'}" for k in range(KDD_COLUMNS))
    connection.execute(f"CREATE TABLE {table} ({columns}, positive boolean)")
    with lzma.open(data_file("kddcup99/kddcup.data_10_percent.xz"), "rt") as lines:
        with connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
            for line in lines:
                *values, kind = line.rstrip().split(",")
                copy.write_row([*values, kind == "normal."])
    return one(connection, f"SELECT count(*) * (38 * 4 + 3 * 8 + 16) / 1024 FROM {table}")


def test_all_solvers_find_the_same_objective(connection, data_set):
    table, kilobytes = data_set
    c = SETS[table]
    configure(connection, TWO_WORKERS | {"pgsvm.cache_size": f"{max(int(kilobytes / 10), 64)}kB"})
    features = None if table == "kddcup99" else ["sparse(idx, val)"]
    found = {}
    for name, (solver, options) in SOLVERS.items():
        connection.execute(
            "SELECT svm_train(%s, 'positive', %s, model => %s, c => %s, loss => 'hinge', solver => %s, options => %s)",
            [table, features, f"{table}_{name}", c, solver, json.dumps(options)],
        )
        found[name] = model(connection, f"{table}_{name}")
        assert found[name]["stop_reason"] == "tolerance", name
        # rows came from the spool in every pass, but for those that an index leaves out
        log = connection.execute("SELECT max(rows_read), max(pass) FROM svm_training_log(%s)", [f"{table}_{name}"])
        read, passes = log.fetchone()
        all_rows = (1 + found[name]["passes"]) * found[name]["rows_used"]
        assert passes == found[name]["passes"]
        assert read == all_rows or (solver == "indexed" and read < all_rows)
    best = min(trained["primal"] for trained in found.values())
    for name, trained in found.items():
        assert trained["primal"] <= best * (1 + AGREEMENT), name
        assert trained["dual"] <= best * (1 + 1e-6), name


def test_an_index_leaves_rows_unread(connection, data_set):
    table, kilobytes = data_set
    configure(connection, TWO_WORKERS | {"pgsvm.cache_size": f"{max(int(kilobytes / 10), 64)}kB"})
    features = None if table == "kddcup99" else ["sparse(idx, val)"]
    connection.execute(
        "SELECT svm_train(%s, 'positive', %s, model => %s, c => %s, loss => 'ramp', solver => 'indexed')",
        [table, features, f"{table}_unread", SETS[table]],
    )
    found = model(connection, f"{table}_unread")
    assert found["stop_reason"] == "tolerance"
    assert 0 <= found["gap"] <= AGREEMENT
    read = one(connection, f"SELECT max(rows_read) FROM svm_training_log('{table}_unread')")
    assert read <= (1 + found["passes"]) * found["rows_used"]


def test_a_limit_of_the_spool_slows_training_down_and_changes_nothing(connection):
    connection.execute(
        "CREATE TABLE slow AS SELECT sin(i) > 0 AS label, ARRAY[sin(i + 0.3), cos(i * 7)]::real[] AS x FROM generate_series(1, 20000) i"
    )
    configure(connection, {"pgsvm.workers": 0, "pgsvm.cache_size": "64kB"})
    seconds = []
    for rate in ["0", "1MB"]:
        connection.execute(f"SET pgsvm.spool_rate = '{rate}'")
        connection.execute(
            """SELECT svm_train('slow', 'label', model => 'slow', solver => 'block', tolerance => 1e-9, max_passes => 2,
                   options => '{"compression": "off"}')"""
        )
        seconds.append(model(connection, "slow")["seconds"])
    # half a megabyte is written once and read three times
    assert seconds[1] > seconds[0] + 1
    first, second = connection.execute("SELECT primal, dual FROM svm_versions WHERE name = 'slow'").fetchall()
    assert first == second


def test_the_notice_says_that_newtons_method_went_over_the_index(connection):
    said = []
    connection.add_notice_handler(lambda notice: said.append(notice.message_detail or ""))
    connection.execute("""
        CREATE TABLE two_clouds AS SELECT i % 2 = 0 AS side, sin(i * 12.9898) * 3 + i % 2 AS x, cos(i * 78.233) * 3 AS y
        FROM generate_series(1, 20000) AS i""")
    configure(connection, {"pgsvm.cache_size": "64kB"})
    ask = "SELECT svm_train('two_clouds', 'side', '{x, y}', 'told', solver => 'indexed', options => %s)"
    for inner, taken in [("newton", "solver indexed, inner newton, "), ("dual", "solver indexed, ")]:
        said.clear()
        connection.execute(ask, [json.dumps({"inner": inner})])
        assert taken in said[-1] and ("inner newton" in said[-1]) == (inner == "newton"), said
        assert model(connection, "told")["solver"] == "indexed"
    connection.execute("DROP TABLE two_clouds")
