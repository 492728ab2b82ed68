"""Models that follow their tables while everything changes that a row's values depend on: after each follow-up the primal and
the accuracy of its certificate are added up in SQL, over the rows that it is about as they are then.
"""

import random
import time
from collections import Counter

import psycopg
import pytest

from harness.effort import MINUTES, SEED, record, seconds
from harness.sessions import one
from torture.changes import CHANGES, FRESH, PATHS, QUERIES, SETUP, TRAINED_PATH, YOUNG

# follow-ups that a long run must have, unless it has fewer minutes, and the share that must have passed over rows to say
# anything
ROUNDS, ROUNDS_A_MINUTE, SHARE_PASSING = 10_000, 250, 0.15
# rounds with one model before it is trained anew, so that a source that cannot be learned does not stay for long
ROUNDS_A_MODEL = 12
# rows that are added or forgotten at a time, and where the keys begin of those that no source has
A_FEW, NOWHERE = 10, 100_000

# deployed in any case: what becomes of a source may teach nothing
FOLLOW_UPS = {
    "refresh": "SELECT public.svm_refresh('{name}', '{{\"deploy\": true}}')",
    "update": "SELECT public.svm_update('{name}', '{handed}', '{{\"deploy\": true}}')",
    "update_query": "SELECT public.svm_update_query('{name}', 'SELECT id, label, a, b FROM {handed}', '{{\"deploy\": true}}')",
    "forget": "SELECT public.svm_forget('{name}', '{handed}', '{{\"deploy\": true}}')",
    "forget_query": "SELECT public.svm_forget_query('{name}', 'SELECT id FROM {handed}', '{{\"deploy\": true}}')",
}

# what svm_models says, and what it is over the rows given
CERTIFICATE = """
SELECT m.primal, m.training_accuracy, m.rows_used, (v.followed ->> 'passed_over')::int > 0.3 * m.rows_used AS passes,
    0.5 * (SELECT coalesce(sum(weight * weight), 0) FROM public.svm_weights('{name}')) + sum(greatest(0, 1 - y * d) ^ CASE m.loss WHEN 'hinge' THEN 1 ELSE 2 END),
    avg((CASE WHEN d >= 0 THEN 1 ELSE -1 END = y)::int)::float8, count(*)
FROM public.svm_models AS m JOIN public.svm_versions AS v USING (name, version), LATERAL (
    SELECT CASE label WHEN v.label_values[2] THEN 1 ELSE -1 END AS y, public.svm_decision('{name}', r) AS d FROM ({rows}) AS r
) AS decided WHERE m.name = '{name}' GROUP BY 1, 2, 3, 4, m.loss
"""

# what a source is: which relation its name stands for, of which kind, whose
READS = """
SELECT relnamespace::regnamespace || '.' || relname, relkind, relowner::regrole::text FROM pg_class WHERE oid = to_regclass('{name}')
"""


class Followers:
    """A model for each source, and what came of following it."""

    def __init__(self, admin, limited, chance):
        self.admin, self.limited = admin, limited
        self.chance = chance
        self.ages = Counter()
        self.rounds, self.passed, self.refused = Counter(), Counter(), Counter()
        # by model the keys it remembers, and what its source was
        self.known, self.reads = {}, {}
        known = "SELECT collname FROM pg_collation WHERE collname IN ('und-x-icu', 'pg_c_utf8') LIMIT 1"
        self.collation = (admin.execute(known).fetchone() or ["POSIX"])[0]

    def owner(self, name):
        return self.limited if name == "guarded" else self.admin

    def as_owner(self, connection, name, statement):
        """The rows of a statement that runs as the source is read: with the rights of the model's owner and the search path
        of the training."""
        with connection.transaction(force_rollback=True):
            connection.execute(f"SET LOCAL search_path = {TRAINED_PATH}")
            connection.execute(f"SET LOCAL ROLE {'limited' if name == 'guarded' else 'postgres'}")
            return connection.execute(statement).fetchall()

    def keys(self, connection, name):
        return {key for (key,) in self.as_owner(connection, name, f"SELECT id FROM ({source(name)}) AS r")}

    def train(self, name):
        if name in FRESH:
            self.admin.execute(FRESH[name])
        connection, loss = self.owner(name), self.chance.choice(["hinge", "squared_hinge"])
        connection.execute(f"SELECT svm_drop(name) FROM svm_models WHERE name = '{name}'")
        connection.execute(f"SET search_path = {TRAINED_PATH}")
        function, what = ("svm_train_query", QUERIES[name]) if name in QUERIES else ("svm_train", name)
        connection.execute(
            f"SELECT {function}('{what}', 'label', '{{a, b}}', '{name}', loss => '{loss}', key => 'id', scale => 'none')"
        )
        connection.execute("RESET search_path")
        self.trained(connection, name)

    def trained(self, connection, name):
        self.known[name] = self.keys(connection, name)
        self.reads[name] = self.as_owner(connection, name, READS.format(name=name))

    def round(self):
        if self.chance.random() < 0.1:
            return self.young()
        name = self.chance.choice(list(CHANGES))
        if self.ages[name] % ROUNDS_A_MODEL == 0:
            self.train(name)
        self.ages[name] += 1
        what = self.chance.choice(list(CHANGES[name]))
        # half of the rounds change nothing, so that there are rows to be passed over when the next one does
        if self.chance.random() < 0.5:
            self.change(self.chance.choice(CHANGES[name][what]))
        else:
            what = "nothing"
        self.follow(name, what)

    def change(self, statement):
        for key, value in {
            "n": self.chance.randrange(50),
            "mirrored": self.chance.random() < 0.5,
            "collation": self.collation,
        }.items():
            statement = statement.replace("{" + key + "}", str(value))
        try:
            self.admin.execute(statement)
        except psycopg.Error as error:
            # what is there already, or not any more
            assert error.sqlstate[:2] in ("42", "55", "23", "0A", "2B"), (statement, error)
            self.admin.execute("ROLLBACK")

    def young(self):
        mirrored = self.chance.random() < 0.2
        savepoint, end = self.chance.choice(
            [("", "COMMIT"), ("SAVEPOINT s; TRUNCATE young;", "RELEASE s; COMMIT"), ("", "")]
        )
        self.admin.execute(YOUNG.format(savepoint=savepoint, end=end, mirrored=mirrored))
        self.trained(self.admin, "young")
        self.follow("young", "the training's own transaction")
        self.admin.execute("COMMIT")
        self.follow("young", "the training's own transaction")

    def hand_over(self, connection, name, form):
        """Fills the table that the call names; its name, and which keys are in it."""
        handed = "handed.to_" + ("limited" if connection is self.limited else "postgres")
        if form.startswith("forget"):
            some = self.chance.sample(sorted(self.known[name]), min(A_FEW, len(self.known[name]) // 2))
            gone = self.known[name] - self.keys(connection, name) if self.chance.random() < 0.7 else set()
            keys = [*some, *gone, NOWHERE - 1]
            rows = f"SELECT unnest(ARRAY{keys}::bigint[]) AS id"
        else:
            # rows that the source has too, as they are there or not, or that only the call knows
            columns = self.chance.choice(["a, b", "-a AS a, b"])
            rows = f"SELECT id, label, {columns} FROM ({source(name)}) AS r WHERE id <> ALL (ARRAY{sorted(self.known[name])}::bigint[]) LIMIT {A_FEW}"
            if self.chance.random() < 0.3:
                first = self.chance.randrange(NOWHERE, 2 * NOWHERE) * 10
                rows = f"SELECT id, (public.cloud(id, false)).* FROM generate_series({first}, {first + 5}) AS id"
        connection.execute(f"DROP TABLE IF EXISTS {handed}; SET search_path = {TRAINED_PATH}")
        connection.execute(f"CREATE TABLE {handed} AS {rows}")
        connection.execute(f"RESET search_path; GRANT SELECT ON {handed} TO PUBLIC")
        return handed, {key for (key,) in connection.execute(f"SELECT id FROM {handed}").fetchall()}

    def reads_another(self, name, now):
        """Whether the source is something else than the version was trained on, so that a follow-up must refuse."""
        (relation, kind, owner), mine = now, "limited" if name == "guarded" else "postgres"
        before = self.reads[name][0]
        return (relation, kind) != before[:2] or owner not in (before[2], mine)

    def follow(self, name, what, form=None):
        """Has a caller with the rights for it follow the table, in whatever way, and looks at what came of it."""
        connection = self.chance.choice([self.owner(name), self.admin])
        form = form or self.chance.choice(["refresh", "refresh", *FOLLOW_UPS])
        connection.execute(f"SET test.least = {self.chance.randrange(10)}")
        now = self.as_owner(connection, name, READS.format(name=name))[0]
        handed, given = self.hand_over(connection, name, form) if form != "refresh" else ("", set())
        present = self.keys(connection, name)
        covered, rows = present, source(name)
        if form != "refresh":
            left = self.known[name] - given if form.startswith("forget") else self.known[name]
            covered = left if form.startswith("forget") else left | given
            rows = f"SELECT id, label, a, b FROM ({rows}) AS r WHERE id = ANY (ARRAY{sorted(left)}::bigint[])"
            if form.startswith("update"):
                rows += f" UNION ALL SELECT id, label, a, b FROM {handed}"
        another = self.reads_another(name, now)
        refuses = another or (form != "refresh" and bool(left - present))
        connection.execute(f"SET search_path = {self.chance.choice(PATHS)}")
        try:
            connection.execute(FOLLOW_UPS[form].format(name=name, handed=handed))
            assert not refuses, f"{form} of {name} after a change of {what} is not refused"
        except psycopg.errors.ObjectNotInPrerequisiteState as error:
            assert refuses, f"{form} of {name} after a change of {what}: {error}"
        connection.execute("RESET search_path")
        self.rounds[what] += 1
        if refuses:
            self.refused[what] += 1
            if not another:
                return self.follow(name, what, "refresh")
            # it must be trained anew
            self.ages[name] = 0
            return
        self.known[name], self.reads[name] = covered, [now]
        self.check(connection, name, f"{form} of {name} after a change of {what}", what, rows)

    def check(self, connection, name, told, what, rows):
        found = self.as_owner(connection, name, CERTIFICATE.format(name=name, rows=rows))
        primal, accuracy, used, passes, true_primal, true_accuracy, count = found[0]
        told = f"{told}: primal {primal}, accuracy {accuracy}; truly {true_primal}, {true_accuracy}"
        assert used == count == len(self.known[name]), told
        # the primal counts what the rounding of rows to 32 bits may change
        assert -1e-5 * abs(true_primal) - 1e-9 <= primal - true_primal <= 1e-4 * abs(true_primal) + 1e-9, told
        # a row on the very boundary may fall on either side in 32 bits
        assert abs(accuracy - true_accuracy) <= 1.01 / count, told
        self.passed[what] += bool(passes)


def source(name):
    """The rows that a model is trained on, as a query."""
    return QUERIES.get(name, f"TABLE public.{name}")


@pytest.fixture
def followers(server, database, connect):
    admin = connect()
    admin.execute("SET client_min_messages = error")
    admin.execute("DROP ROLE IF EXISTS limited")
    admin.execute(SETUP)
    limited = connect(user="limited")
    for connection in (admin, limited):
        connection.execute("SET client_min_messages = error; SET test.least = 5")
    yield Followers(admin, limited, random.Random(SEED))
    for connection in (limited, admin):
        connection.close()


def test_certificates_are_true_whatever_has_changed(followers, connect):
    end = time.monotonic() + seconds(8)
    while time.monotonic() < end:
        followers.round()
    rounds, passed = followers.rounds.total(), followers.passed.total()
    for what in sorted(followers.rounds):
        record(
            "refresh",
            changed=what,
            follow_ups=followers.rounds[what],
            passing_over=followers.passed[what],
            refused=followers.refused[what],
            false=0,
        )
    assert one(connect(), "SELECT count(*) > 0 FROM svm_models")
    assert passed >= SHARE_PASSING * rounds, f"{passed} of {rounds} passed over rows"
    assert rounds >= min(ROUNDS, ROUNDS_A_MINUTE * MINUTES), f"{rounds} follow-ups"
