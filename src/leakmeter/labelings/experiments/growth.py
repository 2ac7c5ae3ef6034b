"""Exponential growth of ``w`` along ``n = 4q, 8q, ...``, the earlier result the paper cites."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leakmeter.labelings.aucs import parse_auc
from leakmeter.labelings.counting import growth_rows
from leakmeter.reporting.recording import Recorder


def measure(record: Recorder, settings: Mapping[str, Any]) -> None:
    """Rows per AUC and multiple, and at how many multiples ``t`` ``w(4qt) < w(4q)^t``."""
    tested = below = 0
    for text in settings["aucs"]:
        rows = growth_rows(parse_auc(text), range(1, settings["multiples"] + 1))
        for row in rows:
            axes = {"auc": text, "n": row["n"]}
            record.add("growth", axes, "w", row["w"])
            record.add("growth", axes, "log2_w", row["log2_w"])
            record.add("growth", axes, "bits_per_record", row["bits_per_record"])
            tested += 1
            below += row["w"] < rows[0]["w"] ** row["multiple"]
    record.add("growth", {}, "sizes", tested)
    record.add("growth", {}, "below_exponential", below)
