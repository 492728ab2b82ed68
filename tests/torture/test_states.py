"""Whatever bytes and texts a role without rights hands to functions that everybody may call: an answer or an ordinary error, and the
server goes on, with the same postmaster and the same session.
"""

import time
from collections import Counter

import psycopg
import pytest

from harness.effort import LONG, SEED, record, seconds
from harness.server import new_database
from torture import states
from torture.hostile import Hostile, Outcome

CASES = 200_000 if LONG else 3000
BATCH = 200 if LONG else 60
# calls by random arguments, which go one by one
CALLS = 20_000 if LONG else 500
CASE_SECONDS = 5
ROLE = "nobody_special"

HAMMER = """
    CREATE FUNCTION hammer(call text, inputs bytea[]) RETURNS TABLE (state text, told text, seconds float8, input bytea)
    LANGUAGE plpgsql AS $$
    DECLARE
        began timestamptz;
    BEGIN
        FOREACH input IN ARRAY inputs LOOP
            began := clock_timestamp();
            BEGIN
                EXECUTE call USING input;
                state := 'taken';
                told := '';
            EXCEPTION WHEN OTHERS THEN
                state := SQLSTATE;
                told := SQLERRM;
            END;
            seconds := extract(epoch FROM clock_timestamp() - began);
            RETURN NEXT;
        END LOOP;
    END $$
"""
CALLABLE = """
    SELECT p.oid::regprocedure::text, p.prokind, l.lanname
    FROM pg_proc AS p JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
    JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'pgsvm'
    JOIN pg_language AS l ON l.oid = p.prolang
    WHERE has_function_privilege(%s, p.oid, 'EXECUTE') AND p.prorettype <> 'trigger'::regtype
        AND (l.lanname = 'c' OR p.prokind = 'a')
    ORDER BY 1
"""


@pytest.fixture(scope="module")
def recorded(server):
    """Real orders and states, and a role that may connect and no more, in a database with the extension."""
    near, far = new_database(server, "states"), new_database(server, "states_far")
    with server.connect(near) as connection:
        connection.execute("CREATE EXTENSION pgsvm")
        connection.execute(f"DROP ROLE IF EXISTS {ROLE}")
        connection.execute(f"CREATE ROLE {ROLE} LOGIN")
        connection.execute(f"CREATE SCHEMA AUTHORIZATION {ROLE}")
        connection.execute(HAMMER)
    with server.connect(near, user=ROLE) as connection:
        # whoever may call the parts of an aggregate may make one of them
        connection.execute("CREATE AGGREGATE joined(bytea) (SFUNC = svm_internal.svm_scan_rows_combine, STYPE = bytea)")
    yield states.record(server, near, far)
    with server.connect(near) as connection:
        connection.execute(f"DROP OWNED BY {ROLE}")


def callable_functions(server):
    with server.connect("states") as connection:
        return connection.execute(CALLABLE, [ROLE]).fetchall()


def test_what_everybody_may_call_is_what_is_needed(server, recorded):
    internal = {
        name.removeprefix("svm_internal.") for name, _, _ in callable_functions(server) if "svm_internal." in name
    }
    assert {name.partition("(")[0] for name in internal} == {
        "svm_scan",
        "svm_scan_join",
        "svm_scan_rows",
        "svm_scan_rows_add",
        "svm_scan_rows_combine",
        "svm_new_id",
        "svm_version_id",
        "svm_weights_unordered",
        "svm_classify",
        "svm_decision",
        "svm_predict",
        "svm_probability",
        "svm_row_answers",
        "svm_row_class",
        "svm_row_decision",
        "svm_row_libsvm",
        "svm_row_margin",
        "svm_row_quantiles",
        "svm_row_unseen",
        "svm_label_metrics",
        "svm_median",
    }
    # each that takes bytes is tried below
    takes = {name.partition("(")[0] for name in internal if "bytea" in name}
    assert takes == {"svm_scan", "svm_scan_join", "svm_scan_rows", "svm_scan_rows_add", "svm_scan_rows_combine"}


def test_changed_orders_and_states_are_read_or_refused(server, recorded):
    postmaster = server.postmaster()
    deadline = time.monotonic() + seconds(quick=12, share=0.7)
    calls = list(states.calls(recorded))
    changer = states.Changer(SEED, [original for _, original in calls])
    hammer = Hammer(server)
    # real ones are taken
    for call, original in calls:
        assert hammer.try_(call, [original]) == Counter(taken=1), call
    with server.connect("states") as connection:
        release = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'pgsvm'").fetchone()[0]
    by_hand = list(states.crafted(release))
    for call, _ in calls[:: 1 if LONG else 7]:
        hammer.try_(call, by_hand)
    while hammer.cases < CASES and time.monotonic() < deadline:
        call, original = changer.random.choice(calls)
        hammer.try_(call, [changer.changed(original) for _ in range(BATCH)])
    hammer.end()
    record(
        "made up",
        seed=SEED,
        cases=hammer.cases,
        orders_and_states=len({original for _, original in calls}),
        taken=hammer.states["taken"],
        refused=", ".join(f"{count} x {state}" for state, count in hammer.states.most_common() if state != "taken"),
        wrong=0,
        slowest_ms=round(1000 * hammer.slowest),
    )
    assert server.postmaster() == postmaster
    assert hammer.states["taken"] and hammer.states["XX001"] and hammer.states["22023"], "all kinds of end are met"


class Hammer:
    """A session of the role, which lasts."""

    def __init__(self, server):
        self.connection = server.connect("states", user=ROLE)
        self.connection.execute("SET client_min_messages = error")
        self.connection.execute(f"SET statement_timeout = '{20 * CASE_SECONDS}s'")
        self.pid = self.connection.info.backend_pid
        self.states = Counter()
        self.cases, self.slowest = 0, 0.0

    def try_(self, call, inputs):
        """Tries all; how they ended."""
        try:
            ends = self.connection.execute("SELECT * FROM hammer(%s, %s)", [call, inputs]).fetchall()
        except psycopg.Error as error:
            hexes = [each.hex() for each in inputs]
            raise AssertionError(f"{error}\n{call}\n{hexes}") from None
        for state, told, seconds_, input_ in ends:
            wrong = (state.startswith("XX") and state != "XX001") or "panick" in told or seconds_ > CASE_SECONDS
            assert not wrong, f"{state}: {told} after {seconds_} s\n{call}\n{bytes(input_).hex()}"
            self.slowest = max(self.slowest, seconds_)
        found = Counter(state for state, *_ in ends)
        self.states.update(found)
        self.cases += len(ends)
        return found

    def end(self):
        assert self.connection.execute("SELECT pg_backend_pid()").fetchone()[0] == self.pid
        self.connection.close()


def test_calls_of_a_role_without_rights_end_in_an_answer_or_an_ordinary_error(server, recorded):
    postmaster = server.postmaster()
    known = {name for name, _, _ in callable_functions(server)}
    with server.connect("states") as connection:
        hostile = Hostile(connection, SEED)
        hostile.prepare()
        connection.execute("ROLLBACK")
        texts = [
            connection.execute("SELECT svm_export(%s, 'pgsvm')", [model]).fetchone()[0]
            for model in ("libsvm", "kinds", "curved")
        ]
    with server.connect("states", user=ROLE) as connection:
        connection.execute("SET client_min_messages = error")
        connection.execute(f"SET statement_timeout = '{CASE_SECONDS}s'")
        hostile.connection, hostile.outcome = connection, Outcome()
        hostile.liblinear += texts
        deadline = time.monotonic() + seconds(quick=6, share=0.25)
        while hostile.outcome.cases < CALLS and time.monotonic() < deadline and not hostile.outcome.wrong:
            if hostile.random.random() < 0.3:
                statement = model_text(hostile, texts)
            else:
                statement = hostile.call()
            if not hostile.attempt(statement):
                break
        outcome = hostile.outcome
        record(
            "calls of a role without rights",
            seed=SEED,
            cases=outcome.cases,
            callable=len(known),
            answered=outcome.answers,
            refused_with_an_SQLSTATE=sum(outcome.states.values()),
            wrong=len(outcome.wrong),
            slowest_ms=round(outcome.slowest_ms),
        )
        assert not outcome.wrong, "\n".join(f"{statement[:2000]}\n  -> {what}" for statement, what in outcome.wrong)
    assert server.postmaster() == postmaster


def model_text(hostile, texts):
    """A call that reads a model as text, with characters of it changed."""
    from torture.hostile import literal

    changed = hostile.changed(hostile.random.choice(texts))
    text, body = literal(changed), literal("decision\n" + changed)
    return hostile.random.choice(
        [
            f"CREATE OR REPLACE FUNCTION pg_temp.held(float8, int) RETURNS float8 LANGUAGE pgsvm AS {body}",
            f"SELECT svm_import('taken', {text})",
        ]
    )
