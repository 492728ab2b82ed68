"""How near a pass over cached rows comes to reading memory: bytes of visited rows a second of processor time, beside the
plain sum of a buffer of the same size in the same process.

A full pass visits every row twice over: it trains, and it sums the loss at the weights that it started with. An active
pass trains and leaves sleeping rows out, whose bytes are not counted.
"""

import problems
from machine import spread
from report import seconds, table
from solvers import measured

TITLE = "Bandwidth of a pass"
CASES = [("dense 100k x 500", problems.unit_rows, True), ("581k x 54, 12 nonzero", problems.cover_like, False)]
RATES = ["read_bandwidth", "full_bandwidth", "active_bandwidth"]


def measure(run):
    found = []
    for name, make, is_target in CASES:
        problem = make()
        # a gap that takes several passes of both kinds
        runs = [
            measured(problem, c=1, tolerance=1e-4, bandwidth=1, seed=seed) for seed in range(5 if run.quick else 11)
        ]
        rates = {rate: spread([said[rate] for said in runs]) for rate in RATES}
        shares = {rate: spread([said[rate] / said["read_bandwidth"] for said in runs]) for rate in RATES[1:]}
        run.say(f"  {name}: " + ", ".join(f"{rate} {value['median'] / 1e9:.1f} GB/s" for rate, value in rates.items()))
        found.append({"problem": name, "target": is_target, "rates": rates, "shares": shares})
    return {"cases": found}


def report(found):
    rows, verdicts = [], []
    for case in found["cases"]:
        reading, *passes = ({key: value / 1e9 for key, value in case["rates"][rate].items()} for rate in RATES)
        rows.append([case["problem"], seconds(reading)])
        for rate, speed in zip(RATES[1:], passes):
            rows[-1] += [seconds(speed), f"{case['shares'][rate]['median']:.0%}"]
            if case["target"]:
                kind = rate.removesuffix("_bandwidth")
                name = f"{kind} pass over cached rows, {case['problem']}: share of the read bandwidth"
                verdicts.append((name, case["shares"][rate]["median"], 0.7, 0.9))
    header = ["rows", "reading, GB/s", "full pass, GB/s", "share", "active pass, GB/s", "share"]
    return table(header, rows), verdicts, []
