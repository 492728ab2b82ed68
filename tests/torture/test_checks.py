"""What of the promises is checked by tests of other layers, run once more and counted: rights, numbers at the edges, and the
ring between reader and trainer.
"""

import os
import re
import subprocess

import pytest

from harness.effort import LONG, record
from harness.server import ROOT, tested_version

pytestmark = pytest.mark.skipif(not LONG, reason="these tests run in their own layers")

SQL = {
    "rights": "every way to read a relation or a model without the right to; row-level security; models of others",
    "trespass": "functions, operators and types shadowed in the search path and in pg_temp; SECURITY DEFINER",
    "numbers": "scales, constants, few rows, many features, C from 1e-6 to 1e6, from SQL",
}
CORE = {
    "rows, scales and C at the edges, certificates recomputed": ("pgsvm-core", "numbers"),
    "every interleaving of reader and trainer in the ring": ("pgsvm-delivery", "cache"),
    "a stop and a block of either role in every stage": ("pgsvm-core", "roles"),
}


@pytest.mark.parametrize("name", SQL)
def test_sql(name):
    subprocess.run([ROOT / "scripts" / "regress", str(tested_version()), name], check=True)
    expected = (ROOT / "tests" / "expected" / f"{name}.out").read_text()
    statements = len(re.findall(r";$", (ROOT / "tests" / "sql" / f"{name}.sql").read_text(), re.M))
    errors = len(re.findall(r"^ERROR:", expected, re.M))
    record(
        "checks",
        what=SQL[name],
        by=f"tests/sql/{name}.sql",
        cases=f"{statements} statements, {errors} refused",
        failed=0,
    )


@pytest.mark.parametrize("what", CORE)
def test_core(what):
    environment = os.environ | {"CARGO_TARGET_DIR": os.environ.get("PGSVM_BUILD_CORE", str(ROOT / "target" / "build"))}
    package, module = CORE[what]
    command = ["cargo", "test", "--release", "--locked", "--package", package, f"{module}::"]
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    passed = sum(int(count) for count in re.findall(r"^test result: ok\. (\d+) passed", ran.stdout, re.M))
    assert ran.returncode == 0 and passed, ran.stdout[-3000:] + ran.stderr[-3000:]
    record("checks", what=what, by=f"{package}: {module}", cases=f"{passed} tests", failed=0)
