"""Bytes that whoever may call an aggregate can hand it: real orders and states of scans, recorded where postgres_fdw asks another server
for them, and what becomes of them when bytes are changed. The same seed makes the same bytes.
"""

import random
import re
from dataclasses import dataclass

# An integer as messages have it (crates/base/src/message.rs), by what it claims.
CLAIMS = [
    b"\xfd" + number.to_bytes(8, "little")
    for number in (1 << 31, 1 << 32, 1 << 40, 1 << 47, (1 << 47) + 1, 1 << 63, (1 << 64) - 1)
]
CLAIMS += [b"\xfc" + number.to_bytes(4, "little") for number in (1 << 16, 1 << 31, (1 << 32) - 1)]
CLAIMS += [b"\xfb\xff\xff", b"\xfb\x00\x01", b"\xfa", b"\xfe", b"\xff"]
# Numbers of eight bytes that sums and weights are not made of.
FLOATS = [
    bytes.fromhex(each)
    for each in (
        "000000000000f87f",
        "000000000000f07f",
        "000000000000f0ff",
        "ffffffffffffef7f",
        "0100000000000000",
        "0000000000000080",
        "0000000000000000",
        "000000000000f0bf",
    )
]

ROWS = 60
# name -> (a training, the columns of its rows and what they hold of generate_series, what it is told)
TRAININGS = {
    "squared hinge": ("i % 3 = 0", {"a": "sin(i)", "b": "cos(i) * 3"}, "solver => 'scan'"),
    "hinge": ("i % 3 = 0", {"a": "sin(i)", "b": "cos(i) * 3"}, "solver => 'scan', loss => 'hinge'"),
    "cutting planes": ("i % 3 = 0", {"a": "sin(i)", "b": "cos(i) * 3"}, "solver => 'ocas', loss => 'hinge'"),
    "classes": ("(ARRAY['x', 'y', 'z'])[1 + i % 3]", {"a": "sin(i)", "b": "cos(i)"}, "solver => 'scan'"),
    "classes together": (
        "(ARRAY['x', 'y', 'z'])[1 + i % 3]",
        {"a": "sin(i)", "b": "cos(i)"},
        """solver => 'ocas', loss => 'hinge', options => '{"multiclass": "crammer_singer"}'""",
    ),
    "truncated": ("i % 3 = 0", {"a": "sin(i)", "b": "cos(i)"}, "solver => 'scan', loss => 'truncated_squared_hinge'"),
    "NULLs": (
        "i % 3 = 0",
        {"a": "nullif(sin(i), sin(3))", "b": "cos(i)"},
        "solver => 'scan', nulls => 'mean', scale => 'minmax', class_weight => 'balanced'",
    ),
    "sparse": (
        "i % 3 = 0",
        {"t": "i % 7 || ':1 9:' || i % 5"},
        "ARRAY['libsvm(t)'], solver => 'scan', scale => 'maxabs'",
    ),
    "arrays": ("i % 3 = 0", {"a": "ARRAY[sin(i), cos(i), i % 5]"}, "solver => 'scan'"),
    "average": (
        "i % 3 = 0",
        {"a": "sin(i)", "b": "cos(i)"},
        """solver => 'scan', options => '{"machines": "average"}'""",
    ),
    "kernel": ("i % 3 = 0", {"a": "sin(i)", "b": "cos(i)"}, "solver => 'scan', kernel => 'rbf', rank => 7"),
    "interior point": (
        "i % 3 = 0",
        {"a": "sin(i)", "b": "cos(i)"},
        """solver => 'interior_point', kernel => 'rbf', rank => 7, loss => 'hinge', options => '{"machines": "scans"}'""",
    ),
}


def rows_of(training):
    """A SELECT of the rows of a training, label first."""
    label, columns, _ = TRAININGS[training]
    listed = ", ".join(f"{value} AS {name}" for name, value in columns.items())
    return f"SELECT {label} AS y, {listed} FROM generate_series(1, {ROWS}) AS i"


@dataclass(frozen=True)
class Recorded:
    """An order, or a state that it led to, and how the rows are read that it is for."""

    training: str
    columns: str
    order: bytes
    found: bytes = b""
    gathered: bytes = b""


def record(server, near, far):
    """Trains over a table of another database and takes the orders out of that one's log."""
    with server.connect(far) as connection:
        connection.execute("CREATE EXTENSION pgsvm")
    with server.connect(near) as connection:
        execute = connection.execute
        execute("SET client_min_messages = error")
        execute("CREATE EXTENSION postgres_fdw")
        where = f"host '{server.socket_directory}', port '5432', dbname '{far}', extensions 'pgsvm'"
        execute(f"CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw OPTIONS ({where})")
        execute("CREATE USER MAPPING FOR CURRENT_USER SERVER far OPTIONS (user 'postgres')")
        all_recorded = []
        for number, training in enumerate(TRAININGS):
            with server.connect(far) as other:
                other.execute(f"CREATE TABLE rows{number} AS {rows_of(training)}")
                types = other.execute(
                    f"SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum)"
                    f" FROM pg_attribute WHERE attrelid = 'rows{number}'::regclass AND attnum > 0"
                ).fetchone()[0]
            execute(f"CREATE TABLE rows{number} ({types}) PARTITION BY LIST (y)")
            execute(
                f"CREATE FOREIGN TABLE far{number} PARTITION OF rows{number} DEFAULT SERVER far OPTIONS (table_name 'rows{number}')"
            )
            told = TRAININGS[training][2]
            said = server.log_file.stat().st_size
            with server.connect() as other:
                other.execute(f"ALTER DATABASE {far} SET log_statement = 'all'")
            # the connection to the far one is made anew, with its settings
            execute("SELECT postgres_fdw_disconnect_all()")
            execute(f"SELECT svm_train('rows{number}', 'y', {told}, model => 'model {number}', max_passes => 30)")
            with server.connect() as other:
                other.execute(f"ALTER DATABASE {far} RESET log_statement")
            with open(server.log_file, errors="replace") as log:
                log.seek(said)
                text = log.read()
            all_recorded += orders(text, training)
    assert {each.training for each in all_recorded} == set(TRAININGS), "each has sent orders"
    return [led(server, far, each) for each in all_recorded]


def orders(log, training):
    """The orders in a log: as constants, or as parameters."""
    found = {}
    for call in re.finditer(r"svm_internal\.svm_scan\((?:'\\x([0-9a-f]+)'|\$1)(?:::bytea)?, ([^)]*)\)", log):
        order = call[1] or re.search(r"\$1 = '\\x([0-9a-f]+)'", log[call.end() :])[1]
        found[order] = call[2]
    return [Recorded(training, columns, bytes.fromhex(order)) for order, columns in found.items()]


def led(server, far, recorded):
    """The same with the states that the order leads to."""
    with server.connect(far) as connection:
        order, columns = f"'\\x{recorded.order.hex()}'::bytea", recorded.columns
        found, gathered = connection.execute(
            f"SELECT svm_internal.svm_scan({order}, {columns}), svm_internal.svm_scan_rows({order}, ROW({columns}))"
            f" FROM ({rows_of(recorded.training)}) AS r"
        ).fetchone()
    return Recorded(recorded.training, recorded.columns, recorded.order, bytes(found), bytes(gathered))


def calls(recorded):
    """(what changed bytes are put into as $1, real bytes) of everything that reads them."""
    for each in recorded:
        rows = f"({rows_of(each.training)}) AS r"
        yield f"SELECT svm_internal.svm_scan($1, {each.columns}) FROM {rows}", each.order
        yield f"SELECT svm_internal.svm_scan_rows($1, ROW({each.columns})) FROM {rows}", each.order
        found, gathered = (f"'\\x{state.hex()}'::bytea" for state in (each.found, each.gathered))
        yield f"SELECT svm_internal.svm_scan_join(part) FROM unnest(ARRAY[{found}, $1]) AS part", each.found
        yield f"SELECT svm_internal.svm_scan_join(part) FROM unnest(ARRAY[$1, $1, {found}]) AS part", each.found
        yield f"SELECT joined(part) FROM unnest(ARRAY[{gathered}, $1]) AS part", each.gathered
        yield f"SELECT joined(part) FROM unnest(ARRAY[$1, {gathered}, $1]) AS part", each.gathered


class Changer:
    """Changes bytes."""

    def __init__(self, seed, others):
        self.random = random.Random(seed)
        self.others = others

    def changed(self, original):
        bytes_ = bytearray(original)
        # most changes leave what is in front as it is, without which nothing else is looked at
        first = self.random.choice([0, min(15, len(bytes_)), min(15, len(bytes_))])
        for _ in range(self.random.choice([1, 1, 1, 2, 2, 3, 8])):
            self.change(bytes_, first)
        return bytes(bytes_)

    def change(self, bytes_, first):
        place = self.random.randint(min(first, len(bytes_)), len(bytes_))
        few = self.random.randint(1, self.random.choice([2, 8, 64]))
        what = self.random.randrange(12)
        if what <= 2 and place < len(bytes_):
            bytes_[place] ^= 1 << self.random.randrange(8)
        elif what == 3 and place < len(bytes_):
            bytes_[place] = self.random.choice([0, 1, 2, 7, 64, 127, 128, 250, 251, 252, 253, 254, 255])
        elif what == 4:
            del bytes_[place:]
        elif what == 5:
            del bytes_[place : place + few]
        elif what == 6:
            bytes_[place:place] = bytes_[place : place + few] * self.random.randint(1, 20)
        elif what <= 8:
            bytes_[place : place + 1] = self.random.choice(CLAIMS)
        elif what == 9:
            bytes_[place : place + 8] = self.random.choice(FLOATS)
        elif what == 10:
            bytes_[place : place + few] = bytes(few)
        else:
            other = self.random.choice(self.others)
            begin = self.random.randint(0, len(other))
            bytes_[place:] = other[begin:]


def crafted(release):
    """Orders and states written by hand: lengths of lists within lists, of texts within lists, sums of nothing."""
    mark = b"\x08svm_scan" + bytes([len(release)]) + release.encode()
    for claim in CLAIMS:
        # the text of the job's SELECT; a list of texts behind it; the first text in that
        yield mark + claim
        yield mark + b"\x00\x00" + claim
        yield mark + b"\x00\x00\x01" + claim
        yield mark + b"\x00\x00" + claim + bytes(1000)
        # what a state says: nothing, then a kind, then a list
        for kind in range(4):
            yield b"\x01" + bytes([kind]) + claim
            yield b"\x01" + bytes([kind]) + claim + bytes(1000)
    yield sums_of_nothing()
    yield b"\x01\x01" + bytes(20)
    yield b"\x01\x02" + bytes(20)
    yield b""
    yield mark


def sums_of_nothing():
    """Sums of a pass of Newton's method over rows without a value: a matrix of no columns among them."""
    side = bytes(1 + 8 + 8 + 8 + 1 + 8 + 1)
    tally = bytes(8 + 1 + 1 + 8 + 1 + 8 + 1 + 8 + 1)
    matrix = b"\x01" + b"\x00\x00"
    rest = b"\x00" + b"\x00" + bytes(16) + b"\x00"
    head = b"\x00\x00" + side + side + tally + matrix + rest
    return b"\x01\x01\x01" + head + bytes(3)
