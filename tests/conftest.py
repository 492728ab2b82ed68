"""Fixtures: one server for the session (for each worker, where files run side by side), one database with the extension for each test module."""

import os

import pytest

from harness.server import Server, new_database, tested_version
from harness.sessions import Running


@pytest.fixture(scope="session")
def server():
    """The session's server, stopped however the session ends; the tests fail if a process crashed or leaked."""
    name = os.environ.get("PGSVM_SERVER_NAME") or "e2e"
    server = Server(tested_version(), name + os.environ.get("PYTEST_XDIST_WORKER", ""))
    try:
        yield server
        complaints = server.complaints()
    finally:
        server.stop()
    assert not complaints, "the server's log says:\n" + "\n".join(complaints)


@pytest.fixture(scope="module")
def database(server, request):
    """The name of a database of the module's own, with the extension in schema public."""
    name = request.module.__name__.rpartition(".")[2]
    new_database(server, name)
    with server.connect(name) as connection:
        connection.execute("CREATE EXTENSION pgsvm")
    return name


@pytest.fixture
def connect(server, database):
    """Opens connections to the module's database (`connect(user=..., autocommit=False)`); closed after the test."""
    opened = []

    def open_one(**options):
        opened.append(server.connect(database, **options))
        return opened[-1]

    yield open_one
    for connection in opened:
        connection.close()


@pytest.fixture
def connection(connect):
    """One connection to the module's database."""
    return connect()


@pytest.fixture
def run(connect):
    """Starts statements that run while the test goes on; those that a failed test leaves running are cancelled."""
    started = []

    def start(connection, statement, parameters=None):
        started.append(Running(connection, statement, parameters))
        return started[-1]

    yield start
    for running in started:
        if not running.over:
            running.connection.cancel_safe()
            running.end()
