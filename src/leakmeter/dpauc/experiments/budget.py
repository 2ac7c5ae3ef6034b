"""What the published budgets really spend."""

from __future__ import annotations

from collections.abc import Sequence

from leakmeter.dpauc.accounting import budget
from leakmeter.reporting.measurements import cell


def measure(
    *, thresholds: Sequence[int], epsilons: Sequence[float], delta: float, scale: str, seed: int
) -> list[dict]:
    """Rows of the budget table: the paper's 4 T eps', the tight 2 T eps', and the PLD's at delta."""
    rows = []
    for n in thresholds:
        for epsilon in epsilons:
            result = budget(n, epsilon_total=epsilon, delta=delta)
            metrics = {
                "epsilon_per_count": result.epsilon_per_count,
                "thresholds_actual": result.actual,
                "thresholds_distinct": result.distinct,
                "paper": result.published,
                "paper_actual": result.paper_formula,
                "tight": result.spent,
                "tight_distinct": result.spent_if_distinct,
                "pld": result.spent_at_delta,
            }
            rows += [
                {
                    "paper": "dpauc",
                    "item": "budget",
                    "cell": cell(thresholds=n, epsilon=epsilon),
                    "origin": "exact",
                    "metric": metric,
                    "value": float(value),
                    "data": "exact",
                    "scale": scale,
                    "seed": seed,
                    "note": f"delta = {delta:g}" if metric == "pld" else "",
                }
                for metric, value in metrics.items()
            ]
    return rows
