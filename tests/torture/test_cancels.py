"""How long a cancel takes, in every phase of a training and in everything else that may take long."""

import math
import random
import time

import psycopg
import pytest

from harness.effort import LONG, record, seconds
from harness.phases import MANY_HEADS, PHASES, in_phase, make_tables
from harness.server import wait_until
from harness.sessions import NO_WORKER, TWO_WORKERS, configure, one

MOST_WITHIN_MS, ALL_WITHIN_MS = 200, 1000

# the beginning of a model in LIBLINEAR's format
HEAD = r"E'solver_type L2R_L1LOSS_SVC_DUAL\nnr_class 2\nlabel 1 -1\nnr_feature {}\nbias -1\nw\n'"

# a stored version says that it has more features than it has weights
CLAIM = """
    UPDATE svm_version SET features = jsonb_set(features, '{parts,0,length}', to_jsonb(%s::int)), feature_count = %s
    WHERE model_id = (SELECT id FROM svm_model WHERE name = %s)
"""

# what -> (statement, settings); each lasts for seconds
STATEMENTS = {
    "loading sparse rows": (
        "SELECT svm_train('sparse_endless', 'label', ARRAY['sparse(idx, val)'], model => 'm')",
        TWO_WORKERS | {"pgsvm.cache_size": "4MB"},
    ),
    "training on few rows of a million features": (
        "SELECT svm_train_query('SELECT i % 4 AS label, repeat(''x'', i * 40) AS a, i AS b FROM generate_series(1, 40) AS i', 'label',"
        " model => 'm', loss => 'hinge', c => 1e6, tolerance => 1e-30, max_passes => 1000000, options => '{\"hash_bits\": 20}')",
        {},
    ),
    "learning words": (
        "SELECT svm_train('texts', 'label', ARRAY['text(body, 3)'], model => 'm')",
        NO_WORKER,
    ),
    "svm_cross_validate": (
        "SELECT * FROM svm_cross_validate('noisy', 'class', features => ARRAY['features'], c => ARRAY[0.1, 1], tolerance => 1e-30,"
        " loss => 'hinge', max_passes => 1000000)",
        NO_WORKER,
    ),
    "svm_evaluate": ("SELECT * FROM svm_evaluate('dense', 'endless')", {}),
    "svm_confusion": ("SELECT * FROM svm_confusion('dense', 'endless')", {}),
    "svm_suspects": ("SELECT * FROM svm_suspects('dense', 'endless')", {}),
    "svm_decision of each row": ("SELECT sum(svm_decision('dense', e)) FROM endless AS e", {}),
    "svm_predict_set of each row": ("SELECT count(s) FROM endless AS e, svm_predict_set('ten', e) AS s", {}),
    "svm_explain of each row": ("SELECT count(s) FROM endless AS e, svm_explain('dense', e) AS s", {}),
    "svm_import of a wide model": (
        f"SELECT svm_import('m', {HEAD.format(10_000_000)} || repeat(E'0.5\\n', 10000000), 'libsvm')",
        {},
    ),
    "svm_load_libsvm": ("SELECT svm_load_libsvm('loaded', content => repeat(E'1 1:0.5 7:2\\n', 2000000))", {}),
    "svm_export of a wide model": ("SELECT count(svm_export('wide')) FROM generate_series(1, 100)", {}),
    "svm_weights of a wide model": ("SELECT count(*) FROM svm_weights('wide')", {}),
    "svm_as_sql": ("SELECT count(svm_as_sql('dense')) FROM generate_series(1, 1000000)", {}),
    **MANY_HEADS,
    "svm_explain by a model that claims to be wide": (
        "SELECT count(*) FROM generate_series(1, 1000), svm_explain('claims', '1:1 20000000:1'::text)",
        {},
    ),
    "svm_decision by a model that claims to be wide": (
        "SELECT sum(svm_decision('claims', '1:' || i)) FROM generate_series(1, 1000) AS i",
        {},
    ),
    "svm_decision of NULL by a model that claims to be wide": (
        "SELECT sum(svm_decision('claims', n)) FROM generate_series(1, 1000), (SELECT NULL::real[] AS features) AS n",
        {},
    ),
    "svm_predict_set by a model that claims to be wide": (
        "SELECT count(*) FROM generate_series(1, 1000), svm_predict_set('ten_claims', '1:1'::text)",
        {},
    ),
    "svm_weights of a model that claims to be wide": (
        "SELECT count(*) FROM generate_series(1, 100), svm_weights('claims')",
        {},
    ),
    "PostgreSQL's own count(*), to compare": ("SELECT count(*) FROM endless", {}),
}
# a training that does not arrive, with the hinge or squared
_ENDLESS = "SELECT svm_train('noisy', '{}', ARRAY['features'], model => 'm', c => 1e6, tolerance => 1e-30, max_passes => 1000000, {})"
HINGE, SQUARED = "loss => 'hinge', ", "loss => 'squared_hinge', "
SOLVERS = {
    "block": HINGE + "solver => 'block'",
    "block, newton": SQUARED + "solver => 'block', options => '{\"inner\": \"newton\"}'",
    "block, pegasos": HINGE + "solver => 'block', options => '{\"inner\": \"pegasos\"}'",
    "selective_block": HINGE + "solver => 'selective_block'",
    "stream, policy paper": HINGE + "solver => 'stream', options => '{\"policy\": \"paper\"}'",
    "stream, ramp": "loss => 'ramp', solver => 'stream'",
    "indexed": HINGE + "solver => 'indexed'",
    "indexed, forest": HINGE + "solver => 'indexed', options => '{\"chunks_by\": \"forest\"}'",
    "ocas": HINGE + "solver => 'ocas'",
    "cutting_plane": HINGE + "solver => 'cutting_plane'",
    "scan": HINGE + "solver => 'scan'",
}
# kernel machines whose phases last for seconds: what they are told, and the memory
_KERNEL = "SELECT svm_train('noisy', 'label', ARRAY['features'], model => 'm', kernel => 'rbf', c => 1e4, tolerance => 1e-9, {})"
KERNELS = {
    "low rank": (
        'rank => 2000, options => \'{"method": "low_rank"}\'',
        "1GB",
        ["choosing landmarks", "mapping", "training"],
    ),
    "exact": ('rank => 300, options => \'{"method": "exact"}\'', "1GB", ["solving exactly"]),
    "interior point": (
        "solver => 'interior_point', loss => 'hinge', rank => 700",
        "2GB",
        ["factoring", "interior point"],
    ),
    "low rank by scans": ("solver => 'scan', rank => 2000", "1GB", ["choosing landmarks", "training"]),
    "low rank, centres": (
        'rank => 2000, options => \'{"landmarks": "centres", "method": "low_rank"}\'',
        "1GB",
        ["choosing landmarks"],
    ),
}
# what -> (statement, settings, phase of svm_progress); within it the moment is drawn from this many seconds
BY_PHASE = (
    {
        f"training by {name}": (_ENDLESS.format("label", told), NO_WORKER | {"pgsvm.cache_size": "4MB"}, "training")
        for name, told in SOLVERS.items()
    }
    | {
        f"{phase}, {name}": (_KERNEL.format(told), NO_WORKER | {"pgsvm.cache_size": cache}, phase)
        for name, (told, cache, phases) in KERNELS.items()
        for phase in phases
    }
    | {
        "dealing out rows, interior point": (
            _KERNEL.replace("'noisy'", "'forty'").format("solver => 'interior_point', loss => 'hinge', rank => 50"),
            NO_WORKER | {"pgsvm.cache_size": "2GB"},
            "dealing out rows",
        ),
        "training by newton, a thousand features": (
            "SELECT svm_train('wide_noise', 'label', ARRAY['features'], model => 'm', solver => 'newton', c => 1e6, tolerance => 1e-30)",
            NO_WORKER | {"pgsvm.cache_size": "512MB"},
            "training",
        ),
        "training by crammer_singer": (
            _ENDLESS.format("class", HINGE + "solver => 'ocas', options => '{\"multiclass\": \"crammer_singer\"}'"),
            NO_WORKER,
            "training",
        ),
        "training by crammer_singer, a thousand classes": (
            "SELECT svm_train('thousand', 'class', ARRAY['features'], model => 'm', tolerance => 1e-30, max_passes => 1000000,"
            " loss => 'hinge', solver => 'ocas', options => '{\"multiclass\": \"crammer_singer\"}')",
            NO_WORKER | {"pgsvm.max_memory": "16GB"},
            "training",
        ),
    }
)
SECONDS_OF_A_PHASE = 5
# tests/e2e/test_cancel.py cancels a training in each phase whenever tests run
MEASURED = {name.replace("_", " "): (*entry, name) for name, entry in PHASES.items() if LONG} | {
    name: (*entry, None) for name, entry in STATEMENTS.items()
}
# the machine of a short run has not the memory, nor is there the time
MEASURED |= BY_PHASE if LONG else {}
ALL = {"latencies": []}


@pytest.fixture(scope="module", autouse=True)
def tables(server, database):
    with server.connect(database) as connection:
        make_tables(connection, rows=200_000 if LONG else 50_000)
        connection.execute(
            "CREATE VIEW sparse_endless AS SELECT i % 2 AS label, ARRAY[1 + i % 100000, 200000] AS idx,"
            " ARRAY[1, 0.5]::real[] AS val FROM generate_series(1, 1000000000) AS i"
        )
        connection.execute(
            "CREATE VIEW texts AS SELECT i % 2 AS label, (SELECT string_agg(md5((i * 31 + k)::text), ' ') FROM generate_series(1, 30) AS k)"
            " AS body FROM generate_series(1, 1000000000) AS i"
        )
        if LONG:
            connection.execute("CREATE VIEW forty AS SELECT label, features FROM noisy, generate_series(1, 40)")
            connection.execute(
                "CREATE TABLE wide_noise AS SELECT i % 2 AS label, ARRAY(SELECT hashint8extended(i, k) / 1e19"
                " FROM generate_series(1, 1000) AS k)::real[] AS features FROM generate_series(1, 20000) AS i"
            )
        for name, label in [("dense", "label"), ("ten", "class")]:
            train = "SELECT svm_train('noisy', %s, ARRAY['features'], model => %s, max_passes => 1)"
            connection.execute(train, [label, name])
        for name, label, width in [("claims", "label", 40_000_000), ("ten_claims", "class", 4_000_000)]:
            train = "SELECT svm_train('noisy', %s, ARRAY['features'], model => %s, max_passes => 1, nulls => 'zero')"
            connection.execute(train, [label, name])
            connection.execute(CLAIM, [width, width, name])
        connection.execute(
            f"SELECT svm_import('wide', {HEAD.format(1_000_000)} || string_agg(sin(i)::text, E'\\n') || E'\\n', 'libsvm')"
            " FROM generate_series(1, 1000000) AS i"
        )


def latency_ms(server, connect, run, chance, what):
    """Milliseconds from a cancel to the end of the statement; None when it had ended before."""
    statement, settings, phase = MEASURED[what]
    connection, watcher = connect(), connect()
    try:
        configure(connection, (TWO_WORKERS if phase and what not in BY_PHASE else {}) | settings)
        running = run(connection, statement)
        if what in BY_PHASE:
            shown = "SELECT count(*) > 0 FROM svm_progress WHERE leader_pid = %s AND phase = %s"
            there = lambda: running.over or one(watcher, shown, [running.pid, phase])  # noqa: E731
            wait_until(there, within_seconds=120, what=f"the phase {phase}")
            time.sleep(chance.uniform(0, SECONDS_OF_A_PHASE))
        elif phase:
            wait_until(lambda: running.over or in_phase(server, watcher, running.pid, phase), what=f"the phase {phase}")
        time.sleep(chance.uniform(0, 0.5))
        asked = time.monotonic()
        watcher.execute("SELECT pg_cancel_backend(%s)", [running.pid])
        ended = running.end()
        assert not isinstance(ended, psycopg.Error) or isinstance(ended, psycopg.errors.QueryCanceled), ended
        return 1000 * running.seconds_until_end(since=asked) if isinstance(ended, psycopg.Error) else None
    finally:
        connection.close()
        watcher.close()


def percentile(values, share):
    return sorted(values)[math.ceil(share * len(values)) - 1]


def row(latencies):
    return {
        "cancels": len(latencies),
        "median_ms": round(percentile(latencies, 0.5)),
        "p99_ms": round(percentile(latencies, 0.99)),
        "longest_ms": round(max(latencies)),
    }


@pytest.mark.parametrize("what", MEASURED)
def test_a_cancel_is_answered(server, connect, run, what):
    chance = random.Random(what)
    deadline = time.monotonic() + seconds(quick=0, share=1 / len(MEASURED))
    latencies, ended = [], 0
    while not latencies or time.monotonic() < deadline:
        took = latency_ms(server, connect, run, chance, what)
        if took is not None:
            latencies.append(took)
        ended += took is None
        assert latencies or ended < 3, "it has always ended before"
    record("cancel", what=what, **row(latencies))
    if "to compare" not in what:
        ALL["latencies"] += latencies
    assert max(latencies) < ALL_WITHIN_MS
    with connect() as connection:
        # one that ended too early is removed, so that the next statement begins as this one did
        kept = one(connection, "SELECT count(svm_drop(name)) FROM svm_models WHERE name = 'm'")
        assert ended or kept == 0, "a cancelled statement left its model"


@pytest.mark.skipif(not LONG, reason="one cancel of each kind says nothing about 99 of 100")
def test_99_of_100_cancels_are_answered_at_once():
    record("cancel", what="all of pgsvm's", **row(ALL["latencies"]))
    assert percentile(ALL["latencies"], 0.99) < MOST_WITHIN_MS
