"""How well a risk score tells which training records an attack finds, with the baseline beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from leakmeter.membership.argument_checks import check_flags, check_number, check_values


@dataclass(frozen=True)
class Effectiveness:
    """Agreement of ``score > threshold`` with the attack's "member" on n training records.

    A quantity whose denominator is 0 is NaN (precision when the score flags nothing, recall and AUC
    when the attack finds nothing, ...). ``baseline_*`` is the constant answer "member".

    score_positive_rate : share of the records with a score above the threshold.
    attack_positive_rate : share of the records the attack calls members.
    spearman : rank correlation of the score with the attack's statistic (or with its decision).
    auc : area under the ROC of the score as a predictor of the attack's decision.
    """

    n: int
    threshold: float
    score_positive_rate: float
    attack_positive_rate: float
    precision: float
    recall: float
    f1: float
    balanced_accuracy: float
    baseline_precision: float
    baseline_recall: float
    baseline_f1: float
    baseline_balanced_accuracy: float
    spearman: float
    auc: float


def score_effectiveness(
    scores: ArrayLike,
    attack_members: ArrayLike,
    *,
    threshold: float,
    attack_statistic: ArrayLike | None = None,
) -> Effectiveness:
    """Precision, recall, F1 and balanced accuracy against an attack, the constant's, rank measures.

    An attack that finds nearly all training records gives any score a precision near 1; the
    baseline, the attack's positive rate and the rank measures show whether the score adds to that.

    Parameters
    ----------
    scores : (n,) risk scores of training records, high for risky; finite.
    attack_members : (n,) booleans: the attack's decision on the same records.
    threshold : a record is called risky if its score is *above* it (0 for SHAPr, 0.5 for SPRS).
    attack_statistic : (n,) the attack's own statistic, oriented so that high means member, for the
        rank correlation; without it the decision is used.

    Raises
    ------
    UserError : NaN or infinity, flags other than 0 and 1. ValueError : shapes that do not fit.
    """
    scores = check_values(scores, "scores")
    found = check_flags(attack_members, "attack_members", scores.shape)
    threshold = check_number(threshold, "threshold", lambda t: t == t, "a number")
    statistic = found.astype(float)
    if attack_statistic is not None:
        statistic = check_values(attack_statistic, "attack_statistic", infinite=True)
        if statistic.shape != scores.shape:
            raise ValueError(
                f"attack_statistic has shape {statistic.shape}; expected {scores.shape}"
            )
    flagged = scores > threshold
    precision, recall, f1, balanced = _rates(flagged, found)
    constant = _rates(np.ones_like(found), found)
    return Effectiveness(
        n=len(scores),
        threshold=threshold,
        score_positive_rate=float(flagged.mean()),
        attack_positive_rate=float(found.mean()),
        precision=precision,
        recall=recall,
        f1=f1,
        balanced_accuracy=balanced,
        baseline_precision=constant[0],
        baseline_recall=constant[1],
        baseline_f1=constant[2],
        baseline_balanced_accuracy=constant[3],
        spearman=spearman(scores, statistic),
        auc=_auc(scores, found),
    )


def balanced_attack_accuracy(member_decisions: ArrayLike, nonmember_decisions: ArrayLike) -> float:
    """Mean of the true-positive and true-negative rates of an attack.

    Parameters
    ----------
    member_decisions : (n_in,) "member" decisions on members; nonmember_decisions : (n_out,).
    """
    rates = []
    for decisions, name in (
        (member_decisions, "member_decisions"),
        (nonmember_decisions, "nonmember_decisions"),
    ):
        flags = check_flags(decisions, name)
        if flags.ndim != 1 or not len(flags):
            raise ValueError(f"{name} has shape {flags.shape}; expected a non-empty vector")
        rates.append(float(flags.mean()))
    return 0.5 * (rates[0] + 1 - rates[1])


def _rates(flagged: np.ndarray, found: np.ndarray) -> tuple[float, float, float, float]:
    tp = int((flagged & found).sum())
    fp = int((flagged & ~found).sum())
    fn = int((~flagged & found).sum())
    tn = len(found) - tp - fp - fn
    recall, specificity = _ratio(tp, tp + fn), _ratio(tn, tn + fp)
    return (
        _ratio(tp, tp + fp),
        recall,
        _ratio(2 * tp, 2 * tp + fp + fn),
        0.5 * (recall + specificity),
    )


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else math.nan


def spearman(scores: np.ndarray, statistic: np.ndarray) -> float:
    """Rank correlation of two (n,) statistics; NaN when one of them has a single value."""
    from scipy.stats import spearmanr

    if len(scores) < 2 or np.ptp(scores) == 0 or (statistic == statistic[0]).all():
        return math.nan
    return float(spearmanr(scores, statistic).statistic)


def _auc(scores: np.ndarray, found: np.ndarray) -> float:
    from sklearn.metrics import roc_auc_score

    if found.all() or not found.any():
        return math.nan
    return float(roc_auc_score(found, scores))
