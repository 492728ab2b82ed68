"""Every trainer with every capability, in each task: done, refused by the entry of src/combinations that composition.txt names, or told
by a NOTICE to have no effect. `PGSVM_RECORD=1 scripts/e2e-tests 15 e2e/test_composition.py` writes composition.txt anew.
"""

import os
from pathlib import Path

import pytest

from harness.composition import DATA, DONE, TASKS, TEMP_FILE_LIMIT, TRAINERS, Asker, cells, read, written

EXPECTED = Path(__file__).with_name("composition.txt")
RECORD = bool(os.environ.get("PGSVM_RECORD"))


@pytest.fixture(scope="module")
def asker(server, database):
    with server.connect(database) as connection:
        connection.execute(DATA)
        yield Asker(connection)


def test_each_cell_is_done_or_answered_by_its_entry_of_the_table(asker):
    answers = {cell: asker.answer(statements) for cell, statements in cells()}
    if RECORD:
        EXPECTED.write_text(written(answers))
    expected = read(EXPECTED.read_text())
    wrong = [
        f"{', '.join(cell)}: {answer}, not {expected.get(cell, DONE)}"
        for cell, answer in answers.items()
        if answer != expected.get(cell, DONE)
    ]
    assert not wrong, "\n".join(wrong)


def test_what_is_expected_is_about_cells_and_entries_that_there_are(asker):
    for (task, capability, name), answer in read(EXPECTED.read_text()).items():
        assert capability in TASKS[task].asks() and name in TRAINERS, (task, capability, name)
        for entry in answer.split(", "):
            assert entry in asker.table or entry == TEMP_FILE_LIMIT, (task, capability, name, answer)


def test_the_page_says_what_the_table_says(asker):
    assert asker.program.PAGE.read_text() == asker.program.whole()
