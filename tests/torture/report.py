"""What a part of scripts/torture leaves beside its figures, and docs/reliability.md out of all of it.

report.py about FOLDER PART SEED VERSION COMMIT SECONDS    keeps in FOLDER/run.json what ran, on what, for how long
report.py write FOLDER VERSION DOCUMENT                    the document, to standard output, from the parts in FOLDER; what
                                                           is not there stands as it does in DOCUMENT
"""

import datetime
import json
import os
import pathlib
import platform
import sys
import xml.etree.ElementTree as tree
from collections import Counter

# part -> (heading, what it does, [(table of figures, what stands above it)])
PARTS = {
    "kills": (
        "Processes killed, servers stopped",
        "A process of a training gets SIGKILL, in a random phase and at a random time. When a backend is killed, "
        "PostgreSQL restarts all of its backends; a killed client restarts nothing. After each round every version "
        "committed before was whole and decided as before. No process, temporary file or part of a model was left.",
        [
            (
                "kill -9",
                "*Segments lost* are pieces of shared memory that stayed, because the leader was killed while "
                "PostgreSQL was creating them. PostgreSQL writes down what to remove after a crash only when a segment "
                "is complete.",
            ),
            ("recovery", "From the death of a backend until a client could connect again:"),
            (
                "stop",
                "The server was stopped during a training, and started again with every committed model. Seconds until "
                "it was down:",
            ),
        ],
    ),
    "limits": (
        "A server that has run out of something",
        "The error says what, the session goes on, nothing is left, and the server has not restarted.",
        [],
    ),
    "cancels": (
        "Latency of a cancel",
        "The time from the request, at a random moment, until the client had the error. 99 of 100 are to take less than"
        " 200 ms, and all less than 1000 ms.",
        [("cancel", "")],
    ),
    "resident": (
        "Memory of a training",
        "The most that leader and workers took together, watched 50 times a second. Allowed are the cache (2 MB), dual "
        "variables, weights ([the vectors](architecture.md#memory)) and 64 MB. *Enforced by* names what the operating "
        "system held them to. That is a cgroup with room for just that and the server's own memory, where "
        "`PGSVM_CGROUP` names a folder for one. Otherwise it is a limit on the data of each process (`RLIMIT_DATA`), "
        "just above that.",
        [("memory", "")],
    ),
    "hostile": (
        "Hostile input",
        "Every function is called with random values that SQL can put into its arguments. Texts of models and data have"
        " characters changed, and stored models have damaged rows. *Wrong* is a server that is gone, an internal error,"
        " no answer within 5 s (a training that is told to stop has a second more), or NaN or infinity as an answer.",
        [("hostile", ""), ("large texts", "Texts as long as they can be:"), ("states", "How calls were refused:")],
    ),
    "states": (
        "Orders and states made up",
        "A role that may only connect calls every C function that the catalog lets PUBLIC call. It gives them real "
        "orders of scans, as postgres_fdw sends them, and the states that they lead to. Bits and bytes are changed, cut"
        " off, put in, repeated and spliced, and lengths go up to 2^63. It also makes whole calls with random values, "
        "and models as text with characters changed. *Wrong* is a server or a session that is gone, an internal error, "
        "or no answer within 5 s.",
        [("made up", ""), ("calls of a role without rights", "Whole calls:")],
    ),
    "decoders": (
        "Decoders under changed bytes",
        "Real inputs have bytes changed, cut off, put in and repeated, in a loop inside the server: rows and files in "
        "LIBSVM notation, arrays, models of LIBLINEAR, and what is stored of a model. Each was taken, or refused with "
        "an SQLSTATE.",
        [("decoders", "")],
    ),
    "kernels": (
        "Certificates of kernel machines",
        "Machines are trained on random data (normal, clustered, of few values, far from 0, days since 1970, constant, "
        "sparse, with twins), with random kernel, gamma, C from 1e-3 to 1e6, loss, scale, weights and method. SQL then "
        "computes in double precision, from the rows of the table and what is stored, the primal of the stored factors,"
        " the dual of the stored dual variables, and the decisions. *False* is a primal above the stored one, a stored "
        "dual above the recomputed one, a gap that does not follow from the two, or another decision. Linear models of "
        "tables with tiny objectives, such as fewer rows than columns, are recomputed over the rows of the table in "
        "more than double precision, with any scale and C. There *false* is a primal or a dual that is off to the wrong"
        " side by more than a hundred thousandth.",
        [("kernels", ""), ("linear certificates", "")],
    ),
    "allocation": (
        "Allocations that fail",
        "A test of the regress suite runs in a session, and its large allocations (64 kB and more) are counted. Then "
        "the test runs again, each time with another of them failing, in random order. Each failure ended in an "
        "ordinary error, SQLSTATE 53200, or was done without. The session went on, and the server did not restart.",
        [("allocation", "")],
    ),
    "rights": (
        "Objects of a malicious owner",
        "A model's owner makes domains with checks, casts, operators, functions, types, policies, indexes, triggers, "
        "views, collations and text search configurations. Sources and stored versions name them, and every function "
        "reaches them. *Ran* counts what ran with anybody's rights but the owner's. What a caller names runs with the "
        "caller's rights, as in any SELECT.",
        [("rights", "")],
    ),
    "ends": (
        "Every training ends",
        "Small problems that are hard on solvers, each with every solver: rows of size 1e15 and 1e-15, columns of any "
        "size, rows twice with opposite labels, weights from 0 to 1e6, one row a class, constant columns, fewer rows "
        "than columns, C from 1e-6 to 1e6. Each training ended within 10 s, by its tolerance, by its passes or with an "
        "error. For linear models primal, gap and truncated objective were computed anew from the stored weights, and "
        "no dual was above any primal of the same problem. *Wrong* is anything else.",
        [("ends", "")],
    ),
    "users": (
        "Fifty sessions at once",
        "Fifty sessions predicted while ten others retrained, deployed, renamed, dropped, granted and revoked. One "
        "version answered each statement, and one version answered each REPEATABLE READ transaction. There was no "
        "deadlock, and no SQLSTATE but those of the [reference](reference/models.md).",
        [("users", "")],
    ),
    "refresh": (
        "Follow-ups after changes",
        "Models followed their tables, views and partitions by `svm_refresh`, `svm_update` and `svm_forget`. Their "
        "owner and a superuser called these, under changing search paths. Meanwhile everything changed that a row's "
        "values depend on; half of the time nothing did. After each follow-up SQL added up the primal and the accuracy "
        "of its certificate, over the rows as they were then. *Passing over* counts follow-ups that did not look at a "
        "good part of the rows. *Refused* counts those that had to be refused, because the source was another relation "
        "or lacked rows. *False* is a certificate that says something else.",
        [("refresh", "")],
    ),
    "soak": (
        "Mixed work for long",
        "One session trains, deploys, predicts, evaluates, drops, cancels and fails, and is vacuumed now and then.",
        [
            ("soak", ""),
            (
                "growth",
                "These may not grow, measured after a vacuum. The first quarter of the time fills caches. Growth is the"
                " difference between the highest value of the second quarter and that of the last.",
            ),
        ],
    ),
    "checks": (
        "Rights, numbers, the ring",
        "Tests of other layers, run once more.",
        [("checks", "")],
    ),
    "valgrind": (
        "Unsafe code under valgrind",
        "Tests of the solver crate that reach its unsafe code, run under memcheck.",
        [("valgrind", "")],
    ),
}


def machine():
    """Processors, memory and system, in words."""
    with open("/proc/meminfo") as lines:
        memory_gb = int(next(lines).split()[1]) / (1 << 20)
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "CPU")
    return f"{len(os.sched_getaffinity(0))} x {model}, {memory_gb:.0f} GB, Linux {platform.release().split('-')[0]}"


def about(folder, part, seed, version, commit, seconds):
    run = {
        "part": part,
        "seed": int(seed),
        "postgresql": int(version),
        "commit": commit,
        "date": str(datetime.date.today()),
        "seconds": int(seconds),
        "machine": machine(),
        "load": round(os.getloadavg()[2], 1),
    }
    (pathlib.Path(folder) / "run.json").write_text(json.dumps(run))


class Run:
    """What one run of a part left."""

    def __init__(self, folder):
        self.about = json.loads((folder / "run.json").read_text())
        figures, results = folder / "figures.jsonl", folder / "results.xml"
        lines = figures.read_text().splitlines() if figures.exists() else []
        self.figures = [json.loads(line) for line in lines]
        self.cases = list(tree.parse(results).getroot().iter("testcase")) if results.exists() else []

    def outcomes(self, *kinds):
        """(test in words, what it says) of tests that ended like this."""
        return [
            (words(case), (outcome.get("message") or outcome.tag).splitlines()[0])
            for case in self.cases
            for outcome in case
            if outcome.tag in kinds
        ]

    def result(self):
        if not self.cases or self.outcomes("failure", "error"):
            return "**FAILED**"
        skipped = self.outcomes("skipped")
        if len(skipped) == len(self.cases):
            return f"left out: {skipped[0][1].removeprefix('Skipped: ')}"
        return "passed"


def words(case):
    """A test's name as a sentence."""
    return case.get("name").removeprefix("test_").replace("_", " ")


def rows_of(runs, table):
    return [figure["row"] for run in runs for figure in run.figures if figure["table"] == table]


def shown(value):
    return f"{value:,}" if isinstance(value, int) else str(value)


def markdown(rows):
    """A table with the columns that its rows have."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [[name.replace("_", " ") for name in names], ["---"] * len(names)]
    lines += [[shown(row.get(name, "")) for name in names] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def together(rows, key, *counts):
    """Rows of several runs with the same key as one, their counts added up."""
    sums = {}
    for row in rows:
        sums.setdefault(row[key], Counter()).update({count: row[count] for count in counts})
    return [{key: name, **sum} for name, sum in sorted(sums.items(), key=lambda item: -max(item[1].values()))]


# figures for the summary, in words, from the rows of a table


def kills(runs):
    rounds, recovery, stops = (rows_of(runs, table) for table in ("kill -9", "recovery", "stop"))
    lost = sum(row.get("segments_lost", 0) for row in rounds)
    each = ", ".join(f"{row['rounds']} {row['process']}" for row in rounds)
    return (
        f"{sum(row['rounds'] for row in rounds)} kills ({each}),"
        f" {len(stops)} stops; up again within {max(row['longest_seconds'] for row in recovery)} s; {lost} segments lost"
    )


def limits(runs):
    return f"{sum(len(run.cases) - len(run.outcomes('skipped')) for run in runs)} shortages and changes"


def cancels(runs):
    of_all = [row for row in rows_of(runs, "cancel") if row["what"].startswith("all of")]
    return "; ".join(
        f"{row['cancels']} cancels, median {row['median_ms']} ms, 99 % within {row['p99_ms']} ms, longest {row['longest_ms']} ms"
        for row in of_all
    )


def resident(runs):
    rows = rows_of(runs, "memory")
    ways = sorted({row["enforced_by"] for row in rows})
    share = max(row["peak_mb"] / row["allowed_mb"] for row in rows)
    return f"{len(rows)} trainings, at most {100 * share:.0f} % of what is allowed; enforced by {', '.join(ways)}"


def checks(*places):
    def figure(runs):
        rows = [row for row in rows_of(runs, "checks") if any(place in row["by"] for place in places)]
        return "; ".join(f"{row['by']}: {row['cases']}" for row in rows)

    return figure


def hostile(runs):
    rows = rows_of(runs, "hostile")
    refused = sum(row["damaged_models_refused"] for row in rows)
    return (
        f"{sum(row['cases'] for row in rows):,} random calls with {len(rows)} seeds, {sum(row['wrong'] for row in rows)} wrong;"
        f" {refused:,} damaged models refused"
    )


def decoders(runs):
    rows = rows_of(runs, "decoders")
    return f"{sum(row['cases'] for row in rows):,} changed inputs of {len(rows)} kinds, 0 wrong"


def kernels(runs):
    rows = rows_of(runs, "kernels")
    return f"{sum(row['machines'] for row in rows):,} machines recomputed in SQL, {sum(row['false'] for row in rows)} false"


def allocation(runs):
    rows = rows_of(runs, "allocation")
    failed, refused = sum(row["failed"] for row in rows), sum(row["errors_53200"] for row in rows)
    return f"{failed:,} of {sum(row['allocations'] for row in rows):,} failed: {refused:,} ordinary errors, the others done without"


def ends(runs):
    rows = rows_of(runs, "ends")
    problems = max(row["problems"] for row in rows)
    trained, wrong = (sum(row[count] for row in rows) for count in ("trained", "wrong"))
    longest = max(row["longest_seconds"] for row in rows)
    return f"{problems:,} problems, {trained:,} trainings by {len(rows)} solvers, {wrong} wrong; longest {longest} s"


def users(runs):
    rows = rows_of(runs, "users")
    predictions = sum(row["done"] for row in rows if row["what"].startswith("predict"))
    changes = sum(row["done"] for row in rows) - predictions
    return f"{predictions:,} statements that predict beside {changes:,} changes; no mixture, no deadlock"


def refresh(runs):
    rows = rows_of(runs, "refresh")
    follow_ups, passing, wrong = (sum(row[count] for row in rows) for count in ("follow_ups", "passing_over", "false"))
    return f"{follow_ups:,} follow-ups, {passing:,} of which passed over rows; {wrong} false certificates"


def soak(runs):
    growth = {row["what"]: row for row in rows_of(runs, "growth")}
    told = [f"{row['minutes']} minutes, {row['statements']:,} statements" for row in rows_of(runs, "soak")]
    told += [f"{what} {row['growth']:+} {row['unit']}" for what, row in growth.items() if row["unit"] == "MB"]
    return "; ".join(told)


def valgrind(runs):
    rows = rows_of(runs, "valgrind")
    return f"{sum(row['tests'] for row in rows)} tests, {sum(row['errors'] for row in rows)} errors"


def rights(runs):
    rows = rows_of(runs, "rights")
    return f"{sum(row['calls'] for row in rows):,} calls, {sum(row['ran'] for row in rows)} ran anything of the owner's"


# (what is promised, part, its figure)
SUMMARY = [
    ("Faults: processes killed, servers stopped", "kills", kills),
    ("Faults: no disk, memory, workers or connections left; tables changed meanwhile", "limits", limits),
    ("Stops when told", "cancels", cancels),
    ("Memory stays within cache, dual variables, weights and 64 MB", "resident", resident),
    ("Rights of the caller, and no others", "checks", checks("rights", "trespass")),
    ("Using a model runs nothing of its owner's", "rights", rights),
    ("Hostile input: calls, texts, stored models", "hostile", hostile),
    ("Hostile input: decoders", "decoders", decoders),
    ("No memory for an allocation of 64 kB or more", "allocation", allocation),
    ("Fifty sessions beside changes", "users", users),
    ("Certificates of follow-ups are true whatever has changed", "refresh", refresh),
    ("Every training ends, and tells the truth", "ends", ends),
    ("Certificates of kernel machines are those of what is stored", "kernels", kernels),
    ("Numbers at the edges", "checks", checks("numbers")),
    ("Mixed work for long leaves no trace", "soak", soak),
    ("Order of steps between reader and trainer", "checks", checks("cache", "roles")),
    ("Unsafe code under valgrind", "valgrind", valgrind),
]


class Kept:
    """What a document that was written before says of parts that were run elsewhere."""

    def __init__(self, path):
        text = path.read_text() if path.exists() else ""
        head, *sections = text.split("\n## ")
        self.sections = {section.split("\n", 1)[0]: section.strip() for section in sections}
        lines = [line for line in head.splitlines() if line.startswith("| [")]
        self.summary = {line[len("| [") :].split("](", 1)[0]: line for line in lines}


def write_summary(runs, kept):
    lines = ["| promise | figure | result |", "|---|---|---|"]
    for promise, part, figure in SUMMARY:
        of_part = runs.get(part, [])
        if not of_part and promise in kept.summary:
            lines.append(kept.summary[promise])
            continue
        results = list(dict.fromkeys(run.result() for run in of_part)) or ["not run yet"]
        found = figure(of_part) if "passed" in results else ""
        link = PARTS[part][0].lower().replace(" ", "-").replace(",", "")
        lines.append(f"| [{promise}](#{link}) | {found} | {', '.join(results)} |")
    print("\n".join(lines))


def write_part(part, runs):
    heading, text, tables = PARTS[part]
    print(f"\n## {heading}\n\n{text}\n")
    for run in runs:
        told = run.about
        print(
            f"- {told['date']}, {told['seconds'] / 60:.0f} minutes, seed {told['seed']}, PostgreSQL {told['postgresql']}, commit"
            f" {told['commit']}, load {told['load']}: {run.result()}"
        )
        for kind in ("failure", "error", "skipped"):
            for name, reason in run.outcomes(kind):
                print(f"  - {kind}: {name}: {reason}")
    for table, above in tables:
        rows = rows_of(runs, table)
        if table == "states":
            rows = together(rows, "SQLSTATE", "cases")
        if rows:
            print("\n" + (f"{above}\n\n" if above else "") + markdown(rows))
    if not tables:
        held = [case for run in runs for case in run.cases if not len(case)]
        print("\n" + "\n".join(f"- {words(case)}" for case in held))


def write(folder, version, document):
    runs, kept = {}, Kept(pathlib.Path(document))
    for path in sorted(pathlib.Path(folder).glob("*/run.json")):
        run = Run(path.parent)
        runs.setdefault(run.about["part"], []).append(run)
    print("# Reliability\n")
    print(
        "`make torture` writes this page from what it measured. A short form of these tests (`tests/torture`) is part of"
        " `make test`. `scripts/torture PART` runs one part. Each section says when its part ran, and on which commit.\n"
    )
    machines = sorted({run.about["machine"] for of_part in runs.values() for run in of_part})
    print(f"PostgreSQL {version}; what was run last on {', '.join(machines)}.\n")
    write_summary(runs, kept)
    for part in PARTS:
        if part in runs:
            write_part(part, runs[part])
        elif PARTS[part][0] in kept.sections:
            print(f"\n## {kept.sections[PARTS[part][0]]}")


if __name__ == "__main__":
    {"about": about, "write": write}[sys.argv[1]](*sys.argv[2:])
