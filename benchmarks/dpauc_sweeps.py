"""Time of the DPAUC sweeps: Tables 1, 4 and 5 at 100 repeats, Table 3 at 20, three epochs.

Records: three draws of the authors' score distribution (M = 458,407), float32 as a model gives
them. The cells are read from the published tables. The baseline does what the authors' scripts do,
record by record in Python, on a small sample, and is scaled to M; scikit-learn is the peer of the
exact AUC. All times are CPU seconds of one process on one core.

    python benchmarks/dpauc_sweeps.py [--json PATH] [--repeats N] [--score-repeats N]
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from collections.abc import Callable
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np  # noqa: E402
from sklearn.metrics import auc as sklearn_area  # noqa: E402
from sklearn.metrics import roc_auc_score  # noqa: E402

from leakmeter.dpauc.authors import load_reconstruction  # noqa: E402
from leakmeter.dpauc.counting import assign_clients, count  # noqa: E402
from leakmeter.dpauc.exact import exact_auc  # noqa: E402
from leakmeter.dpauc.mechanisms import laplace_auc  # noqa: E402
from leakmeter.dpauc.randomized import randomized_response_from_counts  # noqa: E402
from leakmeter.dpauc.score_noise import score_noise_auc  # noqa: E402
from leakmeter.dpauc.threshold_layouts import thresholds  # noqa: E402
from leakmeter.runtime import derive_seed, write_json  # noqa: E402

PUBLISHED = Path(__file__).resolve().parents[1] / "resources" / "published"
EPOCHS = 3
SMALL = 2000


def cells(name: str, *keys: str, **where: str) -> list[tuple[str, ...]]:
    """Distinct values of columns of a published table, in order of appearance."""
    with open(PUBLISHED / name, newline="") as handle:
        rows = [r for r in csv.DictReader(handle) if all(r[k] == v for k, v in where.items())]
    return list(dict.fromkeys(tuple(row[key] for key in keys) for row in rows))


def cpu(call: Callable[[], object], times: int = 5) -> float:
    """Least CPU seconds of some calls."""
    best = float("inf")
    for _ in range(times):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best


def sweeps(epochs: list, repeats: int, score_repeats: int) -> dict[str, float]:
    """CPU seconds of each part of the full set of tables."""
    spent: dict[str, float] = {}

    def timed(part: str, function: Callable, *args, **kwargs):
        start = time.process_time()
        result = function(*args, **kwargs)
        spent[part] = spent.get(part, 0.0) + time.process_time() - start
        return result

    columns = ("n_thresholds", "partition", "K", "epsilon_per_stat")
    table4 = cells("dpauc_table4_iid_vs_noniid.csv", *columns, method="DPAUC_Lap")
    table5 = cells("dpauc_table5_thresholds.csv", *columns, method="DPAUC_Lap")
    table1 = cells("dpauc_table1_rr.csv", "epsilon_total", method="DPAUC_RR")
    table3 = cells("dpauc_table3_score_noise.csv", "epsilon_score", metric="auc_laplace_on_scores")
    for epoch, (scores, labels) in enumerate(epochs):
        counted = {}
        for n, partition, k, eps in dict.fromkeys(table4 + table5):
            key = (n, partition, k)
            if key not in counted:
                kind = partition.lower().replace("-", "_")
                seed = derive_seed(epoch, "assignment", clients=k)
                owner = timed(
                    "assignment", assign_clients, scores, clients=int(k), assignment=kind, seed=seed
                )
                counted[key] = timed(
                    "counting", count, scores, labels, thresholds(int(n)), owner, n_clients=int(k)
                )
            timed(
                "tables 4 and 5",
                laplace_auc,
                counted[key],
                epsilon_per_count=float(eps),
                repeats=repeats,
                seed=epoch,
            )
        pooled = timed("counting", count, scores, labels, thresholds(200))
        for (eps,) in table1:
            timed(
                "table 1",
                randomized_response_from_counts,
                pooled,
                epsilon=float(eps),
                repeats=repeats,
                seed=epoch,
            )
        for (eps,) in table3:
            timed(
                "table 3",
                score_noise_auc,
                scores,
                labels,
                epsilon=float(eps),
                repeats=score_repeats,
                seed=epoch,
            )
    return {**spent, "total": sum(spent.values())}


def per_operation(scores: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """CPU milliseconds of single operations at M records and T = 200."""
    grid = thresholds(200)
    times = {}
    for k in (10, 1000):
        owner = assign_clients(scores, clients=k, assignment="iid", seed=1)
        times[f"count, K={k}"] = cpu(
            lambda o=owner, k=k: count(scores, labels, grid, o, n_clients=k)
        )
    for assignment in ("iid", "non_iid"):
        times[f"assign, {assignment}"] = cpu(
            lambda a=assignment: assign_clients(scores, clients=1000, assignment=a, seed=1)
        )
    pooled = count(scores, labels, grid)
    for k in (10, 1000):
        times[f"Laplace repeat, K={k}"] = (
            cpu(
                lambda k=k: laplace_auc(
                    pooled, clients=k, epsilon_per_count=0.01, repeats=200, seed=1
                )
            )
            / 200
        )
    times["randomised-response repeat"] = (
        cpu(lambda: randomized_response_from_counts(pooled, epsilon=1.0, repeats=200, seed=1)) / 200
    )
    times["score-noise repeat"] = (
        cpu(lambda: score_noise_auc(scores, labels, epsilon=1.0, repeats=5, seed=1), 3) / 5
    )
    return {name: 1e3 * seconds for name, seconds in times.items()}


def peer(scores: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """The exact AUC against scikit-learn's, on float32 scores, float64, and with many ties."""
    result = {}
    for name, values in (
        ("float32", scores),
        ("float64", scores.astype(np.float64)),
        ("ties", scores.round(3)),
    ):
        ours = cpu(lambda v=values: exact_auc(v, labels))
        theirs = cpu(lambda v=values: roc_auc_score(labels, v), 3)
        difference = abs(exact_auc(values, labels) - roc_auc_score(labels, values))
        result[name] = {
            "ours_ms": 1e3 * ours,
            "sklearn_ms": 1e3 * theirs,
            "ratio": theirs / ours,
            "difference": difference,
        }
    return result


def straightforward_repeat(scores, labels, owner, grid, clients, epsilon, rng) -> float:
    """One Laplace repeat as the authors' scripts do it: records, clients, thresholds in loops."""
    points = []
    for theta in grid:
        total = [0.0, 0.0, 0.0, 0.0]
        for client in range(clients):
            tally = [0, 0, 0, 0]
            for i in owner[client]:
                predicted = scores[i] >= theta
                tally[(0 if labels[i] else 1) if predicted else (3 if labels[i] else 2)] += 1
            for j in range(4):
                total[j] += tally[j] + rng.laplace(scale=1 / epsilon)
        tp, fp, tn, fn = (max(0.0, value) for value in total)
        empty = fp + tn == 0 or tp + fn == 0
        points.append((0.0, 0.0) if empty else (fp / (fp + tn), tp / (tp + fn)))
    points.sort(key=lambda point: point[0])
    return sklearn_area([x for x, _ in points], [y for _, y in points])


def baseline(scores: np.ndarray, labels: np.ndarray, ours_ms: float) -> dict[str, float]:
    """The straightforward repeat on a small sample, scaled to all records."""
    some, truth = scores[:SMALL].tolist(), labels[:SMALL].tolist()
    numbers = assign_clients(scores[:SMALL], clients=10, assignment="iid", seed=1)
    owner = [np.flatnonzero(numbers == k).tolist() for k in range(10)]
    rng = np.random.default_rng(1)
    grid = thresholds(200).tolist()
    seconds = cpu(lambda: straightforward_repeat(some, truth, owner, grid, 10, 0.01, rng), 3)
    scaled = seconds * scores.size / SMALL
    return {
        "records": SMALL,
        "seconds": seconds,
        "seconds_scaled_to_M": scaled,
        "ratio_per_repeat": 1e3 * scaled / ours_ms,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", help="write the numbers to this file")
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--score-repeats", type=int, default=20)
    arguments = parser.parse_args()
    authors = load_reconstruction(PUBLISHED / "dpauc_roc_epoch0_reconstruction.csv")
    epochs = []
    for epoch in range(EPOCHS):
        scores, labels = authors.pseudo_scores(seed=epoch)
        epochs.append((scores.astype(np.float32), labels))
    scores, labels = epochs[0]

    result = {"records": scores.size, "operations_ms": per_operation(scores, labels)}
    result["exact_auc"] = peer(scores, labels)
    result["baseline"] = baseline(scores, labels, result["operations_ms"]["Laplace repeat, K=10"])
    result["sweeps_s"] = sweeps(epochs, arguments.repeats, arguments.score_repeats)
    report(result)
    if arguments.json:
        write_json(arguments.json, result)


def report(result: dict) -> None:
    print(f"M = {result['records']}, T = 200, CPU time of one core")
    for name, value in result["operations_ms"].items():
        print(f"  {name:32} {value:10.3f} ms")
    print("exact AUC against scikit-learn")
    for name, row in result["exact_auc"].items():
        print(
            f"  {name:32} {row['ours_ms']:10.3f} ms, {row['sklearn_ms']:.1f} ms:"
            f" {row['ratio']:.1f}x, |difference| {row['difference']:.1e}"
        )
    base = result["baseline"]
    print(f"one Laplace repeat record by record ({base['records']} records, scaled to M)")
    print(
        f"  {'seconds':32} {base['seconds_scaled_to_M']:10.1f} s: {base['ratio_per_repeat']:.0f}x"
    )
    print("all sweeps")
    for name, value in result["sweeps_s"].items():
        print(f"  {name:32} {value:10.3f} s")


if __name__ == "__main__":
    main()
