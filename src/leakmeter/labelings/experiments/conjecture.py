"""The paper's conjecture on ``w(n, c)`` over all reduced fractions, and the range of ``d``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from leakmeter.labelings.conjectures import (
    conjecture_rows,
    conjecture_summary,
    misranked_range_rows,
    reduced_fractions,
)
from leakmeter.labelings.experiments.facts import Facts
from leakmeter.reporting.recording import Recorder

#: Denominators at which the totals so far are reported.
STEP = 50


def measure(record: Recorder, facts: Facts, settings: Mapping[str, Any]) -> None:
    """Counterexamples to the conjecture as printed and read strictly; labelings with ``d > q``."""
    largest = settings["denominators_below"] - 1
    rows = conjecture_rows(reduced_fractions(largest))
    for bound in sorted({*range(STEP, largest + 1, STEP), largest}):
        _summary(record, bound, [row for row in rows if row["q"] <= bound])
    for q in conjecture_summary(rows)["q_with_strict_violations"]:
        _counterexamples(record, [row for row in rows if row["q"] == q])
    (own,) = conjecture_rows([facts.example_auc()])
    _increase(record, own)
    _range(record, facts, settings)


def _summary(record: Recorder, bound: int, rows: Sequence[Mapping[str, Any]]) -> None:
    summary = conjecture_summary(rows)
    axes = {"q_max": bound}
    for metric in (
        "fractions_tested",
        "violations_as_printed",
        "violations_strict",
        "violations_at_threshold",
    ):
        record.add("conjecture", axes, metric, summary[metric])
    failing = summary["q_with_strict_violations"]
    listed = ";".join(map(str, failing))
    record.add("conjecture", axes, "denominators_strict", len(failing), note=listed)
    record.add("conjecture", axes, "even_squares_only", int(summary["q_even_squares"]))


def _counterexamples(record: Recorder, rows: Sequence[Mapping[str, Any]]) -> None:
    """How many fractions of one denominator fail strictly, and the one closest to 1."""
    failing = [row for row in rows if not row["holds_strictly"]]
    axes = {"q": rows[0]["q"]}
    record.add_all("conjecture", axes, {"fractions": len(rows), "violations": len(failing)})
    _increase(record, failing[-1])


def _increase(record: Recorder, row: Mapping[str, Any]) -> None:
    """The first increase of ``w`` for one fraction."""
    axes = {"p": row["p"], "q": row["q"]}
    for metric in ("threshold", "n_before", "w_before", "n_after", "w_after"):
        record.add("conjecture", axes, metric, row[metric])
    record.add("conjecture", axes, "rises_at_threshold", int(row["rises_at_threshold"]))
    record.add("conjecture", axes, "holds_strictly", int(row["holds_strictly"]))


def _range(record: Recorder, facts: Facts, settings: Mapping[str, Any]) -> None:
    """The smallest case with ``d > q`` of the paper's example, and how many fractions have one."""
    bound = settings["range_denominators_below"] - 1
    rows = misranked_range_rows(reduced_fractions(bound))
    record.add("range", {"q_max": bound}, "fractions", len(rows))
    beyond = sum(row["d"] > row["q"] and row["count"] > 0 for row in rows)
    record.add("range", {"q_max": bound}, "fractions_beyond_q", beyond)
    (own,) = misranked_range_rows([facts.example_auc()])
    smallest = min(rows, key=lambda row: (row["n0"] + row["n1"], row["q"], row["p"]))
    for row in (own, smallest):
        axes = {"p": row["p"], "q": row["q"]}
        record.add_all("range", axes, {"n0": row["n0"], "n1": row["n1"], "misranked": row["d"]})
        record.add("range", axes, "labelings", row["count"])
