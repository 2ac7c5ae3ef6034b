"""Published intervals again: perfect attacks, the 200-trial example, the released example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from leakmeter.audit.comparisons import perfect_attack_rows, width_rows
from leakmeter.audit.experiments.published import published_rows, tally_of
from leakmeter.audit.figures_data import example_rows, region_rows, settings_rows, worked_example
from leakmeter.audit.intervals import epsilon_interval
from leakmeter.audit.loose_quadrature import loose_epsilon_interval
from leakmeter.reporting.recording import Recorder

#: Method as the published files name it -> ours.
METHOD_NAMES = {
    "joint-beta (Bayesian)": "bayesian",
    "joint beta": "bayesian",
    "clopper-pearson": "clopper-pearson",
    "Clopper-Pearson": "clopper-pearson",
    "jeffreys": "jeffreys",
    "Jeffreys": "jeffreys",
}
#: Quantity as the published file names it -> ours.
QUANTITIES = {
    "interval from rate intervals": "rate interval",
    "Bayesian credible interval": "credible interval",
    "posterior mass of rectangle": "rectangle mass",
    "posterior mass of enclosing band": "band mass",
    "posterior mass of credible band": "credible mass",
}
#: The two readings of the worked example: (delta, alpha, method of the rate intervals). The text
#: states the second and third of the first; the second was found by trying which settings give
#: the printed numbers (see the errata).
READINGS = {
    "printed": (1e-5, 0.1, "jeffreys"),
    "found": (0.05, 0.05, "clopper-pearson"),
}
#: A quadrature's own precision, halved: what the derived Bayesian reference ends are uncertain by.
REFERENCE_STD = 5e-6


def measure(record: Recorder, published: Sequence[str | Path], settings: Mapping[str, Any]) -> None:
    """Every published interval and mass, recomputed, and interval widths over a range of tallies."""
    _perfect(record, published)
    _references(record, published)
    _example(record, published)
    _released(record, published)
    _widths(record, settings)


def _perfect(record: Recorder, published: Sequence[str | Path]) -> None:
    """Lower ends for attacks without errors; Carlini et al.'s 1,000 trials beside 2,000."""
    rows = published_rows(published, "bayes_perfect_attack_lower_bounds.csv")
    sides = {"two-sided": 2, "one-sided": 1, "joint": 1}
    for row in rows:
        word = row["interval"].split()[0]
        method = next(
            (m for name, m in METHOD_NAMES.items() if name in row["interval"]), "bayesian"
        )
        trials, delta = int(row["trials_total"]), float(row["delta"])
        alpha = round(1 - float(row["confidence"]), 12)
        found = perfect_attack_rows(trials=[trials], delta=delta, alpha=alpha)
        (low,) = [r["low"] for r in found if (r["method"], r["sides"]) == (method, sides[word])]
        axes = {"trials": trials, "interval": row["interval"], "confidence": row["confidence"]}
        if not any(r["cell"] == _cell_of(axes) and r["item"] == "perfect" for r in record.rows):
            record.add("perfect", axes, "low", low)


def _cell_of(axes: Mapping[str, Any]) -> str:
    from leakmeter.reporting.measurements import cell

    return cell(**axes)


def _references(record: Recorder, published: Sequence[str | Path]) -> None:
    """Both ends of independently derived intervals."""
    for row in published_rows(published, "bayes_reference_intervals.csv"):
        method = METHOD_NAMES[row["method"]]
        tally, delta, alpha = tally_of(row), float(row["delta"]), float(row["alpha"])
        low, high = epsilon_interval(**tally, delta=delta, alpha=alpha, method=method)
        axes = {**tally, "delta": delta, "alpha": alpha, "method": row["method"]}
        uncertain = REFERENCE_STD if method == "bayesian" else 0.0
        note = "source_std is the precision of the reference" if uncertain else None
        record.add("references", axes, "low", low, source_std=uncertain, note=note)
        record.add("references", axes, "high", high, source_std=uncertain, note=note)
        if high == float("inf"):
            record.rows[-1]["note"] = "inf"


def _example(record: Recorder, published: Sequence[str | Path]) -> None:
    """The 200-trial example under the printed settings and under those its numbers follow from."""
    (row, *_) = published_rows(published, "bayes_worked_example_200.csv", source="published")
    tally = tally_of(row)
    names = {ours: theirs for theirs, ours in QUANTITIES.items()}
    readings = [(label, *values) for label, values in READINGS.items()]
    for entry in settings_rows(**tally, settings=readings):
        loose = entry["quantity"].endswith(", loose")
        quantity = names[entry["quantity"].removesuffix(", loose")]
        axes = {"quantity": quantity, "settings": entry["settings"]}
        axes["quadrature"] = "loose" if loose else "exact"
        record.add("example", axes, "low", entry["low"])
        if entry["high"] == entry["high"]:  # masses have no upper end
            record.add("example", axes, "high", entry["high"])
    for label, (delta, alpha, method) in READINGS.items():
        example = worked_example(**tally, delta=delta, alpha=alpha, method=method)
        axes = {"settings": label}
        record.add("example", axes, "level", 1 - alpha)
        record.add("example", axes, "estimate", example.estimate)
        record.add("example", axes, "rectangle_confidence", example.rectangle_confidence)
        record.add("example", axes, "mass_above_level", example.rectangle_mass - (1 - alpha))
        record.add("example", axes, "narrowing_percent", 100 * example.narrowing)


def _released(record: Recorder, published: Sequence[str | Path]) -> None:
    """The tally in the released package's documentation, exact and at the package's tolerances."""
    for row in published_rows(published, "bayes_author_repo_example.csv", source="published"):
        method, tally = METHOD_NAMES[row["method"]], tally_of(row)
        levels = {"delta": float(row["delta"]), "alpha": float(row["alpha"])}
        ends = {"exact": epsilon_interval(**tally, **levels, method=method)}
        if method == "bayesian":
            ends["loose"] = loose_epsilon_interval(**tally, **levels)
        for quadrature, (low, high) in ends.items():
            axes = {"method": row["method"], "quadrature": quadrature}
            record.add("released_example", axes, "low", low)
            record.add("released_example", axes, "high", high)


def _widths(record: Recorder, settings: Mapping[str, Any]) -> None:
    """Widths of the three methods, and the credible interval's share of the others'."""
    widths = settings["widths"]
    rates = [(rate, rate) for rate in widths["rates"]]
    rates += [(x, y) for x, y in widths["unequal_rates"]]
    narrowest = {"clopper-pearson": [], "jeffreys": []}
    for row in width_rows(
        trials=widths["trials"], rates=rates, delta=settings["delta"], alpha=settings["alpha"]
    ):
        axes = {name: row[name] for name in ("trials", "fnr", "fpr", "method")}
        for metric in ("low", "high", "width", "bayesian_over_method"):
            value = row[metric]
            record.add("widths", axes, metric, None if value != value else value)
        if row["method"] in narrowest and 0 < row["bayesian_over_method"] < 1:
            narrowest[row["method"]].append(100 * (1 - row["bayesian_over_method"]))
    for method, values in narrowest.items():
        if values:
            record.add("widths", {"method": method}, "largest_narrowing_percent", max(values))
            record.add("widths", {"method": method}, "smallest_narrowing_percent", min(values))


def curves(published: Sequence[str | Path], settings: Mapping[str, Any]) -> pd.DataFrame:
    """What Figures 2 and 3 draw: one row per vertex, columns figure, curve, epsilon, delta, ..."""
    region = pd.DataFrame(
        region_rows(epsilons=settings["region"]["epsilons"], deltas=settings["region"]["deltas"])
    ).assign(figure="figure2", curve="region")
    (row, *_) = published_rows(published, "bayes_worked_example_200.csv", source="published")
    frames = [region]
    for label, (delta, alpha, method) in READINGS.items():
        example = worked_example(**tally_of(row), delta=delta, alpha=alpha, method=method)
        frame = pd.DataFrame(example_rows(example))
        frames.append(frame.assign(figure=f"figure3_{label}", delta=delta, **tally_of(row)))
    columns = [
        "figure",
        "curve",
        "epsilon",
        "delta",
        "vertex",
        "fnr",
        "fpr",
        "fn",
        "tp",
        "fp",
        "tn",
    ]
    return pd.concat(frames, ignore_index=True).reindex(columns=columns)
