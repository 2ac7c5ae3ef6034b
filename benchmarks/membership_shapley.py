"""K-NN Shapley: the library against pyDVL and against a NumPy recursion, on the same records.

Each version runs in a process of its own, so that peak memory is its alone; times exclude imports,
and compiled code is warmed on a few rows first. The values of all versions are compared. pyDVL is
not a dependency: give the interpreter of an environment that has it (``python -m venv peer &&
peer/bin/pip install pydvl==0.10.0``), or its row is left out. On a busy machine compare CPU times.

    python benchmarks/membership_shapley.py --peer-python peer/bin/python [--json out.json]
    python benchmarks/membership_shapley.py --train 60000 --tests 10000 --features 10 --ours-only
"""

# The parent imports nothing heavy: a child's peak memory starts at its parent's.
from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

K = 5

DATA = """
import numpy as np
def data(n, m, d, classes=10, seed=1):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(classes, d))
    y, labels = rng.integers(0, classes, n), rng.integers(0, classes, m)
    # distances without ties, so that all versions must agree
    return centres[y] + 2 * rng.normal(size=(n, d)), y, centres[labels] + 2 * rng.normal(size=(m, d)), labels
"""

RUNNER = """
import json, resource, sys, time
out, n, m, d, threads = sys.argv[1], *map(int, sys.argv[2:])
x, y, tests, labels = data(n, m, d)
run(*data(50, 20, d), threads)
wall, cpu = time.perf_counter(), time.process_time()
values = run(x, y, tests, labels, threads)
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
np.save(out, values)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"wall_s": wall, "cpu_s": cpu, "peak_rss_mb": peak}))
"""

VERSIONS = {
    "ours": f"""
from leakmeter.membership.shapley import knn_shapley
def run(x, y, tests, labels, threads):
    return knn_shapley(x, y, tests, labels, k={K}, threads=threads)
""",
    "numpy": f"""
def run(x, y, tests, labels, threads):
    n, total = len(x), np.zeros(len(x))
    step = np.minimum({K}, np.arange(1, n)) / np.arange(1, n) / {K}
    for test, label in zip(tests, labels):
        order = np.argsort(((x - test) ** 2).sum(axis=1))
        match = (y[order] == label).astype(float)
        values = np.append((match[:-1] - match[1:]) * step, match[-1] / max({K}, n))
        total[order] += values[::-1].cumsum()[::-1]
    return total / len(tests)
""",
    "pydvl": f"""
import warnings
warnings.simplefilter("ignore")
from sklearn.neighbors import KNeighborsClassifier
from pydvl.valuation.dataset import Dataset
from pydvl.valuation.methods.knn_shapley import KNNShapleyValuation
def run(x, y, tests, labels, threads):
    # one process: its pool would hide CPU time and memory; compare with ours on one thread
    valuation = KNNShapleyValuation(KNeighborsClassifier({K}), Dataset(tests, labels), progress=False)
    return np.asarray(valuation.fit(Dataset(x, y)).result.values)
""",
}


def measure(
    version: str, python: str, folder: Path, args: argparse.Namespace, threads: int
) -> dict:
    out = folder / f"{version}{threads}.npy"
    sizes = [args.train, args.tests, args.features, threads]
    command = [python, "-c", DATA + VERSIONS[version] + RUNNER, str(out), *map(str, sizes)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def largest_difference(folder: Path) -> float:
    code = (
        "import sys, pathlib, numpy as np;"
        "v = [np.load(p) for p in sorted(pathlib.Path(sys.argv[1]).glob('*.npy'))];"
        "print(max(abs(a - v[0]).max() for a in v))"
    )
    command = [sys.executable, "-c", code, str(folder)]
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--train", type=int, default=5000)
    parser.add_argument("--tests", type=int, default=5000)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peer-python", help="an interpreter with pyDVL")
    parser.add_argument("--ours-only", action="store_true")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    plan = [("ours", sys.executable, threads) for threads in sorted({1, args.threads})]
    if not args.ours_only:
        plan.append(("numpy", sys.executable, 1))
        if args.peer_python:
            plan.append(("pydvl", args.peer_python, 1))
        else:
            print("pyDVL left out: give --peer-python, an interpreter of an environment with it")
    with tempfile.TemporaryDirectory() as name:
        folder, results = Path(name), {}
        for version, python, threads in plan:
            label = f"{version}, {threads} thread{'s' * (threads > 1)}"
            results[label] = measure(version, python, folder, args, threads)
        difference = largest_difference(folder)
    report(results, difference, args)


def report(results: dict, difference: float, args: argparse.Namespace) -> None:
    base = results["ours, 1 thread"]
    print(
        f"{args.train} x {args.tests} x {args.features}, K = {K}; largest difference {difference:.1e}"
    )
    print(f"{'':>16} {'wall s':>8} {'CPU s':>8} {'RSS MB':>8} {'CPU ratio to ours, 1 thread':>28}")
    for label, r in results.items():
        r["cpu_ratio"] = r["cpu_s"] / base["cpu_s"]
        numbers = f"{r['wall_s']:>8.2f} {r['cpu_s']:>8.2f} {r['peak_rss_mb']:>8.0f}"
        print(f"{label:>16} {numbers} {r['cpu_ratio']:>28.1f}")
    if args.json:
        sizes = {"train": args.train, "tests": args.tests, "features": args.features, "k": K}
        report = {**sizes, "largest_difference": difference, "results": results}
        args.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
