"""Measurement rows of one origin, as an experiment collects them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np

from leakmeter.reporting.measurements import cell, summarise, write_draws, write_measurements
from leakmeter.runtime import derive_seed

#: Before the digits of an integer that a float cannot hold, in a row's note.
EXACTLY = "exactly "
#: Integers up to this size are floats without loss.
_LARGEST_EXACT = 2**53


@dataclass
class Recorder:
    """Collects rows and draws of one origin of one chain.

    Attributes
    ----------
    paper : chain the numbers belong to.
    scale, seed : of the run.
    origin : where the numbers come from; ``exact`` for mathematics.
    data : label of the data.
    m : evaluated records or trials, if there are any.
    axes : put before the axes of every row, e.g. ``{"set": "census"}``.
    note : what a reader of every number of this origin must know.
    undefined : note of an undefined value that has none of its own, instead of ``note``.
    """

    paper: str
    scale: str
    seed: int
    origin: str = "exact"
    data: str = "exact"
    m: int | None = None
    axes: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    undefined: str = ""
    rows: list[dict[str, Any]] = field(default_factory=list)
    draws: list[dict[str, Any]] = field(default_factory=list)

    def add(
        self,
        item: str,
        axes: Mapping[str, Any],
        metric: str,
        value: Real | Sequence[Real] | np.ndarray | None,
        *,
        note: str | None = None,
        draws: bool = True,
        **columns: Any,
    ) -> None:
        """Add one value, or the mean, spread and number of several.

        An integer that a float cannot hold keeps all its digits in the note; an infinite value has
        the note ``inf``, so that it can be compared as text. ``None`` and NaN are a quantity that is
        undefined or was not computed; the note says which.

        Parameters
        ----------
        draws : keep several values one by one as well.
        **columns : further columns, e.g. ``source_std``, or ``std`` and ``n`` of a value that is a
            share of trials.
        """
        key = self.key(item, axes, metric)
        if isinstance(value, Sequence | np.ndarray):
            values = [float(v) for v in value]
            summary = summarise(values)
            if draws:
                self.draws.append({**key, "values": values})
        else:
            summary = {"value": _as_float(value), "std": None, "n": 1}
        if note is None:
            note = self._note(value, summary["value"])
        about = {"m": self.m, "data": self.data, "scale": self.scale, "seed": self.seed}
        self.rows.append({**key, **summary, **about, "note": note, **columns})

    def add_all(
        self, item: str, axes: Mapping[str, Any], metrics: Mapping[str, Any], **options: Any
    ) -> None:
        """Add several metrics of one cell."""
        for metric, value in metrics.items():
            self.add(item, axes, metric, value, **options)

    def draw(self, item: str, axes: Mapping[str, Any], metric: str, values: Sequence[Real]) -> None:
        """Add single repeats that have no row of their own, e.g. those of a simulated reference."""
        self.draws.append({**self.key(item, axes, metric), "values": [float(v) for v in values]})

    def key(self, item: str, axes: Mapping[str, Any], metric: str) -> dict[str, str]:
        """The key columns of a measurement or of its draws."""
        return {
            "paper": self.paper,
            "item": item,
            "cell": cell(**self.axes, **axes),
            "origin": self.origin,
            "metric": metric,
        }

    def seed_for(self, stage: str, **axes: Any) -> int:
        """Seed of a stage; chains and origins do not share random numbers."""
        return derive_seed(self.seed, f"{self.paper}_{stage}", origin=self.origin, **axes)

    def write(self, measurements: str | Path, draws: str | Path) -> None:
        """Write the rows and the draws."""
        write_measurements(measurements, self.rows)
        write_draws(draws, self.draws)

    def _note(self, given: Any, value: float | None) -> str:
        if isinstance(given, Integral) and abs(given) > _LARGEST_EXACT:
            return f"{EXACTLY}{int(given)}"
        if value is None:
            return self.undefined or self.note
        return "inf" if math.isinf(value) else self.note


def _as_float(value: Real | None) -> float | None:
    """The nearest float; None where undefined, or beyond all floats."""
    if value is None:
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return None if math.isnan(number) else number


def exact_integer(row: Mapping[str, Any]) -> int:
    """The integer of a row with all its digits.

    >>> exact_integer({"value": 3.0, "note": ""})
    3
    """
    note = str(row["note"] or "")
    return int(note.removeprefix(EXACTLY)) if note.startswith(EXACTLY) else int(row["value"])
