"""The tour of `make demo`: what it tells is what happens, and the line of its build moves."""

import os
import re
import subprocess
import sys

import pytest

from harness.server import ROOT, new_database, programs_of
from harness.sessions import one

DEMO = ROOT / "demo"
# more than the cache of the tour holds, and long enough to be seen at work
ROWS = 300_000


@pytest.fixture
def demo(server, monkeypatch):
    """The modules of the tour, with an empty database that they and psql connect to."""
    pytest.importorskip("sklearn", reason="the tour compares with scikit-learn")
    new_database(server, "demo")
    monkeypatch.syspath_prepend(DEMO)
    monkeypatch.setenv("PATH", f"{programs_of(server.version)}:{os.environ['PATH']}")
    for name, value in {
        "HOST": server.socket_directory,
        "PORT": "5432",
        "USER": "postgres",
        "DATABASE": "demo",
    }.items():
        monkeypatch.setenv(f"PG{name}", value)
    import screen
    import tour

    screen.claims.clear()
    yield tour, screen
    for name in ("tour", "screen", "peer"):
        del sys.modules[name]


def test_what_the_tour_tells_is_what_happens(server, demo, capsys):
    tour, screen = demo
    with server.connect("demo") as connection:
        tour.sections(connection, ROWS)
        tour.farewell()
        printed = capsys.readouterr().out

        assert [text for text, holds in screen.claims if not holds] == [], printed
        assert len(screen.claims) == len(re.findall(r"^\d\. ", printed, re.MULTILINE)) + 2
        assert [line for line in printed.splitlines() if len(line) > screen.COLUMNS] == []
        # what a section tells of, asked once more
        streamed = connection.execute("SELECT solver, workers FROM svm_models WHERE name = 'streamed'")
        assert streamed.fetchone() == ("stream", 2)
        assert one(connection, "SELECT version FROM svm_models WHERE name = 'followed'") == 2
        assert int(re.search(r"(\d+) passed\s+over", printed)[1]) > ROWS / 2
        assert re.search(r"^ +reader \| training .*\n( .*\n)*? *trainer \| training ", printed, re.MULTILINE)
        assert "solver stream" in printed and "through a 8 MB cache, 2 workers" in printed.replace("\n    ", " ")
        line, rbf = (
            one(connection, f"SELECT accuracy FROM svm_evaluate('{m}', 'rings_test')") for m in ("line", "round")
        )
        assert line < rbf
        assert one(connection, "SELECT gap FROM svm_models WHERE name = 'exact'") <= 1e-6
        for statement in tour.STATEMENTS:
            assert statement in printed
            connection.execute(statement)


def test_the_tour_says_where_a_claim_is_not_borne_out(demo, capsys):
    _, screen = demo
    screen.claim("Two and two are five.", 2 + 2 == 5)
    assert screen.claims == [("Two and two are five.", False)]
    assert capsys.readouterr().out.startswith("This should have held, and did not here:")


def test_a_server_that_is_kept_is_told_how_to_reach_and_to_stop(demo, capsys, monkeypatch):
    tour, _ = demo
    monkeypatch.setenv("PGSVM_DEMO_CONNECT", "psql -h somewhere demo")
    monkeypatch.setenv("PGSVM_DEMO_STOP", "scripts/server stop 15 demo")
    tour.farewell()
    printed = capsys.readouterr().out
    for told in ["psql -h somewhere demo", "scripts/server stop 15 demo", *tour.STATEMENTS]:
        assert f"  {told}\n" in printed


CARGO = r"""
printf '   Compiling serde v1.0\n    Building [=>   ] 0/3: serde            \r' >&2
sleep 1.3
printf '   Compiling pgrx v0.18\n    Building [===> ] 1/3: pgrx, libc(build)   \r' >&2
printf '   Compiling pgsvm v0.3\n    Building [====>] 2/3: pgsvm            \r    Finished release\n' >&2
exit %d
"""


@pytest.mark.parametrize("status", [0, 7])
def test_the_line_of_a_build_counts_crates_and_seconds(tmp_path, status):
    log = tmp_path / "log"
    done = subprocess.run(
        [ROOT / "scripts" / "build-line", log, "bash", "-c", CARGO % status],
        env=os.environ | {"PGSVM_BUILD_LINE_SECONDS": "0"},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert done.returncode == status
    lines = done.stderr.splitlines()
    # it moves while one crate is compiled
    seconds = [int(line.rpartition(", ")[2].removesuffix(" s")) for line in lines if "0 of 3 crates, now serde" in line]
    assert len(seconds) > 1 and seconds == sorted(seconds) and seconds[-1] > seconds[0]
    assert any(line.startswith("  1 of 3 crates, now pgrx, ") for line in lines)
    assert any(line.startswith("  2 of 3 crates, now pgsvm, ") for line in lines)
    told = log.read_text()
    assert "Compiling pgsvm v0.3" in told and "Finished release" in told and "Building" not in told
