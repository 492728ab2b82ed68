"""report.py FIGURES RESULTS SECONDS COMMIT [LATER RESULTS...]: writes docs/reliability.md to standard output, from the
figures that a run of scripts/torture kept and pytest's list of results; of tests that ran again the last result counts."""

import datetime
import json
import os
import pathlib
import platform
import sys
import xml.etree.ElementTree as tree

# table -> (heading, what it says)
TABLES = {
    "kill -9": (
        "Processes killed with SIGKILL",
        "A process of a training, in a phase drawn by lot, after a time drawn by lot. The server recovered by itself, which "
        "PostgreSQL does by restarting every backend when one is killed (and only then: a killed client restarted "
        "nothing); every version committed before was whole and decided as before; no process, shared memory, temporary "
        "file or part of a model was left.",
    ),
    "recovery": ("", "From the death of a backend until a client could connect again:"),
    "stop": (
        "The server stopped during a training",
        "It started again with every committed model. Seconds until it was down:",
    ),
    "cancel": (
        "Latency of a cancel",
        "Milliseconds from the request, at a time drawn by lot, until the client had the error. 99 of 100 are to take "
        "less than 200, all less than 1000.",
    ),
    "memory": (
        "Memory of a training",
        "Megabytes that leader and workers took at most, watched 50 times a second. Allowed are the cache (2 MB), dual "
        "variables, weights ([the vectors](architecture.md#memory)) and 64 MB. *Enforced* says whether a cgroup held "
        "the whole server to that and its shared buffers; where the machine gives none (`PGSVM_CGROUP`) it was watched.",
    ),
    "users": (
        "Fifty sessions at once",
        "They predicted while ten others retrained, deployed, renamed, dropped, granted and revoked. Every statement was "
        "answered by one version, every REPEATABLE READ transaction by one too; no deadlock, and no SQLSTATE but those "
        "that the [reference](reference/models.md) tells:",
    ),
    "soak": ("Mixed work for long", "Train, deploy, predict, evaluate, drop, cancel and fail, in one session:"),
    "growth": ("", "What it had grown to, at most, in the second and in the last quarter of the time:"),
}


def machine():
    """Processors, memory and system, in words."""
    with open("/proc/meminfo") as lines:
        memory_gb = int(next(lines).split()[1]) / (1 << 20)
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "CPU")
    busy = os.getloadavg()[2]
    return (
        f"{len(os.sched_getaffinity(0))} x {model}, {memory_gb:.0f} GB, Linux {platform.release().split('-')[0]}"
        f" (load average {busy:.1f} in the last quarter of an hour)"
    )


def markdown(rows):
    """A table with the columns that its rows have."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [names, ["---"] * len(names), *([row.get(name, "") for name in names] for row in rows)]
    lines[0] = [name.replace("_", " ") for name in names]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def outcomes(case):
    """What a test says that did not pass."""
    return [outcome for outcome in case if outcome.tag in ("failure", "error", "skipped")]


def main(figures, results, seconds, commit, *later):
    found = [json.loads(line) for line in pathlib.Path(figures).read_text().splitlines()]
    runs = [tree.parse(path).getroot() for path in (results, *later)]
    cases = {(case.get("classname"), case.get("name")): case for run in runs for case in run.iter("testcase")}
    skipped = sum(any(outcome.tag == "skipped" for outcome in outcomes(case)) for case in cases.values())
    failed = sum(bool(outcomes(case)) for case in cases.values()) - skipped
    version = pathlib.Path(results).stem.rpartition("-")[2]
    print("# Reliability\n")
    print(
        "What `make torture` measured; written by it, never by hand. The tests are `tests/torture`; a short run of them is"
        " part of `make test`.\n"
    )
    print(
        f"- {datetime.date.today()}, {int(seconds) / 60:.0f} minutes{' in several runs' if later else ''}, PostgreSQL {version}, commit {commit}"
    )
    print(f"- {machine()}")
    print(
        f"- {len(cases) - failed - skipped} tests passed, {failed} failed, {skipped} skipped{' (of those that ran again, the last result)' if later else ''}"
    )
    for (_, name), case in cases.items():
        for outcome in outcomes(case):
            print(f"  - {outcome.tag}: {name.replace('_', ' ')}: {outcome.get('message', '').splitlines()[0]}")
    for table, (heading, text) in TABLES.items():
        rows = [entry["row"] for entry in found if entry["table"] == table]
        if rows:
            print(f"\n## {heading}\n" if heading else "")
            print(f"{text}\n\n{markdown(rows)}")


main(*sys.argv[1:])
