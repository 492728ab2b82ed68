"""Rows that do not fit: what is read of them by 'stream' and by 'indexed', which leaves chunks unread that cannot matter.

C = 1, standardized, to a gap of 1e-3, through a cache of a tenth, from a device of 40 MB/s, by coordinate descent, and with
the squared losses in a row of its own by Newton's method, where 'stream' is 'newton' and 'indexed' has it inside. The ramp with s = 1, the truncated squared hinge with s = 1.25. Bytes are those written to the spool, as it packs them, and read from it, as multiples of what the rows take without packing. Truncated losses have many local
minima, so that both objectives are shown: the lower one is the better solution, and ratios of bytes are of trainings that need not
end in the same one. How often rows come depends on how fast they come, so that each run is another one.
"""

import datasets
import problems
from report import seconds, table
from solvers import measured, ours

TITLE = "Reading that an index spares"
COVER = "cover_like"
SETS = {"quick": ["a9a", "ijcnn1"], "full": ["a9a", "ijcnn1", COVER, "mnist", "kddcup99"]}
LOSSES = {
    "hinge": ("hinge", {}),
    "squared_hinge": ("squared_hinge", {}),
    "ramp": ("hinge", {"truncation": 1.0}),
    "truncated_squared_hinge": ("squared_hinge", {"truncation": 1.25}),
}
TOLERANCE, MB_PER_SECOND, WALL = 1e-3, 40, 300
BOTH = ("stream", "indexed")
METHODS = {"descent": "off", "newton": "on"}
# those that the figure to reach is of
ASKED = {COVER, "mnist", "kddcup99"}


def measure(run):
    wanted = SETS["quick" if run.quick else "full"]
    names, missing = datasets.at_hand(run, [name for name in wanted if name != COVER])
    cells = []
    for name in [name for name in wanted if name in {*names, COVER}]:
        problem = problems.cover_like() if name == COVER else datasets.problem(name, "std")
        bare = problem.rows * measured(problem, passes=1)["row_bytes"]
        for loss in LOSSES:
            for method in METHODS:
                if method == "newton" and LOSSES[loss][0] == "hinge":
                    continue
                cell = {"set": name, "loss": loss, "method": method}
                cell.update(
                    {solver: cell_of(problem, bare, loss, solver, {"newton": METHODS[method]}) for solver in BOTH}
                )
                run.say(f"  {cell}")
                cells.append(cell)
    return {"cells": cells, "missing": missing}


def cell_of(problem, bare, loss, solver, more=None):
    convex, truncation = LOSSES[loss]
    device = {"threads": 2, "throttle_mb": MB_PER_SECOND, "wall": WALL, "cache": int(0.1 * bare) + 65_536}
    options = {"newton": "off", **truncation, **device, **(more or {})}
    used, _, _, _, said = ours(problem, 1.0, TOLERANCE, loss=convex, solver=solver, **options)
    return {
        "read": said["spool_bytes_read"] / bare,
        "written": said["spool_bytes"] / bare,
        "wall": used.wall,
        "objective": said["objective"] if truncation else said["primal"],
        "gap": said["gap"],
        "passes": said["passes"],
    }


def report(found):
    rows, ratios = [], []
    for cell in found["cells"]:
        used = [cell[it]["read"] + cell[it]["written"] for it in BOTH]
        if cell["loss"] == "ramp" and cell["set"] in ASKED:
            ratios.append(used[0] / used[1])
        rows.append(
            [
                cell["set"],
                cell["loss"],
                cell.get("method", "descent"),
                *(f"{cell[it]['passes']:.0f}" for it in BOTH),
                *(f"{each:.1f}" for each in used),
                f"{used[0] / used[1]:.1f}",
                *(seconds(cell[it]["wall"]) for it in BOTH),
                *(f"{cell[it]['objective']:.6g}" for it in BOTH),
                *(f"{cell[it]['gap']:.1e}" for it in BOTH),
            ]
        )
    verdicts = []
    if len(ratios) > 1:
        second = sorted(ratios, reverse=True)[1]
        verdicts.append(("bytes of 'stream' / 'indexed', ramp, second of the sets", second, 2, 5, False))
    heads = [f"{what} {it}" for what in ("passes", "bytes", "s", "objective", "gap") for it in BOTH]
    return table(["data", "loss", "by", *heads[:4], "ratio", *heads[4:]], rows), verdicts, []
