"""Which trainers take which capability in which task: a table of 240 rows, trainings and what is asked of each, and how a cell is answered.

A new trainer is a line of TRAINERS, a new capability a line of CAPABILITIES, or of what its task alone has.
"""

import importlib.util
import json
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader

import psycopg

from harness.server import ROOT

DATA = """
SELECT setseed(.5);
CREATE TABLE t AS SELECT g AS id, random()::float8 AS x, random()::float8 AS y, random()::float8 AS z,
    NULL::bool AS b, NULL::text AS b3, NULL::float8 AS n, (random() * 2 + .1)::float8 AS w,
    (ARRAY['red', 'green', 'blue'])[1 + (random() * 2)::int] AS colour, (g % 5)::int AS f,
    ARRAY[random(), random()]::float4[] AS a, ARRAY[1, 3 + g % 4]::int[] AS si, ARRAY[random(), random()]::float4[] AS sv,
    md5(g::text) || ' word' || (g % 7) AS txt,
    substr(translate(md5(g::text), '0123456789abcdef', 'ACGTACGTACGTACGT'), 1, 20) AS dna FROM generate_series(1, 240) g;
UPDATE t SET b = (x + y + .6 * random() > 1.3),
    b3 = CASE WHEN x + .3 * random() > .75 THEN 'p' WHEN y + .3 * random() > .7 THEN 'q' ELSE 'r' END;
UPDATE t SET n = 3 * x - 2 * y + .2 * z + .3 * random();
ALTER TABLE t ADD PRIMARY KEY (id);
CREATE TABLE big AS SELECT g * 1000 + id AS id, x, y, z, b, n FROM t, generate_series(1, 12) g;
CREATE TABLE more AS SELECT id + 1000 AS id, x, y, z, b, b3, n, w, colour, f, a, si, sv, txt, dna FROM t WHERE id <= 20;
CREATE TABLE gone AS SELECT id FROM t WHERE id BETWEEN 30 AND 40;
CREATE VIEW v AS SELECT * FROM t;
CREATE TABLE p (LIKE t) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (120);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (120) TO (9999);
INSERT INTO p SELECT * FROM t;
CREATE TABLE nul AS SELECT id, CASE WHEN id % 9 = 0 THEN NULL ELSE x END AS x, y, z, b, b3, n FROM t;
ANALYZE;
"""

HINGE = {"loss": "hinge"}
SQUARED = {"loss": "squared_hinge"}


def trainer(solver=None, options=None, **arguments):
    named = {"solver": solver} if solver else {}
    return {**named, **arguments, "options": options or {}}


TRAINERS = {
    "descent": trainer("stream", **HINGE),
    "newton": trainer("newton", **SQUARED),
    "scan squared": trainer("scan", **SQUARED),
    "scan hinge": trainer("scan", **HINGE),
    "ocas": trainer("ocas", **HINGE),
    "cutting plane": trainer("cutting_plane", **HINGE),
    "average": trainer("scan", {"machines": "average"}, **HINGE),
    "block": trainer("block", **HINGE),
    "block newton": trainer("block", {"inner": "newton"}, max_passes=60, **SQUARED),
    "pegasos": trainer("block", {"inner": "pegasos"}, tolerance=0.5, **HINGE),
    "selective": trainer("selective_block", **HINGE),
    "paper": trainer("stream", {"policy": "paper"}, **HINGE),
    "indexed": trainer("indexed", **HINGE),
    "forest": trainer("indexed", {"chunks_by": "forest"}, **HINGE),
    "indexed newton": trainer("indexed", {"inner": "newton"}, **SQUARED),
    "interior": trainer("interior_point"),
    "interior scans": trainer("interior_point", {"machines": "scans"}),
    "low rank": trainer(None, {"method": "low_rank"}, kernel="rbf", **HINGE),
    "exact": trainer(None, {"method": "exact"}, kernel="rbf", **HINGE),
    "interior rbf": trainer("interior_point", kernel="rbf"),
    "scan rbf": trainer("scan", kernel="rbf", **SQUARED),
    "newton rbf": trainer("newton", {"method": "low_rank"}, kernel="rbf", **SQUARED),
}


def literal(value):
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case list():
            return f"ARRAY[{', '.join(map(literal, value))}]"
        case _:
            return "'" + str(value).replace("'", "''") + "'"


def train(of, source="t", features=("x", "y", "z"), options=None, function="svm_train", **arguments):
    """The call that trains by a trainer, with more arguments and options than its own; one that is None is left out."""
    validates = function == "svm_cross_validate"
    named = {"features": list(features), **({} if validates else {"model": "m"}), **of, **arguments}
    named["options"] = json.dumps({**of["options"], **({} if validates else {"inherit": False}), **(options or {})})
    # of these svm_cross_validate has to be given one
    named = {name: value for name, value in named.items() if value is not None or (validates and name == "label")}
    given = "".join(f", {name} => {literal(value)}" for name, value in named.items())
    return f"SELECT {'count(*) FROM ' if validates else ''}{function}({literal(source)}{given})"


def small_cache(*more):
    """Trainings on more rows than fit the cache, which need not come near to their optimum."""
    settings = [f"SET LOCAL {setting}" for setting in ("pgsvm.cache_size = '64kB'", *more)]
    return lambda of: [*settings, train({"tolerance": 0.01, **of}, source="big")]


def then(statement, **arguments):
    """A training, and a statement about its model."""
    return lambda of: [train(of, **arguments), statement]


def option(name, value, **arguments):
    return lambda of: [train(of, options={name: value}, **arguments)]


def argument(name, value):
    return lambda of: [train(of, **{name: value})]


def losses(*all):
    """Trainings with these losses."""
    return {f"loss {loss}": argument("loss", loss) for loss in all}


def has_kernel(of):
    return of.get("kernel", "linear") != "linear"


def truncated(of):
    return {"hinge": "ramp"}.get(of.get("loss", "hinge"), "truncated_squared_hinge")


# what only a classification can be asked for: statements for a trainer; None where the capability means nothing to it
OF_CLASSES = {
    **losses("hinge", "squared_hinge", "ramp", "truncated_squared_hinge"),
    "truncation auto": lambda of: [train(of, loss=truncated(of), options={"truncation": "auto"})],
    "three classes": argument("label", "b3"),
    "crammer_singer": option("multiclass", "crammer_singer", label="b3"),
    "predict": then("SELECT svm_predict('m', t) FROM t"),
    "predict_set": then("SELECT svm_predict_set('m', t) FROM t LIMIT 2", label="b3"),
}
# the same of a regression, and what of classes can be written with a number
OF_NUMBERS = {
    **losses("epsilon_insensitive", "squared_epsilon_insensitive", "quantile", "ramp"),
    "truncation": option("truncation", "auto"),
    "several quantiles": option("quantiles", [0.1, 0.5, 0.9], loss="quantile"),
    "epsilon": argument("epsilon", 0.2),
    "epsilon chosen": argument("epsilon", [0, 0.2]),
    "label as it is": option("scale_label", "none"),
    "intervals": then("SELECT svm_interval('m', t) FROM t LIMIT 2", options={"intervals": True}),
    "predict_quantiles": then("SELECT svm_predict_quantiles('m', t) FROM t LIMIT 2", loss="quantile"),
    "crammer_singer": option("multiclass", "crammer_singer"),
    "predict": then("SELECT svm_predict('m', t) FROM t"),
    "classify": then("SELECT svm_classify('m', t) FROM t"),
    "predict_set": then("SELECT svm_predict_set('m', t) FROM t LIMIT 2"),
}
# the same of a search for novelties, with what is about labels
OF_NOVELTIES = {
    **losses("hinge", "squared_hinge", "ramp"),
    "truncation": option("truncation", "auto"),
    "nu": argument("nu", 0.3),
    "nu chosen": argument("nu", "auto"),
    "a label": argument("label", "b"),
    "c": argument("c", 2),
    "crammer_singer": option("multiclass", "crammer_singer"),
    "classify": then("SELECT svm_classify('m', t) FROM t"),
    "predict_set": then("SELECT svm_predict_set('m', t) FROM t LIMIT 2"),
    "deploy if better": lambda of: [train(of, options={"deploy": "if_better", "relation": "t", "metric": "auc"})],
    "evaluate by a column": then("SELECT * FROM svm_evaluate('m', 't', label => 'b')"),
}
# what any task can be asked for
CAPABILITIES = {
    "trains": lambda of: [train(of)],
    "free intercept": option("intercept", "free"),
    "no intercept": argument("intercept", False),
    "c chosen": argument("c", "auto"),
    "probability": argument("probability", True),
    "svm_cross_validate": lambda of: [train(of, function="svm_cross_validate", c=[0.1, 1.0])],
    "folds by column": option("fold_column", "f", c="auto"),
    "gammas": lambda of: [train(of, options={"gammas": [0.1, 1]})] if has_kernel(of) else None,
    "class_weight balanced": argument("class_weight", "balanced"),
    "row weights": argument("weight", "w"),
    "arrays": argument("features", ["a"]),
    "categories": argument("features", ["x", "colour"]),
    "sparse": argument("features", ["sparse(si, sv)"]),
    "texts": argument("features", ["text(txt)"]),
    "strings at the visit": option("expansion", "visit", features=["weighted_degree(dna, 2)"], scale="none"),
    "normalize_rows": option("normalize_rows", True),
    "nulls mean": lambda of: [train(of, source="nul", nulls="mean")],
    "nulls skip": lambda of: [train(of, source="nul", nulls="skip")],
    "view": argument("source", "v"),
    "query": lambda of: [train(of, source="SELECT * FROM t WHERE id > 3", function="svm_train_query")],
    "partitions": argument("source", "p"),
    "small cache": small_cache(),
    "no copy on disk": small_cache("temp_file_limit = 0"),
    "two trainers": lambda of: ["SET LOCAL pgsvm.trainers = 2", train(of)],
    "two trainers, small cache": small_cache("pgsvm.trainers = 2"),
    "compression": option("compression", "on"),
    "rank": lambda of: [train(of, rank=2)] if of.get("solver") == "interior_point" or has_kernel(of) else None,
    "proximal shift": option("proximal", "on"),
    "key": argument("key", "id"),
    "duals kept": option("duals", True),
    "warm_start": lambda of: [train(of, model="m0"), train(of, model="m1", options={"warm_start": "m0"})],
    "refresh": then("SELECT svm_refresh('m')"),
    "refresh by key": lambda of: [
        train(of, key="id"),
        "UPDATE t SET z = z WHERE id < 3",
        "SELECT svm_refresh('m')",
    ],
    "update": then("SELECT svm_update('m', 'more')", key="id"),
    "forget": then("SELECT svm_forget('m', 'gone')", key="id"),
    "index": lambda of: ["SELECT svm_index('t', ARRAY['x', 'y', 'z'], 'ix')", train(of, options={"index": "ix"})],
    "watch": option("watch", "t"),
    "train again": lambda of: [train(of), f"SELECT svm_train('t', {literal(of['label'])}, model => 'm')"],
    "evaluate": then("SELECT * FROM svm_evaluate('m', 't')"),
    "explain": then("SELECT svm_explain('m', t) FROM t LIMIT 1"),
    "weights": then("SELECT * FROM svm_weights('m')"),
    "as SQL": then("SELECT svm_as_sql('m')"),
    "function, immutable": then("SELECT svm_create_function('m', immutable => true)"),
    "export pgsvm": then("SELECT svm_export('m', format => 'pgsvm')"),
    "export liblinear": then("SELECT svm_export('m')"),
    "export libsvm_model": then("SELECT svm_export('m', format => 'libsvm_model')"),
    "suspects": then("SELECT * FROM svm_suspects('m', 't')"),
    "suspects by folds": then("SELECT * FROM svm_suspects('m', 't', folds => 3)"),
}


@dataclass
class Task:
    """What is predicted: the arguments that say it, what its losses are called, and what it alone can be asked for."""

    label: str | None
    arguments: dict
    losses: dict
    capabilities: dict
    # trainers that have it not, of which it is tried that they say so, and nothing more
    without: frozenset = field(default_factory=frozenset)

    def of(self, trainer):
        """A trainer's arguments in this task."""
        loss = {"loss": self.losses[trainer["loss"]]} if "loss" in trainer else {}
        return {"label": self.label, **self.arguments, **trainer, **loss}

    def asks(self):
        return {**self.capabilities, **CAPABILITIES}


PUBLISHED = frozenset({"average", "pegasos", "paper"})
TASKS = {
    "classification": Task("b", {}, {"hinge": "hinge", "squared_hinge": "squared_hinge"}, OF_CLASSES),
    "regression": Task(
        "n",
        {"task": "regression"},
        {"hinge": "epsilon_insensitive", "squared_hinge": "squared_epsilon_insensitive"},
        OF_NUMBERS,
        without=PUBLISHED,
    ),
    "novelty": Task(
        None,
        # without a kernel named it would be 'rbf'
        {"task": "novelty", "kernel": "linear"},
        {"hinge": "hinge", "squared_hinge": "squared_hinge"},
        OF_NOVELTIES,
        without=frozenset(TRAINERS)
        - {"descent", "block", "selective", "indexed", "forest", "scan hinge", "low rank", "exact"},
    ),
}

DONE = "done"
# what PostgreSQL itself refuses
TEMP_FILE_LIMIT = "temp_file_limit"


def table_of_combinations():
    """The program scripts/combinations as a module, and the entries of the table."""
    loader = SourceFileLoader("combinations", str(ROOT / "scripts" / "combinations"))
    spec = importlib.util.spec_from_loader("combinations", loader)
    program = importlib.util.module_from_spec(spec)
    loader.exec_module(program)
    return program, program.entries()


def cells():
    """((task, capability, trainer), statements)"""
    for called, task in TASKS.items():
        for capability, ask in task.asks().items():
            for name, trainer in TRAINERS.items():
                is_asked = capability == "trains" or name not in task.without
                statements = ask(task.of(trainer)) if is_asked else None
                if statements:
                    yield (called, capability, name), statements


class Asker:
    """A connection that tries cells, each in a transaction that is rolled back."""

    def __init__(self, connection):
        self.connection = connection
        self.said = []
        self.program, self.table = table_of_combinations()
        self.told = {name: entry for name, entry in self.table.items() if entry.why == self.program.NO_EFFECT}
        self.refusals = {name: entry for name, entry in self.table.items() if name not in self.told}
        connection.add_notice_handler(lambda notice: self.said.append(notice.message_primary))

    def answer(self, statements):
        """DONE, the names of the entries of the table that a NOTICE or an error is, or the message that is none."""
        self.said.clear()
        try:
            with self.connection.transaction(force_rollback=True):
                self.connection.execute("SET LOCAL statement_timeout = '120s'")
                for statement in statements:
                    self.connection.execute(statement)
        except psycopg.Error as error:
            return self.refused(error.diag)
        told = (self.program.named(self.told, said) for said in self.said)
        return ", ".join(sorted({entry.name for entry in told if entry})) or DONE

    def refused(self, told):
        if told.sqlstate == "53400" and "temp_file_limit" in told.message_primary:
            return TEMP_FILE_LIMIT
        entry = self.program.named(self.refusals, told.message_primary, told.message_hint)
        if entry is None:
            return f"no entry of the table: {told.message_primary}"
        if not entry.hints(told.message_hint):
            return f"{entry.name} with another hint: {told.message_hint}"
        return entry.name


def written(answers):
    """Answers by (task, capability, trainer) as lines: each task, its capabilities, and below each who does not just do it."""
    lines = []
    for called, task in TASKS.items():
        cells = sum(asked == called for asked, *_ in answers)
        lines += ([""] if lines else []) + [f"# {called}: {cells} cells", ""]
        for capability in task.asks():
            lines.append(capability)
            groups = {}
            for (*cell, name), answer in answers.items():
                if cell == [called, capability] and answer != DONE:
                    groups.setdefault(answer, []).append(name)
            lines += [f"    {answer}: {', '.join(names)}" for answer, names in groups.items()]
    return "\n".join(lines) + "\n"


def read(text):
    """The same the other way round: answers by (task, capability, trainer), but for DONE."""
    answers, task, capability = {}, None, None
    for line in filter(None, text.splitlines()):
        if line.startswith("# "):
            task = line[2:].partition(":")[0]
        elif not line.startswith(" "):
            capability = line
        else:
            answer, _, names = line.strip().rpartition(": ")
            answers.update({(task, capability, name): answer for name in names.split(", ")})
    return answers
