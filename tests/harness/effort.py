"""How hard the tests of tests/torture try: a few seconds each within `make test`, or the minutes that `scripts/torture`
gives to the part that runs. What they measured is kept for docs/reliability.md when PGSVM_TORTURE_FIGURES names a file.
"""

import json
import os

MINUTES = float(os.environ.get("PGSVM_TORTURE_MINUTES") or 0)
LONG = MINUTES > 0
SEED = int(os.environ.get("PGSVM_TORTURE_SEED") or 1)


def seconds(quick, share=1):
    """The seconds a test may take: `quick` of them, or that share of the minutes given to its part."""
    return max(quick, share * 60 * MINUTES) if LONG else quick


def record(table, **row):
    """Prints a row of a table of figures, and keeps it."""
    print(f"{table}: " + ", ".join(f"{name} {value}" for name, value in row.items()), flush=True)
    path = os.environ.get("PGSVM_TORTURE_FIGURES")
    if path:
        with open(path, "a") as figures:
            figures.write(json.dumps({"table": table, "row": row}) + "\n")
