"""What SHAPr costs: growth with the number of records, against leave-one-out.

CPU seconds of this host; they stay out of the chain's measurements.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import process_time
from typing import Any

import numpy as np
import pandas as pd

from leakmeter.membership.shapley import knn_shapley
from leakmeter.runtime import generator


def growth(settings: Mapping[str, Any], *, seed: int) -> pd.DataFrame:
    """CPU seconds of K-NN Shapley for n training and n test records of random outputs."""
    rng = generator(seed, "shapr_runtimes")
    rows = []
    classes = settings["classes"]
    warm = rng.random((50, classes))
    knn_shapley(warm, np.arange(50) % 2, warm, np.arange(50) % 2, k=5, threads=1)
    for n in settings["sizes"]:
        x, y = rng.random((2 * n, classes)), rng.integers(classes, size=2 * n)
        started = process_time()
        knn_shapley(x[:n], y[:n], x[n:], y[n:], k=5, threads=1)
        rows.append({"set": "random", "what": "shapr", "train": n, "test": n})
        rows[-1]["cpu_seconds"] = process_time() - started
    return pd.DataFrame(rows)


def with_leave_one_out(times: pd.DataFrame) -> pd.DataFrame:
    """Times with the cost of leave-one-out added: one more training per record, extrapolated.

    From the measured training of one model; ``what`` says ``leave_one_out (extrapolated)``.
    """
    training = times[times["what"] == "training"]
    extra = training.assign(
        what="leave_one_out (extrapolated)", cpu_seconds=training["cpu_seconds"] * training["train"]
    )
    return pd.concat([times, extra], ignore_index=True).sort_values(
        ["set", "what", "train"], kind="stable"
    )
