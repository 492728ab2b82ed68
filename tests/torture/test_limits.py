"""A server that has run out of something, and tables that change under a training: the error says what, the session goes
on, nothing is left, and the same training works once there is room.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile

import psycopg
import pytest

from harness import server as servers
from harness.effort import LONG
from harness.memory import MB, data_bytes, set_data_limit
from harness.phases import PHASES, SPREAD_CHUNKS, in_phase, make_tables
from harness.server import Server, new_database, wait_until
from harness.sessions import HELPERS, NO_WORKER, TWO_WORKERS, Running, configure, model, one, stored_rows

SHARED_MEMORY_MB, DISK_MB = 32, 8

# a mount namespace of the server's own: nobody else sees these mounts, and they go when the server goes
SMALL = f"""
mount -t tmpfs -o mode=1777,size={SHARED_MEMORY_MB}m tmpfs /dev/shm
mount -t tmpfs -o mode=1777,size={DISK_MB}m tmpfs "$0"
exec "$@"
"""
NAMESPACE = ["unshare", "--mount", "--propagation", "private"]

LEARNABLE = "SELECT svm_train('noisy', 'label', ARRAY['features'], model => 'm', max_passes => 3)"


def can_mount():
    probe = [*NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", "/dev/shm"]
    return os.geteuid() == 0 and subprocess.run(probe, capture_output=True).returncode == 0


@pytest.fixture(scope="module")
def small():
    """A server with little shared memory and a tablespace `small` on a small disk; database `small` is elsewhere."""
    if not can_mount():
        pytest.skip("mounting a small tmpfs wants root: disk full is tested by temp_file_limit alone")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pgsvm-small-"))
    folder.chmod(0o755)
    server = Server(servers.tested_version(), "small", [*NAMESPACE, "sh", "-euc", SMALL, str(folder)])
    try:
        # the mount hides the folder: its inside is the server's alone
        inside = pathlib.Path(f"/proc/{server.postmaster()}/root{folder}/space")
        inside.mkdir()
        shutil.chown(inside, os.environ.get("PGSVM_SERVER_USER", "postgres"))
        new_database(server, "small")
        with server.connect("small") as connection:
            connection.execute(f"CREATE TABLESPACE small LOCATION '{folder}/space'")
            connection.execute("CREATE EXTENSION pgsvm")
            make_tables(connection, rows=150_000)
            connection.execute("SELECT svm_train('noisy', 'label', model => 'dense', max_passes => 1)")
        yield server
        assert not server.complaints()
    finally:
        server.stop()
        folder.rmdir()


@pytest.fixture
def session(small):
    """A session whose server must not restart, lose a model or keep anything."""
    watcher, connection = small.connect("small"), small.connect("small")
    kept, before = stored_rows(watcher), small.in_use()
    decision = one(watcher, "SELECT svm_decision('before', t) FROM spread AS t LIMIT 1")
    yield connection
    assert one(connection, "SELECT svm_decision('before', t) FROM spread AS t LIMIT 1") == decision
    assert stored_rows(watcher) == kept
    assert not small.left_over(before)
    connection.close()
    watcher.close()


def in_vain(connection, statement, settings):
    """The error of a statement."""
    configure(connection, settings)
    with pytest.raises(psycopg.Error) as failed:
        connection.execute(statement)
    return failed.value


def test_a_disk_full_of_rows_to_train_on_is_an_ordinary_error(session):
    for processes in (TWO_WORKERS, NO_WORKER):
        settings = processes | {"pgsvm.cache_size": "2MB", "temp_tablespaces": "small"}
        error = in_vain(session, PHASES["training_out_of_core"][0], settings)
        assert isinstance(error, psycopg.errors.DiskFull), error
        assert "No space left on device" in error.diag.message_primary
        assert "SET temp_tablespaces" in error.diag.message_hint


# What keeps rows, or what is made of them, in a temporary file where the cache is small, and what keeps none.
WAYS = {
    "auto": "",
    "stream": "solver => 'stream'",
    "hinge": "loss => 'hinge'",
    "ramp": "loss => 'ramp'",
    "newton": "solver => 'newton'",
    "block": "solver => 'block'",
    "selective_block": "solver => 'selective_block'",
    "indexed": "solver => 'indexed'",
    "indexed by a forest": """solver => 'indexed', options => '{"chunks_by": "forest"}'""",
    "choosing c": "c => NULL",
    "probabilities": "probability => true",
    "low rank": "kernel => 'rbf', rank => 40",
    "low rank, gammas": """kernel => 'rbf', rank => 40, c => NULL, options => '{"choose": ["c", "gamma"]}'""",
    "interior point": "kernel => 'rbf', solver => 'interior_point', rank => 100",
    "scan": "solver => 'scan'",
    "ocas": "solver => 'ocas', loss => 'hinge'",
    "cutting planes": "solver => 'cutting_plane', loss => 'hinge'",
    "low rank by scans": "kernel => 'rbf', rank => 40, solver => 'scan'",
    "exact": """kernel => 'rbf', options => '{"method": "exact"}'""",
    "interior point, linear": "solver => 'interior_point', rank => 100",
    "truncated squared hinge": "loss => 'truncated_squared_hinge'",
    "block, pegasos": """solver => 'block', options => '{"inner": "pegasos"}'""",
    "block, newton": """solver => 'block', options => '{"inner": "newton"}'""",
    "classes": "solver => 'stream'",
    "classes by newton": "solver => 'newton'",
    "classes by scans": "solver => 'scan'",
    "classes by one problem": """solver => 'ocas', options => '{"multiclass": "crammer_singer"}'""",
}
LITTLE_DISK = {
    "full disk": ({"temp_tablespaces": "small"}, psycopg.errors.DiskFull, "SET temp_tablespaces"),
    "temp_file_limit": ({"temp_file_limit": "1MB"}, psycopg.errors.ConfigurationLimitExceeded, "temp_file_limit"),
}


@pytest.mark.parametrize("way", WAYS)
def test_no_room_for_rows_is_an_ordinary_error_or_none_is_needed(session, way):
    for settings, kind, hint in LITTLE_DISK.values():
        configure(session, NO_WORKER | {"pgsvm.cache_size": "1MB"} | settings)
        statement = LEARNABLE.replace("'m', max_passes => 3", f"'m', max_passes => 3, {WAYS[way]}".rstrip(", "))
        if way.startswith("classes"):
            statement = statement.replace("'label'", "'class'")
        try:
            session.execute(f"BEGIN; {statement}; ROLLBACK")
        except psycopg.Error as error:
            session.execute("ROLLBACK")
            assert isinstance(error, kind), error
            assert hint in (error.diag.message_hint or ""), error
        assert one(session, "SELECT 1") == 1


def test_a_disk_full_of_weights_leaves_no_half_of_a_model(small, session):
    with small.connect("small") as connection:
        for relation in ("svm_weight", "svm_weight_pkey"):
            kind = "INDEX" if relation.endswith("pkey") else "TABLE"
            connection.execute(f"ALTER {kind} {relation} SET TABLESPACE small")
    try:
        import_wide = """
            SELECT svm_import('m', format(E'solver_type L2R_L1LOSS_SVC_DUAL\\nnr_class 2\\nlabel 1 -1\\nnr_feature %s\\nbias -1\\nw\\n', 1500000)
                || string_agg(random()::text, E'\\n') || E'\\n', 'libsvm') FROM generate_series(1, 1500000)"""
        error = in_vain(session, import_wide, {})
        assert isinstance(error, psycopg.errors.DiskFull), error
        assert one(session, "SELECT count(*) FROM svm_versions WHERE name = 'm'") == 0
    finally:
        with small.connect("small") as connection:
            for relation in ("svm_weight", "svm_weight_pkey"):
                kind = "INDEX" if relation.endswith("pkey") else "TABLE"
                connection.execute(f"ALTER {kind} {relation} SET TABLESPACE pg_default")


def test_shared_memory_that_is_full_is_an_error_that_says_what_to_type(session):
    error = in_vain(session, LEARNABLE, TWO_WORKERS | {"pgsvm.cache_size": f"{2 * SHARED_MEMORY_MB}MB"})
    assert isinstance(error, psycopg.errors.OutOfMemory), error
    assert "could not get shared memory for a cache" in error.diag.message_primary
    assert "SET pgsvm.cache_size" in error.diag.message_hint


def test_shared_memory_that_helpers_do_not_find_is_an_error_that_says_what_to_type(session):
    many = HELPERS | {"pgsvm.max_workers": 18, "pgsvm.helpers": SHARED_MEMORY_MB // 2, "pgsvm.cache_size": "128MB"}
    error = in_vain(session, PHASES["loading_with_helpers"][0], many)
    assert isinstance(error, psycopg.errors.OutOfMemory), error
    assert "could not get shared memory for helpers" in error.diag.message_primary
    assert "SET pgsvm.helpers" in error.diag.message_hint


def test_trainings_at_once_that_fill_shared_memory_end_or_say_so(small, session):
    # rolled back whether they work or not
    connections = [small.connect("small", autocommit=False) for _ in range(5)]
    for connection in connections:
        configure(connection, TWO_WORKERS | {"pgsvm.cache_size": "10MB"})
    trainings = [
        Running(connection, LEARNABLE.replace("'m'", f"'m{number}'")) for number, connection in enumerate(connections)
    ]
    ends = [training.end(120) for training in trainings]
    for connection in connections:
        connection.close()
    errors = [end for end in ends if isinstance(end, psycopg.Error)]
    assert errors, "shared memory was to be full"
    assert all(isinstance(error, psycopg.errors.OutOfMemory) for error in errors), errors


# What claims much, or is much, under a limit of so many megabytes beside the session's own, and the errors that it may end in.
# Where PostgreSQL makes the value itself, it says that there is no memory.
CLAIMS = """
    WITH model AS (SELECT id FROM svm_model WHERE name = 'small'),
    version AS (
        INSERT INTO svm_version (model_id, version, features, label_column, label_type, label_values, nulls, loss, scale, solver,
            intercept_used, intercept, feature_count)
        SELECT model.id, 2, '{"parts": [{"kind": "array", "name": "x", "type": "real[]", "length": 300000000}]}', 'good',
            'boolean', ARRAY['false', 'true'], 'zero', 'hinge', 'none', 'imported', true, 0, 300000000
        FROM model RETURNING id)
    INSERT INTO svm_head (version_id, head, class, intercept) SELECT id, 0, 'true', 0 FROM version
"""
LARGE = {
    "features claimed": ("SELECT svm_decision('small@2', NULL::real[] || '{1}'::real[])", {"53200", "2202E", "XX001"}),
    "a row of claimed features": (
        "SELECT svm_decision('small@2', t) FROM (SELECT NULL::real[] AS x) AS t",
        {"53200", "XX001"},
    ),
    "a row": (
        "SELECT svm_train_query('SELECT array_fill(1::real, ARRAY[20000000]) AS v, good FROM few', 'good', model => 'm')",
        {"53400"},
    ),
    "labels": (
        "SELECT svm_train_query('SELECT repeat(good::text, 2000000) AS l, id FROM few', 'l', '{id}', model => 'm')",
        {"22001"},
    ),
    "classes": ("SELECT svm_metrics(repeat(good::text, 2000000) || id, 'x') FROM few", {"22001"}),
    "an argument": ("SELECT svm_train('few', repeat('x', 100000000))", {"54000"}),
    "a name": ("SELECT svm_decision(repeat(id::text, 50000000), '{1}'::real[]) FROM few", {"42704"}),
    "a list": (
        "SELECT svm_train('few', 'good', options => jsonb_build_object('costs', array_fill(1, ARRAY[50000])))",
        {"22023"},
    ),
}


@pytest.mark.parametrize("what", LARGE)
def test_what_is_large_or_claims_to_be_ends_in_an_error_under_a_limit(server, connect, what):
    statement, states = LARGE[what]
    connection = connect()
    connection.execute(
        "DROP TABLE IF EXISTS few; CREATE TABLE few AS SELECT id, id % 2 = 0 AS good FROM generate_series(1, 60) AS id"
    )
    connection.execute("SELECT svm_drop(name) FROM svm_models WHERE name = 'small'")
    connection.execute("SELECT svm_train('few', 'good', '{id}', model => 'small')")
    connection.execute(CLAIMS)
    pid = connection.info.backend_pid
    set_data_limit(pid, data_bytes(pid) + 500 * MB)
    with pytest.raises(psycopg.Error) as failed:
        connection.execute(statement)
    assert failed.value.sqlstate in states, failed.value
    assert one(connection, "SELECT 1") == 1
    connection.execute("SELECT svm_drop('small')")
    assert not server.complaints()


# A session with so many megabytes left, and what it does with them.
LEFT_MB = [step / 8 for step in range(1, 65)] if LONG else [0.25, 1, 1.5, 2, 2.5, 3, 4, 6, 8]
LAST = {
    "import": "SELECT svm_import('again', content) FROM model_as_text",
    "train": "SELECT svm_train('words', 'good', ARRAY['a', 'text(t)'], 'trained')",
    "train alone": "SET pgsvm.workers = 0; SET pgsvm.cache_size = '1MB'; SELECT svm_train('words', 'good', ARRAY['a'], 'trained')",
    "predict": "SELECT sum(svm_decision('spoken', w)) FROM words AS w",
    "evaluate": "SELECT * FROM svm_evaluate('spoken', 'words')",
    "index": "SELECT svm_index('words', ARRAY['a', 'text(t)'], 'kept')",
    "metrics": "SELECT svm_auc(a, good), (svm_metrics(t, id::text)).rows FROM words",
}


@pytest.fixture(scope="module")
def words(server, database):
    with server.connect(database) as connection:
        connection.execute(
            "CREATE TABLE words AS SELECT id, sin(id) AS a, 'word' || id % 1000 AS t, sin(id) > 0.3 AS good FROM generate_series(1, 20000) AS id"
        )
        connection.execute("SELECT svm_train('words', 'good', ARRAY['a', 'text(t)'], 'spoken')")
        connection.execute("CREATE TABLE model_as_text AS SELECT svm_export('spoken', 'pgsvm') AS content")


@pytest.mark.usefixtures("words")
@pytest.mark.parametrize("what", LAST)
def test_memory_that_ends_is_an_ordinary_error(server, connect, what):
    ended = 0
    for megabytes in LEFT_MB:
        connection = connect()
        connection.execute("LOAD 'pgsvm'")
        pid = connection.info.backend_pid
        set_data_limit(pid, int(data_bytes(pid) + megabytes * MB))
        try:
            connection.execute(LAST[what])
        except psycopg.Error as error:
            assert error.sqlstate == "53200", f"{megabytes} MB: {error}"
            ended += 1
        connection.execute("ROLLBACK")
        assert one(connection, "SELECT 1") == 1, f"{megabytes} MB"
        connection.close()
    assert ended, "some were to end for want of memory"
    assert not server.complaints()


@pytest.fixture(scope="module")
def tables(server, database):
    with server.connect(database) as connection:
        make_tables(connection, rows=50_000)


@pytest.mark.usefixtures("tables")
def test_temp_file_limit_is_an_ordinary_error(connection, server):
    before = server.in_use()
    settings = TWO_WORKERS | {"pgsvm.cache_size": "1MB", "temp_file_limit": "1MB"}
    error = in_vain(connection, PHASES["training_out_of_core"][0], settings)
    assert isinstance(error, psycopg.errors.ConfigurationLimitExceeded), error
    assert not server.left_over(before)


@pytest.mark.usefixtures("tables")
def test_a_server_out_of_connections_goes_on_training(server, connect, connection):
    others = []
    with pytest.raises(psycopg.OperationalError, match="too many clients|remaining connection slots"):
        for _ in range(200):
            others.append(connect())
    try:
        configure(connection, TWO_WORKERS | {"pgsvm.cache_size": "1MB"})
        connection.execute(LEARNABLE)
        trained = model(connection, "m")
        assert (trained["rows_used"], trained["workers"]) == (50_000, 2)
    finally:
        for other in others:
            other.close()
        connection.execute("SELECT svm_drop('m')")


@pytest.mark.usefixtures("tables")
def test_lock_timeout_ends_a_training_that_waits_to_store(connect, connection):
    holder = connect(autocommit=False)
    holder.execute("LOCK TABLE svm_model IN SHARE ROW EXCLUSIVE MODE")
    error = in_vain(connection, PHASES["storing"][0], {"lock_timeout": "200ms"})
    assert isinstance(error, psycopg.errors.LockNotAvailable), error
    holder.rollback()
    assert model(connection, "m") is None


@pytest.mark.usefixtures("tables")
def test_a_session_idle_in_transaction_is_ended_with_what_it_trained(connect, connection):
    idle = connect(autocommit=False)
    configure(idle, {"idle_in_transaction_session_timeout": "200ms"})
    idle.execute(LEARNABLE)
    gone = "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = %s"
    wait_until(lambda: one(connection, gone, [idle.info.backend_pid]), what="the end of the session")
    assert model(connection, "m") is None
    with pytest.raises(psycopg.errors.IdleInTransactionSessionTimeout):
        idle.execute("SELECT 1")


CHANGES = ["DROP TABLE changing", "ALTER TABLE changing ALTER label TYPE text", "VACUUM FULL changing"]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.usefixtures("tables")
def test_a_table_that_is_changed_meanwhile_changes_when_the_training_has_ended(server, connect, run, change):
    trainer, changer, watcher = connect(), connect(), connect()
    watcher.execute("DROP TABLE IF EXISTS changing")
    watcher.execute("CREATE TABLE changing AS SELECT label, features FROM noisy")
    statement, settings = PHASES["training_out_of_core"]
    configure(trainer, TWO_WORKERS | settings | {"pgsvm.cache_size": "1MB"})
    training = run(trainer, statement.replace("noisy", "changing"))
    in_training = lambda: training.over or in_phase(server, watcher, training.pid, "training_out_of_core")  # noqa: E731
    wait_until(in_training, what="training")
    assert not training.over, training.end()
    changing = run(changer, change)
    waits = "SELECT count(*) = 1 FROM pg_locks WHERE pid = %s AND NOT granted"
    wait_until(lambda: training.over or one(watcher, waits, [changing.pid]), what="a change that waits")
    assert not training.over, training.end()
    # one that comes later waits behind the change, and sees the table as it is then
    late_session = connect()
    late = run(late_session, LEARNABLE.replace("noisy", "changing"))
    trainer.cancel_safe()
    assert isinstance(training.end(), psycopg.errors.QueryCanceled)
    assert changing.end() == []
    ended = late.end(60)
    if change.startswith("DROP"):
        assert isinstance(ended, psycopg.errors.UndefinedTable), ended
    else:
        assert ended == [("m",)]
        assert model(watcher, "m")["rows_used"] == 50_000
        watcher.execute("SELECT svm_drop('m')")
    assert (
        one(
            watcher,
            "SELECT count(*) FROM svm_weight AS w, svm_version AS v, svm_model AS m"
            " WHERE w.version_id = v.id AND v.model_id = m.id AND m.name = 'before'",
        )
        == SPREAD_CHUNKS
    )
