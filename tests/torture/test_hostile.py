"""Whatever a client puts into a call: an answer or an error with a code, in time, and the server goes on."""

import time

import pytest

from harness.effort import LONG, SEED, record, seconds
from torture.hostile import CASE_SECONDS, LARGE_MEGABYTES, Hostile, Outcome, large_texts

CASES = 1_000_000 if LONG else 4000


@pytest.fixture(scope="module")
def hostile(server, database):
    """A client that has prepared what its cases refer to."""
    with server.connect(database) as connection:
        hostile = Hostile(connection, SEED)
        hostile.prepare()
        yield hostile


def told(wrong):
    return "\n".join(f"{statement[:2000]}\n  -> {what}" for statement, what in wrong)


@pytest.mark.skipif(not LONG, reason="gigabytes take minutes")
def test_texts_as_long_as_they_can_be_are_taken_or_refused(hostile):
    for megabytes in LARGE_MEGABYTES:
        outcome = large_texts(hostile, megabytes)
        record(
            "large texts",
            megabytes=megabytes,
            calls=outcome.cases,
            answered=outcome.answers,
            refused=", ".join(f"{count} x {state}" for state, count in sorted(outcome.states.items())),
            longest_seconds=round(outcome.slowest_ms / 1000, 1),
        )
        assert not outcome.wrong, told(outcome.wrong)


def test_random_calls_end_in_an_answer_or_an_ordinary_error(hostile):
    hostile.outcome = Outcome()
    outcome = hostile.run(CASES, until=time.monotonic() + seconds(quick=40))
    record(
        "hostile",
        seed=SEED,
        cases=outcome.cases,
        functions_called=len(outcome.called),
        answered=outcome.answers,
        refused_with_an_SQLSTATE=sum(outcome.states.values()),
        damaged_models_refused=outcome.states["XX001"],
        wrong=len(outcome.wrong),
        slowest_ms=round(outcome.slowest_ms),
    )
    for state, count in outcome.states.most_common():
        record("states", SQLSTATE=state, cases=count)
    print("slowest:", outcome.slowest[:300])
    assert not outcome.wrong, told(outcome.wrong)
    assert outcome.slowest_ms < 1000 * (CASE_SECONDS + 1)
    # both kinds of end are met, or the cases are not what they should be
    assert outcome.answers > outcome.cases / 10
    assert sum(outcome.states.values()) > outcome.cases / 10
    assert len(outcome.called) > 30
