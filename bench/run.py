"""The benchmark: `run.py quick|full [CASE...]`, started by scripts/bench inside a private server.

Each case measures ours and theirs in turns and leaves what it found in bench/found; then results.md and the pictures are
written from all that lies there. A section says when and on what it was measured.
"""

import importlib
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))

import machine  # noqa: E402
from report import table, verdict  # noqa: E402

CASES = [
    "end_to_end",
    "solve_only",
    "real",
    "bandwidth",
    "profile",
    "heads",
    "trainers",
    "out_of_core",
    "solvers",
    "cache",
    "order",
    "rows",
    "cost",
    "memory",
    "following",
    "prediction",
]
RESULTS = machine.ROOT / "bench"
FOUND = RESULTS / "found"


class Run:
    def __init__(self, mode):
        self.quick = mode == "quick"

    def say(self, text):
        print(text, flush=True)


def main():
    mode, names = sys.argv[1], sys.argv[2:] or CASES
    FOUND.mkdir(parents=True, exist_ok=True)
    for name in names:
        case = importlib.import_module(f"cases.{name}")
        print(f"== {case.TITLE}", flush=True)
        before, started = machine.description(), time.time()
        found = case.measure(Run(mode))
        after = os.getloadavg()[0]
        about = {**before, "mode": mode, "load_after": after, "seconds": time.time() - started}
        (FOUND / f"{name}.json").write_text(json.dumps({"about": about, "found": found}, indent=1))
    write()


def write():
    sections, verdicts, images, missing = [], [], [], []
    for name in CASES:
        case = importlib.import_module(f"cases.{name}")
        if not (FOUND / f"{name}.json").exists():
            missing.append(case.TITLE)
            continue
        stored = json.loads((FOUND / f"{name}.json").read_text())
        body, reached, pictures = case.report(stored["found"])
        verdicts += reached
        for picture in pictures:
            picture.save(RESULTS)
            images.append(f"![{case.TITLE}]({picture.name}.svg)\n\n{case.TITLE}: [below](#{anchor(case.TITLE)}).\n")
        sections.append(f"## {case.TITLE}\n\n{case.__doc__.strip()}\n\n{body}\n\n{circumstances(stored['about'])}\n")
    head = introduction() + "\n## Targets\n\n" + targets(verdicts) + "\n"
    if missing:
        head += f"\nNot measured: {', '.join(missing)}.\n"
    if images:
        head += "\n## Pictures\n\n" + "\n".join(images)
    (RESULTS / "results.md").write_text(head + "\n" + "\n".join(sections))
    print(f"wrote {RESULTS / 'results.md'}")


def introduction():
    return """# Benchmark results

Written by `make bench` or `make bench-full`; see [README.md](README.md) for what is measured and how. Ours and theirs ran in
turns in one run; where others used the machine at the same time (see the load averages) the ratios count, not the
seconds.
"""


def targets(verdicts):
    rows = [
        [
            name,
            f"{value:.2f}",
            f"{sign(down)} {least:g}",
            f"{sign(down)} {aim:g}" if aim else "",
            verdict(value, least, aim, down),
        ]
        for name, value, least, aim, down in (tuple(v) + (False,) * (5 - len(v)) for v in verdicts)
    ]
    return table(["case", "reached", "at least", "aim", ""], rows)


def circumstances(about):
    return (
        f"Measured {about['at']} ({about['mode']}, {about['seconds']:.0f} s) at {about['commit']}, load average "
        f"{about['load']:.1f} before and {about['load_after']:.1f} after.\n\n"
        f"Machine: {about['cpu']}, {about['cores']} cores, {about['memory_gb']} GB."
    )


def anchor(title):
    """The name under which a heading can be linked."""
    return "".join(letter for letter in title.lower().replace(" ", "-") if letter.isalnum() or letter == "-")


def sign(smaller_is_better):
    return "<=" if smaller_is_better else ">="


if __name__ == "__main__":
    main()
