"""The documents say what happens: docs/tutorial.md shows docs/tutorial.sql and the output that its test expects."""

import re

from harness.server import ROOT

TUTORIAL = ROOT / "docs" / "tutorial.md"


def blocks(language):
    """The lines of the tutorial's fenced blocks whose language matches, in order."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", TUTORIAL.read_text(), flags=re.MULTILINE | re.DOTALL)
    return significant("".join(text for name, text in found if re.fullmatch(language, name)))


def significant(text):
    """Lines without blank ones, comments and trailing blanks."""
    lines = (line.rstrip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("-- ")]


def test_the_tutorial_shows_the_sql_that_is_run():
    assert blocks("sql") == significant((ROOT / "docs" / "tutorial.sql").read_text())


def test_the_tutorial_shows_the_output_that_is_expected():
    expected = ROOT / "tests" / "expected" / "tutorial.out"
    assert blocks("|sql") == significant(expected.read_text())


def test_links_between_documents_lead_somewhere():
    documents = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    for document in documents:
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"
