"""Shapley values of training records for the utility of a K-nearest-neighbour classifier.

SHAPr (Duddu, Szyller, Asokan, arXiv 2112.02230) takes them, computed on a model's outputs, as
membership-risk scores; the recursion is that of Jia et al., "Efficient task-specific data valuation
for nearest neighbor algorithms" (VLDB 2019).

Ties
----
For one test record let the n training records be sorted by distance, ``a_j = 1`` if the label of
the j-th equals the test label and 0 otherwise, and ``w_j = 1 / max(K, j)`` (``w_0 = 1/K``). The
farthest record has ``phi_n = a_n w_n`` (it matters only to sets of fewer than K others, a share
``min(K, n)/n`` of the sizes), and ``phi_i = phi_{i+1} + (a_i - a_{i+1}) w_i``. Summed by parts::

    phi_i = a_i w_i - sum_{j > i} a_j (w_{j-1} - w_j)

Where distances tie, the K-NN classifier itself depends on the order of the rows. Average over all
orders of every tied block. Let a block hold places s..e, ``m = e - s + 1`` records, M of them
matching. A record r of it stands at each place p with probability 1/m, and every other place of the
block then matches with probability ``(M - a_r)/(m - 1)``; blocks are independent, and a place j of
a farther block matches with probability ``abar_j``, that block's share of matches. The differences
telescope, ``sum_{j=p+1}^{e} (w_{j-1} - w_j) = w_p - w_e``, so that::

    E phi_r = a_r S/m - (M - a_r)/(m (m - 1)) (S - m w_e) - T_e

    S   = sum_{p=s}^{e} w_p
    T_e = sum_{j > e} abar_j (w_{j-1} - w_j),    T_{s-1} = T_e + (M/m) (w_{s-1} - w_e)

The middle term is absent for m = 1. Each block costs its own length, so a test record costs
O(n log n), the sort. The sum over the records is ``sum_{j <= min(K, n)} abar_j / K``: the mean
utility over the orders (efficiency), since every order has it.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from numbers import Number
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

import leakmeter.membership.shapley_kernels as kernels
from leakmeter.membership.argument_checks import as_array, check_integer, check_matrix, check_number
from leakmeter.runtime import UserError

#: Relative gap between squared distances up to which two records are tied; see :func:`knn_shapley`.
TIE_TOLERANCE = 1e-12

logger = logging.getLogger("leakmeter")

#: Seconds between two messages on how far long work is.
_PROGRESS_SECONDS = 10.0

#: Distances held at a time by one thread. Fixed, so that sums do not depend on the threads.
_BLOCK_ELEMENTS = 1 << 20

Ties = Literal["average", "row-order"]
Progress = Callable[[int, int], None]


def knn_shapley(
    train_x: ArrayLike,
    train_y: ArrayLike,
    test_x: ArrayLike,
    test_y: ArrayLike,
    *,
    k: int,
    ties: Ties = "average",
    tie_tolerance: float | None = None,
    threads: int | None = None,
    progress: Progress | bool = True,
) -> np.ndarray:
    """Exact Shapley value of every training record for K-NN, the mean over the test records.

    The feature space is the caller's: model outputs (SHAPr), raw inputs, a hidden layer. Formula
    and derivation: this module's docstring.

    Parameters
    ----------
    train_x : (n_train, d) real, finite. test_x : (n_test, d).
    train_y : (n_train,) labels, numbers or not, compared exactly whatever their types.
        test_y : (n_test,). A test label that no training record has is allowed (no record can be
        right about it).
    k : number of neighbours, >= 1; may exceed n_train. The utility of a set S is the number of
        matching labels among its ``min(k, |S|)`` nearest records, divided by k.
    ties : ``"average"`` over all orders of tied records, or ``"row-order"``: the earlier row counts
        as nearer, as in other implementations, only to show what depends on it.
    tie_tolerance : neighbours in the order of distance are tied when their *squared* distances
        differ by at most this fraction of the larger (chained: a run of such neighbours is one
        block). Default: 1e-12, or twice the rounding bound ``(d + 2) eps`` where that is larger, so
        that records whose exact distances are equal always tie. Identical rows tie under any
        tolerance, including 0: their distances are computed by the same operations.
    threads : worker threads; by default the number the process is configured for. The result is
        the same, bit for bit, whatever it is.
    progress : True says on stderr every ten seconds how far it is (through the logger "leakmeter"
        where logging is set up); False is quiet; a function is called as
        ``progress(tests_done, n_test)`` after each block of test records.

    Returns
    -------
    (n_train,) float64. Their sum is the mean K-NN utility over the test records.

    Raises
    ------
    UserError : NaN or infinity in the features, a missing label (NaN, None), masked values, labels
        of different kinds, empty input, ``k < 1``.
    ValueError : shapes that do not fit.

    Notes
    -----
    Permuting training rows permutes the scores. Features are first multiplied by one power of two
    so that the largest is near 1 (exact): squares cannot overflow. Distances below about 1e-154 of
    the largest feature count as zero. Memory: one float64 copy of ``train_x`` and about 20 MB a
    thread, whatever ``n_train * n_test``.

    Examples
    --------
    >>> knn_shapley([[0.0], [1.0], [2.0]], [1, 0, 1], [[0.1]], [1], k=1)
    array([0.83333333, -0.16666667, 0.33333333])
    """
    problem = _Problem.prepare(train_x, train_y, test_x, test_y, k, ties, tie_tolerance)
    return problem.mean(threads=threads, progress=progress)


def knn_shapley_blocks(
    train_x: ArrayLike,
    train_y: ArrayLike,
    test_x: ArrayLike,
    test_y: ArrayLike,
    *,
    k: int,
    ties: Ties = "average",
    tie_tolerance: float | None = None,
    threads: int | None = None,
    progress: Progress | bool = True,
) -> Iterator[tuple[slice, np.ndarray]]:
    """The values per test record, in blocks: ``(tests, values)`` with values (len(tests), n_train).

    Parameters and errors are those of :func:`knn_shapley`, which is the mean of all rows. The
    blocks come in the order of the test records; the input is checked before the first is asked
    for. About a million values are held at a time by each thread.
    """
    problem = _Problem.prepare(train_x, train_y, test_x, test_y, k, ties, tie_tolerance)
    return problem.blocks(_rows_of_block, threads=threads, progress=progress)


def knn_shapley_by_group(
    train_x: ArrayLike,
    train_y: ArrayLike,
    test_x: ArrayLike,
    test_y: ArrayLike,
    groups: ArrayLike,
    *,
    k: int,
    ties: Ties = "average",
    tie_tolerance: float | None = None,
    threads: int | None = None,
    progress: Progress | bool = True,
) -> dict[Any, np.ndarray]:
    """:func:`knn_shapley` once per group of test records (``groups=test_y``: once per class).

    Parameters
    ----------
    groups : (n_test,) the group of each test record. Everything else: see :func:`knn_shapley`.

    Returns
    -------
    dict : group -> (n_train,), in sorted order of the groups; each the mean over that group's test
        records, so that the mean weighted by group sizes is the overall score.
    """
    problem = _Problem.prepare(train_x, train_y, test_x, test_y, k, ties, tie_tolerance)
    names, codes = _groups(groups, problem.n_test)
    scores, before, shown = {}, 0, _shown(progress)
    for code, name in enumerate(names.tolist()):
        part = problem.of_tests(np.flatnonzero(codes == code))

        def report(done: int, _: int, before: int = before) -> None:
            """Progress of the part as progress of the whole."""
            shown(before + done, problem.n_test)

        scores[name] = part.mean(threads=threads, progress=report if shown else False)
        before += part.n_test
    return scores


@dataclass(frozen=True)
class KnnDiagnostics:
    """What the scores rest on. With ``ties="row-order"`` no record counts as tied.

    utility : mean K-NN utility over the test records and the orders of ties; the scores sum to it.
    tied_share : share of (test, training) pairs whose distance ties with another training record's.
    largest_tie : records in the largest tied block of any test record.
    """

    utility: float
    tied_share: float
    largest_tie: int


def knn_diagnostics(
    train_x: ArrayLike,
    train_y: ArrayLike,
    test_x: ArrayLike,
    test_y: ArrayLike,
    *,
    k: int,
    ties: Ties = "average",
    tie_tolerance: float | None = None,
    threads: int | None = None,
    progress: Progress | bool = True,
) -> KnnDiagnostics:
    """Utility of the K-NN classifier and extent of the ties, not using the Shapley recursion.

    Parameters and errors: see :func:`knn_shapley`. ``abs(scores.sum() - utility)`` is the check of
    the efficiency axiom.
    """
    problem = _Problem.prepare(train_x, train_y, test_x, test_y, k, ties, tie_tolerance)
    utility, tied, largest = 0.0, 0, 1
    for _, (u, t, m) in problem.blocks(_diagnose_block, threads=threads, progress=progress):
        utility, tied, largest = utility + u.sum(), tied + int(t.sum()), max(largest, int(m.max()))
    pairs = problem.n_test * problem.n_train
    return KnnDiagnostics(float(utility / problem.n_test), tied / pairs, largest)


# --- blocks of test records ---------------------------------------------------------------------


@dataclass(frozen=True)
class _Problem:
    """Checked input in the layout the kernels want."""

    train_t: np.ndarray  # (d, padded) float64, scaled
    train_codes: np.ndarray  # (n_train,)
    test_x: np.ndarray  # (n_test, d) as given
    test_codes: np.ndarray  # (n_test,)
    scale: float
    k: int
    average: bool
    tolerance: float
    weights: np.ndarray  # (n_train + 1,)

    @property
    def n_train(self) -> int:
        """Training records, without the padding."""
        return len(self.train_codes)

    @property
    def n_test(self) -> int:
        """Test records."""
        return len(self.test_codes)

    @property
    def tile(self) -> int:
        """Training records the distances are computed for at a time."""
        return min(kernels.TILE, self.train_t.shape[1])

    @classmethod
    def prepare(cls, train_x, train_y, test_x, test_y, k, ties, tie_tolerance) -> _Problem:
        """Check the arguments of :func:`knn_shapley`, code the labels, scale and transpose."""
        train_x, test_x = check_matrix(train_x, "train_x"), check_matrix(test_x, "test_x")
        if train_x.shape[1] != test_x.shape[1]:
            raise ValueError(
                f"train_x has {train_x.shape[1]} features, test_x has {test_x.shape[1]}; expected the same"
            )
        n, d = train_x.shape
        codes = _codes(_labels(train_y, "train_y", n), _labels(test_y, "test_y", len(test_x)))
        k, average, tolerance = _options(k, ties, tie_tolerance, d)
        scale = _scale(train_x, test_x)
        padding = kernels.TILE if n > kernels.TILE else kernels.LANES
        train_t = np.zeros((d, -(-n // padding) * padding))
        # the transpose and the conversion at once: no second copy of the data
        np.multiply(train_x.T, scale, out=train_t[:, :n], dtype=np.float64, casting="unsafe")
        weights = 1.0 / np.maximum(np.arange(n + 1), k)
        return cls(train_t, codes[0], test_x, codes[1], scale, k, average, tolerance, weights)

    def of_tests(self, rows: np.ndarray) -> _Problem:
        """The same training records with some of the test records."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        values |= {"test_x": self.test_x[rows], "test_codes": self.test_codes[rows]}
        return _Problem(**values)

    def sorted_block(self, tests: slice) -> tuple[np.ndarray, np.ndarray]:
        """Squared distances (b, padded) and their sorting permutations (b, n_train)."""
        x = np.multiply(self.test_x[tests], self.scale, dtype=np.float64, casting="unsafe")
        distances = np.empty((len(x), self.train_t.shape[1]))
        kernels.squared_distances(self.train_t, np.ascontiguousarray(x), self.tile, distances)
        # the order within a tie does not matter when it is averaged over: take the fastest sort
        kind = None if self.average else "stable"
        return distances, np.argsort(distances[:, : self.n_train], axis=1, kind=kind)

    def blocks(
        self,
        compute: Callable[[_Problem, slice], Any],
        *,
        threads: int | None,
        progress: Progress | bool,
    ) -> Iterator[tuple[slice, Any]]:
        """``compute`` on fixed blocks of test records, in parallel, delivered in order.

        Neither the blocks nor the order of delivery depend on the threads, so sums over them do
        not either. Few results wait at a time: memory does not grow with the number of tests.
        The threads are checked at once, not when the first block is asked for.
        """
        return self._in_parallel(compute, _threads(threads), _shown(progress))

    def _in_parallel(
        self, compute: Callable[[_Problem, slice], Any], workers: int, shown: Progress | None
    ) -> Iterator[tuple[slice, Any]]:
        size = int(np.clip(_BLOCK_ELEMENTS // self.train_t.shape[1], 1, 256))
        pending: deque = deque()
        starts = range(0, self.n_test, size)
        with ThreadPoolExecutor(workers, thread_name_prefix="knn-shapley") as pool:
            try:
                for start in starts:
                    tests = slice(start, min(start + size, self.n_test))
                    pending.append((tests, pool.submit(compute, self, tests)))
                    if len(pending) > workers:
                        yield self._deliver(pending, shown)
                while pending:
                    yield self._deliver(pending, shown)
            finally:
                for _, future in pending:
                    future.cancel()

    def mean(self, *, threads: int | None, progress: Progress | bool) -> np.ndarray:
        """(n_train,) values, the mean over the test records."""
        total = np.zeros(self.n_train)
        for _, block in self.blocks(_sum_of_block, threads=threads, progress=progress):
            total += block[0]
        return total / self.n_test

    def _deliver(self, pending: deque, progress: Progress | None) -> tuple[slice, Any]:
        tests, future = pending.popleft()
        result = future.result()
        if progress:
            progress(tests.stop, self.n_test)
        return tests, result


def _values_of_block(problem: _Problem, tests: slice, rows: int) -> np.ndarray:
    distances, order = problem.sorted_block(tests)
    out = np.zeros((rows, problem.n_train))
    kernels.add_values(
        distances,
        order,
        problem.train_codes,
        problem.test_codes[tests],
        problem.weights,
        problem.tolerance,
        problem.average,
        out,
    )
    return out


def _sum_of_block(problem: _Problem, tests: slice) -> np.ndarray:
    return _values_of_block(problem, tests, 1)


def _rows_of_block(problem: _Problem, tests: slice) -> np.ndarray:
    return _values_of_block(problem, tests, tests.stop - tests.start)


def _diagnose_block(problem: _Problem, tests: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    distances, order = problem.sorted_block(tests)
    return kernels.utilities_and_ties(
        distances,
        order,
        problem.train_codes,
        problem.test_codes[tests],
        problem.k,
        problem.tolerance,
        problem.average,
    )


class _Messages:
    """Says every ten seconds how many test records are done."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if done == total or now - self._last < _PROGRESS_SECONDS:
            return
        self._last = now
        text = f"K-NN Shapley: {done:,} of {total:,} test records"
        if logger.hasHandlers():
            logger.info(text)
        else:
            print(text, file=sys.stderr)


def _shown(progress: Progress | bool | None) -> Progress | None:
    """What is called after each block."""
    if callable(progress):
        return progress
    return _Messages() if progress else None


# --- checks -------------------------------------------------------------------------------------


def _labels(y: ArrayLike, name: str, n: int) -> np.ndarray:
    y = as_array(y, name)
    if y.shape != (n,):
        raise ValueError(f"{name} has shape {y.shape}; expected ({n},), one label per record")
    if y.dtype.kind in "OT":
        import pandas as pd

        missing = pd.isna(y.astype(object))
    else:
        # NaN and NaT
        missing = y != y if y.dtype.kind in "fcmM" else np.zeros(n, bool)
    if missing.any():
        row = int(np.argmax(missing))
        shown = "NaN" if y.dtype.kind in "fc" else y[row]
        raise UserError(f"{name}[{row}] is {shown}; expected a label")
    return y


def _codes(train_y: np.ndarray, test_y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Integers that are equal where the labels are; their order has no meaning."""
    both = (train_y, test_y)
    wrong = UserError(
        f"train_y has type {train_y.dtype} and test_y {test_y.dtype}; expected labels of one kind"
    )
    if len({number for y in both for number in _are_numbers(y)}) > 1:
        raise wrong
    try:
        common = np.result_type(*both)
        # float64 holds neither all integers of 64 bits nor all of them and floats
        lossy = common.kind == "f" and any(y.dtype.kind != "f" for y in both)
        if common.kind == "O" or lossy:
            names: dict[Any, int] = {}
            found = [[names.setdefault(v, len(names)) for v in y.tolist()] for y in both]
            return np.array(found[0], np.int64), np.array(found[1], np.int64)
        codes = np.unique(np.concatenate(both), return_inverse=True)[1]
    except TypeError as error:  # no common type, or labels that cannot be keys of a dictionary
        raise wrong from error
    return codes[: len(train_y)], codes[len(train_y) :]


def _are_numbers(y: np.ndarray) -> set[bool]:
    """Whether labels are numbers: both answers where they are mixed."""
    if y.dtype.kind != "O":
        return {y.dtype.kind in "biuf"}
    return {isinstance(label, Number | np.bool) for label in y}


def _groups(groups: ArrayLike, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Names in sorted order and the number of each record's."""
    groups = _labels(groups, "groups", n)
    try:
        return np.unique(groups, return_inverse=True)
    except TypeError as error:
        raise UserError(f"groups cannot be sorted ({error}); expected one kind of name") from error


def _options(k: int, ties: str, tolerance: float | None, d: int) -> tuple[int, bool, float]:
    k = check_integer(k, "k", 1, np.iinfo(np.int64).max, "a whole number of neighbours")
    if ties not in ("average", "row-order"):
        raise UserError(f"ties is {ties!r}; expected 'average' or 'row-order'")
    if tolerance is None:
        tolerance = max(TIE_TOLERANCE, 2 * (d + 2) * float(np.finfo(float).eps))
    expected = "a number from 0 to below 1"
    tolerance = check_number(tolerance, "tie_tolerance", lambda t: 0 <= t < 1, expected)
    return k, ties == "average", tolerance


def _scale(train_x: np.ndarray, test_x: np.ndarray) -> float:
    """The power of two that brings the largest feature to [1/2, 1)."""
    extremes = [float(f(x)) for x in (train_x, test_x) for f in (np.min, np.max)]
    exponent = int(np.frexp(max(map(abs, extremes)))[1])
    return float(np.ldexp(1.0, int(np.clip(-exponent, -1074, 1023))))


def _threads(threads: int | None) -> int:
    if threads is not None:
        return check_integer(threads, "threads", 1)
    configured = os.environ.get("NUMBA_NUM_THREADS")
    if not configured:
        return os.cpu_count() or 1
    try:
        threads = int(configured)
    except ValueError:
        threads = 0
    if threads < 1:
        raise UserError(
            f"environment variable NUMBA_NUM_THREADS is {configured!r}; expected a whole number of "
            "at least 1"
        )
    return threads
