"""Intervals for epsilon: time and ends, against the authors' released package `privacy-estimates`.

The package runs in an interpreter of its own (its dependencies need not be ours): make a virtual
environment, `pip install privacy-estimates` there, and name its Python. Each tally gets a fresh
process and a time limit; imports are not timed. Without a peer only our times are shown. Times are
CPU seconds, the least of some calls for ours and one call for the peer.

    python benchmarks/audit_intervals.py [--peer-python PATH] [--limit SECONDS] [--json PATH]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import time
from collections.abc import Callable
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np  # noqa: E402

from leakmeter.audit.intervals import METHODS, epsilon_interval  # noqa: E402
from leakmeter.runtime import UserError, write_json  # noqa: E402

ALPHA, DELTA = 0.1, 1e-5
PEER_METHODS = {"bayesian": "joint-beta", "jeffreys": "jeffreys", "clopper-pearson": "beta"}
#: Name, (fn, tp, fp, tn): the paper's example, its perfect attack, and growing numbers of trials.
TALLIES = (
    ("worked example", (35, 65, 25, 75)),
    ("useless attack", (50, 50, 50, 50)),
    ("inverted attack", (420, 80, 400, 100)),
    ("degenerate", (0, 487, 512, 1)),
    ("perfect, 2,000", (0, 1000, 0, 1000)),
    ("end above 10", (0, 100, 40, 60)),
    ("20 trials", (2, 8, 3, 7)),
    ("1,000 trials", (100, 400, 100, 400)),
    ("20,000 trials", (2_000, 8_000, 1_000, 9_000)),
    ("200,000 trials", (20_000, 80_000, 10_000, 90_000)),
    ("1,000,000 trials", (100_000, 400_000, 50_000, 450_000)),
)
BATCH = 10_000

# What the peer's interpreter runs. It must be this text, as the peer cannot import leakmeter.
PEER = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
from privacy_estimates import AttackResults, compute_eps_lo_hi
job = json.load(sys.stdin)
fn, tp, fp, tn = job["tally"]
start = time.process_time()
try:
    count = AttackResults(FN=fn, TP=tp, FP=fp, TN=tn)
    ends = compute_eps_lo_hi(count=count, delta=job["delta"], alpha=job["alpha"], method=job["method"])
    answer = {"low": float(ends[0]), "high": float(ends[1])}
except Exception as error:
    answer = {"error": type(error).__name__}
answer["seconds"] = time.process_time() - start
print(json.dumps(answer))
"""


def cpu(call: Callable[[], Any], times: int = 7) -> float:
    """Least CPU seconds of some calls."""
    best = math.inf
    for _ in range(times):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best


def peer(python: str, tally: tuple[int, ...], method: str, limit: float) -> dict[str, Any]:
    """The peer's ends and seconds, or the name of its error, or that it ran out of time."""
    job = {"tally": tally, "method": PEER_METHODS[method], "delta": DELTA, "alpha": ALPHA}
    try:
        run = subprocess.run(
            [python, "-c", PEER],
            input=json.dumps(job),
            capture_output=True,
            text=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        return {"error": f"over {limit:g} s"}
    if run.returncode != 0:
        return {"error": (run.stderr.strip().splitlines() or ["failed"])[-1]}
    return json.loads(run.stdout.splitlines()[-1])


def available(python: str | None) -> bool:
    """Whether the peer imports there; says so when not."""
    if python is None:
        print("no --peer-python given: our times only")
        return False
    code = "from privacy_estimates import AttackResults, compute_eps_lo_hi"
    try:
        found = subprocess.run([python, "-c", code], capture_output=True).returncode == 0
    except OSError as error:
        raise UserError(f"--peer-python {python}: cannot be run ({error.strerror})") from error
    if not found:
        print(f"{python} has no usable privacy-estimates package: our times only")
    return found


def one_by_one(python: str | None, limit: float) -> list[dict[str, Any]]:
    """A row per tally and method: ends and seconds of both sides."""
    rows = []
    for method in METHODS:
        for name, tally in TALLIES:
            named = dict(zip(("fn", "tp", "fp", "tn"), tally, strict=True))
            settings = {**named, "delta": DELTA, "alpha": ALPHA, "method": method}
            low, high = epsilon_interval(**settings)
            ours = cpu(lambda settings=settings: epsilon_interval(**settings))
            row = {"case": name, "method": method, "low": low, "high": high, "seconds": ours}
            if python is not None:
                other = peer(python, tally, method, limit)
                row |= {f"peer_{key}": value for key, value in other.items()}
            rows.append(row)
            show(row)
    return rows


def show(row: dict[str, Any]) -> None:
    ends = f"[{row['low']:.6f}, {row['high']:.6f}]"
    line = f"{row['method']:16} {row['case']:17} {ends:24} {1e3 * row['seconds']:8.2f} ms"
    if "peer_low" in row:
        theirs = f"[{row['peer_low']:.4f}, {row['peer_high']:.4f}]"
        ratio = row["peer_seconds"] / row["seconds"]
        line += f"   {theirs:18} {row['peer_seconds']:8.3f} s  {ratio:8.0f}x"
    elif "peer_error" in row:
        line += f"   {row['peer_error']}"
    print(line, flush=True)


def in_bulk() -> list[dict[str, Any]]:
    """Seconds for many random tallies of up to a million trials in one call."""
    random = np.random.default_rng(1)
    n = np.floor(10 ** random.uniform(1, 6, BATCH) / 2)
    fn, fp = random.binomial(n.astype(int), 0.1), random.binomial(n.astype(int), 0.2)
    rows = []
    for method in METHODS:
        settings = {"delta": DELTA, "alpha": ALPHA, "method": method}
        tallies = {"fn": fn, "tp": n - fn, "fp": fp, "tn": n - fp}
        seconds = cpu(lambda: epsilon_interval(**tallies, **settings), times=2)  # noqa: B023
        rows.append({"method": method, "tallies": BATCH, "seconds": seconds})
        print(
            f"{method:16} {BATCH:,} tallies at once: {seconds:.2f} s, "
            f"{1e6 * seconds / BATCH:.0f} us each"
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer-python", help="Python of an environment with privacy-estimates")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds per tally for the peer")
    parser.add_argument("--json", help="write the rows there")
    options = parser.parse_args()
    try:
        python = options.peer_python if available(options.peer_python) else None
    except UserError as error:
        parser.error(str(error))
    result = {"one_by_one": one_by_one(python, options.limit), "in_bulk": in_bulk()}
    if options.json:
        # JSON has no infinity
        for row in result["one_by_one"]:
            row |= {k: str(v) for k, v in row.items() if isinstance(v, float) and math.isinf(v)}
        write_json(options.json, result)


if __name__ == "__main__":
    main()
