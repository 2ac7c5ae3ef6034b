"""ROC of a membership score, and the true-positive rate at a low false-positive rate."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from leakmeter.membership.argument_checks import check_flags, check_number, check_values
from leakmeter.runtime import UserError


@dataclass(frozen=True)
class Roc:
    """fpr, tpr, thresholds : (points,), one per distinct score and the origin; auc : area."""

    fpr: np.ndarray
    tpr: np.ndarray
    thresholds: np.ndarray
    auc: float


@dataclass(frozen=True)
class TprAtFpr:
    """True-positive rate at no more than a given false-positive rate, and what it rests on.

    max_fpr : what was asked for; allowed : ``floor(max_fpr * nonmembers)`` false positives.
    threshold : records with a score of at least this are called members.
    tpr, fpr : the rates there; true_positives, false_positives : the records behind them.
    """

    max_fpr: float
    allowed: int
    threshold: float
    tpr: float
    fpr: float
    true_positives: int
    false_positives: int
    members: int
    nonmembers: int

    @property
    def resolved(self) -> bool:
        """Whether ``max_fpr`` stands for at least one non-member; if not, it was really 0."""
        return self.allowed >= 1


def roc(scores: ArrayLike, members: ArrayLike) -> Roc:
    """ROC curve with every threshold kept (scikit-learn's; high scores point to members).

    Parameters
    ----------
    scores : (n,) finite. members : (n,) booleans, both values present.
    """
    from sklearn.metrics import auc, roc_curve

    scores, members = _checked(scores, members)
    fpr, tpr, thresholds = roc_curve(members, scores, drop_intermediate=False)
    return Roc(fpr, tpr, thresholds, float(auc(fpr, tpr)))


def tpr_at_fpr(scores: ArrayLike, members: ArrayLike, max_fpr: float) -> TprAtFpr:
    """The highest true-positive rate of any threshold with ``fpr <= max_fpr``; no interpolation.

    Parameters
    ----------
    scores : (n,) finite. members : (n,) booleans, both values present.
    max_fpr : in [0, 1].

    Raises
    ------
    UserError : NaN or infinite scores, one class only, ``max_fpr`` outside [0, 1].
    """
    scores, members = _checked(scores, members)
    max_fpr = check_number(max_fpr, "max_fpr", lambda r: 0 <= r <= 1, "a rate from 0 to 1")
    inside, outside = scores[members], np.sort(scores[~members])[::-1]
    # 0.29 * 100 is a little less than 29
    allowed = math.floor(max_fpr * len(outside) * (1 + 1e-12))
    # all scores above the first non-member that must stay out
    bar = outside[allowed] if allowed < len(outside) else -np.inf
    caught = scores[scores > bar]
    threshold = float(caught.min()) if len(caught) else math.inf
    tp, fp = int((inside > bar).sum()), int((outside > bar).sum())
    return TprAtFpr(
        max_fpr=max_fpr,
        allowed=allowed,
        threshold=threshold,
        tpr=tp / len(inside),
        fpr=fp / len(outside),
        true_positives=tp,
        false_positives=fp,
        members=len(inside),
        nonmembers=len(outside),
    )


def _checked(scores: ArrayLike, members: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    scores = check_values(scores, "scores")
    members = check_flags(members, "members", scores.shape)
    if members.all() or not members.any():
        held = "members" if members.all() else "non-members"
        raise UserError(f"members: the records are all {held}; expected both kinds")
    return scores, members
