"""Processes killed with SIGKILL and servers stopped while a model is trained: the server comes back by itself, every
model that was committed is whole and predicts, and nothing else is left.

A backend that is killed makes PostgreSQL restart all of them: that is its rule, and the only case in which it may. What
PostgreSQL cannot remove then is a segment of shared memory that it was still creating, tens of milliseconds long: it writes
down that there is one when it is complete. Such segments are counted, and removed.
"""

import contextlib
import os
import pathlib
import random
import signal
import subprocess
import time
from collections import Counter

import psycopg
import pytest

from harness import server as servers
from harness.effort import LONG, record, seconds
from harness.memory import allocated_bytes, segments
from harness.phases import OUT_OF_CORE, PHASES, SPREAD_CHUNKS, in_phase, make_tables
from harness.server import SMALLEST_CACHE_BYTES, Server, new_database, programs_of, wait_until
from harness.sessions import ONE_WORKER, TWO_WORKERS, Running, configure, one

VICTIMS = ["leader", "reader", "trainer", "client"]
ROUNDS = 200
# where a worker is to be met
PHASES_WITH = {
    "reader": ["loading", *sorted(OUT_OF_CORE)],
    "trainer": ["training_in_memory", "choosing_c", *sorted(OUT_OF_CORE)],
}

RETRAIN = "SELECT svm_train('spread', 'label', ARRAY['sparse(idx, val)'], model => 'kept', c => {})"
DECISIONS = "SELECT array_agg(svm_decision('{}', t)) FROM spread AS t"


class Rough:
    """A server that is treated badly, and the decisions of every version that was committed in it."""

    def __init__(self):
        self.server = Server(servers.tested_version(), "kills")
        new_database(self.server, "kills")
        self.committed = {}
        self.random = random.Random(0)
        with self.connect() as connection:
            connection.execute("CREATE EXTENSION pgsvm")
            make_tables(connection, rows=60_000)

    def connect(self):
        return self.server.connect("kills")

    def commit_a_version(self, connection):
        """Trains the next version of model `kept` and remembers what it decides."""
        configure(connection, {"pgsvm.workers": "0", "test.dawdle": "off"})
        one(connection, RETRAIN.format(self.random.uniform(0.01, 10)))
        version = f"kept@{len(self.committed) + 1}"
        self.committed[version] = one(connection, DECISIONS.format(version))

    def lost_segments(self):
        """Removes shared memory that is left, and tells how many segments; nothing else may be left."""
        left = self.server.left_over(EMPTY)
        assert not left.workers and not left.temporary_files, left
        for name, _ in left.shared_memory:
            pathlib.Path("/dev/shm", name).unlink()
        return len(left.shared_memory)

    def check(self, connection):
        """Everything committed is whole, nothing more is there, nothing is left."""
        assert not self.server.left_over(EMPTY)
        chunks = connection.execute(
            "SELECT m.name, (SELECT count(*) FROM svm_weight AS w WHERE w.version_id = v.id)"
            " FROM svm_model AS m JOIN svm_version AS v ON v.model_id = m.id"
        ).fetchall()
        assert Counter(chunks) == {("before", SPREAD_CHUNKS): 1, ("kept", SPREAD_CHUNKS): len(self.committed)}
        assert one(connection, "SELECT count(*) FROM svm_progress") == 0
        for version in {list(self.committed)[-1], self.random.choice(list(self.committed))}:
            assert one(connection, DECISIONS.format(version)) == self.committed[version]

    def reconnect(self):
        """A connection as soon as the server takes one again."""

        def attempt():
            with contextlib.suppress(psycopg.OperationalError):
                return self.connect()

        return wait_until(attempt, within_seconds=30, what="the end of recovery")


EMPTY = None


@pytest.fixture(scope="module")
def rough():
    global EMPTY
    rough = Rough()
    EMPTY = rough.server.in_use()
    yield rough
    rough.server.stop()


def client_of(rough, phase):
    """psql in a process of its own, training in `phase`."""
    statement, settings = PHASES[phase]
    settings = TWO_WORKERS | settings | {"client_connection_check_interval": "50ms"}
    commands = [f"SET {name} = '{value}'" for name, value in settings.items()] + [statement]
    return subprocess.Popen(
        [programs_of(rough.server.version) / "psql", "-X", "-q", "-h", rough.server.socket_directory, "-p", "5432"]
        + ["-U", "postgres", "-d", "kills", *(word for command in commands for word in ("-c", command))],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def processes_of(connection):
    """Role -> pid of the training that runs."""
    rows = connection.execute(
        """
        SELECT CASE substring(worker.application_name, '^pgsvm ([rt]) ') WHEN 'r' THEN 'reader' WHEN 't' THEN 'trainer' ELSE 'leader' END,
            worker.pid
        FROM pg_stat_activity AS leader JOIN pg_stat_activity AS worker ON leader.pid IN (worker.pid, worker.leader_pid)
        WHERE leader.query LIKE 'SELECT svm_train%' AND leader.state = 'active' AND leader.leader_pid IS NULL
            AND worker.backend_type IN ('client backend', 'parallel worker')
        """
    )
    return dict(rows.fetchall())


def is_broken(connection):
    """Whether the server has ended this session."""
    try:
        connection.execute("SELECT 1")
    except psycopg.OperationalError:
        return True
    return False


def has_cache(pid):
    """Whether a process has a cache in shared memory mapped."""
    return any(allocated_bytes(path) >= SMALLEST_CACHE_BYTES for path in segments(pid))


def kill_one(rough, keeper, victim, phase):
    """One round. Tells whether it was the leader, before it had shared memory."""
    client = client_of(rough, phase)
    try:
        there = "leader" if victim == "client" else victim
        wait_until(lambda: there in processes_of(keeper), what=f"a {there} while {phase}")
        time.sleep(rough.random.uniform(0, 0.5))
        pid = client.pid if victim == "client" else processes_of(keeper)[victim]
        early = victim == "leader" and not has_cache(pid)
        os.kill(pid, signal.SIGKILL)
        client.wait(20)
        return early
    finally:
        client.kill()
        client.wait()


def test_whichever_process_is_killed_models_are_whole_and_nothing_is_left(rough):
    deadline = time.monotonic() + seconds(quick=5, share=0.9)
    killed, lost, recoveries, keeper = Counter(), Counter(), [], rough.connect()
    for number in range(ROUNDS):
        if time.monotonic() > deadline and number >= len(VICTIMS):
            break
        rough.commit_a_version(keeper)
        victim = VICTIMS[number % len(VICTIMS)]
        early = kill_one(rough, keeper, victim, rough.random.choice(PHASES_WITH.get(victim, list(PHASES))))
        killed[victim] += 1
        started = time.monotonic()
        if victim == "client":
            wait_until(lambda keeper=keeper: not processes_of(keeper), within_seconds=2, what="the end of its training")
        else:
            wait_until(lambda keeper=keeper: is_broken(keeper), what="the restart of all backends")
            keeper = rough.reconnect()
            recoveries.append(time.monotonic() - started)
        if early:
            lost[victim] += rough.lost_segments()
        rough.check(keeper)
    keeper.close()
    for victim in VICTIMS:
        record("kill -9", process=victim, rounds=killed[victim], failures=0, segments_lost=lost[victim])
    record("recovery", rounds=len(recoveries), longest_seconds=round(max(recoveries), 2))


# the ways and phases that differ most; the long set takes every pair
QUICK_STOPS = [("fast", "training_out_of_core"), ("fast", "storing"), ("immediate", "training_out_of_core")]
STOPS = [(mode, phase) for phase in PHASES for mode in ("fast", "immediate")] if LONG else QUICK_STOPS


@pytest.mark.parametrize(("mode", "phase"), STOPS)
def test_a_server_stopped_during_a_training_starts_again_with_its_models(rough, mode, phase):
    with rough.connect() as connection:
        rough.commit_a_version(connection)
    statement, settings = PHASES[phase]
    connection, watcher = rough.connect(), rough.connect()
    configure(connection, ONE_WORKER | settings)
    running = Running(connection, statement)
    wait_until(lambda: running.over or in_phase(rough.server, watcher, running.pid, phase), what=f"the phase {phase}")
    assert not running.over, running.end()
    asked = time.monotonic()
    rough.server.control("stop", "-m", mode)
    stopped = time.monotonic() - asked
    assert isinstance(running.end(), psycopg.OperationalError)
    watcher.close()
    connection.close()
    rough.server.control("start")
    with rough.connect() as connection:
        rough.check(connection)
    record("stop", mode=mode, phase=phase.replace("_", " "), seconds=round(stopped, 2))
    assert stopped < 5
