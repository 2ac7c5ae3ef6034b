"""A user's guesses and their AUC: how many labelings agree, and what each label probably is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leakmeter.labelings.aucs import AucInterval, Cell, auc_cells, parse_auc, rounded_auc
from leakmeter.labelings.counting import cell_counts
from leakmeter.labelings.enumeration import enumerate_blocks
from leakmeter.labelings.posteriors import LabelPosterior, label_posterior
from leakmeter.own.reading import Column, Frame, read_table
from leakmeter.own.reports import Report, named_files
from leakmeter.runtime import UserError, counted

SCHEMA = (Column("guess", "number"),)
#: Work (:func:`_work`) that takes the exact posterior about a minute on one core.
POSTERIOR_WORK = 1e10
#: The same for counting alone, which is faster.
COUNT_WORK = 3e11


@dataclass(frozen=True)
class LabelingOptions:
    """Settings of :func:`labelings_report`.

    Attributes
    ----------
    ones : number of positive labels if it is known.
    posterior : compute the probability of every label.
    enumerate : list the labelings if there are at most this many; 0 lists none. What else is
        computed does not depend on it.
    """

    ones: int | None = None
    posterior: bool = True
    enumerate: int = 0

    def __post_init__(self) -> None:
        if self.enumerate < 0:
            raise UserError(f"enumerate is {self.enumerate}; expected a number from 0")


def read_auc(text: str) -> Fraction | AucInterval:
    """An AUC as the user writes it: ``"1387/1440"`` is exact, ``"0.77"`` stands for [0.765, 0.775].

    Raises
    ------
    UserError : neither a fraction nor a decimal in [0, 1].
    """
    text = str(text).strip()
    try:
        return parse_auc(text) if "/" in text else rounded_auc(text)
    except UserError:
        raise UserError(
            f"auc is {text!r}; expected a fraction (3/4, exact) or a decimal (0.77, every value that "
            "rounds to it) from 0 to 1"
        ) from None


def labelings_report(
    guesses: str | Path, auc: str, options: LabelingOptions | None = None
) -> Report:
    """Count the labelings that agree with an AUC, the posterior of each label, the labelings.

    Parameters
    ----------
    guesses : table with the column ``guess``, distinct finite numbers, one record a row.
    auc : see :func:`read_auc`.
    options : see :class:`LabelingOptions`.

    Returns
    -------
    Report : ``table`` has one row per possible number of ones (labelings and their share);
        ``records`` one per record: row, guess, probability of a one, certain label if there is
        one and, when they are listed, the labelings as columns ``labeling_1``, ...

    Raises
    ------
    UserError : a mistake in the file, no labeling with this AUC, or more work than a minute.
    """
    options = options or LabelingOptions()
    value = read_auc(auc)
    frame = read_table(guesses, SCHEMA, least=2)
    values = _distinct(frame)
    n = len(values)
    if options.ones is not None and not 0 < options.ones < n:
        raise UserError(
            f"ones is {options.ones}; expected 1 to {n - 1} of the {n} records of {guesses}"
        )
    cells = auc_cells(n, value, options.ones)
    _check_work(cells, options)
    totals = {cell.n1: sum(counts) for cell, counts in cell_counts(cells)}
    total = sum(totals.values())
    if total == 0:
        known = "" if options.ones is None else f" with {counted(options.ones, 'one')}"
        near = nearest_auc(n, value, options.ones)
        raise UserError(
            f"{guesses}: no labeling of {n} records{known} has auc {auc}; expected an AUC that is "
            f"possible, the nearest of which is {_as_fraction(near)} ({float(near):.6g})"
        )
    summary = _summary(guesses, auc, value, n, totals, options)
    records = pd.DataFrame({"row": np.arange(1, n + 1), "guess": values})
    if options.posterior:
        posterior = label_posterior(n, value, options.ones)
        records, summary = _with_posterior(records, summary, posterior, values)
    if summary["listed"]:
        labelings = np.concatenate(list(enumerate_blocks(values, value, options.ones)))
        columns = {f"labeling_{i}": row for i, row in enumerate(labelings, start=1)}
        records = pd.concat([records, pd.DataFrame(columns)], axis=1)
    # Python integers of any size: as text, which CSV and JSON readers do not round
    table = pd.DataFrame(
        [
            {"ones": n1, "labelings": str(count), "share": float(Fraction(count, total))}
            for n1, count in sorted(totals.items())
            if count
        ]
    )
    return Report("labelings", summary, _sentences(summary), table, records)


def nearest_auc(n: int, value: Fraction | AucInterval, ones: int | None = None) -> Fraction:
    """The AUC of some labeling of ``n`` records that is nearest to a value or to an interval."""
    low, high = (value.low, value.high) if isinstance(value, AucInterval) else (value, value)
    found = []
    for n1 in range(1, n) if ones is None else (ones,):
        pairs = n1 * (n - n1)
        # every number of ranked pairs from 0 to all occurs
        found += [
            Fraction(math.floor(low * pairs), pairs),
            Fraction(math.ceil(high * pairs), pairs),
        ]
    return min(found, key=lambda auc: (max(low - auc, auc - high), auc))


def _as_fraction(value: Fraction) -> str:
    """With a slash, which makes it exact: 1/1."""
    return f"{value.numerator}/{value.denominator}"


def _distinct(frame: Frame) -> np.ndarray:
    values = frame["guess"]
    order = np.argsort(values, kind="stable")
    tied = np.flatnonzero(np.diff(values[order]) == 0)
    if len(tied):
        first, second = sorted(order[tied[0] : tied[0] + 2].tolist())
        raise UserError(
            f"{frame.place(second)}, column guess: is {values[second]:g} as in {frame.unit} "
            f"{first + frame.first}; expected distinct guesses"
        )
    return values


def _check_work(cells: Sequence[Cell], options: LabelingOptions) -> None:
    work = sum(map(_work, cells))
    sizes = f"with {len(cells)} possible numbers of ones" if len(cells) != 1 else "in two classes"
    if options.posterior and work > POSTERIOR_WORK:
        raise UserError(
            f"{cells[0].n0 + cells[0].n1} records {sizes} need over a minute for the posterior; "
            "expected fewer records, the number of ones (--ones, labelings.own.ones), or no posterior "
            "(--no-posterior, labelings.own.posterior: false)"
        )
    if work > COUNT_WORK:
        raise UserError(
            f"{cells[0].n0 + cells[0].n1} records {sizes} need over a minute to count; expected "
            "fewer records or the number of ones (--ones, labelings.own.ones)"
        )


def _work(cell: Cell) -> float:
    """Bytes that the posterior of one cell touches: records times coefficients times their size."""
    n = cell.n0 + cell.n1
    reach = min(cell.d_high, cell.n0 * cell.n1 - cell.d_low) + 1
    bits = (math.lgamma(n + 1) - math.lgamma(cell.n0 + 1) - math.lgamma(cell.n1 + 1)) / math.log(2)
    return n * reach * (bits / 8 + 1)


def _summary(
    guesses: str | Path,
    auc: str,
    value: Fraction | AucInterval,
    n: int,
    totals: dict[int, int],
    options: LabelingOptions,
) -> dict[str, Any]:
    total = sum(totals.values())
    interval = value if isinstance(value, AucInterval) else None
    return {
        "files": named_files(guesses=guesses),
        "auc": str(auc),
        "auc_low": str(interval.low) if interval else str(value),
        "auc_high": str(interval.high) if interval else str(value),
        "records": n,
        "ones": options.ones,
        "labelings": str(total),
        "log2_labelings": math.log2(total),
        "possible_ones": [n1 for n1, count in sorted(totals.items()) if count],
        "enumerate": options.enumerate,
        "listed": total if total <= options.enumerate else 0,
    }


def _with_posterior(
    records: pd.DataFrame, summary: dict[str, Any], posterior: LabelPosterior, values: np.ndarray
) -> tuple[pd.DataFrame, dict[str, Any]]:
    order = np.argsort(values, kind="stable")
    counts, total = posterior.counts(), posterior.total
    probability, certain = np.empty(len(values)), np.full(len(values), None, dtype=object)
    probability[order] = posterior.probabilities()
    # by the counts: a probability may round to 0 or 1
    certain[order] = [1 if c == total else 0 if c == 0 else None for c in counts]
    records = records.assign(probability=probability, certain=pd.array(certain, dtype="Int64"))
    summary = summary | {
        "certain_labels": sum(c in (0, total) for c in counts),
        "expected_accuracy": float(posterior.expected_accuracy()),
        "expected_log_loss": posterior.expected_log_loss(),
    }
    return records, summary


def _sentences(summary: dict[str, Any]) -> tuple[str, ...]:
    count, sizes = summary["labelings"], summary["possible_ones"]
    shown = f"{int(count):,}" if len(count) <= 15 else f"about 2^{summary['log2_labelings']:.1f}"
    exact = summary["auc_low"] == summary["auc_high"]
    value = (
        "exactly"
        if exact
        else f"between {summary['auc_low']} and {summary['auc_high']}, printed as"
    )
    plural = "labelings agree" if count != "1" else "labeling agrees"
    said = [
        f"{shown} {plural} with an AUC of {value} {summary['auc']} for {summary['records']} records; "
        + (
            f"the number of ones is {sizes[0]}."
            if len(sizes) == 1
            else f"{len(sizes)} numbers of ones are possible, from {sizes[0]} to {sizes[-1]}."
        )
    ]
    if not exact and summary["auc"].strip() in ("0", "1"):
        said.append(
            f"A number without a slash is a rounded one; {summary['auc']}/1 stands for exactly "
            f"{summary['auc']}."
        )
    if "certain_labels" in summary:
        said.append(
            f"{summary['certain_labels']} labels are certain; stating the more probable label of each "
            f"record is right for {summary['expected_accuracy']:.1%} of them in expectation."
        )
    if summary["listed"]:
        columns = "column labeling_1" if count == "1" else f"columns labeling_1 to labeling_{count}"
        said.append(f"Listed in the {columns} of the records.")
    elif summary["enumerate"]:
        said.append(f"Not listed, being more than {summary['enumerate']:,}.")
    return tuple(said)
