"""Every trainer with every capability: done, refused by the entry of src/combinations that composition.txt names, or told
by a NOTICE to have no effect. `PGSVM_RECORD=1 scripts/e2e-tests 15 e2e/test_composition.py` writes composition.txt anew.
"""

import os
from pathlib import Path

import pytest

from harness.composition import CAPABILITIES, DATA, DONE, TEMP_FILE_LIMIT, TRAINERS, Asker, cells, read, written

EXPECTED = Path(__file__).with_name("composition.txt")
RECORD = bool(os.environ.get("PGSVM_RECORD"))


@pytest.fixture(scope="module")
def asker(server, database):
    with server.connect(database) as connection:
        connection.execute(DATA)
        yield Asker(connection)


def test_each_cell_is_done_or_answered_by_its_entry_of_the_table(asker):
    answers = {(capability, name): asker.answer(statements) for capability, name, statements in cells()}
    if RECORD:
        EXPECTED.write_text(written(answers))
    expected = read(EXPECTED.read_text())
    wrong = [
        f"{capability}, {name}: {answer}, not {expected.get((capability, name), DONE)}"
        for (capability, name), answer in answers.items()
        if answer != expected.get((capability, name), DONE)
    ]
    assert not wrong, "\n".join(wrong)


def test_what_is_expected_is_about_cells_and_entries_that_there_are(asker):
    for (capability, name), answer in read(EXPECTED.read_text()).items():
        assert capability in CAPABILITIES and name in TRAINERS, (capability, name)
        for entry in answer.split(", "):
            assert entry in asker.table or entry == TEMP_FILE_LIMIT, (capability, name, answer)


def test_the_page_says_what_the_table_says(asker):
    assert asker.program.PAGE.read_text() == asker.program.whole()
