"""The examples run as their pages say."""

import os
import subprocess
import sys

import pytest

from harness.server import ROOT, programs_of
from harness.sessions import one

NIGHTLY = ROOT / "examples" / "nightly"


@pytest.fixture
def psql(server, database):
    """Runs psql in the nightly example's folder; returns whether it succeeded, and what it printed."""

    def run(*arguments):
        where = ["-h", server.socket_directory, "-p", "5432", "-U", "postgres", "-d", database]
        done = subprocess.run(
            [programs_of(server.version) / "psql", *where, "-X", "-v", "VERBOSITY=default", *arguments],
            cwd=NIGHTLY,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        return done.returncode == 0, done.stdout

    return run


def test_the_nightly_run_deploys_what_is_better_and_a_broken_night_changes_nothing(connection, psql):
    strict = ["-v", "ON_ERROR_STOP=1", "-f"]
    assert psql(*strict, "setup.sql")[0]
    for night in (1, 2):
        connection.execute("SELECT setseed(0.25), customers_come(3000)")
        fine, printed = psql(*strict, "pipeline.sql")
        assert fine and printed.rstrip().endswith("COMMIT"), printed
        assert one(connection, "SELECT max(version) FROM svm_versions WHERE name = 'churn'") == night
        assert one(connection, "SELECT count(*) FROM incoming") == 0
    connection.execute("CREATE VIEW fates AS SELECT * FROM customers WHERE churned IS NOT NULL AND id % 5 = 0")
    best = "SELECT version FROM svm_versions ORDER BY (svm_evaluate(name || '@' || version, 'fates')).auc DESC LIMIT 1"
    assert one(connection, "SELECT version FROM svm_versions WHERE deployed") == one(connection, best)
    assert one(connection, "SELECT count(*) FROM scores") == 1000
    assert one(connection, "SELECT bool_and(probability BETWEEN 0 AND 1) FROM scores")

    fine, printed = psql("-f", "broken_night.sql")
    assert 'ERROR:  column "spent" is NaN' in printed
    assert one(connection, "SELECT count(*) FROM incoming") == 1100
    assert one(connection, "SELECT count(*) FROM customers") == 6000
    assert one(connection, "SELECT count(*) FROM scores") == 1000
    assert one(connection, "SELECT max(version) FROM svm_versions WHERE name = 'churn'") == 2


CLIENTS = ROOT / "examples" / "clients"
PRINTED = {
    "with_psycopg.py": [
        "trained buyers_psycopg",
        "buys true",
        "buys false",
        *["buys {} with a probability between 0 and 1: True"] * 3,
        'error the object has no field "plan"',
    ],
    "with_sqlalchemy.py": ["models 0", "trained buyers_sqlalchemy", "best 3 in order True", "buys true"],
    "with_pandas.py": ["trained buyers_pandas", "rows 2000 better than nine in ten True", "rows 2000 left out 0"],
    "with_asyncpg.py": ["trained buyers_asyncpg", "buys true", "buys None", "buys None", "rows 2000 left out 0"],
}


@pytest.mark.parametrize("client", PRINTED)
def test_clients_train_and_predict(client, server, database):
    connected = {"PGHOST": server.socket_directory, "PGPORT": "5432", "PGUSER": "postgres", "PGDATABASE": database}
    environment = {**os.environ, **connected}
    psql = [programs_of(server.version) / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", CLIENTS / "setup.sql"]
    subprocess.run(psql, env=environment, check=True, stderr=subprocess.DEVNULL)
    done = subprocess.run([sys.executable, CLIENTS / client], env=environment, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(PRINTED[client]), done.stdout
    for line, expected in zip(lines, PRINTED[client], strict=True):
        # what depends on the model's last digit is true or false
        assert line in (expected, expected.format("true"), expected.format("false"))


def test_every_client_is_tried():
    assert {path.name for path in CLIENTS.glob("*.py")} == set(PRINTED)
