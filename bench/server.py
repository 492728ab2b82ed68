"""The private server of the benchmark: tables loaded from arrays, trainings of ours with what they cost."""

import os

import numpy as np
import psycopg

from machine import ServerWatch, Stopwatch, Usage

ROWS_PER_BLOCK = 20_000


def connect():
    connection = psycopg.connect(autocommit=True)
    connection.execute("CREATE EXTENSION IF NOT EXISTS pgsvm")
    return connection


def load_columns(connection, table, y, x, label=("int2", ">i2")):
    """A table (label int2, x1 float4, x2 float4, ...), or with a label of another type, by its name and NumPy's."""
    names = [f"x{i}" for i in range(1, x.shape[1] + 1)]
    fields = [("label", label[1])] + [(name, ">f4") for name in names]
    columns = ", ".join([f"label {label[0]}", *(f"{name} float4" for name in names)])
    _load(connection, table, columns, fields, _field_values(names, y, x))


def load_arrays(connection, table, y, x):
    """A table (label int2, x float4[])."""
    create_array_table(connection, table)
    append_arrays(connection, table, y, x)
    settle(connection, table)


def create_array_table(connection, table):
    connection.execute(f"DROP TABLE IF EXISTS {table}; CREATE TABLE {table} (label int2, x float4[])")


def append_arrays(connection, table, y, x):
    features = x.shape[1]
    element = np.dtype([("size", ">i4"), ("value", ">f4")])
    array = np.dtype([("head", ">i4", 5), ("elements", element, features)])
    record = _record([("label", ">i2"), ("x", array)])

    def blocks():
        for first in range(0, len(y), ROWS_PER_BLOCK):
            rows = _empty(record, len(y[first : first + ROWS_PER_BLOCK]))
            rows["label"] = y[first : first + ROWS_PER_BLOCK]
            # one dimension, no nulls, float4, its length, numbered from 1
            rows["x"]["head"] = (1, 0, 700, features, 1)
            rows["x"]["elements"]["size"] = 4
            rows["x"]["elements"]["value"] = x[first : first + ROWS_PER_BLOCK]
            yield rows.tobytes()

    _copy(connection, table, blocks())


def load_sparse(connection, table, y, x):
    """A table (label int2, idx int4[], val float4[]), indices from 1."""
    connection.execute(f"DROP TABLE IF EXISTS {table}; CREATE TABLE {table} (label int2, idx int4[], val float4[])")
    with connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
        for row in range(x.shape[0]):
            entries = slice(x.indptr[row], x.indptr[row + 1])
            index = ",".join(map(str, (x.indices[entries] + 1).tolist()))
            value = ",".join(map(str, x.data[entries]))
            copy.write(f"{y[row]}\t{{{index}}}\t{{{value}}}\n")
    settle(connection, table)


def settle(connection, table):
    """Visibility bits, statistics and cached pages as they would be in a table that lives for a while."""
    connection.execute(f"VACUUM ANALYZE {table}")
    connection.execute("CHECKPOINT")
    connection.execute(f"SELECT count(*) FROM {table}")


def _field_values(names, y, x):
    def fill(rows, part):
        rows["label"] = y[part]
        for column, name in enumerate(names):
            rows[name] = x[part, column]

    return len(y), fill


def _load(connection, table, columns, fields, values):
    connection.execute(f"DROP TABLE IF EXISTS {table}; CREATE TABLE {table} ({columns})")
    record = _record(fields)
    count, fill = values

    def blocks():
        for first in range(0, count, ROWS_PER_BLOCK):
            part = slice(first, min(first + ROWS_PER_BLOCK, count))
            rows = _empty(record, part.stop - part.start)
            fill(rows, part)
            yield rows.tobytes()

    _copy(connection, table, blocks())
    settle(connection, table)


def _record(fields):
    """The dtype of one row in COPY's binary format: the number of fields, then each behind its size."""
    parts = [("fields", ">i2")]
    for name, kind in fields:
        parts += [(f"{name} size", ">i4"), (name, kind)]
    return np.dtype(parts)


def _empty(record, count):
    rows = np.zeros(count, record)
    names = [name for name in record.names if f"{name} size" in record.names]
    rows["fields"] = len(names)
    for name in names:
        rows[f"{name} size"] = record[name].itemsize
    return rows


def _copy(connection, table, blocks):
    with connection.cursor().copy(f"COPY {table} FROM STDIN (FORMAT binary)") as copy:
        copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
        for block in blocks:
            copy.write(block)
        copy.write(b"\xff\xff")


def copy_out(connection, query, path):
    """COPY (query) TO a file through the client: its usage, client and server together."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with ServerWatch(connection) as watch, Stopwatch() as own, open(path, "wb") as file:
        with connection.cursor().copy(f"COPY ({query}) TO STDOUT") as copy:
            for block in copy:
                file.write(block)
    return Usage(watch.usage.wall, watch.usage.cpu + own.usage.cpu)


def cache_for(rows, features, share=1.0):
    """A cache for that share of dense rows: 4 bytes a value and 16 a row, and some room."""
    return f"{max(int(1.2 * share * rows * (4 * features + 16)) >> 10, 64)}kB"


def train(table, c, tolerance=1e-3, *, cache, settings=(), **arguments):
    """One svm_train in a new connection: (usage, w, b, the model's row in svm_models as a dict)."""
    given = {"c": c, "tolerance": tolerance, "loss": "hinge", "scale": "none", "model": "bench", **arguments}
    call = ", ".join(f"{name} => %({name})s" for name in given)
    with connect() as connection:
        for setting in (f"pgsvm.cache_size = '{cache}'", "client_min_messages = warning", *settings):
            connection.execute(f"SET {setting}")
        with ServerWatch(connection) as watch:
            connection.execute(f"SELECT svm_train('{table}', 'label', {call})", given)
        cursor = connection.execute("SELECT * FROM svm_models WHERE name = %s", (given["model"],))
        model = dict(zip((column.name for column in cursor.description), cursor.fetchone()))
        w, b = weights(connection, given["model"], model["features"])
    return watch.usage, w, b, model


def weights(connection, model, features):
    chunks = connection.execute(
        """SELECT weight.first_feature, weight.features, weight.weights, version.intercept
           FROM svm_model AS model
           JOIN svm_version AS version ON version.model_id = model.id AND version.version = model.current_version
           LEFT JOIN svm_weight AS weight ON weight.version_id = version.id
           WHERE model.name = %s""",
        (model,),
    ).fetchall()
    w = np.zeros(features)
    for first, offsets, values, _ in chunks:
        if values is None:
            continue
        places = first + (np.arange(len(values)) if offsets is None else np.array(offsets, int))
        w[places] = values
    # the model's intercept belongs to the class svm_decision calls positive: the larger label
    return w, chunks[0][3]
