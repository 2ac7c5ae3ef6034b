"""What repeated evaluation over epochs costs (ours; the paper leaves it to future work)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leakmeter.dpauc.composition import (
    RULES,
    composed_epsilon,
    gaussian_epsilon,
    gaussian_sigma_repeated,
)
from leakmeter.reporting.recording import Recorder


def measure(settings: Mapping[str, Any], *, scale: str, seed: int) -> Recorder:
    """Rows of item ``composition``: total epsilon of E evaluations, by rule.

    Every evaluation is a two-class histogram at ``epsilon`` by itself; the Gaussian one is
    (epsilon, delta)-DP by itself.
    """
    delta, each = settings["delta"], settings["epsilon_each"]
    record = Recorder("beyond", scale, seed)
    for evaluations in settings["evaluations"]:
        totals = {
            rule: composed_epsilon(each, evaluations, rule=rule, delta=delta) for rule in RULES
        }
        noise = gaussian_sigma_repeated(each, delta, 1.0)
        totals["gaussian"] = gaussian_epsilon(noise, evaluations, delta)
        for rule, value in totals.items():
            axes = {"rule": rule, "evaluations": evaluations, "epsilon_each": each}
            note = "delta = 0" if rule == "basic" else f"delta = {delta:g}"
            record.add("composition", axes, "epsilon", value, note=note)
    return record
