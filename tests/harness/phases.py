"""Trainings that stay in one phase until they are ended, and how to see that one is there."""

from harness.sessions import one

# Labels that features explain in part (by nothing, the constant is the exact solution), a C far too large for them, the loss
# without curvature, which takes its time at such a C, and a tolerance below what numbers resolve: each phase lasts until it is
# ended.
_WITHOUT_END = "model => 'm', loss => 'hinge', tolerance => 1e-30, max_passes => 1000000"
_TRAIN = "SELECT svm_train('{}', 'label', ARRAY['features'], c => 1e6, " + _WITHOUT_END + ")"
_TRAIN_CLASSES = "SELECT svm_train('noisy', 'class', ARRAY['features'], c => 1e6, " + _WITHOUT_END + ")"
_CHOOSE_C = "SELECT svm_train('noisy', 'class', ARRAY['features'], c => NULL, " + _WITHOUT_END + ")"

# phase -> (statement, settings)
PHASES = {
    "loading": (_TRAIN.format("endless"), {"pgsvm.cache_size": "4MB"}),
    "loading_with_helpers": (_TRAIN.format("slow"), {"pgsvm.cache_size": "128MB"}),
    "training_in_memory": (_TRAIN.format("noisy"), {"pgsvm.cache_size": "128MB"}),
    "training_out_of_core": (_TRAIN.format("noisy"), {"pgsvm.cache_size": "4MB"}),
    "training_classes_out_of_core": (_TRAIN_CLASSES, {"pgsvm.cache_size": "4MB"}),
    "choosing_c": (_CHOOSE_C, {"pgsvm.cache_size": "128MB"}),
    "storing": ("SELECT svm_train('spread', 'label', ARRAY['sparse(idx, val)'], model => 'm')", {"test.dawdle": "on"}),
}
# a thousand classes by ten folds by twenty C, a head each
_COSTS = "c => ARRAY(SELECT i / 20.0 FROM generate_series(1, 20) AS i)"
_VALIDATE = "SELECT * FROM svm_cross_validate('thousand', 'class', features => ARRAY['features'], " + _COSTS + ", {})"
# 200,000 heads of some thousand rows are more than a training may take
_MOST = {"pgsvm.max_memory": "64GB"}
# what -> (statement, settings): trainings of 200,000 heads
MANY_HEADS = {
    "svm_cross_validate of 200,000 heads": (_VALIDATE.format("folds => 10"), _MOST | {"pgsvm.workers": "0"}),
    "the same with a column of folds": (_VALIDATE.format("fold_column => 'fold'"), _MOST | {"pgsvm.workers": "0"}),
    "the same out of core, with workers": (
        _VALIDATE.format("folds => 10"),
        _MOST | {"pgsvm.workers": "2", "pgsvm.min_parallel_size": "0", "pgsvm.cache_size": "256kB"},
    ),
    "the same with two trainers": (
        _VALIDATE.format("folds => 10"),
        _MOST | {"pgsvm.workers": "0", "pgsvm.trainers": "2"},
    ),
    "choosing c of a thousand classes": (
        "SELECT svm_train('thousand', 'class', ARRAY['features'], c => NULL, probability => true, model => 'm')",
        {},
    ),
}
OUT_OF_CORE = {"training_out_of_core", "training_classes_out_of_core"}

# Rows of svm_weight that a version trained on `spread` has.
SPREAD_CHUNKS = 100


def make_tables(connection, rows=400_000):
    """noisy: so many rows of two labels and of ten classes; endless: the same a thousand times over; slow: its rows, each
    of which takes a millisecond; spread: weights in 100 chunks, stored slowly where test.dawdle is on; and model `before`,
    trained on spread."""
    columns = ", ".join(f"hashint4(i + {k}) / 2e9" for k in range(1, 21))
    connection.execute(
        "CREATE TABLE noisy AS SELECT (hashint4(i + 1) / 2e9 + hashint4(-i) / 2e9 > 0)::int AS label,"
        f" abs(hashint4(-i) % 10) AS class,"
        f" ARRAY[{columns}]::real[] AS features FROM generate_series(1, {rows}) AS i"
    )
    connection.execute("CREATE VIEW endless AS SELECT label, features FROM noisy, generate_series(1, 1000)")
    connection.execute(
        """
        CREATE FUNCTION slowly(features real[]) RETURNS real[] IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM pg_sleep(0.001);
            RETURN features;
        END $$
        """
    )
    connection.execute("CREATE VIEW slow AS SELECT label, slowly(features) AS features FROM noisy")
    connection.execute(
        "CREATE TABLE spread AS SELECT i % 2 AS label, ARRAY[i * 16384] AS idx, ARRAY[1]::real[] AS val"
        f" FROM generate_series(1, {SPREAD_CHUNKS}) AS i"
    )
    connection.execute(
        """
        CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF current_setting('test.dawdle', true) = 'on' THEN PERFORM pg_sleep(0.05); END IF;
            RETURN new;
        END $$
        """
    )
    connection.execute("CREATE TRIGGER dawdle BEFORE INSERT ON svm_weight FOR EACH ROW EXECUTE FUNCTION dawdle()")
    # of a thousand classes and ten folds, with ten numbers
    numbers = ", ".join(f"hashint4(i + {k}) / 2e9" for k in range(1, 11))
    connection.execute(
        "CREATE TABLE thousand AS SELECT i % 1000 AS class, (i / 1000) % 10 AS fold,"
        f" ARRAY[{numbers}]::real[] AS features FROM generate_series(1, 20000) AS i"
    )
    connection.execute("VACUUM ANALYZE noisy, thousand")
    connection.execute("SELECT svm_train('spread', 'label', ARRAY['sparse(idx, val)'], model => 'before')")


def in_phase(server, watcher, pid, phase):
    """Whether the training of backend `pid` is in `phase` now."""
    if phase == "storing":
        # only the trigger on the weights sleeps
        waits = "SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = %s"
        return one(watcher, waits, [pid])
    shown = watcher.execute("SELECT phase, pass FROM svm_progress WHERE leader_pid = %s", [pid]).fetchall()
    if phase.startswith("loading"):
        return ("loading", None) in shown
    files = server.temporary_files()
    spools = any(f"pgsql_tmp{member}." in path for path, _ in files for member in family(watcher, pid))
    return spools == (phase in OUT_OF_CORE) and any(name == "training" and number >= 1 for name, number in shown)


def family(watcher, pid):
    """Pids of the training's backend and workers."""
    rows = watcher.execute("SELECT pid FROM pg_stat_activity WHERE %s IN (pid, leader_pid)", [pid])
    return [member for (member,) in rows]
