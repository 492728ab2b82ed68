"""A Citus cluster on this machine: a coordinator and nodes from a server tree that holds Citus and the extension.

The tree is made outside the project, by Citus' own instructions; the environment variable PGSVM_CITUS names it.
"""

import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

import psycopg

SETTINGS = """
shared_preload_libraries = 'citus'
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = '{folder}'
fsync = off
jit = off
autovacuum = off
wal_level = logical
max_connections = 60
max_prepared_transactions = 60
max_worker_processes = 16
shared_buffers = 32MB
citus.node_conninfo = 'sslmode=disable'
citus.shard_count = {shards}
citus.enable_statistics_collection = off
"""


def tree():
    """The tree's programs; skips the test where there is none."""
    named = os.environ.get("PGSVM_CITUS")
    if not named:
        # the benchmark, which comes here too, has none
        import pytest

        pytest.skip("PGSVM_CITUS names no server tree with Citus and pgsvm", allow_module_level=True)
    folders = [pathlib.Path(named) / name for name in ("bin", "wrap")]
    programs = next((folder for folder in folders if (folder / "pg_ctl").exists()), None)
    assert programs, f"PGSVM_CITUS={named} is no server tree: it has no bin/pg_ctl"
    share = subprocess.run([programs / "pg_config", "--sharedir"], check=True, stdout=subprocess.PIPE, text=True)
    for extension in ["citus", "pgsvm"]:
        assert (pathlib.Path(share.stdout.strip()) / f"extension/{extension}.control").exists(), f"no {extension} there"
    return programs


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Node:
    """One server of the cluster."""

    def __init__(self, programs, folder, shards):
        self.programs, self.folder, self.port = programs, folder, free_port()
        folder.mkdir()
        if os.geteuid() == 0:
            shutil.chown(folder, os.environ.get("PGSVM_SERVER_USER", "postgres"))
        self.data = folder / "data"
        self._run("initdb", "-D", self.data, "-U", "postgres", "--auth=trust", "-E", "UTF8", "--locale=C", "--no-sync")
        with open(self.data / "postgresql.conf", "a") as settings:
            settings.write(SETTINGS.format(port=self.port, folder=folder, shards=shards))
        self.start()

    def _run(self, program, *arguments):
        subprocess.run([self.programs / program, *arguments], check=True, stdout=subprocess.DEVNULL)

    def start(self):
        self._run("pg_ctl", "-D", self.data, "-l", self.folder / "log", "-w", "start")

    def stop(self):
        """At once, as if the machine were gone."""
        self._run("pg_ctl", "-D", self.data, "-m", "immediate", "-w", "stop")

    @property
    def runs(self):
        return (self.data / "postmaster.pid").exists()

    def connect(self, dbname="postgres", **more):
        return psycopg.connect(
            host="127.0.0.1", port=self.port, dbname=dbname, user="postgres", autocommit=True, **more
        )


class Cluster:
    """A coordinator and so many nodes, with both extensions."""

    def __init__(self, nodes, shards=8):
        programs = tree()
        # below /tmp: the path of a socket is short
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pgsvm-citus-"))
        self.folder.chmod(0o755)
        self.nodes = []
        try:
            for _ in range(nodes + 1):
                self._start_node(programs, shards)
            with self.coordinator.connect() as connection:
                connection.execute(f"SELECT citus_set_coordinator_host('127.0.0.1', {self.coordinator.port})")
                for node in self.workers:
                    connection.execute(f"SELECT citus_add_node('127.0.0.1', {node.port})")
                connection.execute("CREATE EXTENSION pgsvm")
        except BaseException:
            self.stop()
            raise

    def _start_node(self, programs, shards):
        self.nodes.append(Node(programs, self.folder / f"node{len(self.nodes)}", shards))
        with self.nodes[-1].connect() as connection:
            connection.execute("SET client_min_messages = warning; CREATE EXTENSION citus")

    def add_node(self):
        """One more, without shards of distributed tables."""
        first = self.nodes[0]
        self._start_node(first.programs, 8)
        with self.coordinator.connect() as connection:
            connection.execute(f"SELECT citus_add_node('127.0.0.1', {self.nodes[-1].port})")

    def remove_node(self):
        """The one that was added last."""
        last = self.nodes.pop()
        with self.coordinator.connect() as connection:
            connection.execute(f"SELECT citus_remove_node('127.0.0.1', {last.port})")
        last.stop()
        shutil.rmtree(last.folder)

    @property
    def coordinator(self):
        return self.nodes[0]

    @property
    def workers(self):
        return self.nodes[1:]

    def stop(self):
        for node in self.nodes:
            if node.runs:
                node.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def running(self):
        """Statements that other sessions are running for the coordinator, on any node."""
        query = (
            "SELECT pid FROM pg_stat_activity WHERE state <> 'idle' AND application_name LIKE 'citus_internal%'"
            " AND query NOT LIKE '%pg_stat_activity%'"
        )
        found = []
        for node in self.nodes:
            with node.connect() as connection:
                found += [(node.port, pid) for (pid,) in connection.execute(query)]
        return found

    def prepared(self):
        """Transactions that two-phase commits have left prepared."""
        found = []
        for node in self.nodes:
            with node.connect() as connection:
                found += connection.execute("SELECT gid FROM pg_prepared_xacts").fetchall()
        return found

    def nothing_is_left(self, within_seconds=1.0):
        """Whether no statement is running and no transaction is prepared, at the latest when the time is up."""
        deadline = time.monotonic() + within_seconds
        while self.running() or self.prepared():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True
