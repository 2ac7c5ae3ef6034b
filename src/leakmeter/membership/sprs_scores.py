"""SPRS: Song and Mittal's privacy risk score, the posterior probability that a record is a member."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from leakmeter.membership.argument_checks import (
    check_integer,
    check_labels,
    check_number,
    check_values,
    require_classes,
)
from leakmeter.membership.entropy_attack import split_by_class
from leakmeter.runtime import UserError


@dataclass(frozen=True)
class SprsHistograms:
    """Class-wise histograms of the modified entropy and the posterior they give.

    log_edges : (classes, bins + 1) edges, equally spaced in the logarithm of the entropy in nats.
    posterior : (classes, bins) ``h_in / (h_in + h_out)`` of the normalised histograms; an empty bin
        has the value of the nearest one that is not (the lower of two).
    floor : entropies below it were counted as equal to it.
    floored : how many of the fitted entropies were, members and non-members.
    """

    log_edges: np.ndarray
    posterior: np.ndarray
    floor: float
    floored: tuple[int, int]

    def scores(self, entropy: ArrayLike, labels: ArrayLike) -> np.ndarray:
        """(n,) posterior membership probability; values beyond the edges fall in the end bins."""
        entropy = _entropies(entropy, "entropy")
        labels = check_labels(labels, len(entropy), len(self.posterior))
        values = np.log(np.maximum(entropy, self.floor))
        scores = np.empty(len(values))
        for label in np.unique(labels):
            mine = labels == label
            scores[mine] = self.posterior[label][_bins(self.log_edges[label], values[mine])]
        return scores


def fit_sprs(
    member_entropy: ArrayLike,
    member_labels: ArrayLike,
    nonmember_entropy: ArrayLike,
    nonmember_labels: ArrayLike,
    *,
    n_classes: int,
    bins: int = 5,
    floor: float = 1e-10,
) -> SprsHistograms:
    """Fit ``r(z) = P(M | in, y) / (P(M | in, y) + P(M | out, y))`` with equal priors.

    Per class the bins divide the range of the logarithm of both sides' entropies equally.

    Parameters
    ----------
    member_entropy, member_labels : (n_in,) of training records (the paper's: of the target model).
    nonmember_entropy, nonmember_labels : (n_out,).
    bins : 5 in the reference implementation; 15 in the paper it comes from.
    floor : entropies below are counted as this, as in the reference implementation: logarithmic
        bins down to a saturated 1e-300 would hold nothing. How many were is in the result.

    Raises
    ------
    UserError : NaN, negative or infinite entropies, a label out of range, a class absent from
        either side, ``bins < 1``, ``n_classes < 1``, ``floor <= 0``.
    """
    n_classes = check_integer(n_classes, "n_classes", 1)
    bins = check_integer(bins, "bins", 1)
    floor = check_number(floor, "floor", lambda f: 0 < f < np.inf, "a positive entropy")
    sides, floored = [], []
    for values, labels, name in (
        (member_entropy, member_labels, "member"),
        (nonmember_entropy, nonmember_labels, "nonmember"),
    ):
        values = _entropies(values, f"{name}_entropy")
        labels = check_labels(labels, len(values), n_classes, f"{name}_labels")
        require_classes(labels, n_classes, f"{name}_labels")
        floored.append(int((values < floor).sum()))
        sides.append(split_by_class(np.log(np.maximum(values, floor)), labels, n_classes))
    fitted = [_fit_class(inside, outside, bins) for inside, outside in zip(*sides, strict=True)]
    log_edges, posterior = (np.array(part) for part in zip(*fitted, strict=True))
    return SprsHistograms(log_edges, posterior, floor, tuple(floored))


def sprs(
    member_entropy: ArrayLike,
    member_labels: ArrayLike,
    nonmember_entropy: ArrayLike,
    nonmember_labels: ArrayLike,
    *,
    n_classes: int,
    bins: int = 5,
    floor: float = 1e-10,
) -> np.ndarray:
    """Privacy risk score of each member, the histograms fitted on the same records.

    The target model as its own shadow, as in the paper. For other records or independent shadow
    models use :func:`fit_sprs` and :meth:`SprsHistograms.scores`. Parameters and errors: see
    :func:`fit_sprs`.

    Returns
    -------
    (n_in,) float64 in [0, 1]; above 0.5 the record looks like a member.
    """
    fitted = fit_sprs(
        member_entropy,
        member_labels,
        nonmember_entropy,
        nonmember_labels,
        n_classes=n_classes,
        bins=bins,
        floor=floor,
    )
    return fitted.scores(member_entropy, member_labels)


def _entropies(values: ArrayLike, name: str) -> np.ndarray:
    values = check_values(values, name)
    if (values < 0).any():
        row = int(np.argmax(values < 0))
        raise UserError(f"{name}[{row}] is {values[row]}; expected entropies of at least 0")
    return values


def _bins(edges: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Bin of each value: closed on the left, the last bin on both sides, clipped to the range."""
    return np.searchsorted(edges[1:-1], values, side="right")


def _fit_class(inside: np.ndarray, outside: np.ndarray, bins: int) -> tuple[np.ndarray, np.ndarray]:
    low = min(inside.min(), outside.min())
    high = max(inside.max(), outside.max())
    edges = np.linspace(low, high, bins + 1)
    h_in, h_out = (
        np.bincount(_bins(edges, side), minlength=bins) / len(side) for side in (inside, outside)
    )
    filled = np.flatnonzero(h_in + h_out)
    # ties go to the lower bin: argmin takes the first of equal distances
    nearest = filled[np.abs(np.arange(bins)[:, None] - filled).argmin(axis=1)]
    return edges, h_in[nearest] / (h_in + h_out)[nearest]
