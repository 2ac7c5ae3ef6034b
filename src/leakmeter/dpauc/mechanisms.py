"""Additive noise on confusion counts (DPAUC): Laplace and Gaussian.

Client k adds independent noise to each of its four counts at each of T thresholds; the server sums
over the clients and builds the curve. Noise does not depend on the data, so the server sees the
pooled counts plus a sum of K noise variables whatever the assignment of records to clients: IID and
Non-IID assignments with the same pooled counts give the same law, and only the pooled counts are
needed to simulate it.

Two ways to draw that sum have the same law:

- ``"aggregate"``: a sum of K Laplace(1/eps') variables is (G - G') / eps' with G, G' independent
  Gamma(K) variables; a sum of K normal variables is normal. Cost O(T) per repeat.
- ``"per-client"``: K draws per count, added to each client's counts, then summed. Cost O(K T); the
  faithful simulation, kept as the reference.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from leakmeter.dpauc.arguments import check_delta, check_integer, check_positive, seeded
from leakmeter.dpauc.counting import Counts
from leakmeter.dpauc.roc import AUTHORS, CurveOptions, auc_from_totals
from leakmeter.runtime import UserError

LAWS = ("aggregate", "per-client")

# Repeats drawn at once: the arrays of one chunk stay in the processor's cache.
_CHUNK = 64

# (generator, shape) -> noise of unit scale; the shape of an aggregate draw carries a leading K.
_Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def laplace_auc(
    counts: Counts,
    *,
    clients: int | None = None,
    epsilon_per_count: float,
    repeats: int,
    seed: int,
    law: str = "aggregate",
    options: CurveOptions = AUTHORS,
) -> np.ndarray:
    """AUCs of independent releases under the Laplace mechanism (DPAUC_Lap).

    Each client adds Laplace(0, 1/eps') noise to each of its counts. A changed label moves a count
    by at most 1, so every count on its own is eps'-DP; :func:`leakmeter.dpauc.accounting.budget`
    gives the price of the whole release.

    Parameters
    ----------
    counts : pooled (T,) or per client (K, T).
    clients : K; may be left out if ``counts`` is per client.
    epsilon_per_count : eps' > 0.
    repeats : R, number of releases.
    seed : of the generator. The first r of R repeats do not depend on R.
    law : ``"aggregate"`` or ``"per-client"``, see the module's description.
    options : how the curve is built.

    Returns
    -------
    (R,) float64, never clipped: an AUC from noisy counts may leave [0, 1] without ``options.clip``.
    """
    check_positive("epsilon_per_count", epsilon_per_count)

    def one(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return rng.laplace(size=shape)

    def summed(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        gammas = rng.standard_gamma(shape[0], size=(*shape[1:-2], 2, *shape[-2:]))
        return gammas[..., 0, :, :] - gammas[..., 1, :, :]

    return _noisy_auc(
        counts, clients, 1.0 / epsilon_per_count, one, summed, repeats, seed, law, options
    )


def gaussian_auc(
    counts: Counts,
    *,
    clients: int | None = None,
    epsilon: float,
    delta: float,
    repeats: int,
    seed: int,
    law: str = "aggregate",
    options: CurveOptions = AUTHORS,
) -> np.ndarray:
    """AUCs of independent releases under the Gaussian mechanism.

    Every client's whole release of 4 T counts is (``epsilon``, ``delta``)-DP for one changed label:
    the standard deviation is the analytic one (:func:`gaussian_sigma`) at the L2 sensitivity
    sqrt(2 T) of the release (:func:`release_sensitivity`). A label lies with one client, so that
    is the price of the whole protocol. Other parameters and the result as :func:`laplace_auc`.
    """
    sigma = gaussian_sigma(epsilon, delta, release_sensitivity(counts.n_thresholds, norm=2))

    def one(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return rng.standard_normal(shape)

    def summed(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return math.sqrt(shape[0]) * rng.standard_normal(shape[1:])

    return _noisy_auc(counts, clients, sigma, one, summed, repeats, seed, law, options)


def laplace_release(counts: Counts, *, epsilon_per_count: float, seed: int) -> np.ndarray:
    """What the server receives in one release: the noisy counts of every client.

    Parameters
    ----------
    counts : per client (K, T), or pooled (T,) for a single client.
    epsilon_per_count : eps' > 0; infinity adds no noise.

    Returns
    -------
    (K, 4, T) float64, or (4, T); order tp, fp, tn, fn.
    """
    if epsilon_per_count != math.inf:
        check_positive("epsilon_per_count", epsilon_per_count)
    exact = counts.stacked().astype(np.float64)
    if math.isinf(epsilon_per_count):
        return exact
    return exact + seeded(seed).laplace(scale=1 / epsilon_per_count, size=exact.shape)


def release_sensitivity(n_thresholds: int, *, norm: int) -> float:
    """L1 or L2 sensitivity of one client's 4 T counts to a change of one label.

    At each threshold a changed label moves one record between two of the four counts (tp and fp if
    it is predicted positive, fn and tn if not), so exactly two change, by 1 each: 2 T in L1,
    sqrt(2 T) in L2.
    """
    if norm not in (1, 2):
        raise ValueError(f"norm is {norm!r}; expected 1 or 2")
    return (2.0 * n_thresholds) ** (1.0 / norm)


def gaussian_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Smallest standard deviation that makes the Gaussian mechanism (epsilon, delta)-DP.

    Solves Theorem 8 of Balle and Wang (ICML 2018), with D the L2 sensitivity:
    ``Phi(D / (2 s) - eps s / D) - exp(eps) Phi(-D / (2 s) - eps s / D) = delta``.

    Raises
    ------
    UserError : epsilon not positive and finite, delta outside (0, 1), sensitivity not positive.
    """
    check_positive("epsilon", epsilon)
    check_positive("sensitivity", sensitivity)
    check_delta(delta)

    def excess(log_ratio: float) -> float:
        return gaussian_delta(epsilon, math.exp(log_ratio)) - delta

    # In log(sigma / D): delta falls from 1 to 0 between the ends.
    return sensitivity * math.exp(brentq(excess, -40.0, 40.0, xtol=1e-14, rtol=1e-14))


def gaussian_delta(epsilon: float, noise_multiplier: float) -> float:
    """The delta of the Gaussian mechanism at ``epsilon``; noise_multiplier is sigma / sensitivity."""
    a, b = 0.5 / noise_multiplier, epsilon * noise_multiplier
    # exp(eps) Phi(x) overflows for large eps unless formed in logarithms.
    return float(ndtr(a - b) - np.exp(epsilon + log_ndtr(-a - b)))


def _noisy_auc(
    counts: Counts,
    clients: int | None,
    scale: float,
    one: _Draw,
    summed: _Draw,
    repeats: int,
    seed: int,
    law: str,
    options: CurveOptions,
) -> np.ndarray:
    k = _check_client_number(counts, clients)
    check_repeats(repeats)
    if law not in LAWS:
        raise UserError(f"law is {law!r}; expected one of {', '.join(LAWS)}")
    rng = seeded(seed)
    result = np.empty(repeats)
    if law == "aggregate":
        exact = counts.pooled().stacked()
        for start in range(0, repeats, _CHUNK):
            size = min(_CHUNK, repeats - start)
            totals = exact + scale * summed(rng, (k, size, *exact.shape))
            result[start : start + size] = auc_from_totals(totals, options)
        return result
    exact = counts.stacked()
    for i in range(repeats):
        noise = scale * one(rng, (k, 4, counts.n_thresholds))
        totals = (exact + noise).sum(0) if exact.ndim == 3 else exact + noise.sum(0)
        result[i] = auc_from_totals(totals, options)
    return result


def _check_client_number(counts: Counts, clients: int | None) -> int:
    if clients is None:
        if counts.n_clients is None:
            raise UserError("clients is missing; pooled counts do not tell how many clients answer")
        return counts.n_clients
    check_integer("clients", clients)
    if counts.n_clients not in (None, clients):
        raise UserError(f"clients is {clients}; the counts are those of {counts.n_clients} clients")
    return int(clients)


def check_repeats(repeats: int, name: str = "repeats") -> None:
    """:class:`UserError` unless ``repeats`` is an integer of at least 1."""
    check_integer(name, repeats)
