"""Which details of the authors' curve the printed numbers can tell apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from leakmeter.dpauc.ablations import ablation
from leakmeter.dpauc.experiments.laplace import TABLE4_THRESHOLDS
from leakmeter.dpauc.experiments.origins import Origin
from leakmeter.dpauc.experiments.released import released_repeats
from leakmeter.reporting.claim_tests import Measured, Published, compare_mean, holm
from leakmeter.reporting.recording import Recorder

LAYOUTS = ("authors", "uniform")


def measure(
    origin: Origin,
    settings: Mapping[str, Any],
    *,
    table4: str | Path | None = None,
    outputs: str | Path | None = None,
) -> Recorder:
    """Rows of every combination of layout, clipping, sorting and end points at epoch 0.

    With Table 4 (``table4``) and the released files (``outputs``, which say how many repeats are
    behind a printed mean) at hand, each combination on the authors' counts also gets
    ``rejected_cells``: in how many of the table's epoch-0 cells its mean differs from the printed
    one at the family-wise ``level`` of the settings (Holm over the combination's cells).
    """
    epoch = 0
    counts = {layout: origin.counts(epoch, TABLE4_THRESHOLDS, layout=layout) for layout in LAYOUTS}
    record = origin.recorder()
    settings_seen: dict[tuple, dict[tuple[int, float], Measured]] = {}
    for clients in settings["clients"]:
        for epsilon in settings["epsilons"]:
            for result in ablation(
                counts,
                clients=clients,
                epsilon_per_count=epsilon / (4 * TABLE4_THRESHOLDS),
                repeats=settings["repeats"],
                seed=origin.seed_for("ablation", clients=clients, epsilon=epsilon),
            ):
                variant = {
                    "epoch": epoch,
                    "layout": result["layout"],
                    "clip": result["clip"],
                    "sort": result["sort"],
                    "ends": result["end_points"],
                }
                source_std = origin.source_std(epoch, TABLE4_THRESHOLDS, result["layout"])
                record.add(
                    "ablation",
                    variant | {"K": clients, "epsilon": epsilon},
                    "auc",
                    result["mean"],
                    std=result["std"],
                    n=settings["repeats"],
                    source_std=source_std,
                )
                cells = settings_seen.setdefault(tuple(variant.items()), {})
                cells[clients, epsilon] = Measured(
                    result["mean"],
                    result["std"],
                    settings["repeats"],
                    source_std,
                    origin.data,
                    origin.scale,
                    origin.m,
                )
    if table4 is not None and outputs is not None and origin.name == "authors":
        printed = _printed(table4, released_repeats(outputs, "Laplace"))
        for variant, cells in settings_seen.items():
            rejected, compared = _rejected(cells, printed, settings["level"])
            note = f"of {compared} epoch-0 cells of Table 4"
            record.add("ablation", dict(variant), "rejected_cells", rejected, note=note)
    return record


def _printed(path: str | Path, repeats: int) -> list[tuple[tuple[int, float], Published]]:
    frame = pd.read_csv(path, dtype="str", keep_default_na=False)
    frame = frame[(frame["epoch"] == "0") & (frame["method"] == "DPAUC_Lap")]
    return [
        (
            (int(row["K"]), float(row["epsilon_total"])),
            Published(float(row["value"]), row["value"], float(row["std"]), repeats),
        )
        for row in frame.to_dict("records")
    ]


def _rejected(
    cells: Mapping[tuple[int, float], Measured],
    printed: Sequence[tuple[tuple[int, float], Published]],
    level: float,
) -> tuple[int, int]:
    p = [compare_mean(value, cells[key]).p for key, value in printed if key in cells]
    return int((holm(p) < level).sum()) if p else 0, len(p)
