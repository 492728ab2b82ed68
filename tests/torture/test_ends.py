"""Every training ends, by its tolerance or its passes, and what it stores is true: small problems that are hard on solvers, by
every solver. What each model's certificate says is computed anew from the weights that are stored.
"""

import math
import random
import threading
import time
from collections import Counter, defaultdict

import psycopg
import pytest

from harness.effort import LONG, SEED, record, seconds
from torture.nasty import draw, objective, together

PROBLEMS = 2000
SESSIONS = 2
WITHIN_SECONDS = 10
# what is added up twice in another order differs by so much, as a part of it
ROUNDING = 1e-9

# what -> (arguments, loss, whether it takes more than two classes)
LINEAR = {
    "auto": ("", "squared_hinge"),
    "auto, hinge": ("", "hinge"),
    "stream": ("solver => 'stream'", "hinge"),
    "stream, squared hinge": ("solver => 'stream'", "squared_hinge"),
    "stream, ramp": ("solver => 'stream'", "ramp"),
    "stream, truncated squared hinge": ("solver => 'stream'", "truncated_squared_hinge"),
    "stream, policy paper": ("solver => 'stream', options => '{\"policy\": \"paper\"}'", "hinge"),
    "block": ("solver => 'block'", "hinge"),
    "block, newton": ("solver => 'block', options => '{\"inner\": \"newton\"}'", "squared_hinge"),
    "block, pegasos": ("solver => 'block', options => '{\"inner\": \"pegasos\"}'", "hinge"),
    "selective_block": ("solver => 'selective_block'", "squared_hinge"),
    "newton": ("solver => 'newton'", "squared_hinge"),
    "newton, truncated squared hinge": ("solver => 'newton'", "truncated_squared_hinge"),
    "indexed": ("solver => 'indexed'", "hinge"),
    "ocas": ("solver => 'ocas'", "hinge"),
    "cutting_plane": ("solver => 'cutting_plane'", "hinge"),
    "scan": ("solver => 'scan'", "hinge"),
    "scan, squared hinge": ("solver => 'scan'", "squared_hinge"),
    "scan, truncated squared hinge": ("solver => 'scan'", "truncated_squared_hinge"),
    "scan, average": ("solver => 'scan', options => '{\"machines\": \"average\"}'", "hinge"),
    "crammer_singer": ("solver => 'ocas', options => '{\"multiclass\": \"crammer_singer\"}'", "hinge"),
}
# tolerances, of those whose primal is not that of the problem: an intercept that is not in the norm, kernels
OTHERS = {
    "newton, free intercept": ("solver => 'newton', options => '{\"intercept\": \"free\"}'", "squared_hinge"),
    "interior_point": ("solver => 'interior_point', kernel => 'linear'", "hinge"),
    "interior_point, rbf": ("solver => 'interior_point', kernel => 'rbf'", "hinge"),
    "rbf": ("kernel => 'rbf'", "squared_hinge"),
    "exact rbf": ("kernel => 'rbf', options => '{\"method\": \"exact\"}'", "hinge"),
    "exact polynomial": ("kernel => 'polynomial', options => '{\"method\": \"exact\"}'", "hinge"),
    "low_rank rbf": ("kernel => 'rbf', options => '{\"method\": \"low_rank\"}'", "hinge"),
    "scan, rbf": ("solver => 'scan', kernel => 'rbf'", "hinge"),
}

TRAIN = "SELECT svm_train('{0}', 'y', '{{x}}', weight => 'w', model => '{0}', scale => 'none', c => %s, loss => %s, max_passes => %s{1})"
HEADS = """
    SELECT h.head, h.class::int, h.intercept, h.primal, h.dual, h.gap, h.stop_reason, h.truncated_primal, h.outliers
    FROM svm_head AS h JOIN svm_version AS v ON v.id = h.version_id JOIN svm_model AS m ON m.id = v.model_id
    WHERE m.name = %s ORDER BY h.head
"""
WEIGHTS = """
    SELECT w.head, w.first_feature, w.features, w.weights
    FROM svm_weight AS w JOIN svm_version AS v ON v.id = w.version_id JOIN svm_model AS m ON m.id = v.model_id
    WHERE m.name = %s
"""


class Found(Exception):
    """Something that may not be."""


def put(connection, table, problem):
    with connection.transaction():
        connection.execute(f"TRUNCATE {table}")
        with connection.cursor().copy(f"COPY {table} FROM STDIN") as rows:
            for label, row, weight in zip(problem.labels, problem.rows, problem.weights):
                rows.write_row((label, row, weight))


def machines_of(connection, model, heads, width):
    """Weights and intercept by head."""
    weights = [[0.0] * width for _ in heads]
    for head, first, offsets, values in connection.execute(WEIGHTS, [model]):
        for offset, value in zip(offsets or range(len(values)), values):
            weights[head][first + offset] = value
    return [(own, head[2]) for own, head in zip(weights, heads)]


def check_numbers(head):
    """What holds of any certificate."""
    _, _, _, primal, dual, gap, stop, truncated, _ = head
    numbers = [it for it in (primal, dual, gap, truncated) if it is not None]
    if not all(map(math.isfinite, numbers)):
        raise Found(f"not finite: {head}")
    if stop not in ("tolerance", "max_passes"):
        raise Found(f"stopped by {stop}")
    expected = max(0.0, (primal - dual) / primal) if primal > 0 else 0.0
    if abs(gap - expected) > 1e-9:
        raise Found(f"gap {gap}, of {primal} and {dual}")
    if stop == "tolerance" and gap > 1e-3 * (1 + 1e-9):
        raise Found(f"stopped by tolerance at a gap of {gap}")


def check_primal(said, true, rounding, what="primal"):
    if abs(said - true) > ROUNDING * abs(true) + rounding + 1e-300:
        raise Found(f"{what} {said}, of its weights {true}")


class Ends:
    """All solvers on one problem after another, in a table and a model of this name."""

    def __init__(self, connection, name):
        self.connection, self.name = connection, name
        connection.execute(f"CREATE UNLOGGED TABLE {name} (y int, x real[], w float8)")
        connection.execute(f"SET statement_timeout = '{WITHIN_SECONDS}s'; SET client_min_messages = error")
        self.problems = 0
        self.counts = defaultdict(Counter)
        self.longest = defaultdict(float)
        self.wrong = []

    def go_on(self, chance, deadline, most):
        while time.monotonic() < deadline and self.problems < most:
            self.round(draw(chance))
            self.problems += 1

    def round(self, problem):
        put(self.connection, self.name, problem)
        # by loss the largest dual, and the smallest primal, that anybody has come to
        self.duals, self.primals = {}, {}
        for what, (arguments, loss) in (LINEAR | OTHERS).items():
            if what == "crammer_singer" and problem.classes < 3:
                continue
            try:
                self.train(problem, what, arguments, loss)
            except Found as found:
                self.counts[what]["wrong"] += 1
                self.wrong.append(f"{what}: {found}: {problem.kind}")
                print(self.wrong[-1], flush=True)
        self.compare(problem)

    def train(self, problem, what, arguments, loss):
        counts = self.counts[what]
        self.connection.execute("SELECT svm_drop(name) FROM svm_models WHERE name = %s", [self.name])
        began = time.monotonic()
        try:
            statement = TRAIN.format(self.name, ", " * bool(arguments) + arguments)
            self.connection.execute(statement, [problem.c, loss, problem.max_passes])
        except psycopg.errors.QueryCanceled:
            raise Found(f"no end within {WITHIN_SECONDS} s") from None
        except psycopg.Error as error:
            if error.sqlstate is None or error.sqlstate.startswith("XX"):
                raise Found(f"{error.sqlstate} {error}") from None
            counts["refused"] += 1
            counts["refused " + error.sqlstate + " " + str(error).splitlines()[0][:80]] += 1
            return
        finally:
            self.longest[what] = max(self.longest[what], time.monotonic() - began)
        counts["trained"] += 1
        heads = self.connection.execute(HEADS, [self.name]).fetchall()
        counts["max_passes"] += any(head[6] == "max_passes" for head in heads)
        for head in heads:
            check_numbers(head)
        if what in LINEAR:
            self.recompute(problem, what, loss, heads)

    def recompute(self, problem, what, loss, heads):
        machines = machines_of(self.connection, self.name, heads, len(problem.rows[0]))
        if what == "crammer_singer":
            sums = together(problem, machines)
            check_primal(sum(head[3] for head in heads), sums.primal, sums.rounding)
            return
        found = objective(problem, loss, machines, [head[1] for head in heads])
        for number, (head, sums) in enumerate(zip(heads, found)):
            _, _, _, primal, dual, _, stop, truncated, _ = head
            if truncated is not None:
                check_primal(truncated, sums.truncated, sums.rounding, "truncated primal")
                # rows near the truncation may count on either side of it; more of them where it has not come to its tolerance
                above = 1.002 * sums.truncated + sums.rounding if stop == "tolerance" else float("inf")
                if not sums.truncated * (1 - ROUNDING) - sums.rounding <= primal <= above:
                    raise Found(f"primal {primal}, of the loss that is truncated {sums.truncated}, by {stop}")
                continue
            check_primal(primal, sums.primal, sums.rounding)
            best = self.primals.setdefault((loss, number), (math.inf, ""))
            self.primals[loss, number] = min(best, (sums.primal + sums.rounding, what))
            best = self.duals.setdefault((loss, number), (-math.inf, ""))
            self.duals[loss, number] = max(best, (dual, what))

    def compare(self, problem):
        """No dual is above any primal of the same problem."""
        for key, (dual, of_dual) in self.duals.items():
            primal, of_primal = self.primals[key]
            if dual > primal * (1 + ROUNDING):
                self.counts[of_dual]["wrong"] += 1
                self.wrong.append(f"{of_dual}: dual {dual} above {primal} by {of_primal}: {problem.kind}")
                print(self.wrong[-1], flush=True)


@pytest.mark.skipif(
    not LONG, reason="thirty trainings a problem take minutes to say anything: crates/pgsvm-core/tests/ends.rs"
)
def test_every_training_ends_and_tells_the_truth(connect):
    deadline = time.monotonic() + seconds(quick=0)
    all_ends = [Ends(connect(), f"nasty{session}") for session in range(SESSIONS)]
    threads = [
        threading.Thread(target=ends.go_on, args=[random.Random(f"{SEED} {ends.name}"), deadline, PROBLEMS // SESSIONS])
        for ends in all_ends
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    problems = sum(ends.problems for ends in all_ends)
    for what in LINEAR | OTHERS:
        counts = sum((ends.counts[what] for ends in all_ends), Counter())
        record(
            "ends",
            solver=what,
            problems=problems,
            trained=counts["trained"],
            refused=counts["refused"],
            by_max_passes=counts["max_passes"],
            longest_seconds=round(max(ends.longest[what] for ends in all_ends), 1),
            wrong=counts["wrong"],
        )
    wrong = [it for ends in all_ends for it in ends.wrong]
    assert problems and not wrong, "\n".join(wrong[:20])
