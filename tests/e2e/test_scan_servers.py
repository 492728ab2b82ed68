"""A table whose partitions are on three servers: each sums up what is its own, by postgres_fdw, and the model is that of one
server."""

import threading
import time

import psycopg
import pytest

from harness.server import Server, new_database, wait_until
from harness.sessions import Running, listen, model, one

ROWS = """
    SELECT i AS id, (hashint8extended(i, 1) & 1023) / 1024.0::float8 AS a, (hashint8extended(i, 2) & 1023) / 1024.0::float8 AS b,
           (hashint8extended(i, 1) & 1023) + (hashint8extended(i, 2) & 1023) + (hashint8extended(i, 3) & 511) > 1280 AS y,
           i > 8000 AS elsewhere
    FROM generate_series(%s, %s) AS i"""
ROWS_A_SERVER = 8000


@pytest.fixture(scope="module")
def others(server):
    """Two servers with a part of the rows each."""
    servers = []
    try:
        for part in (1, 2):
            other = Server(server.version, f"part{part}")
            servers.append(other)
            with other.connect(new_database(other, "rows")) as connection:
                connection.execute("CREATE EXTENSION pgsvm")
                first = part * ROWS_A_SERVER
                connection.execute("CREATE TABLE part AS " + ROWS % (first + 1, first + ROWS_A_SERVER))
                connection.execute("ANALYZE part")
        yield servers
        assert not [line for other in servers for line in other.complaints()]
    finally:
        for other in servers:
            other.stop()


@pytest.fixture(scope="module")
def spread(server, database, others):
    """The table over all three."""
    with server.connect(database) as connection:
        connection.execute("CREATE EXTENSION postgres_fdw")
        connection.execute(
            "CREATE TABLE spread (id int, a float8, b float8, y bool, elsewhere bool) PARTITION BY RANGE (id)"
        )
        connection.execute(f"CREATE TABLE here PARTITION OF spread FOR VALUES FROM (0) TO ({ROWS_A_SERVER + 1})")
        connection.execute("INSERT INTO spread " + ROWS % (1, ROWS_A_SERVER))
        for part, other in enumerate(others, start=1):
            where = (
                f"host '{other.socket_directory}', port '5432', dbname 'rows', extensions 'pgsvm', async_capable 'true'"
            )
            connection.execute(f"CREATE SERVER part{part} FOREIGN DATA WRAPPER postgres_fdw OPTIONS ({where})")
            connection.execute(f"CREATE USER MAPPING FOR CURRENT_USER SERVER part{part} OPTIONS (user 'postgres')")
            first, last = part * ROWS_A_SERVER + 1, (part + 1) * ROWS_A_SERVER + 1
            connection.execute(
                f"CREATE FOREIGN TABLE there{part} PARTITION OF spread FOR VALUES FROM ({first}) TO ({last})"
                f" SERVER part{part} OPTIONS (table_name 'part')"
            )
        connection.execute("CREATE TABLE all_here AS " + ROWS % (1, 3 * ROWS_A_SERVER))
    return database


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_three_servers_find_what_one_does(spread, connect, loss):
    connection = connect()
    for table in ["spread", "all_here"]:
        connection.execute(
            f"SELECT svm_train('{table}', 'y', '{{a, b}}', '{table}', solver => 'scan', loss => '{loss}', tolerance => 1e-4)"
        )
    apart, together = model(connection, "spread"), model(connection, "all_here")
    assert apart["rows_used"] == together["rows_used"] == 3 * ROWS_A_SERVER
    assert 0 <= apart["gap"] <= 1e-4
    assert abs(apart["primal"] - together["primal"]) <= 2e-4 * together["primal"]
    assert apart["passes"] <= together["passes"] + 1
    # the certificate, recomputed
    recomputed = one(
        connection,
        """
        SELECT sum(greatest(0, 1 - (CASE WHEN y THEN 1 ELSE -1 END) * svm_decision('spread', s)) ^ %s) FROM all_here AS s
        """,
        [2 if loss == "squared_hinge" else 1],
    )
    assert recomputed <= apart["primal"] * (1 + 1e-9)


@pytest.mark.parametrize("solver", ["scan", "ocas"])
def test_rows_are_held_out_on_each_server_as_on_one(spread, connect, solver):
    connection = connect()
    # values of a fold column that no server has in the order of another, and folds that each server draws for its own rows
    for folds in ["fold_column => 'elsewhere'", "folds => 3, seed => 5", "fold_order => 'id', folds => 3"]:
        found = [
            connection.execute(
                f"SELECT fold, rows, accuracy, auc FROM svm_cross_validate('{table}', 'y', features => '{{a, b}}', c => 1,"
                f" solver => '{solver}', {folds}) ORDER BY fold"
            ).fetchall()
            for table in ["spread", "all_here"]
        ]
        assert [line[:2] for line in found[0]] == [line[:2] for line in found[1]], folds
        for apart, together in zip(*found, strict=True):
            assert abs(apart[2] - together[2]) < 0.01 and abs(apart[3] - together[3]) < 0.01, folds


@pytest.mark.parametrize(
    "asked",
    [
        "label => 'a', features => '{b, y}', task => 'regression', loss => 'epsilon_insensitive'",
        "label => 'a', features => '{b, y}', task => 'regression'",
        """label => 'a', features => '{b, y}', options => '{"quantiles": [0.1, 0.9]}'""",
        "features => '{a, b}', kernel => 'linear', nu => 0.2",
    ],
)
def test_numbers_and_novelties_are_those_of_one_server(spread, connect, asked):
    connection = connect()
    for table in ["spread", "all_here"]:
        connection.execute(
            f"SELECT svm_train('{table}', {asked}, model => '{table}', solver => 'scan', tolerance => 1e-5)"
        )
    apart, together = model(connection, "spread"), model(connection, "all_here")
    assert apart["rows_used"] == together["rows_used"] == 3 * ROWS_A_SERVER
    assert 0 <= apart["gap"] <= 1e-5
    # of novelties c is found, to some digits
    within = 1e-2 if "nu" in asked else 2e-5
    assert abs(apart["primal"] - together["primal"]) <= within * together["primal"]
    if "nu" in asked:
        assert abs(apart["nu"] - 0.2) <= 1e-3 and abs(together["nu"] - 0.2) <= 1e-3
        assert abs(apart["c"] / together["c"] - 1) <= 1e-2


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_a_kernel_machine_is_that_of_one_server(spread, connect, loss):
    """Landmarks are of another sample, so that the machines differ a little; each certificate is of all rows."""
    connection = connect()
    for table in ["spread", "all_here"]:
        connection.execute(
            f"SELECT svm_train('{table}', 'y', '{{a, b}}', 'kernel_{table}', solver => 'scan', loss => '{loss}', kernel => 'rbf', gamma => 0.5, rank => 40)"
        )
    apart, together = model(connection, "kernel_spread"), model(connection, "kernel_all_here")
    assert apart["rows_used"] == together["rows_used"] == 3 * ROWS_A_SERVER
    assert apart["landmarks"] == together["landmarks"] == 40
    assert 0 <= apart["gap"] <= 1e-3
    assert abs(apart["primal"] - together["primal"]) <= 1e-2 * together["primal"]
    recomputed = one(
        connection,
        """
        SELECT sum(greatest(0, 1 - (CASE WHEN y THEN 1 ELSE -1 END) * svm_decision('kernel_spread', s)) ^ %s) FROM all_here AS s
        """,
        [2 if loss == "squared_hinge" else 1],
    )
    assert 0.9 * apart["primal"] < recomputed <= apart["primal"] * (1 + 1e-4)


def test_psvm_has_servers_for_machines(spread, connect):
    """Nothing of a row leaves its server; what comes out is what machines find that hold all rows."""
    connection = connect()
    said = []
    connection.add_notice_handler(lambda notice: said.append(notice.message_detail or ""))
    for table, options in [("spread", '{"machines": "scans"}'), ("all_here", "{}")]:
        connection.execute(
            f"SELECT svm_train('{table}', 'y', '{{a, b}}', 'interior_{table}', solver => 'interior_point', tolerance => 1e-4, options => '{options}')"
        )
    apart, together = model(connection, "interior_spread"), model(connection, "interior_all_here")
    assert apart["rows_used"] == together["rows_used"] == 3 * ROWS_A_SERVER
    assert 0 <= apart["gap"] <= 1e-4
    assert abs(apart["primal"] - together["primal"]) <= 2e-4 * together["primal"]
    assert "solver interior_point" in said[0] and " scans, gap" in said[0]


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_an_average_of_three_servers_is_told_for_what_it_is(spread, connect, loss):
    """Rows of each server are drawn alike, so that the average is good; with a label each it is not, and says so."""
    connection = connect()
    said = []
    connection.add_notice_handler(lambda notice: said.append(notice.message_detail or ""))
    gaps = {}
    for name, label in [("alike", "y"), ("one_label_each", "elsewhere")]:
        for how, options in [("best", "{}"), ("average", '{"machines": "average"}')]:
            connection.execute(
                f"SELECT svm_train('spread', '{label}', '{{a, b}}', '{name}_{loss}_{how}', solver => 'scan', loss => '{loss}', tolerance => 1e-4,"
                f" options => '{options}')"
            )
        best, average = (model(connection, f"{name}_{loss}_{how}") for how in ["best", "average"])
        assert "3 parts of the rows" in "".join(said)
        # the dual of the average is below the optimum, its primal above
        assert average["dual"] <= best["primal"] and average["primal"] >= best["dual"]
        gaps[name] = average["gap"]
    assert 0 <= gaps["alike"] < 0.02 < gaps["one_label_each"]


def test_what_is_summed_up_is_shipped(spread, connect):
    scan = "SELECT svm_internal.svm_scan('\\x00', y, a, b) AS part FROM {}"
    tables = ["here", "there1", "there2"]
    query = (
        "SELECT svm_internal.svm_scan_join(part) FROM (" + " UNION ALL ".join(map(scan.format, tables)) + ") AS parts"
    )
    plan = "\n".join(line for (line,) in connect().execute("EXPLAIN (VERBOSE, COSTS off) " + query))
    assert plan.count("Async Foreign Scan") == 2, plan
    assert plan.count("Relations: Aggregate on") == 2, plan


def test_a_table_with_one_partition_elsewhere_is_trained_on_there(spread, connect):
    connection = connect()
    connection.execute(
        "CREATE TABLE single (id int, a float8, b float8, y bool, elsewhere bool) PARTITION BY RANGE (id)"
    )
    connection.execute(
        f"CREATE FOREIGN TABLE single_there PARTITION OF single FOR VALUES FROM ({ROWS_A_SERVER + 1}) TO ({2 * ROWS_A_SERVER + 1})"
        " SERVER part1 OPTIONS (table_name 'part')"
    )
    said = []
    connection.add_notice_handler(lambda notice: said.append(notice.message_detail or ""))
    connection.execute("SELECT svm_train('single', 'y', '{a, b}', 'single', solver => 'scan')")
    assert model(connection, "single")["rows_used"] == ROWS_A_SERVER
    assert "none kept" in "".join(said)


def test_categories_of_rows_elsewhere_are_learned_here(spread, connect):
    connection = connect()
    for table in ["spread", "all_here"]:
        query = f"SELECT a, (CASE WHEN b > 0.5 THEN ''red'' ELSE ''green'' END) AS colour, y FROM {table}"
        connection.execute(
            f"SELECT svm_train_query('{query}', 'y', model => 'c_{table}', solver => 'scan', tolerance => 1e-6)"
        )
    apart, together = model(connection, "c_spread"), model(connection, "c_all_here")
    assert abs(apart["primal"] - together["primal"]) <= 2e-6 * together["primal"]


def test_a_server_that_is_down_is_an_error_at_once(spread, connect, others):
    connection = connect()
    others[1].control("-m", "immediate", "stop")
    try:
        asked = time.monotonic()
        with pytest.raises(psycopg.Error):
            connection.execute("SELECT svm_train('spread', 'y', '{a, b}', 'no', solver => 'scan')")
        assert time.monotonic() - asked < 1.0
        assert one(connection, "SELECT count(*) FROM svm_models WHERE name = 'no'") == 0
    finally:
        others[1].control("start")
    connection.execute("SELECT svm_train('spread', 'y', '{a, b}', 'again', solver => 'scan')")
    assert model(connection, "again")["rows_used"] == 3 * ROWS_A_SERVER


def test_a_server_that_comes_back_in_time_is_waited_for(spread, connect, others):
    connection = connect()
    connection.execute("SET pgsvm.retry_seconds = 20")
    told = listen(connection)
    others[1].control("-m", "immediate", "stop")
    restart = threading.Timer(0.5, others[1].control, ["start"])
    restart.start()
    try:
        connection.execute("SELECT svm_train('spread', 'y', '{a, b}', 'waited', solver => 'scan')")
    finally:
        restart.join()
    assert model(connection, "waited")["rows_used"] == 3 * ROWS_A_SERVER
    assert any("tried again" in it.text for it in told), told


def test_a_server_that_stays_away_is_an_error_when_the_time_is_up(spread, connect, others):
    connection = connect()
    connection.execute("SET pgsvm.retry_seconds = 1")
    others[1].control("-m", "immediate", "stop")
    try:
        asked = time.monotonic()
        with pytest.raises(psycopg.Error, match="part2"):
            connection.execute("SELECT svm_train('spread', 'y', '{a, b}', 'no', solver => 'scan')")
        assert 0.9 < time.monotonic() - asked < 3.0
        assert one(connection, "SELECT count(*) FROM svm_models WHERE name = 'no'") == 0
    finally:
        others[1].control("start")


@pytest.fixture(scope="module")
def slow(server, spread, others):
    """A table with a partition elsewhere, each of whose rows takes as long there as the table `dawdling` says."""
    with others[1].connect("rows") as connection:
        connection.execute("""
            CREATE TABLE dawdling AS SELECT 0.0::float8 AS seconds;
            CREATE FUNCTION slowly(x float8) RETURNS float8 LANGUAGE plpgsql AS $$
            BEGIN
                PERFORM pg_sleep(seconds) FROM public.dawdling WHERE seconds > 0;
                RETURN x;
            END $$;
            CREATE VIEW slow AS SELECT id, slowly(a) AS a, b, y, CASE WHEN b > 0.5 THEN 'red' ELSE 'green' END AS colour FROM part
            WHERE id % 20 = 0""")
    with server.connect(spread) as connection:
        first, end = 2 * ROWS_A_SERVER + 1, 3 * ROWS_A_SERVER + 1
        connection.execute(f"""
            CREATE TABLE slow (id int, a float8, b float8, y bool, colour text) PARTITION BY RANGE (id);
            CREATE TABLE slow_here PARTITION OF slow FOR VALUES FROM (0) TO ({ROWS_A_SERVER + 1});
            INSERT INTO slow SELECT id, a, b, y, CASE WHEN b > 0.5 THEN 'red' ELSE 'green' END FROM here WHERE id % 20 = 0;
            CREATE FOREIGN TABLE slow_there PARTITION OF slow FOR VALUES FROM ({first}) TO ({end})
                SERVER part2 OPTIONS (table_name 'slow')""")
    return 2 * ROWS_A_SERVER // 20


def scans_of(other):
    """When each scan that is running there began; none while it is out of reach."""
    try:
        with other.connect("rows") as connection:
            return connection.execute(
                "SELECT query_start FROM pg_stat_activity WHERE state = 'active' AND application_name = 'postgres_fdw'"
                " AND query ~ 'svm_scan|FETCH' AND clock_timestamp() > query_start + interval '0.1 s'"
            ).fetchall()
    except psycopg.OperationalError:
        return []


def dawdle(other, seconds):
    with other.connect("rows") as connection:
        connection.execute("UPDATE dawdling SET seconds = %s", [seconds])


def broken_in(other, scan, start):
    """Starts a statement, and restarts the other server at once in the middle of its scan of this number."""
    dawdle(other, 0.002)
    running = start()
    seen = set()

    def is_there():
        assert not running.over, (seen, running.end())
        seen.update(scans_of(other))
        return len(seen) == scan

    wait_until(is_there, within_seconds=60, what="the scan")
    other.control("-m", "immediate", "restart")
    dawdle(other, 0)
    return running


KINDS = {
    "squared_hinge": "loss => 'squared_hinge'",
    "hinge": "loss => 'hinge'",
    "truncated": "loss => 'truncated_squared_hinge'",
    "categories": "loss => 'squared_hinge'",
    "kernel": "kernel => 'rbf', gamma => 0.5, rank => 20",
    "interior_point": "solver => 'interior_point', options => '{\"machines\": \"scans\"}', max_passes => 5",
    "average": 'options => \'{"machines": "average"}\'',
    "choosing_c": "c => NULL",
}


def training(kind, name):
    features = "{a, colour}" if kind == "categories" else "{a, b}"
    solver = "" if "solver" in KINDS[kind] else ", solver => 'scan'"
    return f"SELECT svm_train('slow', 'y', '{features}', '{name}', tolerance => 1e-5{solver}, {KINDS[kind]})"


# the survey is the first scan
@pytest.mark.parametrize(
    ("kind", "scan"),
    [
        ("squared_hinge", 1),
        ("squared_hinge", 2),
        ("hinge", 3),
        ("truncated", 2),
        ("categories", 1),
        ("kernel", 2),
        ("interior_point", 3),
        ("average", 2),
        ("choosing_c", 2),
    ],
)
def test_a_restart_in_the_middle_of_a_scan_is_bridged(server, slow, connect, others, kind, scan):
    connection = connect()
    # so small a sample that scans follow the survey
    connection.execute("SET pgsvm.retry_seconds = 30; SET pgsvm.cache_size = '64kB'")
    told = listen(connection)
    before = server.workers()
    # the session has a transaction of its own, which goes on
    connection.execute("BEGIN")
    running = broken_in(others[1], scan, lambda: Running(connection, training(kind, f"bridged_{kind}")))
    assert running.end(within_seconds=60) == [(f"bridged_{kind}",)]
    connection.execute("COMMIT")
    found = model(connection, f"bridged_{kind}")
    assert found["rows_used"] == slow
    assert any("tried again" in it.text for it in told), told
    assert server.workers() == before
    # the same as of servers that stay
    connection.execute("SET pgsvm.retry_seconds = 0")
    connection.execute(training(kind, f"calm_{kind}"))
    calm = model(connection, f"calm_{kind}")
    assert [found[it] for it in ["primal", "dual", "passes"]] == pytest.approx(
        [calm[it] for it in ["primal", "dual", "passes"]]
    )


@pytest.mark.parametrize("scan", [1, 2])
def test_without_patience_it_is_an_error_that_says_what_bridges_it(server, slow, connect, others, scan):
    connection = connect()
    connection.execute("SET pgsvm.cache_size = '64kB'")
    error = broken_in(others[1], scan, lambda: Running(connection, training("hinge", "no"))).end()
    assert isinstance(error, psycopg.Error)
    assert error.sqlstate in {"08006", "08003", "57P01", "57P02"}, error.sqlstate
    assert "a server that has some of the rows is out of reach" in str(error)
    assert "SET pgsvm.retry_seconds = 60" in error.diag.message_hint
    assert model(connection, "no") is None and not server.workers()
    connection.execute(training("hinge", "again"))
    assert model(connection, "again")["rows_used"] == slow


def test_without_a_worker_left_the_session_scans(slow, connect, others):
    connection = connect()
    connection.execute("SET pgsvm.retry_seconds = 30; SET pgsvm.cache_size = '64kB'; SET max_parallel_workers = 0")
    connection.execute(training("hinge", "alone"))
    assert model(connection, "alone")["rows_used"] == slow
    error = broken_in(others[1], 2, lambda: Running(connection, training("hinge", "no"))).end(within_seconds=60)
    assert isinstance(error, psycopg.Error) and error.sqlstate.startswith("08"), error
    assert model(connection, "no") is None


def test_a_cancel_ends_a_scan_by_a_worker(server, slow, connect, others):
    connection = connect()
    connection.execute("SET pgsvm.retry_seconds = 30; SET pgsvm.cache_size = '64kB'")
    dawdle(others[1], 0.01)
    running = Running(connection, training("hinge", "no"))
    wait_until(lambda: scans_of(others[1]), what="a scan")
    asked = time.monotonic()
    connection.cancel_safe()
    assert isinstance(running.end(), psycopg.errors.QueryCanceled)
    assert running.seconds_until_end(since=asked) < 1.0
    assert not server.workers()
    wait_until(lambda: not scans_of(others[1]), within_seconds=2, what="the end of the scan there")
    dawdle(others[1], 0)
