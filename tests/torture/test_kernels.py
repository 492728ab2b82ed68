"""Certificates of kernel machines, recomputed in SQL from what is stored: machines of random data, kernel, gamma, C, loss, scale,
weights and method. None may be false: the primal of the stored factors is at most the stored one, no dual above what the stored
dual variables prove, the decisions those of the stored rows.
"""

import json
import random
import time
from collections import Counter

import psycopg

from harness.effort import LONG, SEED, record, seconds
from harness.sessions import NO_WORKER, configure
from torture.recomputed import Machine

# rounding of the sums themselves, relative to what is summed up
ROUNDING = 1e-9
MACHINES, QUICK_MACHINES = 5_000, 16

# what a column is made of: x is about normal, i the row's number
COLUMNS = {
    "normal": lambda chance, i, x: x,
    "clustered": lambda chance, i, x: round(x) * 3 + 0.01 * chance.gauss(0, 1),
    "few values": lambda chance, i, x: float(round(x)),
    "whole, far": lambda chance, i, x: float(round(40 * x)) + 1e6,
    "far": lambda chance, i, x: x + 1e4,
    "days": lambda chance, i, x: float(20_454 + round(300 * x)),
    "constant": lambda chance, i, x: 7.0,
    "long tail": lambda chance, i, x: x * abs(x) ** 3,
    "sparse": lambda chance, i, x: x if chance.random() < 0.1 else 0.0,
}
KERNELS = ["rbf", "rbf", "rbf", "polynomial", "sigmoid"]
METHODS = ["exact", "exact", "low_rank", "low_rank", "scan", "interior_point"]
SCALES = ["standard", "standard", "none", "maxabs", "minmax"]


class Tried:
    """Tables and machines drawn by lot, and what came of them."""

    def __init__(self, connection, chance):
        self.connection, self.chance = connection, chance
        self.machines, self.refused, self.missed, self.false = Counter(), Counter(), Counter(), []

    def fill(self):
        """A table of some kinds of columns; labels follow them more or less."""
        chance = self.chance
        rows, count = chance.randint(30, 220), chance.randint(1, 4)
        kinds = [chance.choice(list(COLUMNS)) for _ in range(count)]
        noise, twins = chance.choice([0, 0.1, 0.5, 3]), chance.choice([1, 1, 1, 5])
        self.columns = [f"c{j}" for j in range(count)]
        self.sparse = chance.random() < 0.15
        self.connection.execute("DROP TABLE IF EXISTS drawn")
        columns = "idx int[], val real[]" if self.sparse else ", ".join(f"{name} float8" for name in self.columns)
        self.connection.execute(f"CREATE TEMP TABLE drawn (id int, label int, cost float8, {columns})")
        with self.connection.cursor().copy("COPY drawn FROM STDIN") as copy:
            for i in range(rows):
                if i % twins == 0:
                    xs = [chance.gauss(0, 1) for _ in kinds]
                values = [COLUMNS[kind](chance, i, x) for kind, x in zip(kinds, xs)]
                score = sum(xs) + 0.7 * xs[0] ** 2 - 0.5 + noise * chance.gauss(0, 1)
                label = (1 if score > 0 else -1) if i > 1 else (-1, 1)[i]
                cost = chance.choice([0.25, 1, 1, 3])
                if self.sparse:
                    held = [(j, value) for j, value in enumerate(values) if value]
                    values = ["{" + ",".join(str(of[at]) for of in held) + "}" for at in (0, 1)]
                copy.write_row([i, label, cost, *values])
        self.kinds = kinds

    def terms(self):
        """Of a machine on the table."""
        chance = self.chance
        method = chance.choice(METHODS)
        options = {}
        terms = {
            "kernel": chance.choice(KERNELS),
            "c": 10 ** chance.uniform(-3, 6),
            "scale": chance.choice(SCALES),
            "loss": "hinge" if method == "interior_point" else chance.choice(["hinge", "squared_hinge"]),
            "tolerance": chance.choice([1e-3, 1e-3, 1e-2, 1e-4]),
            "max_passes": 100,
        }
        if chance.random() < 0.7:
            terms["gamma"] = 10 ** chance.uniform(-3, 1)
        if terms["kernel"] != "rbf":
            terms["coef0"] = chance.choice([0, 1])
        if terms["kernel"] == "polynomial":
            terms["degree"] = chance.choice([2, 3])
        if chance.random() < 0.3:
            terms["weight"] = "cost"
        if chance.random() < 0.2:
            terms["class_weight"] = {"1": 2.5, "-1": 0.75}
        if chance.random() < 0.2:
            terms["intercept"] = False
        if method in ("exact", "low_rank"):
            options = {"method": method, "duals": True}
            if method == "low_rank" and chance.random() < 0.3:
                options["landmarks"] = chance.choice(["uniform", "drawn"])
        elif method == "interior_point":
            terms["solver"], options = "interior_point", {"duals": True}
        else:
            terms["solver"] = "scan"
        if method != "exact" and chance.random() < 0.7:
            terms["rank"] = chance.choice([2, 10, 25])
        if options:
            terms["options"] = options
        return method, terms

    def train(self):
        """Trains one and looks at it."""
        method, terms = self.terms()
        features = ["sparse(idx, val)"] if self.sparse else self.columns
        names = ", ".join(f"{name} => %s" for name in terms)
        values = [json.dumps(value) if isinstance(value, dict) else value for value in terms.values()]
        try:
            self.connection.execute(f"SELECT svm_train('drawn', 'label', %s, 'm', {names})", [features, *values])
        except psycopg.Error as error:
            self.refused[f"{error.sqlstate}: {str(error).splitlines()[0]}"[:110]] += 1
            return
        what = self.look(terms)
        self.machines[method] += 1
        if what:
            self.false.append((method, terms, self.kinds, what))
        self.connection.execute("SELECT svm_drop('m')")

    def look(self, terms):
        """What is false of the machine; empty where nothing is."""
        machine = Machine(self.connection, "m", "drawn", self.columns, self.sparse, terms)
        found = []
        primal = machine.recomputed_primal()
        rounding = ROUNDING * primal + machine.rounding()
        if primal > machine.primal + rounding:
            found.append(f"primal {machine.primal!r}, recomputed {primal!r}")
        dual = machine.recomputed_dual()
        if dual is None:
            least = machine.least_known_primal()
            if machine.dual > min(least, primal) + rounding:
                found.append(f"dual {machine.dual!r}, above a primal of {min(least, primal)!r}")
        elif machine.dual > max(dual, 0) + rounding:
            found.append(f"dual {machine.dual!r}, recomputed {dual!r}")
        if machine.primal > 0 and machine.gap < (machine.primal - machine.dual) / machine.primal - 1e-12:
            found.append(f"gap {machine.gap!r} of {machine.primal!r} and {machine.dual!r}")
        if machine.stop == "tolerance" and machine.gap > machine.tolerance:
            found.append(f"ended at a gap of {machine.gap!r}")
        if machine.stop != "tolerance":
            self.missed[f"c {'above' if terms['c'] > 1000 else 'to'} 1000"] += 1
        error = machine.decision_error()
        if not error <= 1e-6:
            found.append(f"decisions off by {error:.1e}")
        return found


def test_certificates_of_kernel_machines_are_those_of_what_is_stored(connection):
    chance = random.Random(SEED)
    configure(
        connection,
        NO_WORKER
        | {"client_min_messages": "error", "pgsvm.cache_size": "8MB", "jit": "off", "statement_timeout": "20s"},
    )
    tried = Tried(connection, chance)
    until = time.monotonic() + seconds(8)
    most = MACHINES if LONG else QUICK_MACHINES
    while sum(tried.machines.values()) < most and (LONG and time.monotonic() < until or not LONG):
        tried.fill()
        for _ in range(4):
            tried.train()
    for method, count in sorted(tried.machines.items()):
        wrong = sum(1 for one in tried.false if one[0] == method)
        record("kernels", method=method, machines=count, false=wrong)
    record("kernels missed", **{"machines beyond their tolerance": sum(tried.missed.values())})
    print(tried.missed, tried.refused)
    assert not tried.false, "\n".join(str(one) for one in tried.false[:20])
