"""Table 2: labels guessed by taking the K highest scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leakmeter.dpauc.experiments.origins import AuthorsOrigin, Origin
from leakmeter.dpauc.precision_at_k import topk
from leakmeter.reporting.recording import Recorder


def measure(origin: Origin, settings: Mapping[str, Any]) -> Recorder:
    """Rows of Table 2; no repeats. Undefined, with a note, where K exceeds the number of records."""
    record = origin.recorder()
    ks = [k for k in settings["top_k"] if k <= origin.m]
    for epoch in origin.epochs:
        if isinstance(origin, AuthorsOrigin):
            seed = origin.seed_for("top_k", epoch=epoch)
            result, std = origin.reconstruction.topk(ks, seed=seed)
            positives = origin.reconstruction.positives
        else:
            scores, labels = origin.records(epoch)
            result, std = topk(scores, labels, ks), [0.0] * len(ks)
            positives = int(labels.sum())
        for i, k in enumerate(ks):
            axes = {"epoch": epoch, "k": k}
            record.add("table2", axes, "positives", result.positives[i], source_std=std[i])
            record.add("table2", axes, "precision", result.precision[i], source_std=std[i] / k)
            record.add("table2", axes, "recall", result.recall[i], source_std=std[i] / positives)
        for k in sorted(set(settings["top_k"]) - set(ks)):
            note = f"K exceeds the {origin.m:,} evaluated records"
            undefined = dict.fromkeys(("positives", "precision", "recall"))
            record.add_all("table2", {"epoch": epoch, "k": k}, undefined, note=note)
    return record
