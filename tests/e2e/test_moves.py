"""Models where servers move under them: a standby is promoted, a cluster is copied or upgraded, a crash empties a table."""

import contextlib
import os
import shutil
import subprocess

import psycopg
import pytest

from harness.server import Server, new_database, programs_of, wait_until
from harness.sessions import Running, listen, model, one

POINTS = """
    CREATE {kind} TABLE points AS
    SELECT i, sin(i) AS x, cos(3 * i) AS y, sin(i) + cos(3 * i) > 0.1 * sin(7 * i) AS label
    FROM generate_series(1, 500) AS i
"""
# The hinge loss of what is stored, over the rows that are there now.
PRIMAL = """
    SELECT sum(greatest(0, 1 - (CASE WHEN label THEN 1 ELSE -1 END) * svm_decision('keyed', p))) FROM points AS p
"""
ANSWERS = "SELECT i, svm_decision('keyed', p), svm_decision('keyed@1', p) FROM points AS p ORDER BY i"
TRAIN = "SELECT svm_train('points', 'label', ARRAY['x', 'y'], 'keyed', key => 'i', loss => 'hinge', scale => 'none')"


def put_models(connection, kind=""):
    connection.execute("CREATE EXTENSION pgsvm")
    connection.execute(POINTS.format(kind=kind))
    for _ in range(2):
        connection.execute(TRAIN)


def check_certificate(connection):
    """The stored primal is at least the loss of the stored weights over the table, and its gap holds."""
    stored = model(connection, "keyed")
    assert 0 <= stored["gap"] <= 1e-3
    loss = one(connection, PRIMAL)
    assert loss <= stored["primal"] * (1 + 1e-6)
    connection.execute(TRAIN.replace("'keyed'", "'fresh'"))
    assert abs(model(connection, "fresh")["primal"] - stored["primal"]) <= 2e-3 * stored["primal"]
    connection.execute("SELECT svm_drop('fresh')")


def check_goes_on(connection):
    """The model follows its table, is trained, deployed and dropped."""
    connection.execute("UPDATE points SET x = -x WHERE i < 20")
    before = model(connection, "keyed")["version"]
    connection.execute("SELECT svm_refresh('keyed')")
    assert model(connection, "keyed")["version"] == before + 1
    check_certificate(connection)
    connection.execute("UPDATE points SET x = -x WHERE i < 20")
    assert connection.execute("TABLE svm_problems").fetchall() == []


@contextlib.contextmanager
def base_backup(server, name, *options):
    """A copy of the server's cluster, started on port 5433; yields a function that connects to it."""
    programs = programs_of(server.version)
    data = server.data_directory.parent / name
    shutil.rmtree(data, ignore_errors=True)
    where = ["-h", server.socket_directory, "-p", "5432", "-U", "postgres"]
    subprocess.run(
        [programs / "pg_basebackup", *where, "-D", data, "-X", "stream", "-c", "fast", "--no-sync", *options],
        check=True,
    )
    owner = server.data_directory.stat()
    for path in [data, *data.rglob("*")]:
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)
    control = [programs / "pg_ctl", "-D", data, "-w"]
    log = ["-l", data.parent / f"{name}.log", "-o", "-p 5433"]
    subprocess.run([*control, *log, "start"], check=True, stdout=subprocess.DEVNULL)
    try:
        yield (
            control,
            lambda database: psycopg.connect(
                host=server.socket_directory, port=5433, dbname=database, user="postgres", autocommit=True
            ),
        )
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], stdout=subprocess.DEVNULL)
        shutil.rmtree(data, ignore_errors=True)


def test_a_standby_is_promoted_with_models_in_use(server, database):
    with server.connect(new_database(server, "promoted")) as connection:
        put_models(connection)
        expected = connection.execute(ANSWERS).fetchall()
    with base_backup(server, "promoted", "-R") as (control, connect):
        using, watcher, prepared = connect("promoted"), connect("promoted"), connect("promoted")
        prepared.execute("PREPARE answers AS " + ANSWERS)
        assert prepared.execute("EXECUTE answers").fetchall() == expected
        assert watcher.execute("TABLE svm_problems").fetchall() == []
        running = Running(
            using,
            "SELECT count(DISTINCT svm_decision('keyed', p)) FROM points AS p, (SELECT pg_sleep(0.01) FROM generate_series(1, 100)) AS s",
        )
        subprocess.run([*control, "promote"], check=True, stdout=subprocess.DEVNULL)
        assert running.end() == [(500,)]
        assert prepared.execute("EXECUTE answers").fetchall() == expected
        wait_until(lambda: not one(watcher, "SELECT pg_is_in_recovery()"), what="the promotion")
        assert prepared.execute("EXECUTE answers").fetchall() == expected
        check_goes_on(watcher)
        assert prepared.execute("EXECUTE answers").fetchall() != expected
        for connection in (using, watcher, prepared):
            connection.close()


def test_a_copied_cluster_whose_rows_change_refreshes_truly(server):
    """Rows of the copy and of the original change in the same transaction numbers and places."""
    with server.connect(new_database(server, "cloned")) as connection:
        put_models(connection)
        connection.execute("VACUUM (FREEZE) points")
    with base_backup(server, "cloned") as (_, connect):
        with connect("cloned") as copy:
            check_goes_on(copy)
            copy.execute(
                "TRUNCATE points; INSERT INTO points SELECT i, cos(i), sin(i), cos(2 * i) > 0 FROM generate_series(1, 500) AS i"
            )
            # circles are not told apart by a line: nothing is learned, and only what is asked for is deployed
            copy.execute("""SELECT svm_refresh('keyed', '{"deploy": true}')""")
            check_certificate(copy)
        with server.connect("cloned") as original:
            check_goes_on(original)


def test_an_unlogged_table_is_empty_after_a_crash(server):
    own = Server(server.version, "unlogged")
    try:
        with own.connect(new_database(own, "unlogged")) as connection:
            put_models(connection, "UNLOGGED")
            expected = connection.execute(ANSWERS).fetchall()
            connection.execute("CREATE TABLE kept AS TABLE points")
        own.control("-m", "immediate", "stop")
        own.control("start")
        with own.connect("unlogged") as connection:
            assert one(connection, "SELECT count(*) FROM points") == 0
            assert connection.execute(ANSWERS.replace("points AS p", "kept AS p")).fetchall() == expected
            with pytest.raises(psycopg.Error) as refused:
                connection.execute("SELECT svm_refresh('keyed')")
            assert refused.value.diag.message_primary == "the source has no rows"
            assert model(connection, "keyed")["version"] == 2
            # other rows in the same places under the same keys
            connection.execute("INSERT INTO points SELECT i, y, x, label FROM kept ORDER BY i")
            connection.execute("SELECT svm_refresh('keyed')")
            check_certificate(connection)
    finally:
        own.stop()


def test_a_fast_stop_while_a_crash_is_recovered_from_loses_nothing(server):
    own = Server(server.version, "recovering")
    try:
        with own.connect(new_database(own, "recovering")) as connection:
            put_models(connection)
            for statement in (
                "ALTER SYSTEM SET checkpoint_timeout = '1h'",
                "SELECT pg_reload_conf()",
                "CREATE TABLE much (x text)",
            ):
                connection.execute(statement)
            connection.execute("CHECKPOINT")
            connection.execute(TRAIN)
            expected = connection.execute(ANSWERS).fetchall()
        stopped = []
        # the recovery may be over before the stop comes
        while len(stopped) < 5 and not any("recovery" in told for told in stopped):
            if stopped:
                own.control("start")
            with own.connect("recovering") as connection:
                connection.execute("INSERT INTO much SELECT repeat('x', 500) FROM generate_series(1, 200000)")
            own.control("-m", "immediate", "stop")
            pg_ctl = [programs_of(own.version) / "pg_ctl", "-D", own.data_directory, "-l", own.log_file]
            subprocess.run([*pg_ctl, "-W", "start"], check=True, stdout=subprocess.DEVNULL)
            wait_until(lambda: "crash recovery" in state(own) or "in production" in state(own), what="the recovery")
            own.control("-m", "fast", "stop")
            stopped.append(state(own))
        assert any("recovery" in told for told in stopped), stopped
        own.control("start")
        with own.connect("recovering") as connection:
            assert connection.execute(ANSWERS).fetchall() == expected
            assert model(connection, "keyed")["version"] == 3
            check_goes_on(connection)
    finally:
        own.stop()


def state(server):
    """The cluster's state as pg_controldata has it."""
    told = subprocess.run(
        [programs_of(server.version) / "pg_controldata", server.data_directory],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return next(line for line in told.stdout.splitlines() if line.startswith("Database cluster state"))


def test_pg_dumpall_brings_models_and_the_roles_that_own_them(server):
    where = ["-p", "5432", "-U", "postgres", "-h"]
    programs = programs_of(server.version)
    with contextlib.ExitStack() as stack:
        old, new = (Server(server.version, name) for name in ("dumpall", "restoreall"))
        stack.callback(old.stop)
        stack.callback(new.stop)
        with old.connect(new_database(old, "all")) as connection:
            connection.execute("CREATE ROLE all_owner LOGIN")
            put_models(connection)
            connection.execute("GRANT SELECT ON points TO all_owner; UPDATE svm_model SET owner = 'all_owner'")
            expected, stored = connection.execute(ANSWERS).fetchall(), rows(connection)
        dump = subprocess.run(
            [programs / "pg_dumpall", *where, old.socket_directory], check=True, stdout=subprocess.PIPE
        )
        subprocess.run(
            [programs / "psql", *where, new.socket_directory, "-X", "-q", "-d", "postgres"],
            input=dump.stdout,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        with new.connect("all", user="all_owner") as connection:
            assert connection.execute(ANSWERS).fetchall() == expected
        with new.connect("all") as connection:
            assert rows(connection) == stored
            check_goes_on(connection)


MORE_MODELS = """
    ALTER TABLE points ADD body text GENERATED ALWAYS AS ('word' || (i % 7)::text || ' or ' || (i % 5)::text || 'th') STORED;
    SELECT svm_train('points', 'label', '{x, y}', 'curved', kernel => 'rbf', key => 'i');
    SELECT svm_train('points', 'label', '{x, y}', 'exact', kernel => 'rbf', gamma => 1, options => '{"method": "exact"}');
    SELECT svm_train('points', 'label', '{x, text(body)}', 'texts');
    SELECT svm_index('points', '{x, y, text(body)}', 'kept');
"""
MORE_ANSWERS = """
    SELECT i, svm_decision('curved', p), svm_decision('exact', p), svm_decision('texts', p) FROM points AS p ORDER BY i
"""
INDEXES = "SELECT name, relation, columns, rows, bytes, owner FROM svm_indexes"


def used_of_index(connection):
    """Rows that a training takes from the index; the model must be the one that the table gives."""
    told = listen(connection)
    train = "SELECT svm_train('points', 'label', '{x, y, text(body)}', %s, options => %s)"
    for name, options in (("by_index", '{"index": "kept"}'), ("by_table", "{}")):
        connection.execute(train, [name, options])
    (line,) = [it.text for it in told if " by index kept" in it.text]
    weights = [
        connection.execute("SELECT * FROM svm_weights(%s)", [name]).fetchall() for name in ("by_index", "by_table")
    ]
    assert weights[0] == weights[1]
    connection.execute("SELECT svm_drop('by_index'), svm_drop('by_table')")
    return int(line.split(" by index kept")[0].split()[-1])


def older_majors():
    """Majors whose server tree is there, older than the one under test."""
    tested = int(os.environ.get("PGSVM_PG", "15"))
    return [major for major in (15, 16, 17) if major < tested]


@pytest.mark.parametrize("old", older_majors())
def test_pg_upgrade_keeps_models_and_their_ids(server, old):
    tree = programs_of(server.version).parents[1] / str(old) / "bin"
    if not (tree / "pg_upgrade").exists() or not installed(tree):
        pytest.skip(f"no server tree of {old} with the extension")
    from_server = Server(old, f"to{server.version}")
    try:
        with from_server.connect(new_database(from_server, "upgraded")) as connection:
            put_models(connection)
            connection.execute(MORE_MODELS)
            connection.execute("CREATE ROLE upgraded_reader; SELECT svm_grant('keyed', 'upgraded_reader')")
            expected = [connection.execute(query).fetchall() for query in (ANSWERS, MORE_ANSWERS)]
            indexes = connection.execute(INDEXES).fetchall()
            stored = rows(connection)
            forget_column_versions(connection)
        from_server.control("-m", "fast", "stop")
        with upgraded(server.version, from_server) as connect:
            with connect("upgraded") as connection:
                assert rows(connection) == stored
                assert [connection.execute(query).fetchall() for query in (ANSWERS, MORE_ANSWERS)] == expected
                assert connection.execute("TABLE svm_problems").fetchall() == []
                assert model(connection, "keyed")["granted_to"] == ["upgraded_reader"]
                # files, and so what indexes keep of rows, come along; but these are another cluster's rows
                assert connection.execute(INDEXES).fetchall() == indexes
                assert used_of_index(connection) == 0
                connection.execute("SELECT svm_refresh_index('kept')")
                assert used_of_index(connection) == 500
                check_goes_on(connection)
                connection.execute("SELECT svm_refresh('curved')")
                assert model(connection, "curved")["version"] == 2
                for name in ("keyed", "curved", "exact", "texts"):
                    connection.execute("SELECT svm_drop(%s)", [name])
                assert {len(kept) for kept in rows(connection).values()} == {0}
    finally:
        from_server.stop()


def forget_column_versions(connection):
    """Debian's 15.20 notes a version with each column of a table, in an option that no other major version reads: its
    pg_upgrade to any of them stops at the first table, whoever made that."""
    connection.execute("SET allow_system_table_mods = on")
    connection.execute("UPDATE pg_attribute SET attoptions = NULL WHERE attoptions::text LIKE '{pg_attver=%}'")


def installed(tree):
    folder = subprocess.run(
        [tree / "pg_config", "--sharedir"], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()
    return os.path.exists(f"{folder}/extension/pgsvm--0.3.0.sql")


def rows(connection):
    tables = [
        "svm_model",
        "svm_permission",
        "svm_version",
        "svm_head",
        "svm_weight",
        "svm_key",
        "svm_key_dual",
        "svm_log",
        "svm_source",
        "svm_landmark",
    ]
    # oids of roles are another cluster's own
    fields = "to_jsonb(stored) - '{owner_oid,grantee_oid}'::text[]"
    query = "SELECT {} FROM {} AS stored"
    return {table: sorted(map(str, connection.execute(query.format(fields, table)).fetchall())) for table in tables}


@contextlib.contextmanager
def upgraded(version, from_server):
    """pg_upgrade of the stopped server's cluster; yields a function that connects to the new one."""
    new, old = programs_of(version), programs_of(from_server.version)
    area = from_server.data_directory.parent / "upgraded"
    shutil.rmtree(area, ignore_errors=True)
    data, work = area / "data", area / "work"
    work.mkdir(parents=True)
    checksums = ["--no-data-checksums"] if version >= 18 else []
    subprocess.run(
        [
            new / "initdb",
            "-D",
            data,
            "--username=postgres",
            "--auth=trust",
            "--encoding=UTF8",
            "--no-locale",
            "--no-sync",
            *checksums,
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    owner = from_server.data_directory.stat()
    os.chown(area, owner.st_uid, owner.st_gid)
    os.chown(work, owner.st_uid, owner.st_gid)
    as_owner = []
    if os.getuid() != owner.st_uid:
        as_owner = ["setpriv", f"--reuid={owner.st_uid}", f"--regid={owner.st_gid}", "--clear-groups"]
    ended = subprocess.run(
        [
            *as_owner,
            new / "pg_upgrade",
            "-b",
            old,
            "-B",
            new,
            "-d",
            from_server.data_directory,
            "-D",
            data,
            "-U",
            "postgres",
            "-s",
            work,
            "-O",
            "-c jit=off",
            "--no-sync",
        ]
        if version >= 17
        else [
            *as_owner,
            new / "pg_upgrade",
            "-b",
            old,
            "-B",
            new,
            "-d",
            from_server.data_directory,
            "-D",
            data,
            "-U",
            "postgres",
            "-s",
            work,
        ],
        cwd=work,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout
    control = [new / "pg_ctl", "-D", data, "-w"]
    subprocess.run(
        [*control, "-l", area / "log", "-o", f"-p 5434 -c listen_addresses='' -c jit=off -k {work}", "start"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    try:
        yield lambda database: psycopg.connect(
            host=str(work), port=5434, dbname=database, user="postgres", autocommit=True
        )
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], stdout=subprocess.DEVNULL)
        shutil.rmtree(area, ignore_errors=True)
