"""The posterior distribution of epsilon given a tally: mass, density and quantiles.

With Jeffreys priors FNR ~ Beta(1/2 + fn, 1/2 + tp) and FPR ~ Beta(1/2 + fp, 1/2 + tn),
independent, and F(epsilon) is the posterior mass of the privacy region, Eq. (3). What lies outside
the region are two corners of the square, at (0, 0) and (1, 1); the second is the first for the
complementary test. With c = (1 - delta) / (1 + e^epsilon) and y(x) = e^-epsilon (1 - delta - x),
the mass of the first corner is

    P(x < c) P(y < c) + edge(x, y) + edge(y, x),   edge(x, y) = int_c^{1-delta} f_x G_y(y(x)) dx,

and the mass of everything else is the same with survival functions, minus the first product. All
terms of each are positive, so small probabilities keep their relative accuracy.

An edge needs one panel of Gauss-Legendre nodes:

- in the angle t, x = sin^2 t, the density of Beta(1/2 + k, 1/2 + m) is sin^2k t cos^2m t up to a
  constant: no singular ends, and its log has curvature below -2 (sqrt k + sqrt m)^2, so that it
  falls off faster than a known Gaussian around its mode;
- where G_y is 0 or 1 to within that cut-off the integral is 0 or a value of the Beta CDF, so the
  panel spans at most 2 x 10 standard deviations of whichever of x and y is the narrower;
- at x = 1 - delta the inner G_y starts like a half-integer power of 1 - delta - x. When the panel
  reaches that point, t is replaced by t_end - L v^2, which makes the integrand smooth.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy import special

from leakmeter.audit.tallies import Tallies, check_tallies, in_range

# Half-width of a density's support in standard deviations: leaves exp(-50) = 2e-22 outside.
_REACH = 10.0
_NODES = 64
# Beyond this e^-epsilon underflows; no quantile at alpha >= 1e-12 comes near it.
_EPSILON_LIMIT = 700.0
_BLOCK = 512
# On the last Newton step; the error left is about its square
_TOLERANCE = 1e-8


@dataclass(frozen=True)
class _Edges:
    """The four edges of the region's complement: outer (k, m) and inner (k, m), (4, rows) each.

    Rows 0 and 1 belong to the corner at (0, 0), rows 2 and 3 to the one at (1, 1).
    """

    k: np.ndarray
    m: np.ndarray
    inner_k: np.ndarray
    inner_m: np.ndarray
    delta: np.ndarray

    @classmethod
    def of(cls, fn, tp, fp, tn, delta) -> _Edges:
        # Swap the test for its complement where it is worse than chance: the mass then lies at
        # the first corner, which is the one whose complement is integrated directly
        worse = fn * fp > tp * tn
        fn, tp = np.where(worse, tp, fn), np.where(worse, fn, tp)
        fp, tn = np.where(worse, tn, fp), np.where(worse, fp, tn)
        return cls(
            k=np.stack([fn, fp, tp, tn]),
            m=np.stack([tp, tn, fn, fp]),
            inner_k=np.stack([fp, fn, tn, tp]),
            inner_m=np.stack([tn, tp, fp, fn]),
            delta=delta,
        )

    def take(self, rows: np.ndarray) -> _Edges:
        arrays = (a[..., rows] for a in (self.k, self.m, self.inner_k, self.inner_m, self.delta))
        return _Edges(*arrays)


# --- public -------------------------------------------------------------------------------------


def epsilon_cdf(epsilon: Any, *, fn: Any, tp: Any, fp: Any, tn: Any, delta: Any) -> Any:
    """Posterior probability that the attack's epsilon is at most ``epsilon``, Eq. (3).

    F has an atom at 0, the posterior mass of the rates that delta alone explains; below 0 it is 0.

    Parameters
    ----------
    epsilon : any real number or infinity.
    fn, tp, fp, tn : the tally. delta : in [0, 1). All arguments broadcast.

    Returns
    -------
    A float when all arguments are scalars, else an array of the broadcast shape. The absolute error
    is below 1e-9.

    Raises
    ------
    UserError : tallies, delta or epsilon out of range.
    """
    t, e = _with_epsilon(epsilon, fn=fn, tp=tp, fp=fp, tn=tn, delta=delta)
    mass, _ = _in_blocks(t, np.clip(e, 0.0, _EPSILON_LIMIT), _below)
    return t.restore(np.where(e < 0, 0.0, np.clip(mass, 0.0, 1.0)))


def epsilon_density(epsilon: Any, *, fn: Any, tp: Any, fp: Any, tn: Any, delta: Any) -> Any:
    """Density of the continuous part of epsilon's posterior; 0 below 0. Arguments as in the CDF.

    The derivative of the corner masses: only the boundary moves, so each edge contributes the
    integral of f_x(x) f_y(y(x)) y(x). The atom at 0 (``epsilon_cdf(0.0, ...)``) is not included.
    """
    t, e = _with_epsilon(epsilon, fn=fn, tp=tp, fp=fp, tn=tn, delta=delta)
    _, density = _in_blocks(t, np.clip(e, 0.0, _EPSILON_LIMIT), _below)
    return t.restore(np.where((e < 0) | (e > _EPSILON_LIMIT), 0.0, density))


def epsilon_quantiles(t: Tallies, probability: np.ndarray, *, upper: bool) -> np.ndarray:
    """Epsilon with posterior ``probability`` (rows,) below it, or above it when ``upper``.

    0 where the atom at 0 decides: F(0) >= probability, or 1 - F(0) <= probability when ``upper``.
    """
    result = np.empty(t.fn.size)
    for block in _blocks(t.fn.size):
        edges = _Edges.of(*(a[block] for a in (t.fn, t.tp, t.fp, t.tn, t.delta)))
        result[block] = _quantiles(edges, probability[block], upper)
    return result


# --- root finding -------------------------------------------------------------------------------


def _quantiles(edges: _Edges, probability: np.ndarray, upper: bool) -> np.ndarray:
    """Newton's method on the normal score of the tail mass, kept inside a bracket."""
    tail = _above if upper else _below
    target = special.ndtri(probability)
    at_zero, density_at_zero = tail(edges, np.zeros(probability.size))
    live = np.flatnonzero(at_zero > probability if upper else at_zero < probability)
    result = np.zeros(probability.size)
    low, high = np.zeros_like(result), _beyond(edges, probability, upper)
    guess = _guess(edges, probability, upper, at_zero, density_at_zero, high)
    last_step = high.copy()
    # A Newton step is taken only when it is at most half the step before, so that either the steps
    # or the bracket shrink geometrically and the limit is never reached
    for _ in range(200):
        if live.size == 0:
            return result
        at = guess[live]
        mass, density = tail(edges.take(live), at)
        score = special.ndtri(np.clip(mass, 0.0, 1.0))
        beyond = (score < target[live]) if upper else (score > target[live])
        high[live] = np.where(beyond, at, high[live])
        low[live] = np.where(beyond, low[live], at)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            slope = density * np.sqrt(2 * np.pi) * np.exp(score**2 / 2)
            step = (target[live] - score) / (-slope if upper else slope)
            # far out in the tail the slope overflows, which must not look like convergence
            step[~np.isfinite(slope)] = np.nan
            new = at + step
        done = np.abs(step) <= _TOLERANCE
        good = (new > low[live]) & (new < high[live]) & (np.abs(step) <= last_step[live] / 2)
        new = np.where(done | good, new, (low[live] + high[live]) / 2)
        last_step[live] = np.abs(new - at)
        done |= high[live] - low[live] <= _TOLERANCE
        guess[live] = result[live] = new
        live = live[~done]
    raise RuntimeError("the quantile of epsilon did not converge; please report the tally")


def _beyond(edges: _Edges, p: np.ndarray, upper: bool) -> np.ndarray:
    """A value that the quantile cannot exceed.

    Outside R(epsilon, delta) one of x, y, 1 - x, 1 - y is below e^-epsilon (union bound).
    """
    share = np.broadcast_to((p if upper else 1 - p) / 4, edges.k.shape)
    smallest = special.betaincinv(edges.k + 0.5, edges.m + 0.5, share).min(axis=0)
    return np.minimum(-np.log(np.maximum(smallest, 1e-300)) + 1.0, _EPSILON_LIMIT)


def _guess(
    edges: _Edges,
    p: np.ndarray,
    upper: bool,
    at_zero: np.ndarray,
    density_at_zero: np.ndarray,
    high: np.ndarray,
) -> np.ndarray:
    """Where Newton's method starts, between 0 and ``high``.

    Epsilon with one rate at its quantile and the other at its median. Where that is not positive
    the quantile is near 0 and the tangent at 0 serves.
    """
    share = np.broadcast_to(p if upper else 1 - p, edges.k.shape)
    rate = special.betaincinv(edges.k + 0.5, edges.m + 0.5, share)
    other = special.betaincinv(edges.inner_m + 0.5, edges.inner_k + 0.5, 0.5) - edges.delta
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        guess = np.log(np.maximum(other, 1e-300) / rate).max(axis=0)
        tangent = np.abs(p - at_zero) / density_at_zero
    guess = np.where(guess > 0, guess, tangent)
    return np.where((guess > 0) & (guess < high), guess, high / 2)


# --- mass and density ---------------------------------------------------------------------------


def _below(edges: _Edges, epsilon: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """F(epsilon) and the density: everything but the first corner, minus the second corner."""
    survival = np.array([True, True, False, False])[:, None]
    values, densities, products = _edge_integrals(edges, epsilon, survival)
    mass = (values[0] + values[1] - products[0]) - (values[2] + values[3] + products[1])
    return np.maximum(mass, 0.0), densities.sum(axis=0)


def _above(edges: _Edges, epsilon: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """1 - F(epsilon) as a sum of positive terms, and the density."""
    values, densities, products = _edge_integrals(edges, epsilon, np.zeros((4, 1), bool))
    return values.sum(axis=0) + products.sum(axis=0), densities.sum(axis=0)


def _edge_integrals(
    edges: _Edges, epsilon: np.ndarray, survival: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Edge integrals and densities (4, rows), and the corner products (2, rows)."""
    with np.errstate(under="ignore"):
        shrink = np.exp(-epsilon)
        corner = (1 - edges.delta) * shrink / (1 + shrink)
        at_corner = _beta(edges.k, edges.m, corner, 1 - corner, survival)
        products = np.stack([at_corner[0] * at_corner[1], at_corner[2] * at_corner[3]])
        panel = _panels(edges, shrink, corner)
        closed = _closed_part(edges, shrink, corner, panel, survival, at_corner)
        quadrature, densities = _quadrature(edges, shrink, panel, survival)
    return closed + quadrature, densities, products


@dataclass(frozen=True)
class _Panel:
    """Where the inner CDF goes from 1 to 0 and the outer density is not negligible, (4, rows)."""

    start: np.ndarray
    end: np.ndarray
    full_until: np.ndarray  # x up to which the inner CDF is 1 (at least the corner)
    full_until_not: np.ndarray  # 1 - full_until, without cancellation
    none_from: np.ndarray  # x from which the inner CDF is 0
    none_from_not: np.ndarray
    last: np.ndarray  # angle of x = 1 - delta
    reaches_last: np.ndarray


def _panels(edges: _Edges, shrink: np.ndarray, corner: np.ndarray) -> _Panel:
    delta = edges.delta
    low, high = _support(edges.k, edges.m)
    inner_low, inner_high = _support(edges.inner_k, edges.inner_m)
    top, top_not = _outer_of_inner(np.sin(inner_high) ** 2, shrink, delta)
    bottom, bottom_not = _outer_of_inner(np.sin(inner_low) ** 2, shrink, delta)
    full_until = np.maximum(top, corner)
    full_until_not = np.where(top > corner, top_not, 1 - corner)
    last = np.broadcast_to(np.arctan2(np.sqrt(1 - delta), np.sqrt(delta)), low.shape)
    start = np.maximum(low, _angle(full_until, full_until_not))
    reaches_last = (inner_low == 0.0) & (high >= last)
    end = np.where(
        reaches_last, last, np.minimum(high, np.minimum(last, _angle(bottom, bottom_not)))
    )
    return _Panel(start, end, full_until, full_until_not, bottom, bottom_not, last, reaches_last)


def _support(k: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Angles outside which the density is below exp(-_REACH**2 / 2) of its mode."""
    mode = np.arctan2(np.sqrt(k), np.sqrt(m))
    reach = _REACH / np.sqrt(2.0) / (np.sqrt(k) + np.sqrt(m))
    return np.maximum(mode - reach, 0.0), np.minimum(mode + reach, np.pi / 2)


def _outer_of_inner(y, shrink, delta) -> tuple[np.ndarray, np.ndarray]:
    """x = 1 - delta - e^epsilon y and 1 - x, both within [0, 1]."""
    x_not = np.minimum(delta + y / shrink, 1.0)
    return np.clip(1 - delta - y / shrink, 0.0, 1.0), x_not


def _angle(x: np.ndarray, x_not: np.ndarray) -> np.ndarray:
    return np.arctan2(np.sqrt(x), np.sqrt(x_not))


def _closed_part(edges, shrink, corner, panel, survival, at_corner) -> np.ndarray:
    """The parts of an edge where the inner function is 1, from the outer Beta CDF."""
    tail = _beta(edges.k, edges.m, panel.none_from, panel.none_from_not, np.True_)
    # none_from below the corner: the inner survival function is 1 along the whole edge
    tail = np.where(panel.none_from < corner, at_corner, tail)
    full = _beta(edges.k, edges.m, panel.full_until, panel.full_until_not, np.False_)
    head = np.where(panel.full_until > corner, full - at_corner, 0.0)
    return np.where(survival, tail, head)


def _quadrature(edges, shrink, panel, survival) -> tuple[np.ndarray, np.ndarray]:
    values, densities = np.zeros(panel.start.shape), np.zeros(panel.start.shape)
    live = np.nonzero(panel.end > panel.start)
    if live[0].size == 0:
        return values, densities
    column = (slice(None), None)
    k, m = edges.k[live][column], edges.m[live][column]
    inner_k, inner_m = edges.inner_k[live][column], edges.inner_m[live][column]
    shrink, delta = shrink[live[1]][column], edges.delta[live[1]][column]
    last, length = panel.last[live][column], (panel.end - panel.start)[live][column]
    gap = last - panel.end[live][column]
    squared = panel.reaches_last[live][column]
    nodes, weights = _gauss_legendre()
    back = gap + length * np.where(squared, nodes**2, nodes)  # last - t
    weights = length * np.where(squared, 2 * nodes, 1.0) * weights
    # pi/2 - t as a sum of positive terms: cos t keeps its relative accuracy near x = 1
    rest = np.arctan2(np.sqrt(delta), np.sqrt(1 - delta)) + back
    outer = weights * np.exp(
        special.xlogy(2 * k, np.cos(rest)) + special.xlogy(2 * m, np.sin(rest)) + _log_scale(k, m)
    )
    # 1 - delta - sin^2 t = sin(last - t) sin(last + t)
    y = shrink * np.sin(back) * np.sin(2 * last - back)
    inner = _beta(inner_k, inner_m, y, 1 - y, np.broadcast_to(survival, values.shape)[live][column])
    values[live] = (outer * inner).sum(axis=1)
    inner_density = np.exp(
        (inner_k + 0.5) * np.log(y) + (inner_m - 0.5) * np.log1p(-y) - _log_beta(inner_k, inner_m)
    )
    densities[live] = (outer * inner_density).sum(axis=1)
    return values, densities


def _beta(k, m, x, x_not, survival) -> np.ndarray:
    """CDF of Beta(1/2 + k, 1/2 + m) at x, or the survival function where ``survival``.

    Always evaluates the smaller tail, at whichever of x and 1 - x belongs to it: 1 - x rounded
    near 1 would cost the CDF of a rate of 1e-10 half its digits.
    """
    lower = x * (k + m + 1) < k + 0.5
    a, b = np.where(lower, k, m) + 0.5, np.where(lower, m, k) + 0.5
    tail = special.betainc(a, b, np.where(lower, x, x_not))
    return np.where(lower == survival, 1 - tail, tail)


def _log_scale(k: np.ndarray, m: np.ndarray) -> np.ndarray:
    """Log of the factor that makes sin^2k t cos^2m t a density of t on [0, pi/2]."""
    return np.log(2.0) - _log_beta(k, m)


def _log_beta(k: np.ndarray, m: np.ndarray) -> np.ndarray:
    """log B(1/2 + k, 1/2 + m) by Stirling's formula.

    ``scipy.special.betaln`` adds and subtracts log-gammas of up to 1e7, which costs nine digits.
    """
    a, b = k + 0.5, m + 0.5
    n = a + b
    correction = _stirling_error(a) + _stirling_error(b) - _stirling_error(n)
    return k * np.log(a / n) + m * np.log(b / n) + np.log(2 * np.pi / n) / 2 + correction


def _stirling_error(z: np.ndarray) -> np.ndarray:
    """log Gamma(z) - [(z - 1/2) log z - z + log(2 pi) / 2]."""
    direct = special.gammaln(z) - ((z - 0.5) * np.log(z) - z + np.log(2 * np.pi) / 2)
    w = 1 / z**2
    series = (1 / 12 - w * (1 / 360 - w * (1 / 1260 - w * (1 / 1680 - w / 1188)))) / z
    return np.where(z < 16, direct, series)


@cache
def _gauss_legendre() -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = special.roots_legendre(_NODES)
    return (nodes + 1) / 2, weights / 2


# --- blocks -------------------------------------------------------------------------------------


def _with_epsilon(epsilon: Any, **tally: Any) -> tuple[Tallies, np.ndarray]:
    e = in_range("epsilon", epsilon, -np.inf, np.inf, closed_low=True, closed_high=True)
    t = check_tallies(**tally, extra={"epsilon": e})
    return t, t.extra[0]


def _blocks(rows: int) -> list[slice]:
    """Slices small enough for the temporaries to stay in the processor's cache."""
    return [slice(i, i + _BLOCK) for i in range(0, rows, _BLOCK)]


def _in_blocks(t: Tallies, epsilon: np.ndarray, tail) -> tuple[np.ndarray, np.ndarray]:
    mass, density = np.empty(t.fn.size), np.empty(t.fn.size)
    for block in _blocks(t.fn.size):
        edges = _Edges.of(*(a[block] for a in (t.fn, t.tp, t.fp, t.tn, t.delta)))
        mass[block], density[block] = tail(edges, epsilon[block])
    return mass, density
