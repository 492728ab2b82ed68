"""Where processor time goes: stacks of the solver alone and of a backend in `svm_train`, taken by perf at regular
intervals of processor time, C = 1, gap 1e-3.

A stack counts for the innermost of its functions that a table knows. Solver alone: encoding rows in the cache and
training; the program's own reading of its files is left out. Backend: the whole statement, from a table in the server's
or the system's cache to the stored model, without workers, in a cache that holds the rows. A cell is the share of that,
and in brackets nanoseconds for each row of the table, all passes together. Page faults are not in the shares: in a
virtual machine they cost many times more where the host has to find the memory first, which it need not for trainings
that follow one another closely, as the backend's here.
"""

import json
import re

import problems
import profiler
import server
from machine import median
from report import table
from solvers import measure_program

TITLE = "Profiles"
# name, how to make it, and how often it is trained (quick, full)
ALONE = [
    ("dense 100k x 500", problems.unit_rows, (2, 10)),
    ("581k x 54, 12 nonzero", problems.cover_like, (2, 10)),
    ("text 300k x 1M", problems.text_like, (1, 4)),
]
STORED = [("100 columns", server.load_columns), ("float4[100]", server.load_arrays)]
STORED_ROWS, STORED_FEATURES = 200_000, 100
STORED_RUNS = (4, 20)

VISITS = FULL, ACTIVE = "full passes", "active passes"
# what comes before training
LOADING = SCALING, ENCODING, DECODING, APART, POSTGRES, SYSTEM = (
    "scaling, squared norms",
    "encoding",
    "decoding",
    "taking rows apart",
    "PostgreSQL: scan, executor, storing",
    "system calls: pages from the system's cache",
)
FAULTS = "page faults"
# of the processor's time: a part, and functions or source files it consists of
PARTS = [
    (FULL, r"^visit_blocks<.*true>"),
    (ACTIVE, r"^visit_blocks<.*false>"),
    ("column scales, in the first pass", r"methods/src/solver/moments\.rs"),
    ("verification", r"^check_blocks<"),
    ("between passes", r"pgsvm-core/src/trainer"),
    (SCALING, r"delivery/src/scaling/applier\.rs"),
    (ENCODING, r"pgsvm-core/src/(scaling/learner|reader|cache)"),
    (DECODING, r"^src/(features|rows|labels)|^src/pg/array"),
    (APART, r"^src/pg/(deform|prefetch|executor)"),
    (POSTGRES, r" postgres$"),
    (FAULTS, r"exc_page_fault|do_page_fault"),
    (SYSTEM, r"do_syscall_64|el0_svc"),
]
OTHER = "other"
# of a visit's time
WORK = [
    ("inner products", r"^(dot|score|two_scores|place)"),
    ("moving the weights", r"^add"),
    ("finding rows, asking for the next", r"^(peek_|prefetch)|solver/ahead\.rs"),
    ("step, sums, sleeping", r"^(step|visit)"),
]
# what of the measuring program is not ours to profile
PROGRAM = r"pgsvm-core/examples"


def measure(run):
    why_not = profiler.missing()
    if why_not:
        run.say(f"  skipped: {why_not}")
        return {"missing": why_not}
    turn = 0 if run.quick else 1
    alone = [solver_alone(run, name, make(), runs[turn]) for name, make, runs in ALONE]
    return {"alone": alone, "stored": backend(run, STORED_RUNS[turn])}


def solver_alone(run, name, problem, runs):
    program = measure_program()
    options = [f"features={problem.features}", "c=1", "tolerance=1e-3", "bandwidth=1"]
    stacks, said = [], []
    for seed in range(runs):
        taken, output = profiler.of_program([program, problem.folder, *options, f"seed={seed}"], [program])
        stacks += taken
        said.append(json.loads(output))
    ours = [stack for stack in stacks if is_ours(stack)]
    rates = ["full_bandwidth", "active_bandwidth", "read_bandwidth"]
    run.say(f"  {name}: {len(ours)} stacks of {len(stacks)}")
    return {
        "name": name,
        "row_runs": problem.rows * runs,
        "parts": counted(ours, PARTS),
        "work": counted(visits(ours), WORK),
        "row_bytes": said[0]["row_bytes"],
        **{rate: median([one[rate] for one in said]) for rate in rates},
    }


def backend(run, runs):
    problem = problems.noisy(STORED_ROWS, STORED_FEATURES)
    train = "SELECT svm_train('profiled', 'label', c => 1, loss => 'hinge', scale => 'none', model => 'profiled')"
    found = []
    for name, load in STORED:
        with server.connect() as connection:
            library = connection.execute("SELECT setting FROM pg_config WHERE name = 'PKGLIBDIR'").fetchone()[0]
            load(connection, "profiled", problem.y, problem.x)
            connection.execute(f"SET pgsvm.cache_size = '{server.cache_for(problem.rows, problem.features)}'")
            connection.execute("SET client_min_messages = warning")
            connection.execute("SET max_parallel_workers_per_gather = 0")
            stacks = {}
            for query in [train, "SELECT count(*) FROM profiled"]:
                connection.execute(query)
                with profiler.Attached(connection.info.backend_pid, [f"{library}/pgsvm.so"]) as profile:
                    for _ in range(runs):
                        connection.execute(query)
                stacks[query] = profile.stacks
            connection.execute("DROP TABLE profiled")
        training, scan = stacks.values()
        run.say(f"  {name}: {len(training)} stacks, {len(scan)} of a bare scan")
        found.append(
            {
                "name": name,
                "row_runs": problem.rows * runs,
                "parts": counted(training, PARTS),
                "work": counted(visits(training), WORK),
                "scan": len(scan),
            }
        )
    return found


def is_ours(stack):
    """Whether a stack of the measuring program is in the solver and not in what the program does around it."""
    for frame in stack:
        if re.search(PROGRAM, frame.file):
            return False
        if frame.file.startswith("crates/pgsvm-core/src"):
            return True
    return False


def visits(stacks):
    return [stack for stack in stacks if part(stack, PARTS) in VISITS]


def part(stack, parts):
    """The first of `parts` that the innermost frame known to any of them belongs to."""
    for frame in stack:
        for name, pattern in parts:
            if any(re.search(pattern, text) for text in (frame.function, frame.file, f" {frame.binary}")):
                return name
    return OTHER


def counted(stacks, parts):
    counts = {name: 0 for name, _ in parts} | {OTHER: 0}
    for stack in stacks:
        counts[part(stack, parts)] += 1
    return counts


def report(found):
    if "missing" in found:
        return f"Not measured: {found['missing']}.", [], []
    profiles = found["alone"] + found["stored"]
    text = [
        shares(profiles, "parts", "part"),
        "\nThe visits of full and active passes by what they do. A processor waits where it needs what has not come yet:"
        "\nthe step for the inner product before it, finding a row for memory.\n",
        shares(profiles, "work", "in visits"),
        "\nVisits of the solver alone beside the limit, which is the plain sum of as many bytes by one core (rows only:"
        "\nweights are not counted).\n",
        limits(found["alone"]),
        "\n" + loading(found["stored"]),
    ]
    return "\n".join(text), [], []


def shares(profiles, key, head):
    rows = []
    for name in profiles[0][key]:
        cells = [cell(name, profile, key) for profile in profiles]
        if any(cells):
            rows.append([name, *cells])
    rows.append(["together", *(f"{shown(nanoseconds(sum(p[key].values()), p['row_runs']))} ns" for p in profiles)])
    return table([head, *(profile["name"] for profile in profiles)], rows)


def cell(name, profile, key):
    counts, row_runs = profile[key], profile["row_runs"]
    spent = f"({shown(nanoseconds(counts[name], row_runs))})"
    if counts[name] == 0:
        return ""
    if name == FAULTS:
        return spent
    return f"{counts[name] / (sum(counts.values()) - counts.get(FAULTS, 0)):.0%} {spent}"


def shown(value):
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def nanoseconds(count, row_runs):
    """Processor time of so many stacks for each row."""
    return 1e9 * count / profiler.SAMPLES_PER_SECOND / row_runs


def limits(alone):
    rows = []
    for one in alone:
        cells = [one["name"], f"{one['row_bytes']:.0f}", f"{one['read_bandwidth'] / 1e9:.1f}"]
        for rate in ["full_bandwidth", "active_bandwidth"]:
            if one[rate] == 0:
                cells += ["", ""]
                continue
            cells += [f"{1e9 * one['row_bytes'] / one[rate]:.0f}", f"{one[rate] / one['read_bandwidth']:.0%}"]
        rows.append(cells)
    header = ["rows", "bytes a row", "reading, GB/s", "full pass, ns a visit", "of the limit"]
    return table([*header, "active pass, ns a visit", "of the limit"], rows)


def loading(stored):
    """What comes before training, beside the least that PostgreSQL can do with the table."""
    rows = []
    for one in stored:
        ours = nanoseconds(sum(one["parts"][name] for name in LOADING), one["row_runs"])
        scan = nanoseconds(one["scan"], one["row_runs"])
        rows.append([one["name"], f"{ours:.0f}", f"{scan:.0f}", f"{ours / scan:.1f}"])
    return table(["table", "reading and encoding, ns a row", "SELECT count(*), ns a row", "ratio"], rows)
