"""The posterior of epsilon against quadratures that share nothing with the library's.

`reference_mass` integrates Eq. (3) as it stands, over u = F_FNR(x), with adaptive quadrature split
at the region's kinks; two cases use two-dimensional quadrature, others Monte Carlo, asymptotic
closed forms, or the density's own integral.
"""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from leakmeter.audit.posterior import epsilon_cdf, epsilon_density, epsilon_quantiles
from leakmeter.audit.region import epsilon_at_rates
from leakmeter.audit.tallies import check_tallies
from leakmeter.runtime import UserError

CASES = [
    # fn, tp, fp, tn, delta
    (35, 65, 25, 75, 0.05),
    (0, 5, 0, 5, 0.0),
    (5, 0, 5, 0, 0.0),
    (0, 5, 3, 2, 0.3),
    (10, 10, 10, 10, 0.0),
    (0, 1000, 0, 1000, 1e-5),
    (0, 487, 512, 1, 1e-5),
    (487, 0, 1, 512, 1e-9),
    (900, 100, 20, 980, 1e-5),
    (2, 998, 600, 400, 0.39),
    (3, 7, 4000, 996_000, 1e-6),
    (100_000, 400_000, 200_000, 300_000, 1e-5),
    (499_000, 1_000, 250_000, 250_000, 1e-4),
    (0, 500_000, 0, 500_000, 0.0),
    (1, 1, 1, 1, 0.99),
]


def reference_mass(epsilon, fn, tp, fp, tn, delta):
    a, b, c, d = fn + 0.5, tp + 0.5, fp + 0.5, tn + 0.5
    e = np.exp(epsilon)

    def conditional(u):
        x, x_not = special.betaincinv(a, b, u), special.betainccinv(b, a, u)
        low = max(0.0, 1 - delta - e * x, (x_not - delta) / e)
        high_not = max(0.0, 1 - delta - e * x_not, (x - delta) / e)
        # mass between the boundaries, from whichever pair of tails is smaller
        return 1 - special.betainc(c, d, low) - special.betainc(d, c, high_not)

    corner = (1 - delta) / (1 + e)
    kinks = [corner, 1 - corner, 1 - delta, delta, (1 - delta) / e, 1 - (1 - delta) / e]
    # where the inner function goes from 0 to 1, which can be a tiny part of u
    for y in special.betaincinv(c, d, [1e-9, 1e-3, 0.5, 1 - 1e-3, 1 - 1e-9]):
        kinks += [1 - delta - e * y, (1 - delta - y) / e, delta + e * (1 - y), 1 - (y - delta) / e]
    cuts = np.unique(np.clip(special.betainc(a, b, np.clip(kinks, 0, 1)), 0, 1))
    cuts = np.unique(np.concatenate([[0.0], cuts, [1.0]]))
    parts = []
    with warnings.catch_warnings():
        # quad warns at roundoff; its error estimate is what counts, and it is returned
        warnings.simplefilter("ignore", integrate.IntegrationWarning)
        for p, q in itertools.pairwise(cuts):
            parts.append(integrate.quad(conditional, p, q, epsabs=1e-13, epsrel=1e-11, limit=200))
    return np.sum(parts, axis=0)


def tally(case):
    return dict(zip(("fn", "tp", "fp", "tn", "delta"), case, strict=True))


@pytest.mark.parametrize("case", CASES)
def test_cdf_against_independent_adaptive_quadrature(case):
    fn, tp, fp, tn, delta = case
    centre = epsilon_at_rates((fn + 0.5) / (fn + tp + 1), (fp + 0.5) / (fp + tn + 1), delta=delta)
    grid = np.array([0.0, 0.25, 0.6, 0.95, 1.0, 1.02, 1.2, 1.7]) * centre + np.array([0, 0.01] * 4)
    for epsilon, mass in zip(grid, epsilon_cdf(grid, **tally(case)), strict=True):
        expected, error = reference_mass(epsilon, *case)
        assert error < 1e-6
        assert mass == pytest.approx(expected, abs=1e-9 + error), epsilon


@pytest.mark.parametrize("case", [(6, 14, 4, 16, 0.05), (15, 5, 18, 12, 0.0)])
def test_cdf_against_two_dimensional_quadrature(case):
    """The four half-planes as an indicator would be hopeless; scipy's nquad gets the limits."""
    fn, tp, fp, tn, delta = case
    epsilon = 0.8
    e = np.exp(epsilon)
    first, second = stats.beta(fn + 0.5, tp + 0.5), stats.beta(fp + 0.5, tn + 0.5)

    def limits(x):
        low = max(0, 1 - delta - e * x, (1 - delta - x) / e)
        return low, min(1, 1 + (delta - x) / e, delta + e * (1 - x))

    corner = (1 - delta) / (1 + e)
    kinks = sorted({corner, 1 - corner, 1 - delta, delta, (1 - delta) / e})
    mass, _ = integrate.nquad(
        lambda y, x: first.pdf(x) * second.pdf(y),
        [limits, (0, 1)],
        opts=[{"epsabs": 1e-8}, {"epsabs": 1e-8, "points": kinks}],
    )
    assert epsilon_cdf(epsilon, **tally(case)) == pytest.approx(mass, abs=1e-7)


def monte_carlo_agrees(case, draws, seed):
    fn, tp, fp, tn, delta = case
    random = np.random.default_rng(seed)
    x = random.beta(fn + 0.5, tp + 0.5, draws)
    y = random.beta(fp + 0.5, tn + 0.5, draws)
    values = epsilon_at_rates(x, y, delta=delta)
    grid = np.quantile(values, [0.01, 0.3, 0.7, 0.99])
    ours = epsilon_cdf(grid, **tally(case))
    share = (values[:, None] <= grid).mean(axis=0)
    error = np.sqrt(ours * (1 - ours) / draws) + 1e-9
    np.testing.assert_array_less(np.abs(share - ours) / error, 5.0)


@pytest.mark.parametrize(
    "case", [(12, 200, 58, 200, 1e-5), (0, 487, 512, 1, 1e-5), (1, 9, 8, 1, 0.2)]
)
def test_cdf_against_monte_carlo(case):
    monte_carlo_agrees(case, 400_000, seed=11)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES[:4])
def test_cdf_against_ten_million_draws(case):
    """Slow: ten million pairs of Beta draws per case."""
    monte_carlo_agrees(case, 10_000_000, seed=12)


@pytest.mark.parametrize("n", [10**4, 10**5, 10**6])
def test_perfect_attack_tends_to_a_closed_form(n):
    """For large n the rates are chi-square_1 / 2n, and outside the region means one is small."""
    epsilon = np.log(2 * n) - np.log([0.01, 0.5, 2.0])
    rate = np.exp(-epsilon)
    below = stats.chi2.cdf(2 * n * rate, 1)
    expected = (1 - below) ** 2
    ours = epsilon_cdf(epsilon, fn=0, tp=n, fp=0, tn=n, delta=0.0)
    np.testing.assert_allclose(ours, expected, atol=3 / n)


@pytest.mark.parametrize("case", CASES)
def test_density_is_the_derivative_of_the_cdf(case):
    t = check_tallies(**tally(case))
    atom = epsilon_cdf(0.0, **tally(case))
    for share in (0.03, 0.2, 0.5, 0.8, 0.97):
        point = epsilon_quantiles(t, np.array([(1 - atom) * share]), upper=True)
        step = 1e-4 * (1 - atom) / epsilon_density(point, **tally(case))
        ends = np.concatenate([point + step, np.maximum(point - step, 0)])
        above, below = epsilon_cdf(ends, **tally(case))
        expected = (above - below) / np.ptp(ends)
        np.testing.assert_allclose(epsilon_density(point, **tally(case)), expected, rtol=1e-5)


@pytest.mark.parametrize("case", CASES[:10])
def test_density_and_atom_have_mass_one(case):
    atom = epsilon_cdf(0.0, **tally(case))
    nodes, weights = special.roots_legendre(3000)
    grid = 30 * (nodes + 1)
    total = atom + 30 * (weights * epsilon_density(grid, **tally(case))).sum()
    assert total == pytest.approx(1, abs=1e-5)


def test_shape_of_the_cdf():
    case = {"fn": 5, "tp": 95, "fp": 9, "tn": 91}
    assert epsilon_cdf(-1.0, **case, delta=0.1) == 0
    assert epsilon_density(-1.0, **case, delta=0.1) == 0
    assert epsilon_cdf(0.0, **case, delta=0.0) == pytest.approx(0, abs=1e-15)
    assert epsilon_cdf(0.0, **case, delta=0.8) > 0.05
    for far in (700.0, 1e4, np.inf):
        assert epsilon_cdf(far, **case, delta=0.1) == pytest.approx(1, abs=1e-14)
        assert epsilon_density(far, **case, delta=0.1) == pytest.approx(0, abs=1e-14)
    values = epsilon_cdf(np.linspace(0, 20, 500), **case, delta=1e-5)
    assert (np.diff(values) >= -1e-13).all()
    assert isinstance(epsilon_cdf(1.0, **case, delta=0.1), float)
    assert epsilon_cdf([1.0, 2.0], **case, delta=0.1).shape == (2,)


counts = st.integers(0, 3000)


@settings(max_examples=60, deadline=None)
@given(counts, counts, counts, counts, st.sampled_from([0.0, 1e-5, 0.1, 0.7]), st.floats(0, 8))
def test_symmetries_of_the_cdf(fn, tp, fp, tn, delta, epsilon):
    if fn + tp == 0 or fp + tn == 0:
        return
    value = epsilon_cdf(epsilon, fn=fn, tp=tp, fp=fp, tn=tn, delta=delta)
    assert 0 <= value <= 1
    swapped = epsilon_cdf(epsilon, fn=fp, tp=tn, fp=fn, tn=tp, delta=delta)
    opposite = epsilon_cdf(epsilon, fn=tp, tp=fn, fp=tn, tn=fp, delta=delta)
    assert swapped == pytest.approx(value, abs=1e-11)
    assert opposite == pytest.approx(value, abs=1e-11)
    more_delta = epsilon_cdf(epsilon, fn=fn, tp=tp, fp=fp, tn=tn, delta=delta + 0.05)
    assert more_delta >= value - 1e-11


def test_blocks_do_not_change_results():
    """More rows than one block, against the same rows one by one."""
    fn = np.arange(1100) % 47
    together = epsilon_cdf(1.0, fn=fn, tp=50, fp=10, tn=40, delta=0.01)
    for i in (0, 511, 512, 1099):
        alone = epsilon_cdf(1.0, fn=int(fn[i]), tp=50, fp=10, tn=40, delta=0.01)
        assert together[i] == pytest.approx(alone, rel=1e-13)


def test_bad_epsilon():
    with pytest.raises(UserError, match="epsilon must lie in .* got nan"):
        epsilon_cdf(float("nan"), fn=1, tp=1, fp=1, tn=1, delta=0.0)
