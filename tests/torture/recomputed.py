"""What a kernel machine's certificate should say, recomputed from its stored rows: kernel values and their sums in SQL, in
double precision.

A row of the table becomes what training stores of it (`scaled`): dense values less the first row's, as real; less the rest of the
centre, times the factor, as real once more. P is that of the stored factors. D is that of the stored dual variables, or, where
there are none, of some that are found here.
"""

from decimal import Decimal

import numpy
from scipy.optimize import minimize

from harness.sessions import one

KERNELS = {
    "rbf": "exp(greatest(-300, -{gamma} * ({distance})))",
    "polynomial": "power({gamma} * ({product}) + {coef0}, {degree})",
    "sigmoid": "tanh({gamma} * ({product}) + {coef0})",
}
# more digits than a row or a weight has, where the platform has them
WIDE = numpy.longdouble
LOSSES = {"hinge": "greatest(0, 1 - m)", "squared_hinge": "greatest(0, 1 - m) * greatest(0, 1 - m)"}


def scaling_of(x, scale, cost):
    """What columns are less, and times what, as training learns it of rows that count as so many."""
    none, away = numpy.zeros(x.shape[1], WIDE), x
    if scale == "none":
        return none, none + 1
    if scale == "standard":
        share = (cost / sum(cost))[:, None]
        centre = (share * x).sum(0)
        size = numpy.sqrt((share * (x - centre) ** 2).sum(0))
    elif scale == "minmax":
        centre, away = x.min(0), x - x.min(0)
        size = away.max(0)
    else:
        centre, size = none, abs(x).max(0)
    return centre, numpy.where(size > 0, 1 / numpy.where(size > 0, size, 1), 0)


def of(number, values):
    """The values as those numbers."""
    return numpy.array(values, dtype=float) if number is float else numpy.array([Decimal(float(v)) for v in values])


def cholesky(matrix):
    """The lower factor of a positive definite matrix, of whatever numbers."""
    if matrix.dtype != object:
        return numpy.linalg.cholesky(matrix)
    lower = matrix * 0
    for j in range(len(matrix)):
        lower[j, j] = (matrix[j, j] - (lower[j, :j] ** 2).sum()).sqrt()
        lower[j + 1 :, j] = (matrix[j + 1 :, j] - lower[j + 1 :, :j] @ lower[j, :j]) / lower[j, j]
    return lower


def solved(lower, values):
    """lower^-1 values."""
    if lower.dtype != object:
        return numpy.linalg.solve(lower, values)
    found = values * 0
    for j in range(len(lower)):
        found[j] = (values[j] - lower[j, :j] @ found[:j]) / lower[j, j]
    return found


class Hyperplane:
    """A stored linear model of two classes: what its weights come to over the rows of the table, x, whose sides are y and whose weights
    are rows of their own in all that is learned of them. `balanced`: classes count as much. `divided`: scaled rows are, by their lengths."""

    def __init__(self, connection, name, x, y, cost=None, balanced=False, divided=False):
        (version, self.primal, self.dual, self.gap, self.stop, self.tolerance, c, loss, scale, used, solver, b) = (
            connection.execute(
                "SELECT id, primal, dual, gap, stop_reason, tolerance, c, loss, scale, intercept_used, solver, intercept"
                " FROM svm_version WHERE id = svm_internal.svm_version_id(%s)",
                [name],
            ).fetchone()
        )
        stored = connection.execute(
            "SELECT first_feature, features, weights FROM svm_weight WHERE version_id = %s AND head = 0", [version]
        )
        x = x.astype(WIDE)
        w = numpy.zeros(x.shape[1], WIDE)
        for first, features, weights in stored:
            w[first + numpy.array(range(len(weights)) if features is None else features)] = weights
        cost = numpy.ones(len(y), WIDE) if cost is None else cost.astype(WIDE)
        centre, factor = scaling_of(x, scale, cost)
        if balanced:
            cost = cost * sum(cost) / numpy.where(y > 0, 2 * sum(cost[y > 0]), 2 * sum(cost[y < 0]))
        if divided:
            # weights are those of such rows
            x = (x - centre) * factor
            length = numpy.sqrt((x**2).sum(1))[:, None]
            x = x / numpy.where(length > 0, length, 1)
            centre, factor = 0 * centre, 0 * factor + 1
        lost = numpy.maximum(0, 1 - y * (x @ w + WIDE(b)))
        free = solver == "interior_point" or not used
        norm = sum(numpy.where(factor > 0, w / numpy.where(factor > 0, factor, 1), 0) ** 2)
        norm += 0 if free else (WIDE(b) + sum(w * centre)) ** 2
        self.recomputed = float(0.5 * norm + WIDE(c) * sum(cost * (lost if loss == "hinge" else lost**2)))


class Machine:
    """A head of a stored kernel machine over `columns` of a table (id, label, cost, columns...)."""

    def __init__(self, connection, name, table, columns, sparse=False, terms=(), head=0):
        self.connection, self.name, self.table, self.head = connection, name, table, head
        self.columns, self.sparse = columns, sparse
        self.version = one(connection, "SELECT svm_internal.svm_version_id(%s)", [name])
        self.about = connection.execute(
            "SELECT features->'kernel', loss, c, solver, intercept_used, options, h.primal, h.dual, h.gap, h.stop_reason,"
            " h.intercept, tolerance, class, against, cardinality(label_values) FROM svm_version AS v"
            " JOIN svm_head AS h ON h.version_id = v.id WHERE v.id = %s AND head = %s",
            [self.version, head],
        ).fetchone()
        self.kernel, self.loss, self.c, self.solver, self.regularized = self.about[:5]
        self.primal, self.dual, self.gap, self.stop, self.intercept, self.tolerance = self.about[6:12]
        self.positive, self.against, self.classes = self.about[12:]
        # of interior points in no norm
        self.free = self.regularized and self.solver == "interior_point"
        self.regularized &= not self.free
        # what a row counts beside its own weight
        weights = dict(terms).get("class_weight") or {}
        own = " ".join(f"WHEN {label} THEN {weight}" for label, weight in weights.items())
        own = f"CASE label {own} ELSE 1 END" if own else "1"
        self.cost = f"{'cost' if 'weight' in terms else '1'} * {own}"
        self._lay_out()

    def _lay_out(self):
        # rows are numbered as they lie: of rows that differ in length some fill what others left of a page
        connection, count = self.connection, len(self.columns)
        connection.execute("DROP TABLE IF EXISTS pg_temp.xs, pg_temp.zs, pg_temp.ks")
        values = ", ".join(f"({self._scaled(j, column)})::float8 AS v{j}" for j, column in enumerate(self.columns))
        positive, against = int(self.positive), self.against
        connection.execute(
            f"CREATE TEMP TABLE xs AS SELECT row_number() OVER (ORDER BY t.ctid) - 1 AS row, id,"
            f" CASE label WHEN {positive} THEN 1 ELSE -1 END AS y, label, ({self.cost})::float8 AS cost, {values}"
            f" FROM {self.table} AS t"
        )
        if against is not None:
            connection.execute(f"DELETE FROM xs WHERE label NOT IN ({positive}, {int(against)})")
        width = self.kernel["width"]
        places = [
            f"dense[{j + 1}]" if j < width else f"coalesce(sparse_value[array_position(sparse_index, {j}::bigint)], 0)"
            for j in range(count)
        ]
        values = ", ".join(f"{place}::float8 AS v{j}" for j, place in enumerate(places))
        connection.execute(
            f"CREATE TEMP TABLE zs AS SELECT landmark, coalesce(factor, 0) AS factor, {values} FROM svm_landmark"
            " LEFT JOIN (SELECT coalesce(first_feature + features[n], first_feature + n - 1) AS landmark, weights[n] AS factor"
            "   FROM svm_weight, generate_series(1, cardinality(weights)) AS n WHERE version_id = %s AND head = %s) AS f"
            " USING (landmark) WHERE version_id = %s",
            [self.version, self.head, self.version],
        )
        connection.execute(
            f"CREATE TEMP TABLE ks AS SELECT row, landmark, {self._value('x', 'z')} AS k FROM xs AS x CROSS JOIN zs AS z"
        )

    def _scaled(self, j, column):
        """The j-th value of a row, as training stores it."""
        scaling = self.kernel.get("scaling") or {}
        if self.sparse:
            value = f"coalesce(val[array_position(idx, {j})], 0)::real"
            factors = scaling.get("sparse_factor") or []
            return f"({value} * {factors[j]!r}::real)::real" if j < len(factors) else value
        centre, factor = (scaling.get(name) or [] for name in ("centre", "factor"))
        first = self.kernel.get("first") or []
        if not factor:
            return f"{column}::real"
        away = first[j] if first else 0.0
        left = (centre[j] if centre else 0.0) - away
        return f"(((({column})::float8 - {away!r}::float8)::real::float8 - {left!r}::float8) * {factor[j]!r}::float8)::real"

    def _value(self, x, z):
        count = range(len(self.columns))
        kernel = self.kernel
        return KERNELS[kernel["function"]].format(
            gamma=f"{kernel['gamma']!r}::float8",
            coef0=f"{kernel.get('coef0') or 0!r}::float8",
            degree=kernel.get("degree"),
            distance=" + ".join(f"({x}.v{j} - {z}.v{j}) ^ 2" for j in count),
            product=" + ".join(f"{x}.v{j} * {z}.v{j}" for j in count),
        )

    def norm(self):
        """Of the stored factors, and of the intercept where it is in the norm."""
        norm = one(
            self.connection,
            f"SELECT coalesce(sum(one.factor * other.factor * {self._value('one', 'other')}), 0) FROM zs AS one CROSS JOIN zs AS other",
        )
        return norm + (self.intercept**2 if self.regularized else 0)

    def recomputed_primal(self):
        losses = one(
            self.connection,
            f"""SELECT sum(cost * {LOSSES[self.loss]}) FROM (
                SELECT cost, y * (coalesce(sum(k * factor), 0) + %s::float8) AS m FROM xs LEFT JOIN ks USING (row) LEFT JOIN zs USING (landmark)
                GROUP BY row, cost, y) AS margins""",
            [self.intercept],
        )
        return 0.5 * self.norm() + self.c * losses

    def rounding(self):
        """What the sums of a primal, of tens of thousands of terms one after the other, lose in double precision."""
        largest = one(
            self.connection,
            "SELECT coalesce(max(s), 0) FROM (SELECT sum(abs(k * factor)) AS s FROM ks JOIN zs USING (landmark) GROUP BY row) AS sums",
        )
        total = one(self.connection, "SELECT coalesce(sum(abs(factor)), 0) FROM zs")
        return 2e-14 * largest * total

    def decision_error(self):
        """The largest difference of a decision from what the stored rows say, beyond what sums of such terms lose in double precision, as a
        part of 1 or of the decision."""
        number = str(self.positive)
        decision = "svm_decision(%s, t)" if self.classes == 2 else f"svm_decision(%s, t, '{number}')"
        if self.against is not None:
            # of pairs only votes are told
            return 0.0
        return one(
            self.connection,
            f"""SELECT max(greatest(0, abs({decision} - f) - 2e-14 * size) / greatest(1, abs(f))) FROM {self.table} AS t JOIN (
                SELECT id, coalesce(sum(k * factor), 0) + %s::float8 AS f, coalesce(sum(abs(k * factor)), 0) AS size FROM xs LEFT JOIN ks USING (row) LEFT JOIN zs USING (landmark)
                GROUP BY id) AS decided USING (id)""",
            [self.name, self.intercept],
        )

    def _problem(self, number=float):
        """Sides, weights and Q: of an exact machine the kernel's own matrix, else that of the landmarks' span. In double precision, or
        with DIGITS where `number` is Decimal: the matrix of landmarks that lie close together has no inverse in double precision."""
        rows = self.connection.execute("SELECT y, cost FROM xs ORDER BY row").fetchall()
        y, cost = numpy.array(rows, dtype=float).T
        if self.kernel["chosen"] == "support_vectors":
            gram = self._values("xs", "row", "xs", "row", number)
        else:
            known = self._values("xs", "row", "zs", "landmark", number)
            own = self._values("zs", "landmark", "zs", "landmark", number)
            mapped = solved(cholesky(own), known.T)
            gram = mapped.T @ mapped
        if self.regularized:
            gram = gram + 1
        return y, self.c * cost, gram

    def _values(self, table, order, other, other_order, number):
        """Kernel values of the rows of two tables."""
        if number is float:
            found = self.connection.execute(
                f"SELECT {self._value('a', 'b')} FROM {table} AS a CROSS JOIN {other} AS b ORDER BY a.{order}, b.{other_order}"
            )
            count = one(self.connection, f"SELECT count(*) FROM {table}")
            return numpy.array(found.fetchall(), dtype=float).reshape(count, -1)
        x, z = self._rows(table, order), self._rows(other, other_order)
        kernel, gamma = self.kernel, Decimal(self.kernel["gamma"])
        if kernel["function"] == "rbf":
            away = ((x[:, None, :] - z[None, :, :]) ** 2).sum(2)
            return numpy.vectorize(lambda d: max(-gamma * d, Decimal(-300)).exp(), otypes=[object])(away)
        inner = gamma * (x @ z.T) + Decimal(kernel.get("coef0") or 0)
        if kernel["function"] == "polynomial":
            return inner ** kernel["degree"]
        return numpy.vectorize(lambda v: 1 - 2 / ((2 * v).exp() + 1), otypes=[object])(inner)

    def _rows(self, table, order):
        """Those of a table, exactly."""
        names = ", ".join(f"v{j}" for j in range(len(self.columns)))
        found = self.connection.execute(f"SELECT {names} FROM {table} ORDER BY {order}")
        return numpy.array([[Decimal(value) for value in row] for row in found])

    def recomputed_dual(self, number=float):
        """The dual of the stored dual variables; None where none are stored."""
        chunks = self.connection.execute(
            "SELECT first_row, rows, duals FROM svm_dual WHERE version_id = %s AND head = %s", [self.version, self.head]
        ).fetchall()
        if not chunks:
            return None
        y, weights, gram = self._problem(number)
        part = [row for (row,) in self.connection.execute("SELECT row FROM xs ORDER BY row")]
        a = numpy.zeros(one(self.connection, f"SELECT count(*) FROM {self.table}"))
        for first, rows, duals in chunks:
            # as they are, not as the fewest digits say them
            a[numpy.array(rows) + first] = numpy.array(duals, dtype=numpy.float32)
        a = a[part]
        return float(self._dual_at(*(of(number, values) for values in (a, y, weights)), gram))

    def _dual_at(self, a, y, weights, gram):
        curved = self.loss == "squared_hinge"
        if not curved:
            a = numpy.clip(a, 0, weights)
        if self.free:
            # y'a = 0, by which b is free
            sums = a[y > 0].sum(), a[y < 0].sum()
            least = min(sums)
            a = numpy.where(y > 0, a * (least / sums[0] if sums[0] else 0), a * (least / sums[1] if sums[1] else 0))
        beta = a * y
        used = weights > 0
        quadratic = (
            beta @ (gram @ beta) + ((a * a)[used] / (2 * weights[used])).sum() if curved else beta @ (gram @ beta)
        )
        return a[used].sum() - quadratic / 2

    def least_known_primal(self, number=float):
        """The primal of a machine that is solved here for: no dual may be above it."""
        y, weights, gram = self._problem()
        used = weights > 0
        y, weights, gram = y[used], weights[used], gram[used][:, used]
        curved = self.loss == "squared_hinge"
        q = gram * y[:, None] * y[None, :]
        if curved:
            q = q + numpy.diag(1 / (2 * weights))
        scale = numpy.sqrt(numpy.maximum(numpy.diag(q), 1e-12))
        q = q / scale[:, None] / scale[None, :]

        def negative(b):
            product = q @ b
            return 0.5 * b @ product - (b / scale).sum(), product - 1 / scale

        bounds = [(0, None if curved else weight * s) for weight, s in zip(weights, scale)]
        found = minimize(
            negative, numpy.zeros(len(y)), jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": 2000}
        )
        a = found.x / scale
        beta = of(number, a * y)
        if number is Decimal:
            gram = self._problem(number)[2][used][:, used]
        outputs = gram @ beta
        lost = numpy.maximum(of(number, [0]), 1 - of(number, y) * outputs)
        return float(beta @ outputs / 2 + (of(number, weights) * (lost**2 if curved else lost)).sum())
