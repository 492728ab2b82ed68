"""Random calls of every function of the extension, with whatever a client can put into its arguments, texts of models
and data with bytes changed, and stored models whose rows were damaged.

The same seed makes the same cases. A case is wrong when the server dies or does not answer in time, when it raises an
internal error (SQLSTATE of class XX, but XX001 where a stored model is damaged) or an error without code, and when it
answers NaN or infinity where the documents promise none. Every case is rolled back.
"""

import math
import random
import time
from collections import Counter
from dataclasses import dataclass, field

import psycopg

# A statement is told to stop after so many seconds. Only what trains may have that much to do, and must then stop within
# so many more.
CASE_SECONDS = 5
STOP_SECONDS = 1
TRAININGS = ["svm_train", "svm_cross_validate", "svm_select_features", "svm_refresh", "svm_update", "svm_forget"]
# How many wrong cases are told before the run gives up.
ENOUGH = 20
# the last is as long as a text can be
LARGE_MEGABYTES = (60, 300, 1023)

# Where an infinity is the documented answer: the threshold above every decision, a certainty that was wrong.
MAY_BE_INFINITE = ("svm_roc", "svm_log_loss", "svm_evaluate")

NUMBERS = [
    *("0", "1", "-1", "2", "3.5", "-0.0", "0.1", "7", "100", "1e-30", "1e30", "-1e30", "1e-45", "1e-300", "3.4e38"),
    *("3.5e38", "1e300", "-1e300", "2147483647", "-2147483648", "9223372036854775807", "4294967295", "4294967296"),
    *("'NaN'", "'Infinity'", "'-Infinity'", "5e-324", "NULL", "1.0000000000000002", "16777217", "65536", "1000000"),
]
INTEGERS = ["0", "1", "-1", "2", "3", "5", "64", "65", "1000", "2147483647", "-2147483648", "NULL", "10000000"]
TEXTS = [
    *(
        "",
        " ",
        "x",
        "y",
        "label",
        "m",
        "M",
        "nothing",
        "numbers",
        "mixed",
        "kinds",
        "sparse",
        "libsvm",
        "kinds@1",
        "kinds@2",
    ),
    *(
        "kinds@",
        "@1",
        "kinds@0",
        "kinds@-1",
        "kinds@99999999999999999999",
        "kinds@1@1",
        "kinds@1.5",
        "kinds@ 1",
        "kinds@+1",
    ),
    *(
        "imported",
        "public",
        "postgres",
        "nobody",
        "stream",
        "block",
        "selective_block",
        "indexed",
        "hinge",
        "squared_hinge",
        "auto",
    ),
    *(
        "none",
        "standard",
        "maxabs",
        "error",
        "skip",
        "zero",
        "mean",
        "balanced",
        "array",
        "features",
        "good",
        "kind",
        "w",
    ),
    *('"', "'", '""', "%s %d %n", "\\", "\\x00", "$1", "; DROP TABLE rows;", "a.b.c", '"weird name"', "category(x)"),
    *(
        "category(",
        "category()",
        "sparse(idx, val)",
        "sparse(val, idx)",
        "libsvm(t)",
        'category("',
        "ünïcödé",
        "日本",
        "😀",
    ),
    *(
        "\u200b\u202e",
        "\x01\x7f",
        "a" * 63,
        "a" * 64,
        "é" * 40,
        "1:1",
        "1:1 2:2",
        "2:1 1:1",
        "1:nan",
        "1:inf",
        "-1:1",
        "1:",
        ":",
    ),
    *(
        "0:1",
        "4294967295:1",
        "4294967296:1",
        "1:1e400",
        "1:1e-400",
        "1:0x10",
        "{1,2}",
        "{}",
        "{NULL}",
        "[1,2]",
        "NaN",
        "true",
    ),
    *(
        '{"true": 2}',
        '{"a": 1e300}',
        '{"a": 1e-300, "b": 1}',
        "null",
        "[]",
        "{}",
        "1e1000",
        "pg_catalog",
        "svm_model",
        "0",
    ),
    *("rows", "odd rows", "SELECT * FROM rows", "SELECT 1", "SELECT", "TABLE rows", "VALUES (1, true), (2, false)"),
    *("SELECT * FROM rows FOR UPDATE", "SELECT x, good FROM rows; SELECT 1", "SELECT x/0 AS x, good FROM rows"),
    *("SELECT NULL AS good, 1 AS x", "SELECT 1 AS x, 2 AS x, i % 2 AS good FROM generate_series(1, 9) AS i"),
]
JSON = [
    *("{}", "[]", "null", "1", '"x"', '{"deploy": false}', '{"deploy": 1}', '{"duals": true}', '{"folds": 2}'),
    *('{"folds": 1e300}', '{"folds": -3}', '{"costs": [1, 10]}', '{"costs": [1e-6, 1e6]}', '{"costs": [1e400]}'),
    *('{"costs": []}', '{"costs": {"a": 1}}', '{"max_categories": 0}', '{"max_categories": 1e18}', '{"hash_bits": 1}'),
    *('{"hash_bits": 24}', '{"hash_bits": 25}', '{"hash_bits": null}', '{"inner_rounds": 1}', '{"inner_rounds": 0.5}'),
    *(
        '{"policy": "paper"}',
        '{"policy": 1}',
        '{"proximal": "on"}',
        '{"proximal": "off"}',
        '{"": {}}',
        '{"costs": [[[[]]]]}',
    ),
    *('{"fold_column": "kind"}', '{"fold_column": "w"}', '{"fold_column": []}', '{"deploy": false, "deploy": true}'),
    *('{"1": "spam", "-1": "ham"}', '{"1": "same", "-1": "same"}', '{"1": 2}', '{"9": "x"}'),
    "[" * 3000 + "]" * 3000,
]
ARRAYS = [
    *(
        "'{}'::real[]",
        "'{}'::float8[]",
        "'{1}'::real[]",
        "'{1,2}'::real[]",
        "'{1,2,3}'::float8[]",
        "'{{1,2},{3,4}}'::real[]",
    ),
    *(
        "'[0:1]={1,2}'::float8[]",
        "'[-5:-4]={1,2}'::int[]",
        "'{NULL,1}'::real[]",
        "'{NaN,1}'::real[]",
        "'{1,Infinity}'::float8[]",
    ),
    *(
        "'{1e-45,1}'::real[]",
        "'{1e300,-1e300}'::float8[]",
        "'{1e30,1e30}'::real[]",
        "'{a,b}'::text[]",
        "'{t,f}'::boolean[]",
    ),
    *(
        "array_fill(1::real, ARRAY[1, 1, 1, 1, 1, 1])",
        "array_fill(1.0::float8, ARRAY[100000])",
        "ARRAY[1, 2]::smallint[]",
    ),
    *("ARRAY[1, 2]::numeric[]", "ARRAY['1e1000', 2]::numeric[]", "ARRAY['NaN', 2]::numeric[]", "ARRAY[1::bigint, -1]"),
    *("NULL::real[]", "ARRAY[ROW(1, 2)]", "ARRAY[NULL, NULL]::float8[]", "'{2020-01-01,infinity}'::date[]"),
]
OTHERS = [
    *(
        "'t'::boolean",
        "date 'infinity'",
        "now()",
        "'1 day'::interval",
        "'\\x00ff'::bytea",
        "'{}'::jsonb",
        "'[1]'::json",
    ),
    *("ROW()", "ROW(NULL)", "ROW(1, 2)", "ROW(ROW(ROW(1)))", "(SELECT r FROM rows AS r LIMIT 1)", "'(1,2)'::point"),
    *(
        "(SELECT r FROM rows AS r WHERE x IS NULL LIMIT 1)",
        "(SELECT r FROM (SELECT 1 AS x, NULL AS y) AS r)",
        "'x'::name",
    ),
    *(
        "(SELECT r FROM (SELECT 'a'::text AS x, ARRAY['b'] AS y, 1 AS kind) AS r)",
        "'a'::\"char\"",
        "'sad'::mood",
        "NULL::mood",
    ),
    *(
        "(SELECT r FROM (SELECT 'NaN'::numeric AS x, 1e30 AS y, 'sad'::mood AS kind, 3 AS w) AS r)",
        "NULL::rows",
        "1::money",
    ),
    *(
        "(SELECT r FROM (SELECT ARRAY[1, 2] AS idx, ARRAY[1.0, 'NaN']::real[] AS val) AS r)",
        "int4range(1, 5)",
        "B'101'",
    ),
    *(
        "(SELECT r FROM (SELECT ARRAY[1, 1] AS idx, ARRAY[1.0, 2]::real[] AS val) AS r)",
        "'1/0'::pg_lsn",
        "NULL",
        "'\\x'::bytea",
    ),
    *(
        "(SELECT r FROM (SELECT ARRAY[-1] AS idx, ARRAY[1, 2]::real[] AS val) AS r)",
        "'127.0.0.1'::inet",
        "NULL::positive",
    ),
    *(
        "(SELECT r FROM (SELECT 1 AS x, 2 AS x, 3 AS x) AS r)",
        "5::positive",
        "'x'::refcursor",
        "'rows'::regclass",
        "NULL::record",
    ),
]
RELATIONS = [
    "'rows'",
    "'odd rows'",
    "'empty'",
    "'narrow'",
    "'parts'",
    "'seen'",
    "'svm_model'",
    "'pg_class'",
    "0",
    "NULL",
    "1259",
]
RELATIONS += ["'rows'"] * 8 + ["'serial'", "'rows_pkey'", "4294967295"]

# What queries for training may select: a label, features and weights, as good as possible or as bad.
LABELS = ["i % 2 = 0", "i % 3", "(i % 2)::real", "'k' || i % 4", "i", "NULL", "1", "'NaN'::float8", "nullif(i % 2, 0)"]
LABELS += ["CASE WHEN i % 5 = 0 THEN 'a' ELSE '' END", "(ARRAY['sad', 'ok', 'happy'])[1 + i % 3]::mood", "i % 2"]
COLUMNS = [
    *(
        "i",
        "i * 1e30",
        "i * 1e-30",
        "i % 2",
        "0",
        "1",
        "NULL::float8",
        "nullif(i, 3)",
        "i * 1e37",
        "1e38 * (-1) ^ i",
        "random()",
    ),
    *(
        "'NaN'::real",
        "'Infinity'::float8",
        "1e-45::real * i",
        "ARRAY[i, i % 3]",
        "ARRAY[i * 1e30, 1e-30]",
        "'{}'::real[]",
    ),
    *(
        "ARRAY[i, NULL]",
        "array_fill(i::real, ARRAY[i % 3])",
        "array_fill(0::real, ARRAY[300])",
        "'c' || i % 3",
        "repeat('x', i * 40)",
    ),
    *(
        "now() + i * '1 day'::interval",
        "'infinity'::timestamp",
        "i::numeric / 3",
        "(i * 1e200)::numeric",
        "9223372036854775807 - i",
    ),
    *(
        "i % 2 = 0",
        "(ARRAY['sad', 'ok', NULL])[1 + i % 3]::mood",
        "'\\x00'::bytea",
        "NULL",
        "point(i, i)",
        "16777216 + i",
        "3.4e38",
    ),
]
FEATURES = [
    "NULL",
    "'{a}'",
    "'{a,b}'",
    "'{category(a),b}'",
    "'{\"sparse(a, b)\"}'",
    "'{libsvm(a)}'",
    "'{a,a}'",
    "'{category(b)}'",
]


def literal(text):
    """A text as an SQL literal."""
    plain = text.replace("\0", "").replace("\\", "\\\\").replace("'", "\\'")
    return f"E'{plain}'"


@dataclass
class Function:
    name: str
    types: list
    names: list
    defaults: int
    kind: str


@dataclass
class Outcome:
    """What a run saw; `wrong` holds (statement, what was wrong with it)."""

    cases: int = 0
    answers: int = 0
    states: Counter = field(default_factory=Counter)
    called: Counter = field(default_factory=Counter)
    wrong: list = field(default_factory=list)
    slowest_ms: float = 0.0
    slowest: str = ""


class Hostile:
    """One client with a seed. `prepare` makes what the cases refer to."""

    def __init__(self, connection, seed):
        self.connection = connection
        self.random = random.Random(seed)
        self.outcome = Outcome()
        self.functions = []
        self.liblinear = []

    # cases

    def number(self):
        return self.random.choice(NUMBERS)

    def text(self):
        if self.random.random() < 0.1:
            return literal(self.changed(self.random.choice(TEXTS + self.liblinear)))
        return "NULL" if self.random.random() < 0.02 else literal(self.random.choice(TEXTS))

    def json(self):
        chosen = self.random.choice(JSON)
        return literal(self.changed(chosen)) if self.random.random() < 0.05 else literal(chosen)

    def anything(self):
        kind = self.random.randrange(6)
        if kind == 0:
            return self.number()
        if kind == 1:
            return self.text()
        if kind == 2:
            return self.random.choice(ARRAYS)
        return self.random.choice(OTHERS)

    def changed(self, text):
        """The text with some of its characters changed, doubled, moved or cut off."""
        characters = list(text)
        for _ in range(self.random.randint(1, 4)):
            place = self.random.randint(0, len(characters))
            what = self.random.randrange(5)
            if what == 0:
                characters[place:place] = [self.random.choice('0123456789:.-+eE \n\t{}[]()",@nai#\x01é😀')]
            elif what == 1:
                del characters[place : place + self.random.randint(1, 8)]
            elif what == 2:
                characters[place:place] = characters[place : place + 20] * self.random.randint(1, 50)
            elif what == 3:
                characters[place : place + 1] = self.random.choice(
                    ["99999999999", "nan", "inf", "-0", "1e999", "1e-999"]
                )
            else:
                del characters[place:]
        return "".join(characters)

    def query(self):
        """A SELECT for a training."""
        columns = [f"{self.random.choice(COLUMNS)} AS {name}" for name in "abc"[: self.random.randint(1, 3)]]
        rows = self.random.choice([0, 1, 2, 3, 10, 40])
        return f"SELECT {self.random.choice(LABELS)} AS label, {', '.join(columns)}, i AS w FROM generate_series(1, {rows}) AS i"

    def training(self):
        """A call of a training that may well succeed."""
        arguments = [literal(self.query()), "'label'", "model => 'trained'"]
        for name, values in {
            "features": FEATURES,
            "c": ["1e-6", "1e6", "1", "NULL", "1e300", "1e-300", "10"],
            "loss": ["'hinge'", "'squared_hinge'"],
            "intercept": ["true", "false"],
            "scale": ["'none'", "'standard'", "'maxabs'", "'auto'"],
            "nulls": ["'error'", "'skip'", "'zero'", "'mean'"],
            "tolerance": ["1e-3", "1e-12", "0.999", "1e-300"],
            "max_passes": ["1", "2", "30"],
            "solver": ["'stream'", "'block'", "'selective_block'", "'indexed'"],
            "seed": INTEGERS,
            "class_weight": ["NULL", "'balanced'", "'{\"1\": 1e30}'"],
            "weight": ["NULL", "'w'", "'a'"],
            "probability": ["true", "false"],
            "options": [literal(option) for option in JSON],
        }.items():
            if name == "max_passes" or self.random.random() < 0.3:
                arguments.append(f"{name} => {self.random.choice(values)}")
        follow = self.random.choice(
            ["svm_weights('trained')", "svm_export('trained')", "svm_features('trained')", "svm_models"]
        )
        return f"SELECT svm_train_query({', '.join(arguments)}); {STORED_NUMBERS}; SELECT * FROM {follow}"

    def argument(self, declared):
        """An expression for an argument of this type, or now and then of another."""
        if self.random.random() < 0.08:
            return self.anything()
        if declared in ("anyelement", "anycompatible"):
            return self.anything()
        if declared == "double precision":
            return self.number()
        if declared == "integer":
            return self.random.choice(INTEGERS)
        if declared == "boolean":
            return self.random.choice(["true", "false", "NULL"])
        if declared == "jsonb":
            return self.json()
        if declared == "regclass":
            return self.random.choice(RELATIONS)
        if declared == "internal":
            return "NULL"
        if declared == "bytea":
            return self.random.choice(["'\\x00'", "'\\xffffffffffffffffffffffffffffffff'", "NULL", "'\\x'"])
        if declared == "text[]":
            return self.random.choice(FEATURES + ["'{}'", "'{NULL}'", "'{{x}}'", "ARRAY['x','y']", "ARRAY['', '\"']"])
        if declared == "double precision[]":
            return self.random.choice(
                ["NULL", "'{}'", "'{1}'", "'{1e-6,1e6}'", "'{NaN}'", "'{{1,2}}'", "'{1,NULL}'", "'{0}'"]
            )
        return self.text()

    def call(self):
        """A call of some function."""
        function = self.random.choice(self.functions)
        count = len(function.types) - self.random.randint(0, function.defaults)
        arguments = [self.argument(declared) for declared in function.types[:count]]
        # mostly a model that there is: an unknown name ends a call early
        if arguments and function.types[0] == "text" and function.names[:1] == ["model"] and self.random.random() < 0.8:
            model = self.random.choice(MODELS)
            arguments[0] = literal(model)
            if function.names[1:2] == ["features"] and len(arguments) > 1 and self.random.random() < 0.5:
                arguments[1] = ROWS[model]
        self.outcome.called[function.name] += 1
        call = f"{function.name}({', '.join(arguments)})"
        if function.kind == "a":
            return f"SELECT {call} FROM generate_series(1, {self.random.choice([0, 1, 5])})"
        form = self.random.choice(
            ["SELECT {}", "SELECT * FROM {}", "SELECT {} FROM generate_series(1, 3)", "SELECT ({}) IS NULL"]
        )
        return form.format(call)

    def aggregate(self):
        """An aggregate over columns of odd values, in one process or several."""
        name, arguments = self.random.choice(
            [("svm_metrics", 2), ("svm_metrics", 3), ("svm_auc", 2), ("svm_roc_points", 2), ("svm_log_loss", 2)]
        )
        values = LABELS if name == "svm_metrics" else COLUMNS[:11] + ["(i % 7) / 7.0", "i * 1e300", "2"]
        chosen = [self.random.choice(values), self.random.choice(["i % 2 = 0", "NULL", "true", *LABELS]), "i % 3"][
            :arguments
        ]
        rows = self.random.choice([0, 1, 10, 3000])
        filtered = self.random.choice(["", " FILTER (WHERE i > 3)", " OVER (ORDER BY i ROWS 3 PRECEDING)"])
        self.outcome.called[name] += 1
        return f"SELECT {name}({', '.join(chosen)}){filtered} FROM generate_series(1, {rows}) AS i"

    def text_of_a_model(self):
        """A model of LIBLINEAR or LIBSVM rows with characters changed, and what becomes of them."""
        if self.random.random() < 0.5:
            text = self.changed(self.random.choice(self.liblinear))
            kind = self.random.choice(["sparse", "libsvm", "array"])
            return (
                f"SELECT svm_import('taken', {literal(text)}, '{kind}'); SELECT svm_decision('taken', '1:1 2:1'),"
                " svm_export('taken', 'libsvm_model')"
            )
        text = self.changed("+1 1:0.5 3:-2\n-1 2:1\n# no more\n+1 1:1 4:7e-3\n" * self.random.randint(1, 3))
        if self.random.random() < 0.5:
            return f"SELECT svm_load_libsvm('loaded', content => {literal(text)}); SELECT * FROM loaded"
        return f"SELECT svm_decision('libsvm', {literal(text.split(chr(10))[0])})"

    def damage(self):
        """A stored model one of whose rows was overwritten, and then its use."""
        table = self.random.choice(list(DAMAGES))
        model = self.random.choice(MODELS[:3] if table.startswith("svm_key") else MODELS)
        column, values = self.random.choice(DAMAGES[table])
        value = self.random.choice(values)
        if callable(value):
            value = value(self)
        key = "id" if table == "svm_version" else "version_id"
        versions = (
            "SELECT v.id FROM svm_version AS v JOIN svm_model AS m ON m.id = v.model_id"
            f" WHERE m.name = {literal(model)} AND v.version = m.current_version"
        )
        rows = f"{key} IN ({versions})"
        verb = f"UPDATE {table} SET {column} = {value} WHERE {rows}"
        if table != "svm_version" and self.random.random() < 0.15:
            verb = f"DELETE FROM {table} WHERE {rows} AND random() < 0.5"
        # a version is never changed, so backends keep it by id and row: a new row makes them read it again
        fresh = f"UPDATE svm_version SET options = options WHERE id IN ({versions})"
        uses = FOLLOWS if table.startswith("svm_key") else USES
        use = self.random.choice(uses).format(m=literal(model), row=ROWS[model])
        return f"{verb}; {fresh}; {use}", "damage"

    def case(self):
        kind = self.random.random()
        if kind < 0.5:
            return self.call(), "call"
        if kind < 0.62:
            return self.aggregate(), "call"
        if kind < 0.74:
            return self.training(), "call"
        if kind < 0.84:
            return self.text_of_a_model(), "call"
        return self.damage()

    # judging

    def run(self, cases, until=None):
        """Tries `cases` cases, or as many as fit before the monotonic time `until`."""
        for _ in range(cases):
            if len(self.outcome.wrong) >= ENOUGH or (until and time.monotonic() > until):
                break
            statement, kind = self.case()
            if not self.attempt(statement, kind):
                break
        return self.outcome

    def attempt(self, statement, kind="call"):
        """Tries one; False when the server has gone."""
        outcome = self.outcome
        outcome.cases += 1
        started = time.monotonic()
        try:
            cursor = self.connection.execute(f"BEGIN; {statement}; ROLLBACK")
            outcome.answers += 1
            wrong = self.unsound(cursor, statement)
            if wrong:
                outcome.wrong.append((statement, wrong))
        except psycopg.Error as error:
            state = error.sqlstate
            outcome.states[str(state)] += 1
            if self.connection.broken or state in ("57P01", "57P02", "57P03"):
                outcome.wrong.append((statement, f"the connection is gone: {error}"))
                return False
            internal = state is None or state.startswith("XX")
            damage = kind == "damage" or "svm_internal.svm_scan" in statement
            if internal and not (damage and state == "XX001"):
                outcome.wrong.append((statement, f"{state}: {error}"))
            elif state == "57014":
                # a training may have that much to do, if it stops when told
                late = time.monotonic() - started > CASE_SECONDS + STOP_SECONDS
                if late or not any(name in statement for name in TRAININGS):
                    outcome.wrong.append((statement, f"no answer within {CASE_SECONDS} s"))
            self.connection.execute("ROLLBACK")
        except (ValueError, OverflowError):
            # what the client's language has no value for, as dates far away
            self.connection.execute("ROLLBACK")
        taken = (time.monotonic() - started) * 1000
        if taken > outcome.slowest_ms:
            outcome.slowest_ms, outcome.slowest = taken, statement
        return True

    def unsound(self, cursor, statement):
        """What is wrong with the answer, if anything."""
        if any(name in statement for name in MAY_BE_INFINITE):
            sound = lambda number: not math.isnan(number)  # noqa: E731
        else:
            sound = math.isfinite
        while True:
            if cursor.description and "svm_" in statement:
                for row in cursor.fetchall():
                    for value in row:
                        if isinstance(value, float) and not sound(value):
                            return f"the answer is {value}"
            if not cursor.nextset():
                return None

    # what the cases refer to

    def prepare(self):
        execute = self.connection.execute
        for statement in SETTING:
            execute(statement)
        self.liblinear = [
            "solver_type L2R_L1LOSS_SVC_DUAL\nnr_class 2\nlabel 1 -1\nnr_feature 2\nbias -1\nw\n0.5 \n-1 \n",
            "svm_type c_svc\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 2\nrho 0.25\nlabel 1 -1\nnr_sv 1 1\nSV\n1 1:1 \n-1 2:3 \n",
            "svm_type c_svc\nkernel_type polynomial\ndegree 3\ngamma 0.5\ncoef0 1\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 3 4\n"
            "probA -1\nprobB 0\nnr_sv 1 1\nSV\n1 1:1 7:2 \n-1 2:3 \n",
            "svm_type c_svc\nkernel_type rbf\ngamma 0.5\nnr_class 3\ntotal_sv 3\nrho 0.25 -0.5 0.1\nlabel 5 -1 2\nprobA -1 -2 -3\n"
            "probB 0.5 0 -0.25\nnr_sv 1 1 1\nSV\n1 0.5 1:1 2:2 \n-1.5 2 1:-1 \n-0.5 -2 2:2 \n",
            "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 1\nlabel 1 -1\nnr_sv 1 0\nSV\n1 1:1 3:1 \n",
            "solver_type MCSVM_CS\nnr_class 3\nlabel 1 2 3\nnr_feature 2\nbias 1\nw\n0.5 1 2\n-1 0 0\n1 1 1\n",
        ]
        execute("SELECT svm_import('imported', %s)", [self.liblinear[0]])
        self.liblinear += [execute("SELECT svm_export(%s)", [m]).fetchone()[0] for m in ("libsvm", "numbers", "kinds")]
        execute(f"SET statement_timeout = '{CASE_SECONDS}s'")
        rows = execute(
            """
            SELECT CASE p.pronamespace WHEN 'svm_internal'::regnamespace THEN 'svm_internal.' ELSE '' END || p.proname, p.proargnames, p.pronargdefaults, p.prokind,
                ARRAY(SELECT pg_catalog.format_type(t, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY AS a (t, n) ORDER BY n)
            FROM pg_proc AS p JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
            JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'pgsvm'
            WHERE p.prorettype <> 'trigger'::regtype ORDER BY p.oid
            """
        ).fetchall()
        self.functions = [
            Function(name, types, names or [], defaults, kind) for name, names, defaults, kind, types in rows
        ]


MODELS = [
    "followed",
    "spoken",
    "passing",
    "numbers",
    "mixed",
    "kinds",
    "sparse",
    "libsvm",
    "one",
    "imported",
    "curved",
    "curves",
]
# A row that each takes.
ROWS = {
    "followed": "(SELECT r FROM rows AS r LIMIT 1)",
    "spoken": "(SELECT r FROM rows AS r LIMIT 1)",
    "passing": "(SELECT r FROM rows AS r LIMIT 1)",
    "numbers": "ARRAY[1, 2]::real[]",
    "mixed": "(SELECT r FROM rows AS r LIMIT 1)",
    "kinds": "(SELECT r FROM rows AS r LIMIT 1)",
    "sparse": "'1:1 3:2'",
    "libsvm": "'1:1 3:2'",
    "one": "(SELECT r FROM rows AS r LIMIT 1)",
    "imported": "'1:1 2:1'",
    "curved": "(SELECT r FROM rows AS r LIMIT 1)",
    "curves": "'1:1 3:2'",
}
# Bytes of a stored chunk with one changed, some cut off or put in, or others altogether.
CHANGED_BYTES = [
    *("''", "{0} || {0}", "{0} || '\\x00'", "'\\x80'", "'\\xffffffffffffffffffffffff7f'", "substring({0} FROM 2)"),
    *(
        "substring({0} FOR length({0}) - 1)",
        "decode(repeat('ff', length({0})), 'hex')",
        "substring({0} FOR length({0}) / 2)",
    ),
    *(
        "set_byte({0}, length({0}) / 2, 255)",
        "set_byte({0}, 0, (random() * 255)::int)",
        "decode(repeat('80', 100000), 'hex')",
    ),
    *("set_byte({0}, length({0}) - 1, 128)", "decode(repeat('00', length({0})), 'hex')"),
]
USES = [
    "SELECT svm_decision({m}, {row})",
    "SELECT svm_classify({m}, {row})",
    "SELECT svm_predict({m}, {row})",
    "SELECT svm_probability({m}, {row})",
    "SELECT * FROM svm_predict_set({m}, {row})",
    "SELECT * FROM svm_interval({m}, {row})",
    "SELECT * FROM svm_explain({m}, {row})",
    "SELECT * FROM svm_weights({m})",
    "SELECT * FROM svm_features({m})",
    "SELECT svm_export({m})",
    "SELECT svm_as_sql({m})",
    "SELECT * FROM svm_evaluate({m}, 'rows', 'good')",
    "SELECT * FROM svm_suspects({m}, 'rows')",
    "SELECT svm_create_function({m}, 'made')",
    "SELECT svm_refresh({m})",
    "UPDATE rows SET x = 3 WHERE id % 7 = 0; SELECT svm_refresh({m})",
    "DELETE FROM rows WHERE id % 7 = 0; SELECT svm_refresh({m})",
    "SELECT svm_forget_query({m}, 'SELECT * FROM rows WHERE id < 5')",
]
# What reads the bytes of a model with a key.
FOLLOWS = [*USES[-4:], "DELETE FROM rows WHERE id % 9 = 0; SELECT svm_refresh({m}, '{{\"keep_scaling\": true}}')"]
# No number of a stored model is NaN, or infinite.
STORED_NUMBERS = (
    "SELECT unnest(weights) FROM svm_weight; SELECT intercept, primal, dual, gap, sigmoid_slope, sigmoid_offset FROM svm_head;"
    " SELECT intercept, primal, dual, gap, training_accuracy FROM svm_version; SELECT unnest(duals) FROM svm_dual"
)


def changed_json(column):
    return lambda hostile: f"{column} {hostile.random.choice(JSON_CHANGES)}"


JSON_CHANGES = [
    *(
        "- 'parts'",
        "- 'means'",
        "|| '{\"parts\": []}'",
        "#- '{parts,0}'",
        "|| '{\"parts\": 1}'",
        "|| '{\"means\": [1e300]}'",
    ),
    *("#- '{parts,0,length}'", "|| '{\"extra\": 1}'", "|| '{\"categories\": []}'", "|| '{\"parts\": [null]}'"),
    *[
        f"#- '{{parts,0,{key}}}' || jsonb_set(features, '{{parts,0,{key}}}', '{value}')"
        for key in ("length", "kind", "name", "type", "first", "codes", "bits", "count")
        for value in (
            "-1",
            "0",
            "1",
            "3",
            "1e10",
            "2147483647",
            "4294967296",
            "1e300",
            "null",
            '"x"',
            "[]",
            '""',
            '"array"',
            '"libsvm"',
        )
    ],
]
FLOATS = ["'NaN'", "'Infinity'", "'-Infinity'", "1e308", "-1e308", "0", "1e-320"]
DAMAGES = {
    "svm_version": [
        ("features", ["'{}'", "'[]'", "'null'", "'\"x\"'", "'1'", *[changed_json("features")] * 30]),
        (
            "label_values",
            [
                "'{a,b}'",
                "'{a,b,c}'",
                "label_values || 'x'::text",
                "'{NULL,a}'",
                "'{a,a}'",
                "'{{a,b},{c,d}}'",
                "'{-1,1}'",
            ],
        ),
        ("label_type", ["'boolean'", "'nothing'", "''", "'integer'", "'text'", "'numeric(3,1)'", "'mood'", "'; --'"]),
        ("nulls", ["'error'", "'skip'", "'zero'", "'mean'"]),
        ("intercept", FLOATS),
        (
            "feature_count",
            ["0", "-1", "1", "9223372036854775807", "4294967296", "feature_count - 1", "feature_count + 1"],
        ),
        ("label_column", ["''", "'x'", "'\"'", "repeat('x', 1000)"]),
        ("loss", ["''", "'logistic'"]),
        ("scale", ["''"]),
        ("solver", ["''"]),
        ("class_weight", ["'1'", "NULL"]),
        ("validation", ["'1'", "NULL"]),
    ],
    "svm_head": [
        ("head", ["head + 1", "head - 0", "2147483647", "head * 7"]),
        ("class", ["'x'", "''", "NULL", "class || ' '"]),
        ("intercept", FLOATS),
        ("sigmoid_slope", ["NULL", *FLOATS]),
        ("sigmoid_offset", ["NULL", *FLOATS]),
        (
            "isotonic_decisions",
            ["NULL", "'{}'", "'{1}'", "'{1,2}'", "'{2,1}'", "'{NULL,1}'", "'{{1,2},{3,4}}'", "'{-1e308,1e308}'"],
        ),
        (
            "isotonic_probabilities",
            ["NULL", "'{}'", "'{0.5}'", "'{0.2,0.4}'", "'{0.5,1}'", "'{0.5,NULL}'", "'{NaN,0.5}'"],
        ),
        ("gap", ["NULL", *FLOATS]),
    ],
    "svm_weight": [
        ("head", ["head + 1", "-1", "2147483647", "-2147483648"]),
        ("first_feature", ["first_feature + 1", "9223372036854775807", "4294967295", "2147483648", "16384"]),
        (
            "features",
            [
                "NULL",
                "'{}'",
                "'{0}'",
                "'{-1}'",
                "'{0,0}'",
                "'{1,0}'",
                "'{2147483647}'",
                "'{NULL}'",
                "'{{0}}'",
                "features || 1",
            ],
        ),
        (
            "weights",
            [
                "'{}'",
                "'{NaN}'",
                "'{NULL}'",
                "'{{1,2}}'",
                "weights || 1.0::float8",
                "'{1e308}'",
                "'[5:6]={1,2}'",
                "weights[2:]",
            ],
        ),
        ("weights", ["array_fill(1e308::float8, ARRAY[cardinality(weights)])", "array_fill(0::float8, ARRAY[100000])"]),
    ],
    "svm_key": [
        ("keys", [value.format("keys") for value in CHANGED_BYTES]),
        ("digests", [value.format("digests") for value in CHANGED_BYTES]),
        ("rows", ["1", "rows - 1", "rows + 1", "2147483647"]),
        ("first_row", ["1", "9223372036854775807"]),
    ],
    "svm_key_dual": [
        ("states", [value.format("states") for value in CHANGED_BYTES]),
        ("common", ["'{}'", "'{NaN}'", "'{-1}'", "'{NULL}'", "'{1,1,1,1}'", "'{{1}}'", "'{3e38}'"]),
        ("duals", ["'{}'", "'{NaN}'", "'{-1}'", "'{NULL}'", "duals || 1.0::real", "'{{1}}'", "'{3e38}'"]),
        ("head", ["head + 1", "2147483647"]),
        ("first_row", ["1", "16384", "9223372036854775807"]),
    ],
    "svm_key_leeway": [
        ("versions", [value.format("versions") for value in CHANGED_BYTES]),
        ("leeways", [value.format("leeways") for value in CHANGED_BYTES]),
        ("first_row", ["1", "9223372036854775807"]),
    ],
    "svm_key_metric": [
        ("centre", ["'{}'", "'{NaN}'", "'{NULL}'", "'{{1}}'", "centre || 1.0::real", "'{3e38,-3e38}'"]),
        ("spread", ["'{}'", "'{NaN}'", "'{NULL}'", "'{{1}}'", "spread || 1.0::real", "'{3e38,1e-38}'", "'{0,-1}'"]),
        ("constant", ["0", "-1", "'NaN'", "1e-38", "3e38"]),
        ("class", ["class || ' '"]),
    ],
    "svm_key_scaling": [
        ("as_of", ["0", "as_of + 1000", "9223372036854775807", "(-9223372036854775808)"]),
        ("dense", ["0", "dense + 1", "2147483647"]),
        ("centre", ["'{}'", "'{NaN}'", "'{1,2}'", "'{1e308,-1e308}'"]),
        ("factor", ["'{}'", "'{NaN}'", "'{0,0}'", "'{1e308,-1e308}'"]),
        ("sparse_factor", ["'{NULL}'", "'{1}'", "'{NaN}'", "array_fill(1.0::real, ARRAY[100000])"]),
    ],
    "svm_log": [
        ("seconds", ["'{}'", "'{NaN}'", "seconds || 1.0::float8", "'{{1,2}}'"]),
        ("pass", ["'{}'", "'{NULL}'"]),
    ],
    "svm_landmark": [
        ("landmark", ["landmark + 1", "landmark * 7", "2147483647"]),
        (
            "dense",
            ["'{}'", "'{NaN}'", "'{NULL}'", "'{{1,2}}'", "dense || 1.0::real", "'{3e38,-3e38}'", "'[5:6]={1,2}'"],
        ),
        (
            "sparse_index",
            ["'{}'", "'{-1}'", "'{4294967296}'", "'{0,0}'", "'{NULL}'", "'{{1}}'", "sparse_index || 1::bigint"],
        ),
        ("sparse_value", ["'{}'", "'{NaN}'", "'{NULL}'", "'{{1}}'", "sparse_value || 1.0::real", "'{3e38}'"]),
    ],
    "svm_dual": [("duals", ["'{NaN}'", "'{}'"]), ("rows", ["'{-1}'", "'{}'"]), ("first_row", ["9223372036854775807"])],
}
SETTING = [
    "SET client_min_messages = error",
    "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')",
    "CREATE DOMAIN positive AS int CHECK (VALUE > 0)",
    """
    CREATE TABLE rows AS SELECT i AS id, nullif(i % 9, 4) AS x, (i % 5)::real AS y, (ARRAY['sad', 'ok', 'happy'])[1 + i % 3]::mood
        AS kind, i % 2 = 0 AS good, i AS w, ARRAY[i % 4, 4 + i % 3] AS idx, ARRAY[1, i]::real[] AS val, 1 + i % 4 || ':1 7:2' AS t,
        ARRAY[i % 9, i % 5]::real[] AS features, 'row ' || i AS spoken
    FROM generate_series(1, 60) AS i
    """,
    "ALTER TABLE rows ADD PRIMARY KEY (id)",
    """
    CREATE TABLE "odd rows" AS SELECT x * 1e30 AS "weird name", y * 1e-30 AS "", good AS "a""b", NULL::float8 AS nothing FROM (
        SELECT x, y, good, 1 FROM rows) AS r (x, y, good, one) WHERE false
    """.replace('AS ""', 'AS " "'),
    "CREATE TABLE empty (x float8, good boolean)",
    "CREATE TABLE narrow AS SELECT 1 AS good",
    "CREATE VIEW seen AS SELECT * FROM rows",
    "CREATE SEQUENCE serial",
    "CREATE TABLE parts (x int, y real, good boolean) PARTITION BY RANGE (x)",
    "CREATE TABLE parts_1 PARTITION OF parts DEFAULT",
    "INSERT INTO parts SELECT x, y, good FROM rows",
    "SELECT svm_train('rows', 'good', ARRAY['features'], 'numbers', nulls => 'skip')",
    "SELECT svm_train('rows', 'good', ARRAY['x', 'y', 'kind', 'w'], 'mixed', nulls => 'mean', probability => true)",
    """SELECT svm_train('rows', 'kind', ARRAY['x', 'y', 'good'], 'kinds', nulls => 'zero', probability => true,
        options => '{"duals": true}')""",
    "SELECT svm_train('rows', 'kind', ARRAY['x', 'y', 'good'], 'kinds', nulls => 'zero', probability => true)",
    "SELECT svm_train('rows', 'good', ARRAY['sparse(idx, val)'], 'sparse')",
    "SELECT svm_train('rows', 'good', ARRAY['libsvm(t)'], 'libsvm')",
    "SELECT svm_train('rows', 'good', ARRAY['x', 'y', 'kind'], 'followed', nulls => 'zero', key => 'id')",
    "SELECT svm_train('rows', 'kind', ARRAY['x', 'y'], 'spoken', nulls => 'zero', key => 'spoken')",
    "SELECT svm_train('rows', 'good', ARRAY['x', 'y'], 'passing', nulls => 'skip', key => 'id')",
    "SELECT svm_train('rows', 'good', ARRAY['x', 'y', 'kind'], 'curved', nulls => 'zero', kernel => 'rbf', rank => 9)",
    """SELECT svm_train('rows', 'kind', ARRAY['sparse(idx, val)'], 'curves', kernel => 'polynomial', rank => 3)""",
    """SELECT svm_train('rows', 'good', ARRAY['x'], 'one', nulls => 'skip', options => '{"hash_bits": 3}')""",
]


def large_texts(hostile, megabytes):
    """Texts of so many megabytes: refused or taken, and the server goes on. The outcome of these alone."""
    outcome = hostile.outcome = Outcome()
    hostile.connection.execute("SET statement_timeout = '240s'")
    text = f"repeat('1:1 2:2 3:3 4:4 ', {megabytes << 16})"
    blanks = f"('1:1' || repeat(' ', {(megabytes << 20) - 10}))"
    for statement in [
        f"SELECT svm_decision('libsvm', {text})",
        f"SELECT svm_decision('libsvm', {blanks})",
        f"SELECT svm_decision({text}, '1:1')",
        f"SELECT svm_load_libsvm('large', content => {text})",
        f"SELECT svm_load_libsvm('large', content => '1 ' || {blanks})",
        f"SELECT svm_import('large', {text})",
        f"SELECT svm_train_query({text}, 'y', model => 'large')",
        f"SELECT svm_train_query($$SELECT i % 2 AS y, {text} AS t FROM generate_series(1, 3) AS i$$, 'y', ARRAY['libsvm(t)'], 'large')",
    ]:
        if not hostile.attempt(statement):
            break
    hostile.connection.execute(f"SET statement_timeout = '{CASE_SECONDS}s'")
    return outcome
