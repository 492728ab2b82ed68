"""Real data sets: found in the folder PGSVM_DATA (default: shared/data beside the checkout), loaded by COPY.

None of them is part of the repository, so a test that wants one skips when it is not there.
"""

import itertools
import lzma
import os
import pathlib

import pytest
from psycopg import sql

from harness.server import ROOT


def folder():
    """Where data sets are looked for."""
    return pathlib.Path(os.environ.get("PGSVM_DATA") or ROOT.parent / "shared" / "data")


def data_file(name):
    """The path of a data set such as 'a9a/a9a.xz'; skips the test when it is missing."""
    path = folder() / name
    if not path.exists():
        pytest.skip(f"no data set {path}: PGSVM_DATA names the folder of data sets")
    return path


def examples(name):
    """(label, [(index, value), ...]) of each line of a LIBSVM file; indices start at 1, values are text."""
    # looked for at once, so that a test skips before it makes a table
    return _parse(data_file(name))


def _parse(path):
    with lzma.open(path, "rt") as lines:
        for line in lines:
            label, *pairs = line.split()
            yield float(label), [pair.split(":") for pair in pairs]


def load_text(connection, table, name):
    """Makes `table` (label float8, features text), the features in LIBSVM notation; returns the number of rows."""
    rows = ((label, " ".join(":".join(pair) for pair in pairs)) for label, pairs in examples(name))
    return _load(connection, table, "text", rows)


def load_dense(connection, table, name, features, array="float4[]", rows=None):
    """Makes `table` (label float8, features float4[] of length `features`) of the first `rows` rows or all; returns how
    many they are."""

    def dense(lines):
        for label, pairs in lines:
            values = ["0"] * features
            for index, value in pairs:
                values[int(index) - 1] = value
            yield label, "{" + ",".join(values) + "}"

    return _load(connection, table, array, itertools.islice(dense(examples(name)), rows))


def load_sparse(connection, table, name):
    """Makes `table` (label float8, idx int4[], val float4[]), indices as in the file; returns the number of rows."""

    def sparse(lines):
        for label, pairs in lines:
            yield (
                label,
                "{" + ",".join(index for index, _ in pairs) + "}",
                "{" + ",".join(value for _, value in pairs) + "}",
            )

    return _copy(connection, table, "label float8, idx int4[], val float4[]", sparse(examples(name)))


def load_csv(connection, table, columns, name, options="FORMAT csv"):
    """Makes `table` with these columns from a compressed CSV file as it is, blank lines apart."""
    path = data_file(name)
    connection.execute(f"CREATE TABLE {table} ({columns})")
    with lzma.open(path, "rt") as lines, connection.cursor().copy(f"COPY {table} FROM STDIN ({options})") as copy:
        for line in lines:
            if line.strip():
                copy.write(line)
    connection.execute(f"ANALYZE {table}")


def _load(connection, table, features_type, rows):
    return _copy(connection, table, f"label float8, features {features_type}", rows)


def _copy(connection, table, columns, rows):
    name = sql.Identifier(table)
    connection.execute(sql.SQL("CREATE TABLE {} ({})").format(name, sql.SQL(columns)))
    count = 0
    with connection.cursor().copy(sql.SQL("COPY {} FROM STDIN").format(name)) as copy:
        for row in rows:
            copy.write_row(row)
            count += 1
    connection.execute(sql.SQL("ANALYZE {}").format(name))
    return count
