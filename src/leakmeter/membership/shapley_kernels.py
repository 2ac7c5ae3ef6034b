"""Compiled kernels of K-NN Shapley: distances, blocks of ties, the averaged recursion.

All of them release the GIL and are single-threaded: :mod:`.shapley` runs them on several blocks of
test records at once, and what one block gives does not depend on the others.
"""

from __future__ import annotations

import numpy as np
from numba import njit

#: Training records per tile; a multiple of every SIMD width, so that no record is ever handled by
#: a remainder loop that might round differently.
TILE = 1024
LANES = 64


@njit(nogil=True, cache=True, fastmath={"contract"})
def squared_distances(train_t: np.ndarray, tests: np.ndarray, tile: int, out: np.ndarray) -> None:
    """Squared Euclidean distances, summed over the features in their order.

    Differences are squared, not expanded into ``|x|^2 - 2xt + |t|^2``: the expansion cancels, and
    would call all distances below about 1e-8 equal, which is where saturated outputs live. Each
    pair is one lane of the inner loop, so that its value depends on its two rows only: not on the
    position of the row, the block or the number of threads.

    Parameters
    ----------
    train_t : (d, n_padded) float64, training records in columns, ``n_padded`` a multiple of ``tile``.
    tests : (b, d) float64.
    tile : columns handled at a time, a multiple of ``LANES``.
    out : (b, n_padded) float64, written.
    """
    d, padded = train_t.shape
    for start in range(0, padded, tile):
        stop = start + tile
        for row in range(tests.shape[0]):
            total = out[row, start:stop]
            total[:] = 0.0
            f = 0
            # four features at a time, so that the running totals leave the registers less often
            while f + 4 <= d:
                t0, t1 = tests[row, f], tests[row, f + 1]
                t2, t3 = tests[row, f + 2], tests[row, f + 3]
                x0, x1 = train_t[f, start:stop], train_t[f + 1, start:stop]
                x2, x3 = train_t[f + 2, start:stop], train_t[f + 3, start:stop]
                for j in range(tile):
                    a = total[j]
                    v = x0[j] - t0
                    a += v * v
                    v = x1[j] - t1
                    a += v * v
                    v = x2[j] - t2
                    a += v * v
                    v = x3[j] - t3
                    a += v * v
                    total[j] = a
                f += 4
            while f < d:
                t0 = tests[row, f]
                x0 = train_t[f, start:stop]
                for j in range(tile):
                    v = x0[j] - t0
                    total[j] += v * v
                f += 1


@njit(nogil=True, cache=True)
def _along_the_order(
    distances: np.ndarray,
    order: np.ndarray,
    train_codes: np.ndarray,
    label: int,
    tolerance: float,
    average: bool,
    match: np.ndarray,
    tied: np.ndarray,
) -> None:
    """Fill ``match`` (1.0 or 0.0) and ``tied`` (with the record before) from nearest to farthest.

    A pass of its own: gathers in one simple loop are several times faster than inside the
    recursion.
    """
    before = 0.0
    for j in range(order.shape[0]):
        record = order[j]
        distance = distances[record]
        match[j] = 1.0 if train_codes[record] == label else 0.0
        tied[j] = average and j > 0 and distance - before <= tolerance * distance
        before = distance


@njit(nogil=True, cache=True)
def add_values(
    distances: np.ndarray,
    order: np.ndarray,
    train_codes: np.ndarray,
    test_codes: np.ndarray,
    weights: np.ndarray,
    tolerance: float,
    average: bool,
    out: np.ndarray,
) -> None:
    """Add the values of a block of test records to ``out`` (formula: :mod:`.shapley`).

    Parameters
    ----------
    distances : (b, >= n) squared distances; order : (b, n) their sorting permutations.
    train_codes : (n,), test_codes : (b,) integer labels.
    weights : (n + 1,) with ``weights[j] = 1 / max(k, j)``.
    tolerance : relative gap of squared distances up to which neighbours in order are tied.
    average : average over the orders of ties; otherwise ``order`` is taken as it is.
    out : (b, n) for one row per test record, or (1, n) for their sum.
    """
    n = order.shape[1]
    match, tied = np.empty(n), np.empty(n, np.bool_)
    for row in range(order.shape[0]):
        rank, values = order[row], out[min(row, out.shape[0] - 1)]
        _along_the_order(
            distances[row], rank, train_codes, test_codes[row], tolerance, average, match, tied
        )
        tail = 0.0  # T: sum over farther positions j of E[match_j] (w_{j-1} - w_j)
        last = n - 1
        while last >= 0:
            nearest = weights[last + 1]  # positions count from 0, the weights from 1
            if not tied[last]:
                values[rank[last]] += match[last] * nearest - tail
                tail += match[last] * (weights[last] - nearest)
                last -= 1
                continue
            first = last
            while tied[first]:
                first -= 1
            size = last - first + 1
            matches, total, excess = 0.0, 0.0, 0.0
            for p in range(first, last + 1):
                matches += match[p]
                total += weights[p + 1]
                excess += weights[p + 1] - nearest
            spread = excess / (size - 1)
            own = (total - (matches - 1.0) * spread) / size - tail
            other = -matches * spread / size - tail
            for p in range(first, last + 1):
                values[rank[p]] += own if match[p] == 1.0 else other
            tail += matches / size * (weights[first] - nearest)
            last = first - 1


@njit(nogil=True, cache=True)
def utilities_and_ties(
    distances: np.ndarray,
    order: np.ndarray,
    train_codes: np.ndarray,
    test_codes: np.ndarray,
    k: int,
    tolerance: float,
    average: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per test record: K-NN utility, number of records in a tie, size of the largest tie.

    The utility is counted from the K nearest records, independently of the recursion: a tied block
    that reaches beyond the K-th place enters with its share of matches.
    """
    b, n = order.shape
    match, tied = np.empty(n), np.empty(n, np.bool_)
    utility, in_ties, largest = np.zeros(b), np.zeros(b, np.int64), np.ones(b, np.int64)
    for row in range(b):
        _along_the_order(
            distances[row],
            order[row],
            train_codes,
            test_codes[row],
            tolerance,
            average,
            match,
            tied,
        )
        first = 0
        while first < n:
            matches, end = match[first], first + 1
            while end < n and tied[end]:
                matches += match[end]
                end += 1
            size = end - first
            if size > 1:
                in_ties[row] += size
                largest[row] = max(largest[row], size)
            inside = min(end, k) - first
            if inside > 0:
                utility[row] += matches * inside / size / k
            first = end
    return utility, in_ties, largest
