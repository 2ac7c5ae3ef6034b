"""Measurement rows of the SHAPr chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from leakmeter.reporting.measurements import cell, summarise

PAPER = "shapr"
#: Origin of all numbers of the chain: models trained here.
ORIGIN = "target"


@dataclass
class Recorder:
    """Collects rows and draws of one data set (or of all together).

    axes : put before the axes of every row, e.g. ``{"set": "census"}``.
    data : label of the data. m : evaluated records.
    """

    scale: str
    seed: int
    data: str
    axes: Mapping[str, Any] = field(default_factory=dict)
    m: int | None = None
    origin: str = ORIGIN
    note: str = ""
    rows: list[dict[str, Any]] = field(default_factory=list)
    draws: list[dict[str, Any]] = field(default_factory=list)

    def add(
        self,
        item: str,
        axes: Mapping[str, Any],
        metric: str,
        value: float | Sequence[float] | None,
        *,
        note: str | None = None,
        m: int | None = None,
    ) -> None:
        """One value, or the mean, spread and number of several (NaN and None: undefined)."""
        key = {
            "paper": PAPER,
            "item": item,
            "cell": cell(**self.axes, **axes),
            "origin": self.origin,
            "metric": metric,
        }
        if isinstance(value, Sequence | np.ndarray):
            values = [float(v) for v in value]
            summary = summarise(values)
            self.draws.append({**key, "values": values})
        else:
            undefined = value is None or np.isnan(value)
            summary = {"value": None if undefined else float(value), "std": None, "n": 1}
        if note is None:
            note = self.note
            if summary["value"] is None:
                note = "undefined in this run: a denominator is 0 or a statistic has one value"
        self.rows.append(
            {
                **key,
                **summary,
                "m": self.m if m is None else m,
                "data": self.data,
                "scale": self.scale,
                "seed": self.seed,
                "note": note,
            }
        )

    def add_all(
        self, item: str, axes: Mapping[str, Any], metrics: Mapping[str, Any], **options: Any
    ) -> None:
        """Several metrics of one cell."""
        for metric, value in metrics.items():
            self.add(item, axes, metric, value, **options)
