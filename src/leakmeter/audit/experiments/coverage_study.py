"""How often each method's interval holds the operating point's epsilon, by simulation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from leakmeter.audit.coverage import (
    OperatingPoint,
    coverage_study,
    gaussian_point,
    randomized_response_point,
)
from leakmeter.reporting.recording import Recorder


def operating_points(settings: Mapping[str, Any]) -> list[OperatingPoint]:
    """The attacks of the study: randomised response, and thresholds on the Gaussian mechanism."""
    study, delta = settings["coverage"], settings["delta"]
    points = [randomized_response_point(e, delta=delta) for e in study["epsilons"]]
    points += [
        gaussian_point(mu, threshold=t, delta=delta)
        for mu in study["gaussian_mu"]
        for t in study["thresholds"]
    ]
    return points


def measure(record: Recorder, settings: Mapping[str, Any]) -> None:
    """Coverage, both ways of missing, and how often the upper end is below the mechanism's epsilon.

    The deviation of a share p of n simulated tallies is that of one tally, sqrt(p (1 - p)), so that
    it divided by sqrt(n) is the simulation's error.
    """
    study = settings["coverage"]
    half = study["trials"] // 2
    rows = coverage_study(
        operating_points(settings),
        members=half,
        nonmembers=half,
        alpha=settings["alpha"],
        repeats=study["repeats"],
        seed=record.seed,
    )
    record.add("coverage", {}, "nominal", 1 - settings["alpha"])
    summary: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        axes = {"mechanism": row["mechanism"], "parameter": row["parameter"]}
        if not math.isnan(row["threshold"]):
            axes["threshold"] = row["threshold"]
        for metric in ("coverage", "too_low", "too_high", "below_mechanism"):
            share, n = row[metric], row["repeats"]
            std = math.sqrt(max(share * (1 - share), 0) * n / (n - 1))
            record.add("coverage", {**axes, "method": row["method"]}, metric, share, std=std, n=n)
        if row["method"] == "bayesian":
            record.add("coverage", axes, "epsilon", row["epsilon"])
            record.add("coverage", axes, "mechanism_epsilon", row["mechanism_epsilon"])
        summary.setdefault(row["method"], []).append(row)
    for method, found in summary.items():
        below = sum(row["coverage_high"] < 1 - settings["alpha"] for row in found)
        axes = {"method": method}
        record.add("coverage", axes, "points_below_nominal", below)
        record.add("coverage", axes, "smallest_coverage", min(r["coverage"] for r in found))
        record.add("coverage", axes, "largest_too_high", max(r["too_high"] for r in found))
