"""L2 regularisation: what it does to accuracy, to the attack and to the two metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from leakmeter.membership.experiments.assessment import Target
from leakmeter.membership.experiments.prepared import Prepared
from leakmeter.reporting.recording import Recorder


def summary(target: Target, k: int) -> dict[str, float]:
    """What every table on changed models shows of one; SHAPr times the number of its records."""
    shapr, sprs = target.shapr(k=k), target.sprs(5)
    return {
        "train_accuracy": target.accuracy(True),
        "test_accuracy": target.accuracy(False),
        "attack_accuracy": target.ment_accuracy(),
        "shapr_mean": float(shapr.sum()),
        "shapr_positive": float((shapr > 0).mean()),
        "sprs_mean": float(sprs.mean()),
        # scores sum to the utility whatever the model, so the mean hides what the spread shows
        "shapr_spread": float(shapr.std() * len(shapr)),
    }


def measure(
    record: Recorder,
    data: Prepared,
    predictions: Mapping[str, np.ndarray],
    *,
    l2: Sequence[float],
    k: int,
) -> None:
    """Rows per strength; strength 0 is the first target itself."""
    members = data.splits[0]
    models = [(0.0, predictions["logits"][0])]
    models += list(zip(l2, predictions["regularised"], strict=True))
    for strength, logits in models:
        record.add_all("l2", {"l2": strength}, summary(Target(logits, data.labels, members), k))
