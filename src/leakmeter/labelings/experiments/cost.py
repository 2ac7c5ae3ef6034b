"""Operations of three ways to count, exact; their CPU times are kept apart."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from leakmeter.labelings.reference import (
    counting_cost_rows,
    full_polynomial_operations,
    recurrence_cost_rows,
    truncated_pass_additions,
)
from leakmeter.reporting.recording import Recorder


def measure(record: Recorder, settings: Mapping[str, Any]) -> None:
    """Operations for ``v(n/2, n/2, n^2/8)`` over growing ``n``.

    The recurrence is run with its additions counted up to ``recurrence_up_to`` records;
    ``growth_power`` is the power of ``n0`` its additions per table entry grow with, between the
    two largest sizes it is run for.
    """
    sizes = sorted(settings["sizes"])
    for n in sizes:
        n0, n1 = n - n // 2, n // 2
        d = n0 * n1 // 2
        record.add("cost", {"n": n}, "misranked", d)
        record.add("cost", {"n": n}, "ours", truncated_pass_additions(n0, n1, d))
        record.add("cost", {"n": n}, "full_polynomial", full_polynomial_operations(n0, n1))
    rows = recurrence_cost_rows(n for n in sizes if n <= settings["recurrence_up_to"])
    for row in rows:
        record.add("cost", {"n": row["n"]}, "recurrence", row["additions"])
        record.add("cost", {"n": row["n"]}, "table_entries", row["cells"])
        record.add("cost", {"n": row["n"]}, "per_entry", row["additions_per_cell"])
    before, last = rows[-2:]
    power = math.log(last["additions_per_cell"] / before["additions_per_cell"])
    record.add("cost", {}, "growth_power", power / math.log(last["n0"] / before["n0"]))


def timings(settings: Mapping[str, Any]) -> pd.DataFrame:
    """CPU seconds of each method and size; a measurement of this machine, never the same twice."""
    counting_cost_rows(settings["sizes"][:1])  # imports and first calls, outside the timing
    rows = counting_cost_rows(sorted(settings["sizes"]), time_limit=settings["seconds"])
    return pd.DataFrame(rows)[["n", "n0", "n1", "d", "method", "seconds"]]
