"""The clean AUC behind one that was measured on randomly flipped labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from leakmeter.runtime import UserError


class Debiased(NamedTuple):
    """Result of :func:`debias`; each array has the broadcast shape of its inputs."""

    auc: np.ndarray
    alpha: np.ndarray
    beta: np.ndarray
    base_rate: np.ndarray


def debias(
    noisy_auc: ArrayLike,
    *,
    noisy_positives: ArrayLike,
    noisy_negatives: ArrayLike,
    p: float,
    q: float,
    base_rate: ArrayLike | None = None,
) -> Debiased:
    """Undo the effect of class-conditional label noise on the AUC (Menon et al., ICML 2015).

    With pi the share of true positives, alpha = P(y=0 | noisy 1) and beta = P(y=1 | noisy 0),
    the AUC on noisy labels is ``(1 - alpha - beta) * clean + (alpha + beta) / 2`` in expectation.

    Parameters
    ----------
    noisy_auc : AUC with respect to the noisy labels.
    noisy_positives, noisy_negatives : class sizes after the flips.
    p, q : probability that a positive, a negative label is flipped.
    base_rate : pi if it is public, or estimates that broadcast with the AUCs. By default it is
        estimated from the noisy class sizes, as
        ``(noisy_positives (1 - q) - noisy_negatives q) / (1 - p - q) / M``; the estimate may fall
        outside [0, 1] and is not clipped.

    Returns
    -------
    Debiased : ``auc`` is not clipped to [0, 1]. It is NaN where it is undefined: ``p + q = 1`` (the
        noisy labels say nothing), no noisy positive or no noisy negative, or an estimated base rate
        of exactly 0 or 1 (then ``1 - alpha - beta = 0``).
    """
    for name, rate in (("p", p), ("q", q)):
        if not 0 <= rate <= 1:
            raise UserError(f"flip rate {name} is {rate}; expected a number in [0, 1]")
    if base_rate is not None and not np.all(np.greater(base_rate, 0) & np.less(base_rate, 1)):
        raise UserError(f"base_rate is {base_rate}; expected a number strictly between 0 and 1")
    noisy_auc, positives, negatives = np.broadcast_arrays(
        np.asarray(noisy_auc, np.float64),
        np.asarray(noisy_positives, np.float64),
        np.asarray(noisy_negatives, np.float64),
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        if base_rate is None:
            pi = (positives * (1 - q) - negatives * q) / (1 - p - q) / (positives + negatives)
        else:
            pi = np.full_like(noisy_auc, base_rate)
        alpha = (1 - pi) * q / (pi * (1 - p) + (1 - pi) * q)
        beta = pi * p / (pi * p + (1 - pi) * (1 - q))
        clean = (noisy_auc - (alpha + beta) / 2) / (1 - alpha - beta)
    defined = (positives > 0) & (negatives > 0) & (p + q != 1) & (pi != 0) & (pi != 1)
    return Debiased(np.where(defined, clean, np.nan), alpha, beta, pi)
