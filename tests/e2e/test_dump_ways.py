"""Every way in which pg_dump and pg_restore bring models over: they predict the same there, or are told as what they are."""

import re
import shlex
import subprocess

import psycopg
import pytest

from harness.server import new_database, programs_of
from harness.sessions import model, one

SCHEMA = "Learned"

ANSWERS = """
    SELECT i, svm_decision('big', p), svm_decision('big@1', p), svm_classify('keyed', p), svm_classify('three', p),
        svm_probability('three', p, 'a'), svm_decision('curved', p), svm_interval('number', p)
    FROM points AS p ORDER BY i
"""
TABLES = [
    "svm_model",
    "svm_permission",
    "svm_version",
    "svm_head",
    "svm_weight",
    "svm_dual",
    "svm_key",
    "svm_key_dual",
    "svm_log",
    "svm_source",
    "svm_landmark",
]


class Place:
    """A database with the extension in a schema of its own, and pg_dump and pg_restore for it."""

    def __init__(self, server, name):
        self.server = server
        self.name = name

    def connect(self, **more):
        return self.server.connect(self.name, options=f'-c search_path="{SCHEMA}",public', **more)

    def run(self, program, *arguments, check=True):
        where = ["-h", self.server.socket_directory, "-p", "5432", "-U", "postgres"]
        ended = subprocess.run(
            [programs_of(self.server.version) / program, *where, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert not check or ended.returncode == 0, ended.stderr
        return ended

    def dump(self, file, *options):
        self.run("pg_dump", *options, "-f", file, self.name)
        return file

    def restore(self, file, *options, check=True):
        return self.run("pg_restore", *options, "-d", self.name, file, check=check)


def rows(connection):
    """Everything stored, table by table."""
    return {table: sorted(map(str, connection.execute(f"TABLE {table}").fetchall())) for table in TABLES}


@pytest.fixture(scope="module")
def source(server):
    """Models of every kind: several versions, many chunks, keys, duals, probabilities, a grant."""
    new_database(server, "dumped")
    place = Place(server, "dumped")
    with place.connect() as connection:
        connection.execute(f'CREATE SCHEMA "{SCHEMA}"; CREATE EXTENSION pgsvm SCHEMA "{SCHEMA}"')
        connection.execute("DROP ROLE IF EXISTS dump_reader")
        connection.execute(f'CREATE ROLE dump_reader LOGIN; GRANT USAGE ON SCHEMA "{SCHEMA}" TO dump_reader')
        connection.execute(
            """
            CREATE TABLE public.points AS
            SELECT i, sin(i) AS x, cos(3 * i) AS y, ARRAY[1 + i % 3, 100000 + i % 9] AS idx, ARRAY[sin(i), 1]::real[] AS val,
                sin(i) > 0 AS label, (ARRAY['a', 'b', 'c'])[1 + (i % 3)] AS kind
            FROM generate_series(1, 500) AS i;
            ALTER TABLE public.points ADD PRIMARY KEY (i);
            CREATE TABLE public.scored (i int, decision float8 GENERATED ALWAYS AS (i) STORED);
            """
        )
        for _ in range(2):
            connection.execute("SELECT svm_train('points', 'label', ARRAY['sparse(idx, val)'], 'big')")
        connection.execute(
            """
            SELECT svm_train('points', 'label', ARRAY['x', 'y'], 'keyed', key => 'i', options => '{"duals": true}');
            SELECT svm_train('points', 'kind', ARRAY['x', 'y', 'idx'], 'three', probability => true);
            SELECT svm_train_query('SELECT i, x, y, label FROM public.points', 'label', ARRAY['x', 'y'], 'asked', key => 'i');
            SELECT svm_train('points', 'label', ARRAY['x', 'y'], 'curved', kernel => 'rbf', rank => 20);
            SELECT svm_train('points', 'y', ARRAY['x'], 'number', options => '{"intervals": true}');
            SELECT svm_grant('three', 'dump_reader');
            """
        )
    return place


@pytest.fixture
def target(server):
    new_database(server, "filled")
    return Place(server, "filled")


def check_same(source, target):
    with source.connect() as one_way, target.connect() as other_way:
        assert rows(other_way) == rows(one_way)
        assert other_way.execute(ANSWERS).fetchall() == one_way.execute(ANSWERS).fetchall()
        with other_way.transaction(force_rollback=True):
            other_way.execute(
                "SELECT svm_refresh('keyed'), svm_refresh('asked'), svm_train('points', 'label', ARRAY['x'], 'big')"
            )
            assert model(other_way, "big")["version"] == 3
            other_way.execute(
                "SELECT svm_drop(name) FROM unnest('{three,big,keyed,asked,curved,number}'::text[]) AS name"
            )
            assert {table: kept for table, kept in rows(other_way).items() if kept} == {}
    with target.connect(user="dump_reader") as reader:
        assert reader.execute("SELECT name FROM svm_model").fetchall() == [("three",)]


@pytest.fixture(scope="module")
def archive(source, tmp_path_factory):
    """Dumps of the source: an archive for each format."""
    folder = tmp_path_factory.mktemp("dumps")
    made = {format: source.dump(folder / format, "-F", format) for format in ("custom", "directory", "tar")}
    made["jobs"] = source.dump(folder / "jobs", "-F", "directory", "-j", "4")
    return made


@pytest.mark.parametrize("format", ["custom", "directory", "jobs"])
@pytest.mark.parametrize("jobs", [1, 2, 3, 4, 8])
def test_any_number_of_jobs(source, target, archive, format, jobs):
    target.restore(archive[format], "-j", str(jobs), "--exit-on-error")
    check_same(source, target)


def test_tar(source, target, archive):
    target.restore(archive["tar"], "--exit-on-error")
    check_same(source, target)


@pytest.mark.parametrize("options", [[], ["--single-transaction"], ["-j", "4"]])
@pytest.mark.parametrize("triggers", [[], ["--disable-triggers"]])
def test_data_only(source, target, archive, options, triggers):
    target.restore(archive["custom"], "--schema-only", "--exit-on-error")
    target.restore(archive["custom"], "--data-only", "--exit-on-error", *options, *triggers)
    check_same(source, target)


@pytest.mark.parametrize("jobs", ["1", "4"])
def test_section_by_section(source, target, archive, jobs):
    for section in ("pre-data", "data", "post-data"):
        target.restore(archive["directory"], f"--section={section}", "-j", jobs, "--exit-on-error")
    check_same(source, target)


def test_inserts(source, target, tmp_path):
    target.restore(source.dump(tmp_path / "inserts", "-F", "custom", "--inserts", "--rows-per-insert=3"), "-j", "4")
    check_same(source, target)


def test_table_by_table_in_any_order(source, target, archive):
    target.restore(archive["custom"], "--schema-only", "--exit-on-error")
    target.restore(archive["custom"], "--data-only", "--table=points", "--exit-on-error")
    for table in reversed(TABLES):
        target.restore(archive["custom"], "--data-only", f"--table={table}", "--exit-on-error")
    check_same(source, target)


def test_a_dump_of_other_tables_leaves_the_extension_out(source, target, tmp_path):
    target.restore(source.dump(tmp_path / "one", "-F", "custom", "-t", "points"), "--exit-on-error")
    with target.connect() as connection:
        assert one(connection, "SELECT count(*) FROM points") == 500
        assert one(connection, "SELECT count(*) FROM pg_extension WHERE extname = 'pgsvm'") == 0


def test_a_dump_of_other_tables_and_the_extension_brings_models(source, target, tmp_path):
    with target.connect() as connection:
        connection.execute(f'CREATE SCHEMA "{SCHEMA}"; GRANT USAGE ON SCHEMA "{SCHEMA}" TO dump_reader')
    dump = source.dump(tmp_path / "both", "-F", "custom", "-t", "points", "-e", "pgsvm")
    target.restore(dump, "-j", "4", "--exit-on-error")
    check_same(source, target)


def test_over_a_database_with_other_models(source, target, archive):
    with target.connect() as connection:
        connection.execute(f'CREATE SCHEMA "{SCHEMA}"; CREATE EXTENSION pgsvm SCHEMA "{SCHEMA}"')
        connection.execute("CREATE TABLE mine AS SELECT i AS x, i > 5 AS y FROM generate_series(1, 10) AS i")
        connection.execute("SELECT svm_train('mine', 'y', model => 'mine', key => 'x', features => ARRAY['x'])")
        before = connection.execute(
            "SELECT svm_decision('mine', ARRAY[3]), (SELECT count(*) FROM svm_weight)"
        ).fetchone()
        target.restore(archive["custom"], "-j", "4", "--data-only", "--table=points", check=False)
        target.restore(archive["custom"], "-j", "4", check=False)
        assert connection.execute(ANSWERS).fetchall() == source.connect().execute(ANSWERS).fetchall()
        assert one(connection, "SELECT svm_decision('mine', ARRAY[3])") == before[0]
        assert connection.execute("SELECT name FROM svm_models ORDER BY name").fetchall() == [
            ("asked",),
            ("big",),
            ("curved",),
            ("keyed",),
            ("mine",),
            ("number",),
            ("three",),
        ]


def test_a_name_that_is_taken_is_told_and_nothing_is_mixed_up(source, target, archive):
    with target.connect() as connection:
        connection.execute(f'CREATE SCHEMA "{SCHEMA}"; CREATE EXTENSION pgsvm SCHEMA "{SCHEMA}"')
        connection.execute("CREATE TABLE mine AS SELECT i AS x, i > 5 AS y FROM generate_series(1, 10) AS i")
        connection.execute("SELECT svm_train('mine', 'y', model => 'big')")
        before = connection.execute(
            "SELECT svm_decision('big', ARRAY[3]), svm_internal.svm_version_id('big')"
        ).fetchone()
        told = target.restore(archive["custom"], "-j", "4", check=False)
        assert told.returncode == 1
        assert "Key (name)=(big) already exists" in told.stderr
        answer = "SELECT svm_decision('big', ARRAY[3]), svm_internal.svm_version_id('big')"
        assert connection.execute(answer).fetchone() == before
        assert one(connection, "SELECT count(*) FROM svm_versions WHERE name = 'big'") == 1
        # what to do
        connection.execute("SELECT svm_rename('big', 'mine')")
        target.restore(archive["custom"], "--data-only", "--table=svm_model", "--exit-on-error")
        assert connection.execute(ANSWERS).fetchall() == source.connect().execute(ANSWERS).fetchall()
        assert connection.execute(answer.replace("'big'", "'mine'")).fetchone() == before


@pytest.mark.parametrize("times", [2])
def test_the_same_dump_again_changes_nothing(source, target, archive, times):
    target.restore(archive["custom"], "-j", "4", "--exit-on-error")
    for _ in range(times - 1):
        told = target.restore(archive["custom"], "-j", "4", "--data-only", check=False)
        assert "already exists" in told.stderr
    check_same(source, target)


def restored_without(target, archive, table):
    target.restore(archive["custom"], "--schema-only", "--exit-on-error")
    for other in ["points", *TABLES]:
        if other != table:
            target.restore(archive["custom"], "--data-only", f"--table={other}", "--exit-on-error")


LACKING = {
    "svm_head": (
        "SELECT svm_decision('big', p) FROM points AS p",
        'model "big@2" is not whole: it has 0 of 1 rows in svm_head',
    ),
    "svm_weight": (
        "SELECT svm_decision('big', p) FROM points AS p",
        'model "big@2" is not whole: it has 0 of 2 rows in svm_weight',
    ),
    "svm_landmark": (
        "SELECT svm_decision('curved', p) FROM points AS p",
        'model "curved@1" is not whole: it has 0 of 20 rows in svm_landmark',
    ),
    "svm_key": ("SELECT svm_refresh('keyed')", 'model "keyed@1" is not whole: it has 0 of 1 rows in svm_key'),
    "svm_key_dual": ("SELECT svm_refresh('keyed')", 'model "keyed@1" is not whole: it has 0 of 1 rows in svm_key_dual'),
    "svm_source": ("SELECT svm_refresh('asked')", 'model "asked@1" is not whole: it has 0 of 1 rows in svm_source'),
}


@pytest.mark.parametrize("table", LACKING)
def test_a_model_that_came_in_part_is_told_until_the_rest_is_there(source, target, archive, table):
    restored_without(target, archive, table)
    statement, message = LACKING[table]
    with target.connect() as connection:
        for _ in range(2):
            with pytest.raises(psycopg.errors.DataCorrupted) as refused:
                connection.execute(statement)
            assert refused.value.diag.message_primary == message
            hint = refused.value.diag.message_hint
        # what it says is typed, for the table that it names
        program, *options = shlex.split(
            re.search(r"pg_restore .* ARCHIVE", hint).group().replace("ARCHIVE", str(archive["custom"]))
        )
        assert f"--table={table}" in options
        target.run(program, *options)
        connection.execute(statement)
    if "refresh" not in statement:
        check_same(source, target)
