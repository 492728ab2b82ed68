"""Trainings as clients see them: what a training said, what it stored, and one that runs while the test goes on."""

import threading
import time
from dataclasses import dataclass

import psycopg
from psycopg.rows import dict_row

# Two workers whatever the size of the table.
TWO_WORKERS = {"pgsvm.workers": "2", "pgsvm.min_parallel_size": "0"}
ONE_WORKER = {"pgsvm.workers": "1", "pgsvm.min_parallel_size": "0"}
# Helpers where the source is one large table, and no worker beside them where its rows fit the cache.
HELPERS = {"pgsvm.workers": "2", "pgsvm.helpers": "2"}
NO_WORKER = {"pgsvm.workers": "0"}
# Threads that train, whatever process they are in.
TWO_TRAINERS = {"pgsvm.trainers": "2"}


def configure(connection, settings):
    """Sets settings for the rest of the session."""
    for name, value in settings.items():
        connection.execute("SELECT set_config(%s, %s, false)", [name, str(value)])


@dataclass(frozen=True)
class Told:
    """A notice or warning of the server; the detail stands behind its text."""

    severity: str
    text: str


def listen(connection):
    """The list into which every later notice of this connection goes."""
    told = []
    connection.add_notice_handler(
        lambda diagnostic: told.append(
            Told(
                diagnostic.severity_nonlocalized,
                "\n".join(filter(None, [diagnostic.message_primary, diagnostic.message_detail])),
            )
        )
    )
    return told


def model(connection, name):
    """The model's row of svm_models as a dict, or None when there is no such model (for this role)."""
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute("SELECT * FROM svm_models WHERE name = %s", [name]).fetchone()


def put_model(connection, name, weights, labels=("-1", "1"), owner=None):
    """Writes a new version of a model of one array column by hand, as 0.1.0 stored models, so that its decisions are
    known: the sum of weights times features, plus one half. Returns the version's id."""
    with connection.transaction():
        connection.execute(
            """
            INSERT INTO svm_model AS m (name, owner, current_version) VALUES (%s, coalesce(%s, current_user), 1)
            ON CONFLICT (name) DO UPDATE SET current_version = m.current_version + 1
            """,
            [name, owner],
        )
        version_id = one(
            connection,
            """
            INSERT INTO svm_version (model_id, version, features, label_column, label_type, label_values, nulls, loss, c,
                scale, solver, intercept_used, tolerance, seed, intercept, feature_count, rows_used, rows_skipped)
            SELECT id, current_version, jsonb_build_object('parts', jsonb_build_array(jsonb_build_object(
                    'kind', 'array', 'name', 'x', 'type', 'real[]', 'length', %s::int))),
                'y', 'integer', %s::text[], 'error', 'hinge', 1, 'none', 'stream', true, 1e-3, 0, 0.5, %s, 10, 0
            FROM svm_model WHERE name = %s RETURNING id
            """,
            [len(weights), list(labels), len(weights), name],
        )
        put_weights(connection, version_id, 0, weights)
    return version_id


def put_weights(connection, version_id, head, weights):
    """Writes the weights of one head."""
    connection.execute("INSERT INTO svm_weight VALUES (%s, %s, 0, NULL, %s)", [version_id, head, list(weights)])


def put_heads(connection, version_id, classes, slope=None):
    """Writes a row for each head, with intercept one half, and a sigmoid of that slope if one is given."""
    for head, label in enumerate(classes):
        connection.execute(
            "INSERT INTO svm_head (version_id, head, class, intercept, sigmoid_slope, sigmoid_offset)"
            " VALUES (%s, %s, %s, 0.5, %s, %s)",
            [version_id, head, label, slope, slope and 0.0],
        )


def stored_rows(connection):
    """(models, versions, rows of weights) in this database."""
    return connection.execute(
        "SELECT (SELECT count(*) FROM svm_model), (SELECT count(*) FROM svm_version), (SELECT count(*) FROM svm_weight)"
    ).fetchone()


def one(connection, query, parameters=None):
    """The one value that `query` yields."""
    return connection.execute(query, parameters).fetchone()[0]


class Running:
    """A statement running on `connection` in a thread; `end` waits for it and tells how it ended."""

    def __init__(self, connection, statement, parameters=None):
        self.connection = connection
        self.pid = connection.info.backend_pid
        self.statement = statement
        self._parameters = parameters
        self._rows = None
        self._error = None
        self._ended_at = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        try:
            cursor = self.connection.execute(self.statement, self._parameters)
            self._rows = cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            self._error = error
        self._ended_at = time.monotonic()

    @property
    def over(self):
        return not self._thread.is_alive()

    def end(self, within_seconds=30.0):
        """The statement's rows, or the error it ended with; fails when it goes on."""
        self._thread.join(within_seconds)
        assert self.over, f"still running after {within_seconds} s: {self.statement}"
        return self._error or self._rows

    def seconds_until_end(self, since, within_seconds=10.0):
        """Seconds from `since` (a time.monotonic()) to the end of the statement."""
        self.end(within_seconds)
        return self._ended_at - since
