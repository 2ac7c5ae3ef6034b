"""Measurement rows of the labelings chain, collected by origin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np

from leakmeter.reporting.measurements import cell, summarise
from leakmeter.runtime import derive_seed

PAPER = "labelings"
#: Before the digits of an integer that a float cannot hold, in a row's note.
EXACTLY = "exactly "
#: Integers up to this size are floats without loss.
_LARGEST_EXACT = 2**53


@dataclass
class Recorder:
    """Collects rows and draws of one origin.

    Attributes
    ----------
    scale, seed : of the run.
    origin : ``exact`` for mathematics, or the name of a genuine test set.
    data : label of the data.
    m : records of the test set, if there is one.
    note : what a reader of every number of this origin must know.
    """

    scale: str
    seed: int
    origin: str = "exact"
    data: str = "exact"
    m: int | None = None
    note: str = ""
    rows: list[dict[str, Any]] = field(default_factory=list)
    draws: list[dict[str, Any]] = field(default_factory=list)

    def add(
        self,
        item: str,
        axes: Mapping[str, Any],
        metric: str,
        value: Real | Sequence[Real] | None,
        *,
        note: str | None = None,
    ) -> None:
        """Add one value, or the mean, spread and number of several (which become draws as well).

        A large integer keeps all its digits in the note. ``None`` is a quantity that is undefined
        or was not computed; the note must say which.
        """
        key = {
            "paper": PAPER,
            "item": item,
            "cell": cell(**axes),
            "origin": self.origin,
            "metric": metric,
        }
        if isinstance(value, Sequence | np.ndarray):
            summary = summarise([float(v) for v in value])
            self.draws.append({**key, "values": [float(v) for v in value]})
        else:
            summary = {"value": _as_float(value), "std": None, "n": 1}
        if isinstance(value, Integral) and abs(value) > _LARGEST_EXACT:
            note = f"{EXACTLY}{int(value)}"
        self.rows.append(
            {
                **key,
                **summary,
                "m": self.m,
                "data": self.data,
                "scale": self.scale,
                "seed": self.seed,
                "note": self.note if note is None else note,
            }
        )

    def add_all(self, item: str, axes: Mapping[str, Any], metrics: Mapping[str, Any]) -> None:
        """Add several metrics of one cell."""
        for metric, value in metrics.items():
            self.add(item, axes, metric, value)

    def seed_for(self, stage: str, **axes: Any) -> int:
        """Seed of a stage of this origin."""
        return derive_seed(self.seed, f"{PAPER}_{stage}", origin=self.origin, **axes)


def _as_float(value: Real | None) -> float | None:
    """The nearest float; None for an integer beyond all floats, whose digits are in the note."""
    if value is None:
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def exact_integer(row: Mapping[str, Any]) -> int:
    """The integer of a row with all its digits.

    >>> exact_integer({"value": 3.0, "note": ""})
    3
    """
    note = str(row["note"] or "")
    return int(note.removeprefix(EXACTLY)) if note.startswith(EXACTLY) else int(row["value"])


def ratio_text(value: Fraction) -> str:
    """A fraction as the paper writes it.

    >>> ratio_text(Fraction(3, 4)), ratio_text(Fraction(1))
    ('3/4', '1')
    """
    return str(value)
