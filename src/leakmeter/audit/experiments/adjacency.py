"""What the authors' noise protects: epsilon for adding or removing, and for replacing a record."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from leakmeter.audit.experiments.published import published_rows
from leakmeter.audit.privacy_accounting import ADJACENCIES, dpsgd_epsilon
from leakmeter.reporting.recording import Recorder
from leakmeter.runtime import UserError

#: Published rows hold the noise multiplier derived for a target epsilon, with rate and steps.
_NOISE = re.compile(r"noise_multiplier for eps=(\d+)")
_SCHEDULE = re.compile(r"q=1/(\d+), (\d+) steps")


def measure(record: Recorder, published: Sequence[str | Path], settings: Mapping[str, Any]) -> None:
    """Both epsilons of each derived noise multiplier."""
    for row in published_rows(published, "bayes_hyperparameters.csv"):
        found = _NOISE.fullmatch(row["parameter"])
        if not found:
            continue
        schedule = _SCHEDULE.search(row["note"])
        if not schedule:
            raise UserError(
                f"bayes_hyperparameters.csv: {row['parameter']} names no rate and steps"
            )
        size, steps = map(int, schedule.groups())
        kind = {"rate": 1 / size, "steps": steps, "delta": settings["delta"]}
        axes = {"setting": row["setting"], "target": int(found[1])}
        noise = float(row["value"])
        record.add("accounting", axes, "noise_given", noise)
        for adjacency in ADJACENCIES:
            epsilon = dpsgd_epsilon(noise, **kind, adjacency=adjacency)
            record.add("accounting", {**axes, "adjacency": adjacency}, "epsilon", epsilon)
