"""The harness sees what it is there to see: workers, shared memory, temporary files, crashes."""

import threading

import psycopg

from harness.data import load_dense, load_sparse, load_text
from harness.server import wait_until

FORCE_PARALLEL = """
    SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
    SET max_parallel_workers_per_gather = 2; SET work_mem = '64kB'
"""


def test_a_parallel_query_shows_up_and_leaves_nothing(server, connect):
    connection = connect()
    connection.execute("CREATE TABLE numbers AS SELECT g, repeat('x', 100) AS filler FROM generate_series(1, 200000) g")
    connection.execute(FORCE_PARALLEL)
    before = server.in_use()

    def run():
        try:
            connection.execute(
                "SELECT count(*) FROM numbers a JOIN numbers b ON a.filler || a.g = b.filler || b.g"
                " WHERE pg_sleep(0.0001) IS NOT NULL"
            )
        except psycopg.errors.QueryCanceled:
            pass

    query = threading.Thread(target=run)
    query.start()
    try:
        wait_until(lambda: server.workers() - before.workers, what="a parallel worker")
    finally:
        connection.cancel_safe()
        query.join()
    assert not server.left_over(before)
    assert not server.complaints()


def test_a_sort_that_spills_shows_its_temporary_file(server, connect):
    connection = connect(autocommit=False)
    connection.execute("SET work_mem = '64kB'")
    before = server.in_use()
    with connection.cursor(name="spilled") as cursor:
        cursor.execute("SELECT g, repeat('x', 100) FROM generate_series(1, 100000) g ORDER BY g DESC")
        cursor.fetchone()
        assert server.temporary_files() - before.temporary_files
    connection.rollback()
    assert not server.left_over(before)


def test_data_sets_load_with_the_counts_of_their_description(connection):
    assert load_text(connection, "a9a_text", "a9a/a9a.xz") == 32561
    assert load_dense(connection, "a9a_dense", "a9a/a9a.xz", 123) == 32561
    assert load_sparse(connection, "a9a_sparse", "a9a/a9a.xz") == 32561
    nonzeros = "SELECT sum(cardinality(idx)) FROM a9a_sparse"
    assert connection.execute(nonzeros).fetchone()[0] == 451592
    ones = "SELECT sum(x) FROM a9a_dense, unnest(features) x"
    assert connection.execute(ones).fetchone()[0] == 451592
