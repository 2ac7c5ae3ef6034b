"""Attacks, scores and how well the scores tell what the attacks find (Tables II, III, IV, VIII)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from leakmeter.membership.attack_roc import roc, tpr_at_fpr
from leakmeter.membership.effectiveness import score_effectiveness, spearman
from leakmeter.membership.entropy_attack import fixed_entropy_attack
from leakmeter.membership.experiments.assessment import (
    SHAPR_THRESHOLD,
    SPRS_THRESHOLD,
    Target,
    confidences,
    fit_on,
    lira_scores,
    softmax,
)
from leakmeter.membership.experiments.prepared import Prepared
from leakmeter.membership.lira_attack import shadow_models
from leakmeter.membership.shapley import knn_diagnostics, knn_shapley
from leakmeter.reporting.recording import Recorder

#: Low false-positive rates at which I_lira's true-positive rate is reported.
LOW_RATES = (0.001, 0.01)
SPRS_BINS = (5, 15)
#: What scores are compared in.
COMPARED = ("precision", "recall", "f1", "balanced_accuracy", "auc", "spearman")
#: Variant of I_lira that the effectiveness is measured against: few shadow models.
LIRA = ("online", "fixed")
_VARIANTS = (
    ("online", "fixed"),
    ("online", "per-example"),
    ("online", "reference"),
    ("offline", "fixed"),
    ("offline", "per-example"),
    ("offline", "reference"),
)
#: False-positive rates at which ROC curves are drawn.
_CURVE = np.logspace(-3, 0, 61)


def measure(
    record: Recorder,
    data: Prepared,
    predictions: Mapping[str, np.ndarray],
    settings: Mapping[str, Any],
    k: int,
) -> tuple[dict[str, np.ndarray], pd.DataFrame]:
    """Rows of a set; the scores of the first target (for what comes after) and ROC curves."""
    targets = [
        Target(predictions["logits"][m], data.labels, data.splits[m])
        for m in range(settings["targets"])
    ]
    _data(record, data)
    record.add("table8", {}, "train_accuracy", [t.accuracy(True) for t in targets])
    record.add("table8", {}, "test_accuracy", [t.accuracy(False) for t in targets])
    decisions, statistics, curves = _attacks(record, data, predictions["logits"], targets)
    scores = _scores(record, data, predictions, targets, settings)
    for attack in decisions:
        for name, found in scores.items():
            _effectiveness(record, attack, name, found, decisions[attack], statistics[attack])
    for attack in decisions:
        for name, key in (
            ("shapr", ("shapr", k, "outputs")),
            ("sprs", ("sprs", SPRS_BINS[0], "entropy")),
            ("constant", ("constant", 0, "none")),
        ):
            _comparison(record, attack, name, scores[key], decisions[attack], statistics[attack])
    _typicality(
        record,
        data,
        confidences(predictions["logits"], data.labels),
        {
            "shapr": scores[("shapr", k, "outputs")],
            "sprs": scores[("sprs", SPRS_BINS[0], "entropy")],
            **statistics,
        },
    )
    kept = {
        "ment_members": decisions["ment"][0],
        "lira_members": decisions["lira"][0],
        "shapr": scores[("shapr", k, "outputs")][0],
        "sprs": scores[("sprs", 5, "entropy")][0],
    }
    return kept, curves


def _data(record: Recorder, data: Prepared) -> None:
    """Table II."""
    meta = data.meta
    record.add_all(
        "table2",
        {},
        {
            "features": meta["features"],
            "classes": meta["n_classes"],
            "records": meta["records_available"],
            "train": meta["n_train"],
            "test": meta["n_test"],
            "duplicates": meta["duplicates"],
        },
        note=meta["preprocessing"],
    )


def _attacks(
    record: Recorder, data: Prepared, logits: np.ndarray, targets: list[Target]
) -> tuple[dict[str, list[np.ndarray]], dict[str, list[np.ndarray]], pd.DataFrame]:
    """Balanced accuracies; decisions and statistics on the members by attack."""
    models = [Target(logits[m], data.labels, data.splits[m]) for m in range(len(logits))]
    values = confidences(logits, data.labels)
    entropies = [target.entropy() for target in targets]
    fixed = fixed_entropy_attack(data.n_classes)
    found: dict[str, list[np.ndarray]] = {"ment": [], "ment_independent": [], "fixed": []}
    for index, (target, entropy) in enumerate(zip(targets, entropies, strict=True)):
        others = [models[m] for m in np.flatnonzero(shadow_models(data.splits, index))]
        found["ment"].append(target.entropy_attack().members(entropy, data.labels))
        independent = fit_on(others, shadow="independent")
        found["ment_independent"].append(independent.members(entropy, data.labels))
        found["fixed"].append(fixed.members(entropy, data.labels))
    scores = {
        variant: [
            lira_scores(values, data.splits, m, mode=variant[0], variance=variant[1])
            for m in range(len(targets))
        ]
        for variant in _VARIANTS
    }
    found["lira"] = [score > 0 for score in scores[LIRA]]
    for attack, flags in found.items():
        pairs = list(zip(targets, flags, strict=True))
        record.add(
            "attacks",
            {"attack": attack},
            "balanced_accuracy",
            [t.attack_accuracy(f) for t, f in pairs],
        )
        record.add(
            "attacks",
            {"attack": attack},
            "positive_rate",
            [float(f[t.members].mean()) for t, f in pairs],
        )
    curves = []
    shadows = int(shadow_models(data.splits, 0).sum())
    for (mode, variance), per_target in scores.items():
        curves.append(_lira_rates(record, f"{mode}_{variance}", targets, per_target, shadows))
    curves.append(_lira_rates(record, "entropy", targets, [-e for e in entropies], 0))
    inside = [target.members for target in targets]
    decisions = {
        name: [f[i] for f, i in zip(found[name], inside, strict=True)] for name in ("ment", "lira")
    }
    statistics = {
        "ment": [-e[i] for e, i in zip(entropies, inside, strict=True)],
        "lira": [s[i] for s, i in zip(scores[LIRA], inside, strict=True)],
    }
    return decisions, statistics, pd.concat(curves, ignore_index=True)


def _lira_rates(
    record: Recorder, name: str, targets: list[Target], scores: list[np.ndarray], shadows: int
) -> pd.DataFrame:
    """Area, true-positive rates at low false-positive rates and the records behind them."""
    axes = {"attack": name}
    curves = [roc(s, t.members) for t, s in zip(targets, scores, strict=True)]
    record.add("roc", axes, "auc", [curve.auc for curve in curves])
    if shadows:
        record.add("roc", axes, "shadow_models", shadows)
    for rate in LOW_RATES:
        rates = [tpr_at_fpr(s, t.members, rate) for t, s in zip(targets, scores, strict=True)]
        at = {**axes, "fpr": rate}
        note = (
            f"{rates[0].allowed} false positives allowed of {rates[0].nonmembers}"
            if rates[0].resolved
            else f"fewer than one of {rates[0].nonmembers} records: the rate is at 0 false positives"
        )
        record.add("roc", at, "tpr", [r.tpr for r in rates], note=note)
        record.add("roc", at, "records", [float(r.true_positives) for r in rates], note=note)
    mean = np.mean([np.interp(_CURVE, curve.fpr, curve.tpr) for curve in curves], axis=0)
    return pd.DataFrame({"attack": name, "fpr": _CURVE, "tpr": mean})


def _scores(
    record: Recorder,
    data: Prepared,
    predictions: Mapping[str, np.ndarray],
    targets: list[Target],
    settings: Mapping[str, Any],
) -> dict[tuple, list[np.ndarray]]:
    """SHAPr in three feature spaces, SPRS with two numbers of bins, and a constant."""
    scores: dict[tuple, list[np.ndarray]] = {}
    for k in settings["neighbours"]:
        for space in ("outputs", "inputs", "hidden"):
            found = []
            for model, target in enumerate(targets):
                features = {
                    "outputs": lambda model: None,
                    "inputs": data.inputs,
                    "hidden": lambda model: predictions["hidden"][model],
                }[space](model)
                found.append(target.shapr(k=k, features=features))
            scores[("shapr", k, space)] = found
        _check_axioms(record, targets[0], scores[("shapr", k, "outputs")][0], k)
    for bins in SPRS_BINS:
        scores[("sprs", bins, "entropy")] = [target.sprs(bins) for target in targets]
    scores[("constant", 0, "none")] = [np.ones(int(t.members.sum())) for t in targets]
    for (name, setting, space), found in scores.items():
        if name != "constant":
            axes = _axes(name, setting, space)
            scale = [len(s) if name == "shapr" else 1 for s in found]
            means = [float(s.mean()) * n for s, n in zip(found, scale, strict=True)]
            record.add("scores", axes, "mean", means)
            distinct = [len(np.unique(s)) / len(s) for s in found]
            record.add("scores", axes, "distinct_share", distinct)
    return scores


def _check_axioms(record: Recorder, target: Target, scores: np.ndarray, k: int) -> None:
    """Efficiency: the scores sum to the utility. Ties: how much of the data they touch."""
    x, inside = softmax(target.logits), target.members
    facts = knn_diagnostics(
        x[inside], target.labels[inside], x[~inside], target.labels[~inside], k=k, threads=1
    )
    reordered = _row_order_correlation(target, x, k)
    record.add_all(
        "axioms",
        {"k": k},
        {
            "utility": facts.utility,
            "residual": abs(float(scores.sum()) - facts.utility),
            "tied_share": facts.tied_share,
            "largest_tie": facts.largest_tie,
            "row_order_correlation": reordered,
        },
    )


def _row_order_correlation(target: Target, x: np.ndarray, k: int) -> float:
    """Correlation of row-order scores of the training rows as they are and reversed.

    What an implementation that breaks ties by the order of the rows would give twice.
    """
    inside, outside = np.flatnonzero(target.members), ~target.members
    found = []
    for rows in (inside, inside[::-1]):
        scores = knn_shapley(
            *(x[rows], target.labels[rows], x[outside], target.labels[outside]),
            k=k,
            ties="row-order",
            threads=1,
        )
        found.append(scores)
    found[1] = found[1][::-1]
    return float(np.corrcoef(found)[0, 1]) if np.ptp(found[0]) > 0 else float("nan")


def _axes(name: str, setting: int, space: str) -> dict[str, Any]:
    return {"score": name, "setting": setting, "space": space}


def _effectiveness(record, attack, name, found, decisions, statistics) -> None:
    """Every quantity of :class:`~leakmeter.membership.effectiveness.Effectiveness`, over targets."""
    results = _results(name[0], found, decisions, statistics)
    axes = {"attack": attack, **_axes(*name)}
    for metric in results[0]:
        if metric not in ("n", "threshold"):
            record.add("effectiveness", axes, metric, [r[metric] for r in results])


def _comparison(record, attack, name, found, decisions, statistics) -> None:
    """The same at the settings of the tables, by the name of the score alone."""
    results = _results(name, found, decisions, statistics)
    for metric in COMPARED:
        record.add(
            "comparison", {"attack": attack, "score": name}, metric, [r[metric] for r in results]
        )


def _typicality(
    record: Recorder,
    data: Prepared,
    values: np.ndarray,
    found: Mapping[str, list[np.ndarray]],
) -> None:
    """What scores and attacks have to do with how typical a member is.

    Typical is a record of which models that were not trained on it are confident: the mean scaled
    confidence over those of the other models. Rank correlations with it, over targets.
    """
    typical = []
    for model, members in enumerate(data.splits[: len(found["shapr"])]):
        out = ~data.splits & (np.arange(len(values)) != model)[:, None]
        mean = np.where(out, values, 0.0).sum(axis=0) / out.sum(axis=0)
        typical.append(mean[members])
    for name, per_target in found.items():
        ranks = [spearman(v, t) for v, t in zip(per_target, typical, strict=True)]
        record.add("typicality", {"of": name}, "spearman", ranks)


def _results(score: str, found, decisions, statistics) -> list[dict[str, float]]:
    threshold = {"shapr": SHAPR_THRESHOLD, "sprs": SPRS_THRESHOLD, "constant": 0.0}[score]
    return [
        asdict(score_effectiveness(s, d, threshold=threshold, attack_statistic=v))
        for s, d, v in zip(found, decisions, statistics, strict=True)
    ]
