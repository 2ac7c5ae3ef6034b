"""Measurement rows of the audit chain, collected by origin."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leakmeter.reporting.measurements import cell, summarise
from leakmeter.runtime import UserError

PAPER = "audit"


@dataclass
class Recorder:
    """Collects rows and draws of one origin.

    Attributes
    ----------
    scale, seed : of the run.
    origin : ``exact`` for mathematics, or the name of a setting whose games were played.
    data : label of the data.
    m : trials of the game, if there is one.
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
        value: float | Sequence[float] | np.ndarray | None,
        *,
        note: str | None = None,
        **columns: Any,
    ) -> None:
        """Add one value, or the mean, spread and number of several (which become draws as well).

        An infinite value has the note ``inf``, so that it can be compared as text.

        Parameters
        ----------
        **columns : further columns, e.g. ``std`` and ``n`` of a value that is a share of trials.
        """
        key = {"paper": PAPER, "item": item, "cell": cell(**axes), "origin": self.origin}
        key["metric"] = metric
        if isinstance(value, Sequence | np.ndarray):
            summary = summarise([float(v) for v in value])
            self.draws.append({**key, "values": [float(v) for v in value]})
        else:
            summary = {"value": None if value is None else float(value), "std": None, "n": 1}
        if note is None:
            infinite = summary["value"] is not None and math.isinf(summary["value"])
            note = "inf" if infinite else self.note
        about = {"m": self.m, "data": self.data, "scale": self.scale, "seed": self.seed}
        self.rows.append({**key, **summary, **about, "note": note, **columns})

    def add_all(self, item: str, axes: Mapping[str, Any], metrics: Mapping[str, Any]) -> None:
        """Add several metrics of one cell."""
        for metric, value in metrics.items():
            self.add(item, axes, metric, value)


def published_rows(paths: Sequence[str | Path], name: str, **where: str) -> list[dict[str, str]]:
    """Rows of one published file among ``paths``, as text, with columns equal to ``where``.

    Experiments take tallies and settings from it, never results.

    Raises
    ------
    UserError
        no such file among the paths, or no such row in it.
    """
    chosen = [Path(path) for path in paths if Path(path).name == name]
    if not chosen:
        raise UserError(f"{name}: not among the files of published numbers that were given")
    frame = pd.read_csv(chosen[0], dtype="str", keep_default_na=False)
    for column, value in where.items():
        frame = frame[frame[column] == value]
    if frame.empty:
        raise UserError(f"{chosen[0]}: no row has {where}")
    return frame.to_dict("records")


def tally_of(row: Mapping[str, str]) -> dict[str, int]:
    """``fn, tp, fp, tn`` of a published row."""
    return {name.lower(): int(row[name]) for name in ("FN", "TP", "FP", "TN")}
