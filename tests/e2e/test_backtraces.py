"""A server whose environment asks Rust for call stacks: clients get errors without them."""

import psycopg
import pytest

from harness import server as servers
from harness.sessions import NO_WORKER, TWO_WORKERS, configure


@pytest.fixture(scope="module", params=[["RUST_BACKTRACE=1"], ["RUST_BACKTRACE=full", "RUST_LIB_BACKTRACE=1"]])
def asking(request):
    server = servers.Server(servers.tested_version(), "backtraces", starter=["env", *request.param])
    try:
        with server.connect() as connection:
            connection.execute("CREATE EXTENSION pgsvm")
            connection.execute("CREATE TABLE t AS SELECT i AS x, i % 2 AS y FROM generate_series(1, 100) AS i")
            connection.execute("SELECT svm_train('t', 'y', model => 'm')")
        yield server
        assert not server.complaints()
        assert "_PG_init" not in server.log_file.read_text()
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("statement", "detail"),
    [
        ("SELECT svm_train('t', 'nothing')", None),
        ("SELECT svm_train('t', 'y', tolerance => 7)", "It bounds the relative duality gap, (primal - dual) / primal."),
        ("SELECT svm_train_query('SELECT 1 / (x - 50) AS x, y FROM t', 'y', model => 'n')", None),
        ("SELECT svm_train_query('SELECT nothing', 'y', model => 'n')", None),
        ("SELECT svm_decision('nobody', t) FROM t", None),
        ("SELECT svm_decision('m', ARRAY[1, 2])", 'Model "m@1" has 1 feature.'),
        ("SELECT svm_predict('m', t, NULL::date) FROM t", None),
        ("SELECT * FROM svm_evaluate('m', 'pg_class')", None),
    ],
)
@pytest.mark.parametrize("processes", [NO_WORKER, TWO_WORKERS])
def test_errors_hold_no_call_stack(asking, statement, detail, processes):
    with asking.connect() as connection:
        configure(connection, processes)
        with pytest.raises(psycopg.Error) as raised:
            connection.execute(statement)
    told = raised.value.diag
    for text in [told.message_primary, told.message_detail, told.message_hint, told.context]:
        assert "stack backtrace" not in (text or "")
        assert (text or "").count("\n") < 5
    if detail:
        assert told.message_detail == detail
