"""Whatever a client puts into a call: an answer or an error with a code, in time, and the server goes on. The long form is
scripts/torture-hostile."""

import time

from torture.hostile import Hostile

CASES = 4000
SEED = 1
MOST_SECONDS = 40


def test_random_calls_end_in_an_answer_or_an_ordinary_error(connection):
    hostile = Hostile(connection, SEED)
    hostile.prepare()
    outcome = hostile.run(CASES, until=time.monotonic() + MOST_SECONDS)
    assert not outcome.wrong, "\n".join(f"{statement[:2000]}\n  -> {wrong}" for statement, wrong in outcome.wrong)
    # both kinds of end are met, or the cases are not what they should be
    assert outcome.answers > outcome.cases / 10
    assert sum(outcome.states.values()) > outcome.cases / 10
    assert len(outcome.called) > 30
