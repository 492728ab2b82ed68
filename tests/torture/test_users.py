"""Fifty sessions that predict while others retrain, deploy, rename, drop, grant and revoke: no error but the documented
ones, every statement answered by one version, nobody deadlocked.
"""

import random
import threading
import time
from collections import Counter

import psycopg
import pytest

from harness import server as servers
from harness.effort import record, seconds
from harness.server import Server, new_database
from harness.sessions import one, put_model

PREDICTORS = 50

# version v has weights v and intercept v: a decision on these features is 112 v, and 112 divides no mixture of two
FEATURES = "ARRAY[1, 10, 100]::real[]"
WHOLE = 112

# What may happen to somebody who uses a model that others change, as docs/reference/models.md says.
DOCUMENTED = (
    psycopg.errors.UndefinedObject,
    psycopg.errors.InsufficientPrivilege,
    psycopg.errors.ObjectInUse,
    psycopg.errors.DuplicateObject,
    psycopg.errors.UniqueViolation,
    psycopg.errors.SerializationFailure,
)


@pytest.fixture(scope="module")
def crowded():
    """A server with room for everyone, model `m` for the public and one version, and role `guest`."""
    server = Server(servers.tested_version(), "users")
    try:
        server.restart_with({"max_connections": 100})
        new_database(server, "users")
        with server.connect("users") as connection:
            connection.execute("CREATE EXTENSION pgsvm")
            connection.execute("CREATE ROLE guest LOGIN")
            connection.execute("CREATE TABLE points AS SELECT i AS x, i > 50 AS y FROM generate_series(1, 100) AS i")
            connection.execute(
                f"CREATE FUNCTION ask() RETURNS float8 LANGUAGE plpgsql STABLE AS"
                f" $$ BEGIN RETURN svm_decision('m', {FEATURES}); END $$"
            )
            # a volatile one looks at what has been committed since the statement began: one answer, any version
            connection.execute(
                f"CREATE FUNCTION ask_again() RETURNS float8 LANGUAGE plpgsql AS"
                f" $$ BEGIN RETURN svm_decision('m', {FEATURES}); END $$"
            )
            publish(connection, 1)
            connection.execute("SELECT svm_grant('m', 'public')")
        yield server
        assert not server.complaints()
    finally:
        server.stop()


def publish(connection, number):
    """A new version of m, put into force at once, whose decisions tell its number."""
    with connection.transaction():
        version_id = put_model(connection, "m", [number] * 3)
        connection.execute("UPDATE svm_version SET intercept = %s WHERE id = %s", [number, version_id])


MANY = f"SELECT svm_decision('m', {FEATURES}) FROM generate_series(1, 200)"
PREPARED = "EXECUTE many"
STABLE_FUNCTION = "SELECT ask() FROM generate_series(1, 20)"
VOLATILE_FUNCTION = "SELECT ask_again()"
STATEMENTS = [MANY, PREPARED, STABLE_FUNCTION, VOLATILE_FUNCTION]


def of_one_version(rows):
    decisions = {decision for (decision,) in rows}
    assert len(decisions) == 1, f"one statement, several versions: {decisions}"
    (decision,) = decisions
    assert decision > 0 and decision % WHOLE == 0, f"a mixture of versions: {decision}"
    return decision


def predict(connection, statement, chance):
    of_one_version(connection.execute(statement).fetchall())


def predict_in_one_snapshot(connection, statement, chance):
    """In a REPEATABLE READ transaction the version does not change between statements either."""
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    with connection.transaction():
        first = of_one_version(connection.execute(MANY).fetchall())
        time.sleep(chance.uniform(0, 0.02))
        assert of_one_version(connection.execute(statement).fetchall()) == first


def predict_with_what_comes_and_goes(connection, statement, chance):
    """A model that is trained, renamed, dropped, granted and taken away all the time."""
    classes = connection.execute("SELECT svm_classify('fleeting', p) = y::text FROM points AS p").fetchall()
    assert len(classes) == 100 and sum(same for (same,) in classes) > 80


def deploy(connection, chance):
    versions = connection.execute("SELECT version FROM svm_versions WHERE name = 'm'").fetchall()
    connection.execute("SELECT svm_deploy('m', %s)", [chance.choice(versions)[0]])


def drop_old(connection, chance):
    versions = connection.execute("SELECT version FROM svm_versions WHERE name = 'm' AND NOT deployed").fetchall()
    if len(versions) > 3:
        connection.execute("SELECT svm_drop('m', %s)", [chance.choice(versions)[0]])


def retrain(connection, chance):
    connection.execute("SELECT svm_train('points', 'y', model => 'fleeting', c => %s)", [chance.uniform(0.1, 10)])


def rename(connection, chance):
    connection.execute("SELECT svm_rename('fleeting', 'away')")
    connection.execute("SELECT svm_rename('away', 'fleeting')")


def drop(connection, chance):
    connection.execute("SELECT svm_drop(%s)", [chance.choice(["fleeting", "away"])])


def share(connection, chance):
    function = chance.choice(["svm_grant", "svm_revoke"])
    connection.execute(f"SELECT {function}('fleeting', 'guest')")


CHANGES = [deploy, deploy, drop_old, retrain, retrain, rename, drop, share, share]


def test_fifty_sessions_predict_while_models_change(crowded):
    deadline = time.monotonic() + seconds(quick=4)
    done, refused, failures = Counter(), Counter(), []
    guard = threading.Lock()

    def act(name, user, work, number):
        chance = random.Random(number)
        connection = crowded.connect("users", user=user)
        connection.execute(f"PREPARE many AS {MANY}")
        connection.execute("SET plan_cache_mode = force_generic_plan; SET client_min_messages = error")
        while time.monotonic() < deadline and not failures:
            try:
                work(connection, chance)
                with guard:
                    done[name] += 1
            except DOCUMENTED as error:
                with guard:
                    refused[f"{error.sqlstate} {name}"] += 1
            except Exception as error:
                failures.append((name, error))
        connection.close()

    versions = iter(range(2, 1 << 20))
    works = [("publish", "postgres", lambda connection, chance: publish(connection, next(versions)))]
    works += [(change.__name__, "postgres", change) for change in CHANGES]
    for number in range(PREDICTORS):
        way = [predict, predict_in_one_snapshot, predict_with_what_comes_and_goes][number % 3]
        statement = STATEMENTS[number // 3 % 4]
        user = "guest" if number % 2 else "postgres"
        works.append(
            (way.__name__, user, lambda connection, chance, way=way, text=statement: way(connection, text, chance))
        )
    threads = [threading.Thread(target=act, args=(*work, number)) for number, work in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not failures, failures
    # a model for everybody that is only replaced is never refused to anybody
    assert not [what for what in refused if what.endswith((" predict", " predict_in_one_snapshot"))], refused
    assert set(done) == {name for name, _, _ in works}, "everybody was to get something done"
    with crowded.connect("users") as connection:
        assert one(connection, "SELECT sum(deadlocks) FROM pg_stat_database") == 0
    for name in sorted(done):
        codes = {what.split()[0]: times for what, times in refused.items() if what.split()[1] == name}
        told = ", ".join(f"{times} x {code}" for code, times in sorted(codes.items()))
        record("users", what=name.replace("_", " "), done=done[name], refused_as_documented=told or "0")
