"""The documents say what is there: tutorial and expected output agree, so do the reference and the catalog, and the statements of
each page run."""

import re
import subprocess

import pytest

from harness.server import ROOT, new_database, programs_of

REFERENCE = [ROOT / "README.md", *sorted((ROOT / "docs" / "reference").glob("*.md"))]
# what says what there is: the README and the pages behind it
README = "".join(page.read_text() for page in REFERENCE)
# whose statements run, too
PAGES = [*REFERENCE, ROOT / "docs" / "beyond-one-machine.md"]
TUTORIAL = ROOT / "docs" / "tutorial.md"
# Settings that only the feature in_backend_tests brings.
OF_TESTS = {"pgsvm.fail_allocation", "pgsvm.large_allocations", "pgsvm.trace_allocations"}
TYPE_NAMES = {"double precision": "float8", "integer": "int", "timestamp with time zone": "timestamptz"}


def blocks(language):
    """The lines of the tutorial's fenced blocks whose language matches, in order."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", TUTORIAL.read_text(), flags=re.MULTILINE | re.DOTALL)
    return significant("".join(text for name, text in found if re.fullmatch(language, name)))


def significant(text):
    """Lines without blank ones, comments and trailing blanks."""
    lines = (line.rstrip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("-- ")]


def table_after(text):
    """The cells of each row of the first table behind `text` in the README and the reference."""
    rows = re.search(r"^\|.*?(?=^[^|]|\n\n)", README[README.index(text) :], flags=re.MULTILINE | re.DOTALL)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in rows.splitlines()[2:]]


def names(cell):
    return re.findall(r"`([\w.]+)`", cell)


def test_the_tutorial_shows_the_sql_that_is_run():
    assert blocks("sql") == significant((ROOT / "docs" / "tutorial.sql").read_text())


def test_the_tutorial_shows_the_output_that_is_expected():
    expected = ROOT / "tests" / "expected" / "tutorial.out"
    assert blocks("|sql") == significant(expected.read_text())


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().split()) < 2500


def test_links_between_documents_lead_somewhere():
    documents = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]
    for document in documents:
        for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)", document.read_text()):
            page = document.parent / target if target else document
            assert page.exists(), f"{document.name} links to {target}"
            if anchor and page.suffix == ".md":
                assert anchor in anchors(page), f"{document.name} links to {target}#{anchor}"


def anchors(page):
    """The names by which GitHub links to the headings of a page."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = [re.sub(r"\]\([^)]*\)", "]", title) for title in re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_library_can_open_no_connection_and_start_no_program(server):
    config = programs_of(server.version) / "pg_config"
    where = subprocess.run([config, "--pkglibdir"], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
    listed = subprocess.run(["nm", "-D", "-u", f"{where}/pgsvm.so"], check=True, text=True, stdout=subprocess.PIPE)
    imported = {line.split()[-1].split("@")[0] for line in listed.stdout.splitlines()}
    assert "errstart" in imported, "PostgreSQL's functions were to be seen"
    assert not imported & {
        "socket",
        "connect",
        "getaddrinfo",
        "bind",
        "listen",
        "fork",
        "execve",
        "posix_spawn",
        "system",
        "popen",
    }


# What the pages take for granted.
GRANTED = """
CREATE EXTENSION IF NOT EXISTS pgsvm;
DO $$ BEGIN CREATE ROLE analyst; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
CREATE TABLE points AS SELECT i % 97 / 97.0 AS x, i % 89 / 89.0 AS y, CASE WHEN 2 * (i % 97) > i % 89 + 40 THEN 'in' ELSE 'out' END AS side
    FROM generate_series(1, 2000) AS i;
CREATE TABLE circles AS SELECT a, b, a * a + b * b < 20 AS ring
    FROM (SELECT i % 13 - 6 AS a, i % 11 - 5 AS b FROM generate_series(1, 1000) AS i) AS drawn;
CREATE TABLE people AS SELECT id, id % 60 + 18 AS age, CASE WHEN id % 60 + id % 7 > 40 THEN '>50K' ELSE '<=50K' END AS income
    FROM generate_series(1, 2000) AS id;
CREATE TABLE people_of_next_year AS SELECT * FROM people WHERE id % 3 = 0;
CREATE TABLE customers AS SELECT id, id % 60 + 18 AS age, (ARRAY['basic', 'pro', 'team'])[1 + id % 3] AS plan, 'c' || id % 20 AS country,
    date '2024-01-01' + id % 700 AS joined, id % 60 + id % 7 > 35 AS churned FROM generate_series(1, 3000) AS id;
ALTER TABLE customers ADD PRIMARY KEY (id);
CREATE TABLE new_customers AS SELECT id + 3000 AS id, age, plan, country, joined FROM customers WHERE id < 20;
CREATE TABLE messages AS SELECT (ARRAY['win a free prize', 'the meeting moved', 'your parcel is here'])[1 + i % 3] || ' today ' || i % 50 AS body,
    (ARRAY['offers', 'work', 'post'])[1 + i % 3] AS topic, i % 3 = 0 AS spam FROM generate_series(1, 2000) AS i;
-- an array where pgvector's type would be, which may not be installed (tests/sql/pgvector.sql has its types)
CREATE TABLE documents AS SELECT ARRAY[i % 7, i % 5, i % 3]::real[] AS embedding, CASE WHEN i % 7 > i % 5 THEN 'art' ELSE 'law' END AS topic
    FROM generate_series(1, 500) AS i;
CREATE TABLE events AS SELECT ARRAY[i % 31 / 31.0, i % 29 / 29.0]::float4[] AS x, i % 31 + i % 7 > i % 29 AS label FROM generate_series(1, 2000) AS i;
"""
# a statement's first word, where the other fenced blocks show how a function is declared
STATEMENT = re.compile(r"(SELECT|CREATE|INSERT|UPDATE|DELETE|ALTER|GRANT|REVOKE|SET|WITH|--)\b|--")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_statements_of_each_page_run(server, database, page):
    # the README makes the extension itself, and the points
    granted = (
        re.sub(r"CREATE (TABLE points|EXTENSION) .*?;\n", "", GRANTED, flags=re.DOTALL)
        if page.name == "README.md"
        else GRANTED
    )
    name = new_database(server, f"page_{page.stem}")
    where = ["-h", server.socket_directory, "-p", "5432", "-U", "postgres", "-d", name]
    done = subprocess.run(
        [programs_of(server.version) / "psql", *where, "-X", "-q", "-v", "ON_ERROR_STOP=1"],
        input=granted + "".join(statements(page.read_text())),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, done.stdout
    said = rounded(done.stdout)
    for notice in re.findall(r"^NOTICE: [^…\n]*$", page.read_text(), flags=re.MULTILINE):
        assert rounded(notice) in said, notice


def rounded(text):
    """The text with shares to two digits: the others depend on the rows that were drawn."""
    return re.sub(r"\b(0\.\d\d)\d+", r"\1", text)


def statements(text):
    """The blocks of a page that can be run: none of their parts is left to the reader."""
    blocks = re.findall(r"^```sql\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [block for block in blocks if STATEMENT.match(block) and "…" not in block]


@pytest.mark.parametrize("function", ["svm_train", "svm_train_query"])
def test_the_readme_lists_every_argument_with_its_type(connection, function):
    signature = connection.execute(f"SELECT pg_get_function_arguments('{function}'::regproc)").fetchone()[0]
    arguments = []
    for argument in signature.split(", "):
        declaration, _, default = argument.partition(" DEFAULT ")
        name, kind = declaration.split(" ", 1)
        # declared defaults say that an argument is not given; what holds then stands in the table
        assert re.sub(r"::[\w \[\]]+$", "", default) in ("", "NULL", "'default'")
        arguments.append((name, TYPE_NAMES.get(kind, kind)))
    rows = [(names(row[0])[0], row[1]) for row in table_after("what holds where nothing is given")]
    other = "query" if function == "svm_train" else "relation"
    assert [row for row in rows if row[0] != other] == arguments


@pytest.mark.parametrize("view", ["svm_models", "svm_versions", "svm_progress"])
def test_the_readme_lists_every_column_of_the_views(connection, view):
    columns = [column.name for column in connection.execute(f"SELECT * FROM {view}").description]
    written = [name for row in table_after(f"The view **`{view}`**") for name in names(row[0])]
    assert sorted(written) == sorted(columns)


def test_the_readme_lists_every_setting(connection):
    connection.execute("LOAD 'pgsvm'")
    settings = {name for (name,) in connection.execute("SELECT name FROM pg_settings WHERE name LIKE 'pgsvm.%'")}
    assert sorted(names(row[0])[0] for row in table_after("# Settings")) == sorted(settings - OF_TESTS)


def test_the_readme_lists_every_function_and_table(connection):
    members = connection.execute("""
        SELECT coalesce(p.proname, c.relname)
        FROM pg_depend AS d
        JOIN pg_extension AS e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
        LEFT JOIN pg_proc AS p ON p.oid = d.objid AND d.classid = 'pg_proc'::regclass
        LEFT JOIN pg_class AS c ON c.oid = d.objid AND d.classid = 'pg_class'::regclass AND c.relkind IN ('r', 'v')
        WHERE e.extname = 'pgsvm' AND coalesce(p.proname, c.relname) IS NOT NULL
        -- what nobody calls
        AND coalesce(p.pronamespace, c.relnamespace) <> 'svm_internal'::regnamespace
        AND coalesce(obj_description(p.oid, 'pg_proc'), '') NOT LIKE 'part of %'""").fetchall()
    missing = {name for (name,) in members if name not in README}
    assert not missing
