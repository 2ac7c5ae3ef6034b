"""Disparities between groups of people: SHAPr, SPRS and the attacks by attribute."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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

    What rests on a group's members (or non-members) is undefined where a target has none of them;
    so is every comparison of groups where an attribute has only one.
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
            axes = {"attribute": attribute, "group": name}
            for metric, per_target in found[name].items():
                why = "the group has no members or no other records"
                _add(record, "subgroups", axes, metric, per_target, why)
        _disparities(record, attribute, found)


def _add(
    record: Recorder,
    item: str,
    axes: Mapping[str, Any],
    metric: str,
    values: Sequence[float],
    why: str,
) -> None:
    """A row over the targets; undefined, with the reason in its note, where a target's value is."""
    undefined = sum(map(math.isnan, values))
    note = f"undefined: {why} in {undefined} of {len(values)} targets" if undefined else None
    record.add(item, axes, metric, values, note=note)


def _group(target: Target, mine: np.ndarray, lira: np.ndarray, k: int) -> dict[str, float]:
    inside, outside = target.members & mine, ~target.members & mine
    of_members = mine[target.members]
    ment = target.entropy_attack().members(target.entropy(), target.labels)
    shapr, sprs = target.shapr(k=k), target.sprs(5)
    accuracies = {}
    for attack, flags in (("ment", ment), ("lira", lira)):
        accuracies[f"{attack}_accuracy"] = 0.5 * (_mean(flags[inside]) + 1 - _mean(flags[outside]))
    return {
        "members": float(inside.sum()),
        "shapr_mean": _mean(shapr[of_members]) * len(shapr),
        "sprs_mean": _mean(sprs[of_members]),
        **accuracies,
        "train_accuracy": target.accuracy_on(inside) if inside.any() else math.nan,
        "test_accuracy": target.accuracy_on(outside) if outside.any() else math.nan,
    }


def _mean(values: np.ndarray) -> float:
    """The mean, NaN of none."""
    return float(values.mean()) if len(values) else math.nan


def _disparities(
    record: Recorder, attribute: str, found: Mapping[str, Mapping[str, list[float]]]
) -> None:
    alone = len(found) == 1
    why = "a single group" if alone else "a group without members or without other records"

    def of(metric: str) -> np.ndarray:
        """(groups, targets); NaN where there is nothing to compare."""
        values = np.array([found[name][metric] for name in found])
        return np.full_like(values, math.nan) if alone else values

    for metric in ("shapr_mean", "sprs_mean", "ment_accuracy", "lira_accuracy"):
        values = of(metric)
        spread = values.max(axis=0) - values.min(axis=0)
        _add(record, "disparity", {"attribute": attribute}, metric, spread.tolist(), why)
    for metric in ("shapr_mean", "sprs_mean"):
        for attack in ("ment", "lira", "test"):
            pairs = zip(of(metric).T, of(f"{attack}_accuracy").T, strict=True)
            _add(
                record,
                "disparity",
                {"attribute": attribute, "attack": attack},
                f"{metric}_agreement",
                [agreement(x, y) for x, y in pairs],
                why,
            )


def agreement(x: np.ndarray, y: np.ndarray) -> float:
    """Share of the pairs of groups that two metrics, (groups,) each, put in the same order.

    NaN for fewer than two groups, or where a group has no value.
    """
    groups = len(x)
    if groups < 2 or np.isnan(x).any() or np.isnan(y).any():
        return math.nan
    alike = np.mean(np.sign(np.subtract.outer(x, x)) == np.sign(np.subtract.outer(y, y)))
    # the diagonal always agrees
    return (float(alike) * groups - 1) / (groups - 1)
