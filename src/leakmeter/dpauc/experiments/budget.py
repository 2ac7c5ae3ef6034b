"""What the published budgets really spend."""

from __future__ import annotations

from collections.abc import Sequence

from leakmeter.dpauc.accounting import budget
from leakmeter.reporting.recording import Recorder


def measure(
    *, thresholds: Sequence[int], epsilons: Sequence[float], delta: float, scale: str, seed: int
) -> Recorder:
    """Rows of the budget table: the paper's 4 T eps', the tight 2 T eps', and the PLD's at delta."""
    record = Recorder("dpauc", scale, seed)
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
            for metric, value in metrics.items():
                note = f"delta = {delta:g}" if metric == "pld" else ""
                axes = {"thresholds": n, "epsilon": epsilon}
                record.add("budget", axes, metric, value, note=note)
    return record
