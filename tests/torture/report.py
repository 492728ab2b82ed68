"""What a part of scripts/torture leaves beside its figures, and docs/reliability.md out of all of it.

report.py about FOLDER PART SEED VERSION COMMIT SECONDS    keeps in FOLDER/run.json what ran, on what, for how long
report.py write FOLDER VERSION                             the document, to standard output, from the parts in FOLDER
"""

import datetime
import json
import os
import pathlib
import platform
import sys


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


if __name__ == "__main__":
    {"about": about}[sys.argv[1]](*sys.argv[2:])
