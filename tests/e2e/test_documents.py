"""The documents say what is there: tutorial and expected output agree, and so do the README and the catalog."""

import re

import pytest

from harness.server import ROOT

REFERENCE = [ROOT / "README.md", *sorted((ROOT / "docs" / "reference").glob("*.md"))]
# what says what there is: the README and the pages behind it
README = "".join(page.read_text() for page in REFERENCE)
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
    """The cells of each row of the first table behind `text` in the README."""
    rows = re.search(r"^\|.*?(?=^[^|]|\n\n)", README[README.index(text) :], flags=re.MULTILINE | re.DOTALL)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in rows.splitlines()[2:]]


def names(cell):
    return re.findall(r"`([\w.]+)`", cell)


def test_the_tutorial_shows_the_sql_that_is_run():
    assert blocks("sql") == significant((ROOT / "docs" / "tutorial.sql").read_text())


def test_the_tutorial_shows_the_output_that_is_expected():
    expected = ROOT / "tests" / "expected" / "tutorial.out"
    assert blocks("|sql") == significant(expected.read_text())


def test_links_between_documents_lead_somewhere():
    documents = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for document in documents:
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


@pytest.mark.parametrize("function", ["svm_train", "svm_train_query"])
def test_the_readme_lists_every_argument_with_its_type(connection, function):
    signature = connection.execute(f"SELECT pg_get_function_arguments('{function}'::regproc)").fetchone()[0]
    arguments = []
    for argument in signature.split(", "):
        declaration, _, default = argument.partition(" DEFAULT ")
        name, kind = declaration.split(" ", 1)
        # declared defaults say that an argument is not given; what holds then stands in the table
        assert re.sub(r"::[\w \[\]]+$", "", default) in ("", "NULL", "'NaN'")
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
    assert sorted(names(row[0])[0] for row in table_after("## Settings")) == sorted(settings - OF_TESTS)


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
