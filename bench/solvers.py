"""Solvers alone, on arrays in memory: ours through the example `measure`, LIBLINEAR through its shared library."""

import ctypes
import functools
import json
import os
import re
import subprocess

import numpy as np
from liblinear.liblinear import PRINT_STRING_FUN, feature_node, liblinear, parameter
from liblinear.liblinear import problem as liblinear_problem
from scipy import sparse

from machine import ROOT, TARGET, Stopwatch, Usage


@functools.cache
def measure_program():
    """Builds the example and gives its path."""
    build = ROOT / "target" / "build"
    command = ["cargo", "build", "--release", "--locked", "--quiet", "-p", "pgsvm-core", "--example", "measure"]
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "CARGO_TARGET_DIR": str(build)})
    return build / "release" / "examples" / "measure"


class NotAvailable(Exception):
    """This build of the solver does not know an option or a value of one."""


def measured(problem, **options):
    """What the example says of one training on a problem's folder; its weights and duals lie in target/bench/out."""
    out = TARGET / "out"
    out.mkdir(parents=True, exist_ok=True)
    arguments = {"features": problem.features, "out": out, **options}
    if problem.epsilon is not None:
        arguments["epsilon"] = problem.epsilon
    command = [measure_program(), problem.folder, *(f"{key}={value}" for key, value in arguments.items())]
    child = subprocess.run(command, capture_output=True, text=True)
    if "unknown" in child.stderr:
        raise NotAvailable(child.stderr.strip().removeprefix("Error: ").strip('"'))
    if child.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {child.stderr}")
    return json.loads(child.stdout)


def ours(problem, c, tolerance, passes=1000, **options):
    """(usage, w, b, duals, what the program says) of one training of ours; the usage is that of the solver alone."""
    said = measured(problem, c=c, tolerance=tolerance, passes=passes, **options)
    w, b = weights(problem)
    return Usage(said["wall"], said["cpu"]), w[0], b[0], duals(problem)[0], said


def weights(problem, heads=1):
    """Weights of each head of the last training and their intercepts."""
    found = np.fromfile(TARGET / "out" / "weights.f64").reshape(heads, -1)
    w = np.zeros((heads, problem.features))
    # features behind the last one that occurs have no weight
    w[:, : found.shape[1] - 1] = found[:, :-1]
    return w, found[:, -1]


def duals(problem, heads=1):
    """Dual variables of each head of the last training."""
    return np.fromfile(TARGET / "out" / "duals.f32", np.float32).reshape(heads, -1)


class Liblinear:
    """LIBLINEAR on one problem, with its own row format made beforehand. `SOLVERS` are its numbers: of the hinge loss there
    is the dual solver alone, of the squared one also Newton's method on the primal; of numbers to predict `REGRESSIONS` likewise, the
    distance beyond epsilon and its square."""

    SOLVERS = {"hinge": {"dual": 3}, "squared_hinge": {"dual": 1, "primal": 2}}
    REGRESSIONS = {"hinge": {"dual": 13}, "squared_hinge": {"dual": 12, "primal": 11}}

    NODE = np.dtype(feature_node)

    def __init__(self, problem):
        self._problem = problem
        rows, features = problem.rows, problem.features
        if problem.is_dense:
            self._nodes = np.zeros((rows, features + 2), self.NODE)
            self._nodes["index"][:, :features] = np.arange(1, features + 1)
            self._nodes["value"][:, :features] = problem.x
            self._nodes["index"][:, features], self._nodes["value"][:, features] = features + 1, 1.0
            self._nodes["index"][:, features + 1] = -1
            starts = np.arange(rows, dtype=np.int64) * (features + 2)
        else:
            length = np.diff(problem.x.indptr)
            starts = problem.x.indptr[:-1].astype(np.int64) + 2 * np.arange(rows)
            self._nodes = np.zeros(problem.x.nnz + 2 * rows, self.NODE)
            place = np.arange(problem.x.nnz) + np.repeat(2 * np.arange(rows), length)
            self._nodes["index"][place] = problem.x.indices + 1
            self._nodes["value"][place] = problem.x.data
            bias = starts + length
            self._nodes["index"][bias], self._nodes["value"][bias] = features + 1, 1.0
            self._nodes["index"][bias + 1] = -1
        self._pointers = (self._nodes.ctypes.data + starts * self.NODE.itemsize).astype(np.uint64)
        self._labels = problem.y.astype(np.float64)
        self._call = self._prepare()

    def solvers(self):
        """Numbers of the solvers that there are for this problem, by loss and kind."""
        return self.SOLVERS if self._problem.epsilon is None else self.REGRESSIONS

    def _prepare(self):
        call = liblinear_problem.__new__(liblinear_problem)
        call.l, call.n, call.bias = self._problem.rows, self._problem.features + 1, 1.0
        call.y = self._labels.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
        call.x = self._pointers.ctypes.data_as(ctypes.POINTER(ctypes.POINTER(feature_node)))
        return call

    def relabel(self, y):
        """Other labels for the same rows."""
        self._labels[:] = y

    def pick(self, rows):
        """Trainings are over these rows from now on, a flag each."""
        self._picked = self._pointers[rows], self._labels[rows]
        pointers, labels = self._picked
        self._call.l = len(labels)
        self._call.y = labels.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
        self._call.x = pointers.ctypes.data_as(ctypes.POINTER(ctypes.POINTER(feature_node)))

    def train(self, c, epsilon, seed=None, solver=3):
        """(usage, w, b, its dual objective or None, whether the iteration cap was reached); it shuffles by the C library's
        generator, which goes on where it was unless a seed is given."""
        if seed is not None:
            ctypes.CDLL(None).srand(seed)
        said = []
        listener = PRINT_STRING_FUN(said.append)
        width = "" if self._problem.epsilon is None else f" -p {self._problem.epsilon}"
        options = parameter(f"-s {solver} -c {c} -e {epsilon}{width}")
        liblinear.set_print_string_function(listener)
        with Stopwatch() as watch:
            model = liblinear.train(ctypes.byref(self._call), ctypes.byref(options))
        trained = model.contents
        # the first class is positive, where there are classes
        sign = trained.label[0] if self._problem.epsilon is None else 1
        w = np.ctypeslib.as_array(trained.w, (self._problem.features + 1,)).copy() * sign
        liblinear.free_and_destroy_model(ctypes.byref(ctypes.pointer(trained)))
        output = b"".join(said)
        dual = re.search(rb"Objective value = (\S+)", output)
        return watch.usage, w[:-1], w[-1], dual and -float(dual[1]), b"reaching max number of iterations" in output


def one_class_by_liblinear(x, nu):
    """LIBLINEAR's machine of one class on dense rows: processor seconds and 1/2 |v|^2, the dual variables between 0 and 1."""
    rows = liblinear_problem(np.zeros(len(x)), sparse.csr_matrix(x.astype(np.float64)))
    said = []
    listener = PRINT_STRING_FUN(said.append)
    options = parameter(f"-s 21 -n {nu} -e 1e-4")
    liblinear.set_print_string_function(listener)
    with Stopwatch() as watch:
        model = liblinear.train(ctypes.byref(rows), ctypes.byref(options))
    liblinear.free_and_destroy_model(ctypes.byref(ctypes.pointer(model.contents)))
    objective = re.search(rb"Objective value = (\S+)", b"".join(said))
    return {"cpu": watch.usage.cpu, "objective": float(objective[1])}
