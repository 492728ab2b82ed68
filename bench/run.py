"""The benchmark: `run.py quick|full [CASE...]`, started by scripts/bench inside a private server.

Each case measures ours and theirs in turns and leaves what it found in target/bench/found; then results.md and the
pictures are written from all that lies there. Cases that were measured elsewhere keep their sections, targets and
pictures as they stand. A section says when and on what it was measured.
"""

import hashlib
import importlib
import json
import os
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, os.path.dirname(__file__))

import machine  # noqa: E402
from report import table, verdict  # noqa: E402

CASES = [
    "end_to_end",
    "defaults",
    "solve_only",
    "real",
    "losses",
    "arrives",
    "tasks",
    "kernels",
    "kernel_uses",
    "psvm",
    "scan",
    "ocas",
    "ocas_figures",
    "servers",
    "citus",
    "indexed",
    "indexed_reading",
    "indexed_figures",
    "forest",
    "suspects",
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
    "reading",
    "following",
    "prediction",
    "expansion",
]
FOUND = machine.TARGET / "found"
RESULTS = machine.ROOT / "bench"


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
        if found is None:
            continue
        after = os.getloadavg()[0]
        about = {**before, "case": digest(case), "mode": mode, "load_after": after, "seconds": time.time() - started}
        (FOUND / f"{name}.json").write_text(json.dumps({"about": about, "found": found}, indent=1))
    write()


def write():
    document = RESULTS / "results.md"
    kept = Kept(document.read_text() if document.exists() else "")
    sections, rows, images, missing = [], [], [], []
    for name in CASES:
        case = importlib.import_module(f"cases.{name}")
        title = case.TITLE
        stored = found_by(case, FOUND / f"{name}.json")
        if stored:
            body, reached, pictures = case.report(stored["found"])
            for picture in pictures:
                picture.save(RESULTS)
            sections.append(f"## {title}\n\n{case.__doc__.strip()}\n\n{body}\n\n{circumstances(stored['about'])}\n")
            rows += [target(title, *reached_one) for reached_one in reached]
            images += [image(title, picture.name) for picture in pictures]
        elif title in kept.sections:
            sections.append(kept.sections[title])
            rows += kept.targets(title)
            images += kept.images(title)
        else:
            missing.append(title)
    head = (
        introduction() + "\n## Targets\n\n" + table(["case", "reached", "at least", "aim", "", "section"], rows) + "\n"
    )
    if missing:
        head += f"\nNot measured: {', '.join(missing)}.\n"
    if images:
        head += "\n## Pictures\n\n" + "\n".join(images)
    document.write_text(head + "\n" + "\n".join(sections))
    print(f"wrote {document}")


def digest(case):
    return hashlib.sha256(Path(case.__file__).read_bytes()).hexdigest()


def found_by(case, file):
    """What this case found, None where nothing is kept or another form of it did."""
    stored = json.loads(file.read_text()) if file.exists() else {"about": {}}
    return stored if stored["about"].get("case") == digest(case) else None


class Kept:
    """The parts of a document that was written before."""

    def __init__(self, text):
        parts = [part.strip() for part in text.split("\n## ")[1:]]
        self.sections = {part.split("\n", 1)[0]: f"## {part}\n" for part in parts}

    def targets(self, title):
        lines = self.sections.get("Targets", "").splitlines()
        cells = [line.strip("| ").split(" | ") for line in lines if line.endswith(f"| {link(title)} |")]
        return [[cell.strip() for cell in row] for row in cells]

    def images(self, title):
        return [
            image(title, name)
            for name in re.findall(rf"!\[{re.escape(title)}\]\((\w+)\.svg\)", self.sections.get("Pictures", ""))
        ]


def image(title, name):
    return f"![{title}]({name}.svg)\n\n{title}: {link(title)}.\n"


def link(title):
    return f"[below](#{anchor(title)})"


def introduction():
    return """# Benchmark results

Written by `make bench` or `make bench-full`; see [README.md](README.md) for what is measured and how. Ours and theirs ran in
turns in one run; where others used the machine at the same time (see the load averages) the ratios count, not the
seconds.
"""


def target(title, name, value, least, aim, smaller_is_better=False):
    sign = "<=" if smaller_is_better else ">="
    aims = f"{sign} {aim:g}" if aim else ""
    reached = verdict(value, least, aim, smaller_is_better)
    return [name, f"{value:.2f}", f"{sign} {least:g}", aims, reached, link(title)]


def circumstances(about):
    return (
        f"Measured {about['at']} ({about['mode']}, {about['seconds']:.0f} s) at {about['commit']}, load average "
        f"{about['load']:.1f} before and {about['load_after']:.1f} after.\n\n"
        f"Machine: {about['cpu']}, {about['cores']} cores, {about['memory_gb']} GB."
    )


def anchor(title):
    """The name under which a heading can be linked."""
    return "".join(letter for letter in title.lower().replace(" ", "-") if letter.isalnum() or letter == "-")


if __name__ == "__main__":
    main()
