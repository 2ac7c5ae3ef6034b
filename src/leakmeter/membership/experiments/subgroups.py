"""Disparities between groups of people: SHAPr, SPRS and the attacks by attribute."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from leakmeter.membership.experiments.assessment import Target, confidences, lira_scores
from leakmeter.membership.experiments.effectiveness_tables import LIRA
from leakmeter.membership.experiments.prepared import Prepared
from leakmeter.reporting.recording import Recorder


def measure(
    record: Recorder,
    data: Prepared,
    predictions: Mapping[str, np.ndarray],
    settings: Mapping[str, Any],
    k: int,
) -> None:
    """Rows per attribute and group, over the targets; sets without people give none.

    The balanced accuracy of an attack within a group uses the group's members and non-members.
    ``disparity`` of an attribute is the range over its groups; ``agreement`` whether a metric ranks
    the groups as the attack's accuracy does (1), the other way round (0), or mixed; beside the
    attacks ("test") as the model's own accuracy on the group's test records does.
    """
    logits = predictions["logits"]
    values = confidences(logits, data.labels) if data.table.groups else None
    for attribute, groups in data.table.groups.items():
        names = np.unique(groups)
        found: dict[str, dict[str, list[float]]] = {name: {} for name in names}
        for m in range(settings["targets"]):
            target = Target(logits[m], data.labels, data.splits[m])
            lira = lira_scores(values, data.splits, m, mode=LIRA[0], variance=LIRA[1]) > 0
            for name in names:
                for metric, value in _group(target, groups == name, lira, k).items():
                    found[name].setdefault(metric, []).append(value)
        for name in names:
            record.add_all("subgroups", {"attribute": attribute, "group": name}, found[name])
        _disparities(record, attribute, found)


def _group(target: Target, mine: np.ndarray, lira: np.ndarray, k: int) -> dict[str, float]:
    inside, outside = target.members & mine, ~target.members & mine
    of_members = mine[target.members]
    ment = target.entropy_attack().members(target.entropy(), target.labels)
    shapr, sprs = target.shapr(k=k), target.sprs(5)
    accuracies = {}
    for attack, flags in (("ment", ment), ("lira", lira)):
        accuracies[f"{attack}_accuracy"] = 0.5 * (flags[inside].mean() + 1 - flags[outside].mean())
    return {
        "members": float(inside.sum()),
        "shapr_mean": float(shapr[of_members].mean() * len(shapr)),
        "sprs_mean": float(sprs[of_members].mean()),
        **{name: float(value) for name, value in accuracies.items()},
        "train_accuracy": target.accuracy_on(inside),
        "test_accuracy": target.accuracy_on(outside),
    }


def _disparities(
    record: Recorder, attribute: str, found: Mapping[str, Mapping[str, list[float]]]
) -> None:
    def of(metric: str) -> np.ndarray:
        return np.array([found[name][metric] for name in found])  # (groups, targets)

    for metric in ("shapr_mean", "sprs_mean", "ment_accuracy", "lira_accuracy"):
        values = of(metric)
        spread = values.max(axis=0) - values.min(axis=0)
        record.add("disparity", {"attribute": attribute}, metric, spread.tolist())
    for metric in ("shapr_mean", "sprs_mean"):
        for attack in ("ment", "lira", "test"):
            a, b = of(metric), of(f"{attack}_accuracy")
            agree = [
                float(np.mean(np.sign(np.subtract.outer(x, x)) == np.sign(np.subtract.outer(y, y))))
                for x, y in zip(a.T, b.T, strict=True)
            ]
            # the diagonal always agrees
            groups = len(a)
            agree = [(value * groups - 1) / (groups - 1) for value in agree]
            record.add(
                "disparity",
                {"attribute": attribute, "attack": attack},
                f"{metric}_agreement",
                agree,
            )
