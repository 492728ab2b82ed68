"""How hard the tests of tests/torture try: a few seconds each within `make test`, or their share of the minutes that
`scripts/torture` gives them. What they measured is kept for docs/reliability.md when PGSVM_TORTURE_FIGURES names a file.
"""

import json
import os

MINUTES = float(os.environ.get("PGSVM_TORTURE_MINUTES") or 0)
LONG = MINUTES > 0


def seconds(quick, share):
    """The seconds a test may take: `quick` of them, or that share of the minutes given."""
    return max(quick, share * 60 * MINUTES) if LONG else quick


def soak_seconds(quick, share):
    """The same for the soak, which has all the minutes when it runs alone (PGSVM_SOAK)."""
    return seconds(quick, 1 if os.environ.get("PGSVM_SOAK") else share)


def record(table, **row):
    """Prints a row of a table of figures, and keeps it."""
    print(f"{table}: " + ", ".join(f"{name} {value}" for name, value in row.items()))
    path = os.environ.get("PGSVM_TORTURE_FIGURES")
    if path:
        with open(path, "a") as figures:
            figures.write(json.dumps({"table": table, "row": row}) + "\n")
