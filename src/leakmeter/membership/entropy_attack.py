"""The modified-entropy attack (I_ment) of Song and Mittal, "Systematic evaluation of privacy risks
of machine learning models" (USENIX Security 2021)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from leakmeter.membership.argument_checks import (
    check_integer,
    check_labels,
    check_number,
    check_values,
    require_classes,
)
from leakmeter.membership.model_outputs import log_probabilities, log_weights
from leakmeter.membership.threshold_search import best_threshold
from leakmeter.runtime import UserError


def modified_entropy(
    probabilities: ArrayLike,
    labels: ArrayLike,
    *,
    from_logits: bool = False,
    clamp: float | None = None,
) -> np.ndarray:
    """``M(p, y) = -(1 - p_y) log p_y - sum_{i != y} p_i log(1 - p_i)``, in nats.

    Evaluated in logarithms in float64: for a confident model ``1 - p`` is the sum of the other
    classes, not a difference that rounds to 0. From logits that are at most m apart the relative error
    is about (1 + m) eps, which is what a rounding of the logits makes of it; probabilities are only
    as good as they were stored (float32 softmax rounds to exactly 1 at a margin of about 17).

    Parameters
    ----------
    probabilities : (n, classes) probabilities, or logits with ``from_logits=True``.
    labels : (n,) integers from 0 to classes - 1.
    clamp : lower limit of ``p_y`` and ``1 - p_i`` inside the logarithms (the reference
        implementation has 1e-30). Without it an infinite entropy is refused.

    Returns
    -------
    (n,) float64, >= 0; low for members.

    Raises
    ------
    UserError : not real numbers, NaN, infinity, not probabilities, logits whose differences overflow,
        a label out of range; an infinite entropy (true class of probability 0, or another of
        probability 1).

    Warns
    -----
    RuntimeWarning : when records tie at an entropy of exactly 0, because the probabilities given
        were already rounded to 1 or the margin exceeds about 370 (M falls as ``exp(-2 margin)``).

    Examples
    --------
    >>> modified_entropy([[0.5, 0.5], [1000.0, 0.0]], [0, 1], from_logits=True)
    array([6.93147181e-01, 2.00000000e+03])
    """
    weights = log_weights(probabilities, from_logits=from_logits, name="probabilities")
    n, classes = weights.shape
    labels = check_labels(labels, n, classes)
    log_p, log_q = log_probabilities(weights)
    p, rest = np.exp(log_p), np.exp(log_q)  # before clamping: it concerns the logarithms only
    if clamp is not None:
        expected = "a probability above 0 and below 1"
        clamp = check_number(clamp, "clamp", lambda c: 0 < c < 1, expected)
        log_p, log_q = np.maximum(log_p, np.log(clamp)), np.maximum(log_q, np.log(clamp))
    rows = np.arange(n)
    terms = -p * log_q
    terms[rows, labels] = -rest[rows, labels] * log_p[rows, labels]
    entropy = terms.sum(axis=1) + 0.0  # no negative zeros
    _report_saturation(entropy)
    return entropy


def _report_saturation(entropy: np.ndarray) -> None:
    infinite = np.isinf(entropy)
    if infinite.any():
        raise UserError(
            f"probabilities: the modified entropy of record {int(np.argmax(infinite))} "
            f"({int(infinite.sum())} of {len(entropy)}) is infinite because a probability is exactly "
            "0 or 1; expected logits (from_logits=True) or a clamp"
        )
    zero = int((entropy == 0).sum())
    if zero > 1:
        warnings.warn(
            f"{zero} of {len(entropy)} records have a modified entropy of exactly 0: "
            "their order is lost (pass logits in float64)",
            RuntimeWarning,
            stacklevel=3,
        )


@dataclass(frozen=True)
class EntropyAttack:
    """Thresholds on the modified entropy: record (x, y) is called a member if ``M <= thresholds[y]``.

    thresholds : (classes,).
    shadow : where they were fitted. ``"target"``: on the attacked records themselves, which the
        paper does and which makes every rate measured on them optimistic; ``"independent"``: on
        shadow models' records; ``"none"``: not fitted.
    """

    thresholds: np.ndarray
    shadow: Literal["target", "independent", "none"]

    @property
    def optimistic(self) -> bool:
        """Whether the thresholds were chosen on the records they are used on."""
        return self.shadow == "target"

    def members(self, entropy: ArrayLike, labels: ArrayLike) -> np.ndarray:
        """(n,) booleans: which records the attack calls members."""
        entropy = check_values(entropy, "entropy", infinite=True)
        labels = check_labels(labels, len(entropy), len(self.thresholds))
        return entropy <= self.thresholds[labels]


def fit_entropy_attack(
    member_entropy: ArrayLike,
    member_labels: ArrayLike,
    nonmember_entropy: ArrayLike,
    nonmember_labels: ArrayLike,
    *,
    n_classes: int,
    shadow: Literal["target", "independent"],
) -> EntropyAttack:
    """I_ment: per class the threshold of the highest balanced accuracy (O(n log n) in all).

    Parameters
    ----------
    member_entropy, member_labels : (n_in,) of the shadow models' training records.
    nonmember_entropy, nonmember_labels : (n_out,) of records they did not train on. With several
        shadow models, concatenate.
    shadow : ``"target"`` when these are the records that will be attacked (the target model is its
        own shadow), else ``"independent"``; kept with the attack, see :class:`EntropyAttack`.

    Raises
    ------
    UserError : NaN, a label out of range, a class absent from either side, ``n_classes < 1``.
    """
    if shadow not in ("target", "independent"):
        raise UserError(f"shadow is {shadow!r}; expected 'target' or 'independent'")
    n_classes = check_integer(n_classes, "n_classes", 1)
    sides = []
    for values, labels, name in (
        (member_entropy, member_labels, "member"),
        (nonmember_entropy, nonmember_labels, "nonmember"),
    ):
        values = check_values(values, f"{name}_entropy", infinite=True)
        labels = check_labels(labels, len(values), n_classes, f"{name}_labels")
        require_classes(labels, n_classes, f"{name}_labels")
        sides.append(split_by_class(values, labels, n_classes))
    thresholds = [best_threshold(a, b, member_if="low").value for a, b in zip(*sides, strict=True)]
    return EntropyAttack(np.array(thresholds), shadow)


def fixed_entropy_attack(n_classes: int, *, threshold: float = 0.5) -> EntropyAttack:
    """The rule that I_ment replaced: one threshold, 0.5 nats of modified entropy, for all classes."""
    n_classes = check_integer(n_classes, "n_classes", 1)
    threshold = check_number(threshold, "threshold", lambda t: t == t, "a number of nats")
    return EntropyAttack(np.full(n_classes, threshold), "none")


def split_by_class(values: np.ndarray, labels: np.ndarray, n_classes: int) -> list[np.ndarray]:
    """The values of each class, from one sort of the labels."""
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels, minlength=n_classes))
    return np.split(values[order], ends[:-1])
