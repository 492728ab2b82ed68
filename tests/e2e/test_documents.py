"""The documents say what is there: tutorial and expected output agree, so do the reference and the catalog, and the statements of
each page run."""

import re
import subprocess

import pytest

from harness.pages import script
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
    folders = ("docs", "crates", "src", "sql", "tests")
    documents = [*ROOT.glob("*.md"), *(page for folder in folders for page in sorted((ROOT / folder).rglob("*.md")))]
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_statements_of_each_page_run(server, database, page):
    name = new_database(server, f"page_{page.stem}")
    where = ["-h", server.socket_directory, "-p", "5432", "-U", "postgres", "-d", name]
    done = subprocess.run(
        [programs_of(server.version) / "psql", *where, "-X", "-q", "-v", "ON_ERROR_STOP=1"],
        input=script(page),
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
