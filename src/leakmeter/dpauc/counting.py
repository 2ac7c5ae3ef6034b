"""Confusion counts per threshold and client: the one step whose cost grows with the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from leakmeter.dpauc.arguments import check_integer, check_numbers, seeded
from leakmeter.dpauc.records import check_records, stable_order
from leakmeter.runtime import UserError

ASSIGNMENTS = ("iid", "non_iid")


@dataclass(frozen=True, kw_only=True, eq=False)
class Counts:
    """True/false positives/negatives at T descending thresholds, pooled or per client.

    Attributes
    ----------
    tp, fp, tn, fn : int64, (T,) if pooled, (K, T) if per client.

    Invariants, checked on construction (ValueError): equal shapes, nothing negative, the classes'
    sizes ``tp + fn`` and ``fp + tn`` do not depend on the threshold, and ``tp`` and ``fp`` never
    fall along the thresholds (which descend).
    """

    tp: np.ndarray
    fp: np.ndarray
    tn: np.ndarray
    fn: np.ndarray

    def __post_init__(self) -> None:
        arrays = {name: np.asarray(getattr(self, name)) for name in ("tp", "fp", "tn", "fn")}
        shape = arrays["tp"].shape
        for name, array in arrays.items():
            if not np.issubdtype(array.dtype, np.integer):
                raise ValueError(f"{name} has the type {array.dtype}; expected integers")
            if array.shape != shape or array.ndim not in (1, 2) or array.size == 0:
                raise ValueError(
                    f"{name} has shape {array.shape} and tp {shape}; expected (T,) or (K, T) for all"
                )
            if array.min() < 0:
                raise ValueError(f"{name} holds {array.min()}; counts are at least 0")
            object.__setattr__(self, name, array.astype(np.int64, copy=False))
        for name, total in (("tp + fn", self.tp + self.fn), ("fp + tn", self.fp + self.tn)):
            if (total != total[..., :1]).any():
                raise ValueError(f"{name} changes along the thresholds; a class has one size")
        for name in ("tp", "fp"):
            if (np.diff(getattr(self, name), axis=-1) < 0).any():
                raise ValueError(f"{name} falls along the thresholds; they must be descending")

    @property
    def n_thresholds(self) -> int:
        return self.tp.shape[-1]

    @property
    def n_clients(self) -> int | None:
        """Number of clients K, or None for pooled counts."""
        return self.tp.shape[0] if self.tp.ndim == 2 else None

    @property
    def positives(self) -> np.ndarray:
        """Number of positive records: a scalar, or (K,)."""
        return (self.tp + self.fn)[..., 0]

    @property
    def negatives(self) -> np.ndarray:
        """Number of negative records: a scalar, or (K,)."""
        return (self.fp + self.tn)[..., 0]

    def pooled(self) -> Counts:
        """Sums over the clients."""
        if self.n_clients is None:
            return self
        return Counts(tp=self.tp.sum(0), fp=self.fp.sum(0), tn=self.tn.sum(0), fn=self.fn.sum(0))

    def stacked(self) -> np.ndarray:
        """(4, T) or (K, 4, T): the counts in the order tp, fp, tn, fn."""
        return np.stack([self.tp, self.fp, self.tn, self.fn], axis=-2)

    def bins(self) -> tuple[np.ndarray, np.ndarray]:
        """Pooled positives and negatives between neighbouring thresholds.

        Two (T + 1,) arrays: at or above the first threshold, between each and the next, and below
        the last one. A threshold that repeats its predecessor has an empty bin.
        """
        pooled = self.pooled()
        return (
            np.diff(pooled.tp, prepend=0, append=pooled.positives),
            np.diff(pooled.fp, prepend=0, append=pooled.negatives),
        )


def check_thresholds(thresholds: ArrayLike) -> np.ndarray:
    """Thresholds as (T,) float64; :class:`UserError` unless non-increasing, finite, non-empty."""
    thresholds = check_numbers("thresholds", thresholds)
    if (np.diff(thresholds) > 0).any():
        at = int((np.diff(thresholds) > 0).argmax()) + 1
        raise UserError(
            f"thresholds[{at}] = {thresholds[at]} exceeds the one before it;"
            " expected descending order"
        )
    return thresholds


def bin_index(scores: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """(M,) index of the bin of :meth:`Counts.bins` that each score falls into.

    Equal to the number of thresholds above the score. Scores are widened to float64, which is
    exact, so the comparison ``score >= threshold`` is that of the two real numbers: the float32
    nearest to 0.2 lies above the float64 nearest to 0.2 and counts as a positive prediction there,
    the float32 nearest to 0.7 lies below its threshold and does not.
    """
    at_or_below = np.searchsorted(
        thresholds[::-1], scores.astype(np.float64, copy=False), side="right"
    )
    return thresholds.size - at_or_below


def count(
    scores: ArrayLike,
    labels: ArrayLike,
    thresholds: ArrayLike,
    clients: ArrayLike | None = None,
    *,
    n_clients: int | None = None,
    both_classes: bool = True,
) -> Counts:
    """Confusion counts at each threshold, pooled or for each client.

    A record is predicted positive iff ``score >= threshold``, compared as real numbers (see
    :func:`bin_index`). Cost: one search among T thresholds per record, whatever the number of
    clients.

    Parameters
    ----------
    scores : (M,) numbers, no NaN.
    labels : (M,) of 0 and 1.
    thresholds : (T,) descending; duplicates allowed.
    clients : (M,) integers in [0, K), the owner of each record; None pools all records.
    n_clients : K; needed if the last clients may own no record (they still answer every threshold).
        By default one more than the largest entry of ``clients``.
    both_classes : refuse a set in which one class is empty. A private release may not: whether it
        refuses would tell.

    Returns
    -------
    Counts of shape (T,) without ``clients``, else (K, T).

    Raises
    ------
    UserError : NaN, labels other than 0 and 1, unequal lengths, no record, one class only (if
        ``both_classes``), thresholds out of order, client numbers outside [0, K).
    """
    scores, positive = check_records(scores, labels, both_classes=both_classes)
    thresholds = check_thresholds(thresholds)
    bins = bin_index(scores, thresholds)
    width = thresholds.size + 1
    cell = bins + width * positive
    rows = 1
    if clients is not None:
        clients, rows = _check_clients(clients, n_clients, scores.size)
        cell += clients * (2 * width)
    elif n_clients is not None:
        raise UserError("n_clients is given without clients; expected both or neither")
    histogram = np.bincount(cell, minlength=rows * 2 * width).reshape(rows, 2, width)
    at_least = np.cumsum(histogram, axis=-1)
    fp, tp = at_least[:, 0, :-1], at_least[:, 1, :-1]
    n, p = at_least[:, 0, -1:], at_least[:, 1, -1:]
    if clients is None:
        fp, tp, n, p = fp[0], tp[0], n[0], p[0]
    return Counts(tp=tp, fp=fp, tn=n - fp, fn=p - tp)


def _check_clients(clients: ArrayLike, k: int | None, records: int) -> tuple[np.ndarray, int]:
    clients = np.asarray(clients)
    if clients.shape != (records,):
        raise UserError(f"clients has shape {clients.shape}; expected ({records},), one per record")
    if not np.issubdtype(clients.dtype, np.integer):
        raise UserError(f"clients has the type {clients.dtype}; expected integers")
    low, high = int(clients.min()), int(clients.max())
    if k is None:
        k = high + 1
    if low < 0 or high >= k:
        raise UserError(f"clients holds numbers from {low} to {high}; expected 0 to {k - 1}")
    return clients.astype(np.int64, copy=False), k


def assign_clients(
    scores: ArrayLike, *, clients: int, assignment: str, seed: int | None = None
) -> np.ndarray:
    """Give every record to one of K clients.

    Parameters
    ----------
    scores : (M,) numbers; only their order matters, and only for ``"non_iid"``.
    clients : K >= 1.
    assignment :
        - ``"iid"``: each record to a uniformly random client, independently (sizes vary);
        - ``"non_iid"``: records sorted by score, ascending, ties in row order, and cut into K equal
          blocks: the record of rank r belongs to client ``int(r / (M / K))``.
    seed : needed for ``"iid"``, unused otherwise.

    Returns
    -------
    (M,) int64 in [0, K). With M < K some clients own no record.
    """
    scores = np.asarray(scores)
    if scores.ndim != 1 or scores.size == 0:
        raise UserError(f"scores have shape {scores.shape}; expected (M,) with M >= 1")
    check_integer("number of clients", clients)
    if assignment == "iid":
        if seed is None:
            raise UserError("assignment 'iid' is random; expected a seed")
        return seeded(seed).integers(0, clients, size=scores.size)
    if assignment != "non_iid":
        raise UserError(f"assignment is {assignment!r}; expected one of {', '.join(ASSIGNMENTS)}")
    owner = np.empty(scores.size, dtype=np.int64)
    block = scores.size / clients
    ranks = np.arange(scores.size)
    # The division may round up to K for the last rank.
    owner[stable_order(scores)] = np.minimum((ranks / block).astype(np.int64), clients - 1)
    return owner
