"""A private PostgreSQL server with the extension installed, and what a finished or cancelled training may leave in it.

Starting and stopping is scripts/server's work; the tests are ordinary clients beside it.
"""

import contextlib
import os
import pathlib
import re
import subprocess
import time
from dataclasses import dataclass

import psycopg

ROOT = pathlib.Path(__file__).resolve().parents[2]

SEGMENT = re.compile(r"/dev/shm/(PostgreSQL\.\d+)")

# Segments below this size may be the server's own growing statistics; the extension's hold a cache.
SMALLEST_CACHE_BYTES = 2 << 20


# Where another server of these tests is killed at the same time, how long its segments may stay.
RECOVERED_WITHIN_SECONDS = 20 if "PYTEST_XDIST_WORKER" in os.environ else 0


@dataclass(frozen=True)
class Leftovers:
    """What trainings hold while they run: worker processes, shared memory (name to bytes) and temporary files."""

    workers: frozenset
    shared_memory: frozenset
    temporary_files: frozenset

    def since(self, before):
        return Leftovers(
            self.workers - before.workers,
            self.shared_memory - before.shared_memory,
            self.temporary_files - before.temporary_files,
        )

    def __bool__(self):
        return bool(self.workers or self.shared_memory or self.temporary_files)


def new_database(server, name, options=""):
    """Makes an empty database, in place of one of that name, with options of CREATE DATABASE; returns the name."""
    with server.connect() as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{name}"')
        connection.execute(f'CREATE DATABASE "{name}" {options}')
    return name


def copy_database(server, source, target, *options):
    """pg_dump of one database into a new one, every error fatal."""
    programs = programs_of(server.version)
    where = ["-h", server.socket_directory, "-p", "5432", "-U", "postgres"]
    dump = subprocess.run([programs / "pg_dump", *where, *options, source], check=True, stdout=subprocess.PIPE)
    new_database(server, target)
    subprocess.run(
        [programs / "psql", *where, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", target],
        input=dump.stdout,
        check=True,
        stdout=subprocess.DEVNULL,
    )


class Server:
    """One running server. `name` keeps servers of one version apart; each has a fresh data directory. `starter` is a
    command that runs the command behind it, in an environment of its own."""

    def __init__(self, version, name="e2e", starter=()):
        self.version = version
        self.name = name
        self.socket_directory = self._script("start", starter)
        with self.connect() as connection:
            self.data_directory = pathlib.Path(connection.execute("SHOW data_directory").fetchone()[0])
        self.log_file = self.data_directory.parent / "log"
        # of the first start: a server that recovers from a crash writes this file again
        self.started = (self.data_directory / "postmaster.pid").stat().st_ctime

    def _script(self, verb, starter=()):
        return subprocess.run(
            [*starter, ROOT / "scripts" / "server", verb, str(self.version), self.name],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout.strip()

    def stop(self):
        self._script("stop")

    def restart_with(self, settings):
        """Sets what only a start can set."""
        with self.connect() as connection:
            for name, value in settings.items():
                connection.execute(f"ALTER SYSTEM SET {name} = {value}")
        self.control("restart")

    def control(self, *verb):
        """pg_ctl on this server: "start", "stop", "-m", "immediate"; waits until it is done."""
        subprocess.run(
            [programs_of(self.version) / "pg_ctl", "-D", self.data_directory, "-l", self.log_file, "-w", *verb],
            check=True,
            stdout=subprocess.DEVNULL,
        )

    def postmaster(self):
        """Its process id."""
        return int((self.data_directory / "postmaster.pid").read_text().split()[0])

    def connect(self, dbname="postgres", user="postgres", autocommit=True, **more):
        """A new connection; its statements commit one by one unless `autocommit=False`."""
        return psycopg.connect(
            host=self.socket_directory, port=5432, dbname=dbname, user=user, autocommit=autocommit, **more
        )

    def complaints(self):
        """Lines of the server's log about processes that died and about files, buffers, cache entries or locks that a
        transaction left open; empty is how it should be."""
        return self._script("complaints").splitlines()

    def workers(self):
        """Pids of processes that work for some backend: parallel workers and background workers of extensions."""
        with self.connect() as connection:
            rows = connection.execute(
                "SELECT pid FROM pg_stat_activity"
                " WHERE leader_pid IS NOT NULL OR backend_type = 'parallel worker' OR backend_type LIKE 'pgsvm%'"
            )
            return frozenset(pid for (pid,) in rows)

    def shared_memory(self):
        """(name, bytes) of the dynamic shared memory segments that are this server's, each at least a small cache.

        A segment is this server's when one of its processes has it mapped, or when nobody has and it appeared after
        the server started: what a process forgot to give back.
        """
        # listed before the processes are looked at: another server's segment is mapped by then, or gone
        listed = list(pathlib.Path("/dev/shm").glob("PostgreSQL.*"))
        own, foreign = self._segments_in_use()
        found = set()
        for path in listed:
            try:
                status = path.stat()
            except FileNotFoundError:
                continue
            mine = path.name in own or (path.name not in foreign and status.st_ctime >= self.started)
            if mine and status.st_size >= SMALLEST_CACHE_BYTES:
                found.add((path.name, status.st_size))
        return frozenset(found)

    def temporary_files(self):
        """(path, bytes) below the data directory's pgsql_tmp folders."""
        found = set()
        for folder in ["base/pgsql_tmp", "pg_tblspc/*/*/pgsql_tmp"]:
            for path in self.data_directory.glob(f"{folder}/**/*"):
                try:
                    if path.is_file():
                        found.add((str(path.relative_to(self.data_directory)), path.stat().st_size))
                except FileNotFoundError:
                    continue
        return frozenset(found)

    def in_use(self):
        return Leftovers(self.workers(), self.shared_memory(), self.temporary_files())

    def left_over(self, before, within_seconds=5.0):
        """What is in use now and was not at `before`, once it is nothing or the time is up. Falsy means clean."""
        started = time.monotonic()
        while True:
            left = self.in_use().since(before)
            patience = within_seconds
            if not (left.workers or left.temporary_files or self._has_mapped(left.shared_memory)):
                # a segment that nobody has mapped may be what another server's crash left until it recovers
                patience = max(within_seconds, RECOVERED_WITHIN_SECONDS)
            if not left or time.monotonic() - started > patience:
                return left
            time.sleep(0.05)

    def _has_mapped(self, segments):
        own, _ = self._segments_in_use()
        return any(name in own for name, _ in segments)

    def _segments_in_use(self):
        """Names of segments that this server's processes have open or mapped, and those of other processes."""
        postmaster = self.postmaster()
        own, foreign = set(), set()
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                parent = int((process / "stat").read_text().rsplit(")", 1)[1].split()[1])
                names = SEGMENT.findall((process / "maps").read_text())
                # a large segment is open for a while before it is mapped
                for opened in (process / "fd").iterdir():
                    with contextlib.suppress(FileNotFoundError):
                        names += SEGMENT.findall(os.readlink(opened))
            except (OSError, IndexError, ValueError):
                continue
            (own if postmaster in (int(process.name), parent) else foreign).update(names)
        return own, foreign


def wait_until(condition, within_seconds=10.0, what="the condition"):
    """Polls `condition` and returns its first truthy value; fails when the time is up."""
    deadline = time.monotonic() + within_seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"{what} did not come true within {within_seconds} s")


def tested_version():
    """The major version under test, from PGSVM_PG (scripts/e2e-tests sets it)."""
    return int(os.environ.get("PGSVM_PG", "15"))


def programs_of(version):
    """The folder of the server's programs, as scripts/pg-tree laid them out."""
    command = '. "$0/scripts/env.sh"; server_pg_config "$1"'
    path = subprocess.run(
        ["bash", "-c", command, ROOT, str(version)], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    return pathlib.Path(path.strip()).parent
