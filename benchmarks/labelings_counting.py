"""Counting labelings: the library against the paper's recurrence and polynomial libraries.

Each method computes the middle coefficient ``v(n/2, n/2, n^2/8)`` for growing ``n``; all must
agree. A method is dropped after the first size that takes it longer than ``--limit``. python-flint
takes part if it is installed.

    python benchmarks/labelings_counting.py [--sizes 20 40 ...] [--limit 2] [--json out.json]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

from leakmeter.labelings.counting import count, rows_for_auc
from leakmeter.labelings.enumeration import enumerate_labelings
from leakmeter.labelings.posteriors import label_posterior
from leakmeter.labelings.reference import METHODS, counting_cost_rows

SIZES = (20, 40, 60, 80, 120, 160, 200, 400, 600)


def flint_count(n0: int, n1: int, d: int) -> int:
    """The count with python-flint: a balanced product of cyclotomic polynomials.

    ``[n0 + n1; n1]`` is the product of the cyclotomic polynomials of the orders ``k`` for which
    adding ``n0`` and ``n1`` modulo ``k`` carries.
    """
    import flint

    n = n0 + n1
    orders = [k for k in range(2, n + 1) if n // k > n0 // k + n1 // k]
    factors = [flint.fmpz_poly.cyclotomic(k) for k in orders] or [flint.fmpz_poly([1])]
    while len(factors) > 1:
        # Products of equal sizes: that is where fast multiplication pays.
        factors.sort(key=lambda factor: factor.degree())
        half = len(factors) // 2
        pairs = zip(factors[:half], factors[half : 2 * half][::-1], strict=True)
        factors = [a * b for a, b in pairs] + factors[2 * half :]
    return int(factors[0][d])


def single_timings() -> dict[str, float]:
    """CPU seconds of the calls the project sets targets for."""
    guesses = np.random.default_rng(0).normal(size=106)
    example = Fraction(1387, 1440)
    calls = {
        "v(100,100,5000)": lambda: count(100, 100, 5_000),
        "v(300,300,45000)": lambda: count(300, 300, 45_000),
        "w(n,1387/1440), n <= 200": lambda: rows_for_auc(range(2, 201), example),
        "enumerate w(106,1387/1440)": lambda: sum(1 for _ in enumerate_labelings(guesses, example)),
        "posterior n=200, AUC 0.77": lambda: label_posterior(200, Fraction(77, 100)),
    }
    seconds = {}
    for name, call in calls.items():
        started = time.process_time()
        call()
        seconds[name] = time.process_time() - started
    return seconds


def print_ratios(rows: list[dict[str, object]], names: list[str]) -> None:
    """Seconds of ours, and how many times longer each other method takes."""
    print(f"{'n':>5} {'ours (s)':>10} " + " ".join(f"{name:>16}" for name in names[1:]))
    for n in sorted({row["n"] for row in rows}):
        seconds = {row["method"]: row["seconds"] for row in rows if row["n"] == n}
        cells = [
            f"{seconds[k] / seconds['ours']:.1f} x" if k in seconds else "-" for k in names[1:]
        ]
        print(f"{n:>5} {seconds['ours']:>10.5f} " + " ".join(f"{cell:>16}" for cell in cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--limit", type=float, default=2.0, help="seconds after which to drop")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    methods = dict(METHODS)
    if importlib.util.find_spec("flint"):
        methods["python-flint"] = flint_count
    counting_cost_rows([10], methods)  # imports and first-call costs, outside the timing
    rows = counting_cost_rows(arguments.sizes, methods, time_limit=arguments.limit)
    print_ratios(rows, list(methods))
    singles = single_timings()
    print()
    for name, seconds in singles.items():
        print(f"{name:<28} {seconds:>8.4f} s CPU")
    if arguments.json:
        arguments.json.write_text(json.dumps({"rows": rows, "cpu_seconds": singles}, indent=2))


if __name__ == "__main__":
    main()
