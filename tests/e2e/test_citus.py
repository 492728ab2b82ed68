"""Tables that Citus has distributed: trained where their shards are, to the certificate of one machine. Runs where PGSVM_CITUS
names a server tree that holds Citus and this extension."""

import contextlib
import re
import threading
import time

import psycopg
import pytest

from harness.citus import Cluster
from harness.server import wait_until
from harness.sessions import Running, listen, model, one

ROWS = 24000
# label, two columns, a category
COLUMNS = """i AS id, (hashint8extended(i, 1) & 1023) / 1024.0::float8 AS a, (hashint8extended(i, 2) & 1023) / 1024.0::float8 AS b,
    (hashint8extended(i, 1) & 1023) + (hashint8extended(i, 2) & 1023) + (hashint8extended(i, 3) & 511) > 1280 AS y"""


@pytest.fixture(scope="module", params=[2])
def cluster(request):
    cluster = Cluster(request.param)
    try:
        with cluster.coordinator.connect() as connection:
            fill(connection)
        yield cluster
    finally:
        cluster.stop()


def fill(connection):
    connection.execute(f"CREATE TABLE here AS SELECT {COLUMNS} FROM generate_series(1, {ROWS}) AS i")
    for table, column in [("spread", "id"), ("by_label", "y")]:
        connection.execute(f"CREATE TABLE {table} (id int, a float8, b float8, y bool)")
        connection.execute(f"SELECT create_distributed_table('{table}', '{column}')")
        connection.execute(f"INSERT INTO {table} SELECT * FROM here")
    connection.execute("CREATE TABLE everywhere (id int, a float8, b float8, y bool)")
    connection.execute("SELECT create_reference_table('everywhere')")
    connection.execute("INSERT INTO everywhere SELECT * FROM here")
    connection.execute("CREATE TABLE known (id int, a float8, b float8, y bool)")
    connection.execute("SELECT citus_add_local_table_to_metadata('known')")
    connection.execute("INSERT INTO known SELECT * FROM here")
    connection.execute("""
        CREATE FUNCTION slowly(x float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
        DECLARE sum float8 := 0;
        BEGIN
            FOR i IN 1..600 LOOP sum := sum + i; END LOOP;
            RETURN x + 0 * sum;
        END $$""")


@pytest.fixture
def connection(cluster):
    with cluster.coordinator.connect() as connection:
        yield connection


def train(connection, table, name, **more):
    arguments = "".join(f", {key} => {value}" for key, value in more.items())
    connection.execute(f"SELECT svm_train('{table}', 'y', '{{a, b}}', '{name}'{arguments})")
    return model(connection, name)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("table", ["spread", "by_label"])
def test_the_certificate_is_that_of_one_machine(connection, table, loss):
    more = {"loss": f"'{loss}'", "solver": "'scan'", "tolerance": "1e-4"}
    apart = train(connection, table, "apart", **more)
    together = train(connection, "here", "together", **more)
    assert apart["rows_used"] == together["rows_used"] == ROWS
    assert 0 <= apart["gap"] <= 1e-4
    assert abs(apart["primal"] - together["primal"]) <= 2e-4 * together["primal"]
    assert apart["passes"] <= together["passes"] + 1
    # the losses, summed up independently
    power = 2 if loss == "squared_hinge" else 1
    losses = one(
        connection,
        f"SELECT sum(greatest(0, 1 - (CASE WHEN y THEN 1 ELSE -1 END) * svm_decision('apart', s)) ^ {power}) FROM here AS s",
    )
    assert losses <= apart["primal"] * (1 + 1e-9)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_a_kernel_machine_is_that_of_one_machine(connection, loss):
    more = {"loss": f"'{loss}'", "kernel": "'rbf'", "gamma": "0.5", "rank": "40"}
    apart = train(connection, "spread", "apart", **more)
    together = train(connection, "here", "together", solver="'scan'", **more)
    assert apart["rows_used"] == together["rows_used"] == ROWS
    assert apart["solver"] == "scan" and apart["landmarks"] == 40
    assert 0 <= apart["gap"] <= 1e-3
    assert abs(apart["primal"] - together["primal"]) <= 1e-2 * together["primal"]


def test_psvm_has_shards_for_machines(connection):
    more = {"solver": "'interior_point'", "kernel": "'rbf'", "gamma": "0.5", "rank": "20"}
    apart = train(connection, "spread", "apart", **more)
    together = train(connection, "here", "together", options='\'{"machines": "scans"}\'', **more)
    assert apart["rows_used"] == together["rows_used"] == ROWS
    assert apart["landmarks"] == together["landmarks"] == 20
    assert 0 <= apart["gap"] <= 1e-3
    assert abs(apart["primal"] - together["primal"]) <= 1e-2 * together["primal"]


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_an_average_of_shards_is_told_for_what_it_is(connection, loss):
    """Shards of rows drawn alike make a good average; shards of one label a useless one, and its gap says so."""
    more = {"loss": f"'{loss}'", "solver": "'scan'", "tolerance": "1e-4"}
    best = train(connection, "here", f"best_{loss}", **more)
    told = listen(connection)
    gaps = {}
    for table in ["spread", "by_label"]:
        average = train(connection, table, f"{table}_{loss}", options='\'{"machines": "average"}\'', **more)
        assert average["rows_used"] == ROWS
        # the dual of the average is below the optimum, its primal above
        assert average["dual"] <= best["primal"] and average["primal"] >= best["dual"]
        gaps[table] = average["gap"]
    assert 0 <= gaps["spread"] < 0.05 < gaps["by_label"]
    assert any("8 parts of the rows" in it.text for it in told), told


def test_scans_are_taken_where_nobody_asks_for_a_solver(connection):
    told = listen(connection)
    found = train(connection, "spread", "chosen")
    assert found["solver"] == "scan"
    assert found["rows_used"] == ROWS
    assert any(re.search(r"8 shards on \d+ nodes", it.text) for it in told), told


@pytest.mark.parametrize("table", ["spread", "everywhere", "known"])
@pytest.mark.parametrize("solver", ["auto", "stream", "newton", "block", "scan"])
def test_no_row_is_missed_whatever_the_solver(connection, table, solver):
    found = train(connection, table, "any", solver=f"'{solver}'")
    assert found["rows_used"] == ROWS
    assert found["gap"] <= 1e-3


def test_what_scans_do_not_take_is_read_by_the_session(connection):
    found = train(connection, "spread", "probable", probability="true")
    assert found["rows_used"] == ROWS
    found = train(connection, "spread", "kept", key="'id'")
    assert found["rows_used"] == ROWS
    connection.execute("SELECT svm_refresh('kept')")
    assert model(connection, "kept")["rows_used"] == ROWS


def test_workers_and_a_small_cache_miss_none_either(connection):
    connection.execute("SET pgsvm.min_parallel_size = 0; SET pgsvm.cache_size = '1MB'; SET pgsvm.workers = 2")
    found = train(connection, "spread", "streamed", solver="'stream'")
    assert found["rows_used"] == ROWS


def test_a_query_over_several_tables(connection):
    connection.execute(
        "SELECT svm_train_query('SELECT s.a, e.b, s.y FROM spread AS s JOIN everywhere AS e USING (id)', 'y', model => 'joined')"
    )
    found = model(connection, "joined")
    assert (found["solver"], found["rows_used"]) == ("scan", ROWS)
    assert abs(found["primal"] - train(connection, "here", "plain")["primal"]) <= 2e-3 * found["primal"]


def test_categories_and_many_columns(connection):
    query = "SELECT a, CASE WHEN b > 0.5 THEN ''red'' ELSE ''green'' END AS colour, y FROM {}"
    for table in ["spread", "here"]:
        connection.execute(
            f"SELECT svm_train_query('{query.format(table)}', 'y', model => 'c_{table}', solver => 'scan', tolerance => 1e-6)"
        )
    apart, together = model(connection, "c_spread"), model(connection, "c_here")
    assert abs(apart["primal"] - together["primal"]) <= 2e-6 * together["primal"]
    many = ", ".join(f"a * {number} + b AS x{number}" for number in range(120))
    for table in ["spread", "here"]:
        connection.execute(
            f"SELECT svm_train_query('SELECT y, {many} FROM {table}', 'y', model => 'm_{table}', solver => 'scan', tolerance => 1e-4)"
        )
    apart, together = model(connection, "m_spread"), model(connection, "m_here")
    assert abs(apart["primal"] - together["primal"]) <= 2e-4 * together["primal"]


def test_types_weights_and_classes(connection):
    """Whatever a column is, nodes make the same of it."""
    connection.execute("""
        CREATE TYPE mood AS ENUM ('calm', 'cross', 'glad');
        CREATE DOMAIN share AS float8 CHECK (VALUE BETWEEN 0 AND 1);
        CREATE TABLE kinds_here AS
        SELECT id, (ARRAY['calm', 'cross', 'glad'])[1 + least((a * 1.5 + b * 1.4)::int, 2)]::mood AS feeling, a::share AS a, b::numeric(8, 6) AS b,
            ARRAY[a, b]::real[] AS x, timestamptz '2026-01-01 00:00 UTC' + id * interval '1 hour' AS at, NULLIF(a, 0.5) AS holes, 1 + id % 3 AS counts
        FROM here WHERE id <= 6000;
        CREATE TABLE kinds (LIKE kinds_here);
        SELECT create_distributed_table('kinds', 'id');
        INSERT INTO kinds SELECT * FROM kinds_here""")
    cases = [
        ("{a, b}", ""),
        ("{x}", ", weight => 'counts', class_weight => 'balanced'"),
        ("{at, b}", ""),
        ("{holes, b}", ", nulls => 'mean'"),
        ("{a, holes}", ", nulls => 'skip', loss => 'hinge'"),
    ]
    for number, (features, more) in enumerate(cases):
        for table in ["kinds", "kinds_here"]:
            connection.execute(
                f"SELECT svm_train('{table}', 'feeling', '{features}', 't{number}_{table}', solver => 'scan', tolerance => 1e-5{more})"
            )
        apart, together = model(connection, f"t{number}_kinds"), model(connection, f"t{number}_kinds_here")
        assert apart["rows_used"] == together["rows_used"]
        assert apart["classes"] == together["classes"] == 3
        assert abs(apart["primal"] - together["primal"]) <= 2e-5 * together["primal"], (features, more)


def test_another_role_trains(connection):
    connection.execute("DROP ROLE IF EXISTS trainer; CREATE ROLE trainer LOGIN")
    connection.execute("SET ROLE trainer")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        train(connection, "spread", "theirs")
    connection.execute("RESET ROLE; GRANT SELECT ON spread TO trainer; SET ROLE trainer")
    train(connection, "spread", "theirs", c="0.01")
    found = train(connection, "spread", "theirs")
    assert (found["solver"], found["rows_used"], found["owner"]) == ("scan", ROWS, "trainer")
    assert one(connection, "SELECT svm_distribute_models()") == 1
    assert one(connection, "SELECT count(svm_predict('theirs', s)) FROM spread AS s") == ROWS


def test_what_is_wrong_with_rows_is_told_as_ever(connection):
    with pytest.raises(psycopg.errors.Error, match='feature column "a" contains'):
        connection.execute(
            "SELECT svm_train_query('SELECT nullif(a, 0.5) AS a, b, y FROM spread', 'y', model => 'no', nulls => 'error')"
        )
    with pytest.raises(psycopg.errors.Error, match="only one value"):
        connection.execute("SELECT svm_train_query('SELECT a, b, y FROM spread WHERE y', 'y', model => 'no')")
    with pytest.raises(psycopg.errors.Error, match="no rows"):
        connection.execute("SELECT svm_train_query('SELECT a, b, y FROM spread WHERE a > 5', 'y', model => 'no')")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="may be others each time"):
        connection.execute(
            "SELECT svm_train_query('SELECT a + random() AS a, b, y FROM spread', 'y', model => 'no', solver => 'scan')"
        )


def test_rows_that_may_be_others_each_time_are_read_once(connection):
    query = "SELECT a + 0 * random() AS a, b, y FROM spread"
    connection.execute(f"SELECT svm_train_query('{query}', 'y', model => 'once')")
    found = model(connection, "once")
    assert found["rows_used"] == ROWS
    assert found["solver"] != "scan"


def test_a_view_and_partitions(connection):
    connection.execute("CREATE VIEW seen AS SELECT a, b, y FROM spread WHERE id > 1000")
    found = train(connection, "seen", "seen")
    assert (found["solver"], found["rows_used"]) == ("scan", ROWS - 1000)
    connection.execute("""
        CREATE TABLE parts (id int, a float8, b float8, y bool) PARTITION BY RANGE (id);
        CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (9000);
        CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (9000) TO (100000);
        SELECT create_distributed_table('parts', 'id');
        INSERT INTO parts SELECT * FROM here""")
    for table, rows in [("parts", ROWS), ("parts_1", 8999)]:
        found = train(connection, table, "parts")
        assert (found["solver"], found["rows_used"]) == ("scan", rows)


def test_rows_of_the_own_transaction_are_seen(cluster, connection):
    with connection.transaction():
        connection.execute("INSERT INTO spread SELECT -1, 0.5, 0.5, true FROM generate_series(1, 500)")
        assert train(connection, "spread", "seen")["rows_used"] == ROWS + 500
        connection.execute("DELETE FROM spread WHERE id = -1")
    with pytest.raises(ZeroDivisionError), connection.transaction():
        train(connection, "spread", "rolled_back")
        raise ZeroDivisionError
    assert model(connection, "rolled_back") is None
    assert cluster.nothing_is_left()


SLOW = "SELECT svm_train_query('SELECT slowly(a) AS a, b, y FROM spread', 'y', model => 'slow', solver => 'scan', loss => '%s', tolerance => 1e-9)"


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_a_cancel_ends_it_everywhere(cluster, connection, loss):
    running = Running(connection, SLOW % loss)
    wait_until(lambda: running.over or cluster.running(), what="a scan on a node")
    assert not running.over, running.end()
    asked = time.monotonic()
    connection.cancel_safe()
    assert isinstance(running.end(), psycopg.errors.QueryCanceled)
    assert running.seconds_until_end(since=asked) < 1.0
    assert cluster.nothing_is_left()
    assert model(connection, "slow") is None


def test_a_node_that_is_down_is_an_error_at_once(cluster, connection):
    cluster.workers[1].stop()
    try:
        asked = time.monotonic()
        with pytest.raises(psycopg.Error) as failed:
            train(connection, "spread", "no", solver="'scan'")
        assert time.monotonic() - asked < 1.0
        assert str(cluster.workers[1].port) in str(failed.value)
        assert model(connection, "no") is None
    finally:
        cluster.workers[1].start()
    assert train(connection, "spread", "again", solver="'scan'")["rows_used"] == ROWS


@pytest.mark.parametrize("how", ["node", "backend"])
def test_a_node_that_ends_in_the_middle_is_an_error_at_once(cluster, connection, how):
    running = Running(connection, SLOW % "squared_hinge")
    port, pid = wait_until(lambda: [it for it in cluster.running() if it[0] == cluster.workers[0].port], what="a scan")[
        0
    ]
    asked = time.monotonic()
    if how == "node":
        cluster.workers[0].stop()
    else:
        with cluster.workers[0].connect() as other:
            other.execute("SELECT pg_terminate_backend(%s::int)", [pid])
    try:
        assert isinstance(running.end(), psycopg.Error), "it went on"
        assert running.seconds_until_end(since=asked) < 1.0
    finally:
        if how == "node":
            cluster.workers[0].start()
    assert cluster.nothing_is_left()
    assert model(connection, "slow") is None
    assert train(connection, "spread", "again")["rows_used"] == ROWS


def test_there_is_no_other_try_within_a_transaction(cluster, connection):
    """Citus cleans up broken connections at the end of the transaction only."""
    connection.execute("SET pgsvm.retry_seconds = 20")
    cluster.workers[1].stop()
    try:
        asked = time.monotonic()
        with pytest.raises(psycopg.Error, match=str(cluster.workers[1].port)):
            train(connection, "spread", "no", solver="'scan'")
        assert time.monotonic() - asked < 1.0
    finally:
        cluster.workers[1].start()
    assert train(connection, "spread", "again")["rows_used"] == ROWS


def test_rows_that_change_begin_it_anew_once(cluster, connection):
    # the sample of so small a cache says little, so that there are several scans
    connection.execute("SET pgsvm.cache_size = '64kB'")
    told = listen(connection)
    running = Running(connection, SLOW % "squared_hinge")
    with cluster.coordinator.connect() as other:
        shown = "SELECT count(*) FROM svm_progress WHERE leader_pid = %s AND pass >= 1"
        wait_until(lambda: running.over or one(other, shown, [running.pid]), within_seconds=60, what="a first scan")
        other.execute("INSERT INTO spread VALUES (0, 0.5, 0.5, true)")
        try:
            assert running.end(within_seconds=120) == [("slow",)]
            assert model(other, "slow")["rows_used"] == ROWS + 1
            assert any("begun anew" in it.text for it in told), told
        finally:
            other.execute("DELETE FROM spread WHERE id = 0")


def test_rows_that_go_on_changing_are_an_error(cluster, connection):
    stop = threading.Event()

    def change():
        with cluster.coordinator.connect() as other:
            while not stop.wait(0.01):
                other.execute("INSERT INTO spread VALUES (0, 0.5, 0.5, true)")
            other.execute("DELETE FROM spread WHERE id = 0")

    changing = threading.Thread(target=change)
    changing.start()
    try:
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="not the same in each scan"):
            connection.execute(SLOW % "squared_hinge")
    finally:
        stop.set()
        changing.join()


PREDICTED = "SELECT sum(svm_decision('{}', s)) FROM {} AS s"


def given(connection, name, role=None):
    """A model that the nodes have, granted to a role."""
    train(connection, "spread", name, c="0.01")
    if role:
        if one(connection, "SELECT to_regrole(%s) IS NULL", [role]):
            connection.execute(f"CREATE ROLE {role} LOGIN")
        connection.execute(f"GRANT SELECT ON spread, here TO {role}")
        connection.execute(f"SELECT svm_grant('{name}', '{role}')")
    assert one(connection, f"SELECT svm_distribute_models('{name}')") == 1


def predicts(connection, name, role="postgres"):
    """Whether nodes predict with a model for a role, and what they predict is what the coordinator does."""
    connection.execute(f"SET ROLE {role}")
    try:
        away = one(connection, PREDICTED.format(name, "spread"))
    except psycopg.errors.UndefinedObject as missing:
        assert re.search(r"on node 127.0.0.1:\d+ of Citus", str(missing)), missing
        return False
    finally:
        connection.execute("RESET ROLE")
    here = one(connection, PREDICTED.format(name, "here"))
    assert abs(away - here) <= 1e-9 * abs(here), (away, here)
    return True


def on_nodes(cluster):
    """What each node has, read there."""
    found = []
    for node in cluster.workers:
        with node.connect() as there:
            query = "SELECT name, version, owner, readers FROM svm_internal.svm_node_model ORDER BY name"
            found.append(there.execute(query).fetchall())
    assert found[0] == found[1]
    return found[0]


def test_nodes_predict_with_models_that_were_distributed(cluster, connection):
    train(connection, "spread", "brought")
    with pytest.raises(psycopg.errors.UndefinedObject) as failed:
        connection.execute(PREDICTED.format("brought", "spread"))
    assert re.search(r"on node 127.0.0.1:\d+ of Citus", str(failed.value))
    assert "SELECT svm_distribute_models('brought')" in failed.value.diag.message_hint
    for _ in range(2):
        assert one(connection, "SELECT svm_distribute_models('brought')") == 1
        assert predicts(connection, "brought")
    for what in ["svm_evaluate", "svm_confusion", "svm_roc"]:
        away, here = (
            connection.execute(f"SELECT to_jsonb(r) FROM {what}('brought', '{table}') AS r ORDER BY 1").fetchall()
            for table in ["spread", "here"]
        )
        assert away == here
    with pytest.raises(psycopg.errors.UndefinedObject):
        connection.execute("SELECT svm_distribute_models('none')")
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="without a version"):
        connection.execute("SELECT svm_distribute_models('brought@1')")
    for node in cluster.workers:
        with node.connect() as there, pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="coordinator"):
            there.execute("SELECT svm_distribute_models()")


def test_what_becomes_of_a_model_becomes_of_it_on_the_nodes(cluster, connection):
    given(connection, "life", "reader")
    assert predicts(connection, "life") and predicts(connection, "life", "reader")
    # deployed with the training, back again, and only what is deployed
    train(connection, "spread", "life", c="1000")
    assert ("life", 2, "postgres", ["reader"]) in on_nodes(cluster)
    assert predicts(connection, "life", "reader")
    connection.execute("SELECT svm_deploy('life', 1)")
    assert predicts(connection, "life", "reader")
    with pytest.raises(psycopg.errors.UndefinedObject, match='version 2 of model "life" is not on node') as failed:
        connection.execute(PREDICTED.format("life@2", "spread"))
    assert "SELECT svm_deploy('life', 2)" in failed.value.diag.message_hint
    train(connection, "spread", "life", options="'{\"deploy\": false}'")
    assert ("life", 1, "postgres", ["reader"]) in on_nodes(cluster)
    assert one(connection, "SELECT svm_prune('life', 1)") == 1
    assert predicts(connection, "life", "reader")
    # rights
    connection.execute("SELECT svm_revoke('life', 'reader')")
    assert predicts(connection, "life") and not predicts(connection, "life", "reader")
    connection.execute("SELECT svm_grant('life', 'public')")
    assert predicts(connection, "life", "reader")
    connection.execute("SELECT svm_revoke('life', 'public')")
    assert not predicts(connection, "life", "reader")
    connection.execute("UPDATE svm_model SET owner = 'reader' WHERE name = 'life'")
    assert predicts(connection, "life", "reader")
    # names
    connection.execute("SELECT svm_rename('life', 'afterlife')")
    assert predicts(connection, "afterlife", "reader") and not predicts(connection, "life")
    connection.execute("SELECT svm_drop('afterlife')")
    assert not predicts(connection, "afterlife") and not [row for row in on_nodes(cluster) if row[0] == "afterlife"]
    # by whatever statement
    given(connection, "by_hand", "reader")
    connection.execute("DELETE FROM svm_permission WHERE grantee = 'reader'")
    assert not predicts(connection, "by_hand", "reader")
    connection.execute("DELETE FROM svm_version WHERE id = svm_internal.svm_version_id('by_hand')")
    assert not [row for row in on_nodes(cluster) if row[0] == "by_hand"]
    given(connection, "taken_back")
    connection.execute("UPDATE svm_model SET on_nodes = false WHERE name = 'taken_back'")
    assert not predicts(connection, "taken_back") and not [row for row in on_nodes(cluster) if row[0] == "taken_back"]
    given(connection, "text")
    content = one(connection, "SELECT svm_export('text', 'pgsvm')")
    connection.execute("SELECT svm_import('text', %s)", [content])
    assert ("text", 2, "postgres", []) in on_nodes(cluster) and predicts(connection, "text")
    connection.execute("TRUNCATE svm_model")
    assert on_nodes(cluster) == []


def test_kernel_machines_and_classes_and_probabilities_are_on_nodes(connection):
    train(connection, "spread", "curved", kernel="'rbf'", gamma="0.5", rank="20")
    train(connection, "spread", "likely", probability="true")
    assert one(connection, "SELECT svm_distribute_models()") >= 2
    assert predicts(connection, "curved")
    sums = [
        one(connection, f"SELECT sum(svm_probability('likely', s)) FROM {table} AS s") for table in ["spread", "here"]
    ]
    assert abs(sums[0] - sums[1]) < 1e-9 * sums[1]


def test_what_is_rolled_back_is_so_on_the_nodes(cluster, connection):
    given(connection, "steady", "reader")
    before = on_nodes(cluster)
    with pytest.raises(ZeroDivisionError), connection.transaction():
        connection.execute("SELECT svm_revoke('steady', 'reader'), svm_rename('steady', 'other')")
        train(connection, "spread", "other")
        raise ZeroDivisionError
    with connection.transaction():
        with pytest.raises(ZeroDivisionError), connection.transaction():
            connection.execute("SELECT svm_drop('steady')")
            raise ZeroDivisionError
    assert on_nodes(cluster) == before
    assert predicts(connection, "steady", "reader")
    assert cluster.nothing_is_left()


def test_what_a_transaction_has_changed_is_evaluated_in_it(connection):
    given(connection, "tried")
    before = one(connection, "SELECT accuracy FROM svm_evaluate('tried', 'spread')")
    with connection.transaction(force_rollback=True):
        connection.execute("SELECT sum(a) FROM spread")
        train(connection, "spread", "tried", c="1e-9", intercept="false")
        accuracies = [
            one(connection, f"SELECT accuracy FROM svm_evaluate('tried', '{table}')") for table in ["spread", "here"]
        ]
        assert accuracies[0] == accuracies[1]
        assert len(connection.execute("SELECT * FROM svm_suspects('tried', 'spread', 5)").fetchall()) == 5
    assert one(connection, "SELECT accuracy FROM svm_evaluate('tried', 'spread')") == before


def test_a_change_with_a_node_down_is_none(cluster, connection):
    given(connection, "whole", "reader")
    before = on_nodes(cluster)
    cluster.workers[1].stop()
    try:
        for change in [
            "svm_revoke('whole', 'reader')",
            "svm_rename('whole', 'other')",
            "svm_drop('whole')",
            "svm_deploy('whole', 1)",
        ]:
            with pytest.raises(
                psycopg.Error, match='model "(whole|other)" cannot be changed on the nodes of Citus'
            ) as failed:
                connection.execute(f"SELECT {change}")
            assert failed.value.sqlstate[:2] == "08", failed.value.sqlstate
            assert str(cluster.workers[1].port) in failed.value.diag.message_detail
            assert "citus_check_cluster_node_health()" in failed.value.diag.message_hint
        # what no node has is not their affair
        train(connection, "here", "not_there")
        connection.execute("SELECT svm_grant('not_there', 'reader'), svm_drop('not_there')")
    finally:
        cluster.workers[1].start()
    assert on_nodes(cluster) == before
    assert predicts(connection, "whole", "reader")
    connection.execute("SELECT svm_revoke('whole', 'reader')")
    assert not predicts(connection, "whole", "reader")


def test_a_node_that_ends_between_change_and_commit_leaves_all_as_it_was(cluster, connection):
    given(connection, "between", "reader")
    before = on_nodes(cluster)
    with pytest.raises(psycopg.Error), connection.transaction():
        connection.execute("SELECT svm_revoke('between', 'reader')")
        cluster.workers[0].stop()
        cluster.workers[0].start()
    assert on_nodes(cluster) == before and predicts(connection, "between", "reader")


def test_roles_are_those_that_they_were(cluster, connection):
    """A role has by a new name what it had by the old one, and one that is made by an old name has not."""
    given(connection, "named", "first")
    connection.execute("ALTER ROLE first RENAME TO second")
    for node in cluster.workers:
        # Citus may leave that to us
        with node.connect() as there:
            if one(there, "SELECT count(*) FROM pg_roles WHERE rolname = 'first'"):
                there.execute("SET citus.enable_ddl_propagation = off; ALTER ROLE first RENAME TO second")
    assert predicts(connection, "named", "second")
    for node in cluster.nodes:
        with node.connect() as there:
            there.execute(
                "SET citus.enable_ddl_propagation = off; DROP OWNED BY second; DROP ROLE second; CREATE ROLE second"
            )
    for _ in range(2):
        for node in cluster.nodes:
            with node.connect() as there:
                there.execute("SET ROLE second")
                assert one(there, "SELECT count(*) FROM svm_internal.svm_node_model WHERE name = 'named'") == 0
        train(connection, "spread", "named")


def test_a_model_here_of_a_name_that_nodes_have_is_not_taken_for_it(cluster, connection):
    given(connection, "mine")
    with cluster.workers[0].connect() as there:
        # a model of the node's own
        content = one(connection, "SELECT svm_export('mine', 'pgsvm')").replace('"weights":[', '"weights":[7')
        there.execute("SELECT svm_import('mine', %s)", [content])
    assert predicts(connection, "mine")


def test_several_change_a_model_at_once(cluster, connection):
    given(connection, "busy")
    connection.execute("".join(f"DROP ROLE IF EXISTS r{i}; CREATE ROLE r{i};" for i in range(6)))
    with contextlib.ExitStack() as stack:
        others = [stack.enter_context(cluster.coordinator.connect()) for _ in range(6)]
        running = [Running(other, f"SELECT svm_grant('busy', 'r{i}')") for i, other in enumerate(others)]
        assert all(it.end() == [("busy",)] for it in running)
    assert ("busy", 1, "postgres", [f"r{i}" for i in range(6)]) in on_nodes(cluster)


def test_suspects_of_a_distributed_table(connection):
    given(connection, "doubtful")
    away, here = (
        connection.execute(
            f"SELECT example->>'id', label, predicted, round(margin::numeric, 9) FROM svm_suspects('doubtful', '{table}', 20)"
        ).fetchall()
        for table in ["spread", "here"]
    )
    assert away == here and len(away) == 20
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="svm_suspects.. with folds does not read"):
        connection.execute("SELECT * FROM svm_suspects('doubtful', 'spread', folds => 3)")


def test_a_node_that_is_added_has_the_models(cluster, connection):
    given(connection, "old")
    cluster.add_node()
    try:
        with cluster.workers[-1].connect() as there:
            assert one(there, "SELECT count(*) FROM svm_internal.svm_node_model WHERE name = 'old'") == 1
    finally:
        cluster.remove_node()


def test_a_function_that_holds_the_model_is_on_the_nodes(connection):
    train(connection, "spread", "held")
    connection.execute("SELECT svm_create_function('held', immutable => true)")
    right = "SELECT count(*) FROM {} WHERE predict_held(a, b) = y"
    assert one(connection, right.format("spread")) == one(connection, right.format("here")) > 0.8 * ROWS


# on rows of 300 numbers, so that sums are no small allocations
KINDS = {
    "squared_hinge": "solver => 'scan'",
    "hinge": "solver => 'scan', loss => 'hinge'",
    "average": "solver => 'scan', options => '{\"machines\": \"average\"}'",
}


@pytest.fixture(scope="module")
def wide(cluster):
    """A table of rows with 300 numbers."""
    with cluster.coordinator.connect() as connection:
        connection.execute("""
            CREATE TABLE wide (id int, x real[], y int);
            SELECT create_distributed_table('wide', 'id');
            INSERT INTO wide SELECT i, ARRAY(SELECT hashint4(i * 2000 + j) / 2e9 FROM generate_series(1, 300) AS j), i % 2
            FROM generate_series(1, 1000) AS i""")


def crashes(cluster):
    """What the logs of the nodes say of processes that died."""
    logs = [(node.folder / "log").read_text(errors="replace") for node in cluster.nodes]
    return sum(log.count("was terminated by signal") + log.count("PANIC") for log in logs)


@pytest.mark.parametrize("kind", KINDS)
def test_an_allocation_that_fails_on_a_node_is_an_ordinary_error_here(cluster, wide, kind):
    trained = f"SELECT svm_train('wide', 'y', '{{x}}', 'short_{kind}', tolerance => 0.1, {KINDS[kind]})"
    with cluster.workers[1].connect() as there:
        there.execute("LOAD 'pgsvm'")
        if not one(there, "SELECT count(*) FROM pg_settings WHERE name = 'pgsvm.fail_allocation'"):
            pytest.skip("the library was built without in-backend tests")
    before, errors, went_well = crashes(cluster), 0, 0
    try:
        # each process on the node counts by itself
        for number in range(1, 30):
            with cluster.workers[1].connect() as there:
                there.execute("SET citus.enable_ddl_propagation = off")
                there.execute(f"ALTER DATABASE postgres SET pgsvm.fail_allocation = {number}")
            # a session of its own has connections of its own to the node
            with cluster.coordinator.connect() as connection:
                try:
                    connection.execute(trained)
                    went_well += 1
                except psycopg.errors.OutOfMemory as error:
                    assert "out of memory" in str(error)
                    assert model(connection, f"short_{kind}") is None or went_well
                    errors += 1
                assert one(connection, "SELECT 1") == 1
            assert crashes(cluster) == before, number
            if went_well > 2:
                break
    finally:
        with cluster.workers[1].connect() as there:
            there.execute("SET citus.enable_ddl_propagation = off; ALTER DATABASE postgres RESET pgsvm.fail_allocation")
    assert errors > 0 and cluster.nothing_is_left()
    with cluster.coordinator.connect() as connection:
        connection.execute(trained)
