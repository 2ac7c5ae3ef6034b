"""What one AUC tells about each label, and what guesses improved by it are worth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import xlogy

from leakmeter.labelings.aucs import auc_cells, parse_auc
from leakmeter.labelings.guesses import exact_auc, ranking_order
from leakmeter.labelings.posteriors import LabelPosterior, label_posterior
from leakmeter.reporting.recording import Recorder
from leakmeter.runtime import UserError


def expectations(result: LabelPosterior) -> dict[str, float]:
    """Metrics that the posterior alone determines."""
    best = result.best_ranking()
    return {
        "log2_labelings": math.log2(result.total),
        "class_sizes": len(result.totals),
        "expected_accuracy": float(result.expected_accuracy()),
        "expected_log_loss": result.expected_log_loss(),
        "expected_auc": float(result.expected_auc(list(range(result.n)))),
        "expected_auc_improved": float(result.expected_auc(best)),
        "records_moved": sum(rank != place for place, rank in enumerate(best)),
    }


def measure_exact(record: Recorder, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Expectations for some sizes and AUC values, class size unknown.

    A pair of size and AUC that no labeling has is left out.

    Returns
    -------
    the posterior of the largest size: ``n, auc, rank, probability``.
    """
    curves = []
    for n in settings["sizes"]:
        for text in settings["aucs"]:
            auc = parse_auc(text)
            if not auc_cells(n, auc):
                continue
            result = label_posterior(n, auc)
            record.add_all("posterior", {"n": n, "auc": text}, expectations(result))
            if n == max(settings["sizes"]):
                curves.append(
                    pd.DataFrame(
                        {
                            "n": n,
                            "auc": text,
                            "rank": range(1, n + 1),
                            "probability": result.probabilities(),
                        }
                    )
                )
    if not curves:
        raise UserError(
            f"labelings.posterior: no labeling of {max(settings['sizes'])} records has any of the AUC "
            f"values {', '.join(settings['aucs'])}, expected one to draw"
        )
    return pd.concat(curves, ignore_index=True)


def measure_genuine(record: Recorder, splits: Iterable[tuple[np.ndarray, np.ndarray]]) -> None:
    """Expectations beside what became true on genuine test sets, class size known and unknown.

    Parameters
    ----------
    splits : scores and labels of each split.
    """
    values: dict[tuple[str, str], list[float]] = {}
    for scores, labels in splits:
        order = ranking_order(scores)
        truth, ones = labels[order], int(labels.sum())
        auc = exact_auc(labels, order)
        for known in (True, False):
            result = label_posterior(len(labels), auc, ones if known else None)
            metrics = expectations(result) | realised(result, truth, auc)
            for metric, value in metrics.items():
                values.setdefault(("known" if known else "unknown", metric), []).append(value)
    for (known, metric), draws in values.items():
        record.add("posterior", {"ones": known}, metric, draws)


def realised(result: LabelPosterior, truth: np.ndarray, auc: Fraction) -> dict[str, float]:
    """Accuracy, log-loss and AUC of the improved guesses on the true labels (in rank order)."""
    probabilities = result.probabilities()
    share = truth.mean()
    ranking = result.best_ranking()
    return {
        "accuracy": float(np.mean((probabilities >= 0.5) == truth)),
        "majority_accuracy": float(max(share, 1 - share)),
        "log_loss": log_loss(probabilities, truth),
        "majority_log_loss": log_loss(np.full(len(truth), share), truth),
        "auc": float(auc),
        "auc_improved": float(exact_auc(truth, np.array(ranking))),
    }


def log_loss(probabilities: Sequence[float], truth: np.ndarray) -> float:
    """Mean log-loss in nats; a certain guess that is right costs nothing."""
    p = np.asarray(probabilities, float)
    with np.errstate(divide="ignore"):
        return float(-np.mean(xlogy(truth, p) + xlogy(1 - truth, 1 - p))) + 0.0
