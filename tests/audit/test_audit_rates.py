import math

import numpy as np
import pytest
from scipy import special, stats

from leakmeter.audit.intervals import epsilon_interval
from leakmeter.audit.rates import RATE_METHODS, rate_interval
from leakmeter.audit.region import epsilon_at_rates
from leakmeter.runtime import UserError


def test_closed_forms_without_errors():
    low, high = rate_interval(0, 50, tail=0.025, method="clopper-pearson")
    assert low == 0
    assert high == pytest.approx(1 - 0.025 ** (1 / 50), rel=1e-12)
    low, high = rate_interval(50, 50, tail=0.025, method="clopper-pearson")
    assert low == pytest.approx(0.025 ** (1 / 50), rel=1e-12)
    assert high == 1
    assert rate_interval(0, 1, tail=0.1, method="jeffreys")[0] == 0
    assert rate_interval(1, 1, tail=0.1, method="jeffreys")[1] == 1


def test_clopper_pearson_by_definition():
    """Its ends are the rates at which the tail of the binomial has exactly the given mass."""
    k, n, tail = 7, 30, 0.04
    low, high = rate_interval(k, n, tail=tail, method="clopper-pearson")
    assert stats.binom.sf(k - 1, n, low) == pytest.approx(tail, rel=1e-10)
    assert stats.binom.cdf(k, n, high) == pytest.approx(tail, rel=1e-10)


def test_clopper_pearson_covers_every_rate():
    n, tail = 25, 0.05
    k = np.arange(n + 1)
    low, high = rate_interval(k, n, tail=tail, method="clopper-pearson")
    for rate in np.linspace(0.001, 0.999, 301):
        covered = stats.binom.pmf(k, n, rate)[(low <= rate) & (rate <= high)].sum()
        assert covered >= 1 - 2 * tail - 1e-12


@pytest.mark.parametrize("method", RATE_METHODS)
def test_quantiles_are_accurate_from_10_to_a_million_trials(method):
    random = np.random.default_rng(5)
    n = np.floor(10 ** random.uniform(1, 6, 2000))
    k = np.floor(n * np.where(random.random(2000) < 0.5, random.random(2000), 30 / n)).clip(1, n)
    low, _ = rate_interval(k, n, tail=0.0125, method=method)
    a, b = (k + 0.5, n - k + 0.5) if method == "jeffreys" else (k, n - k + 1)
    log_density = (a - 1) * np.log(low) + (b - 1) * np.log1p(-low) - special.betaln(a, b)
    error = (special.betainc(a, b, low) - 0.0125) / np.exp(log_density) / low
    assert np.abs(error).max() < 1e-8


@pytest.mark.parametrize("method", RATE_METHODS)
@pytest.mark.parametrize("tally", [(3, 17, 2, 18), (17, 3, 18, 2), (9, 11, 10, 10), (0, 20, 5, 15)])
@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_interval_spans_epsilon_over_the_rectangle(method, tally, delta):
    """Brute force: the extreme epsilons on a grid over the rectangle of the two rate intervals."""
    fn, tp, fp, tn = tally
    alpha = 0.1
    x = np.linspace(*rate_interval(fn, fn + tp, tail=alpha / 4, method=method), 401)
    y = np.linspace(*rate_interval(fp, fp + tn, tail=alpha / 4, method=method), 401)
    grid = epsilon_at_rates(x[:, None], y, delta=delta)
    low, high = epsilon_interval(
        fn=fn, tp=tp, fp=fp, tn=tn, delta=delta, alpha=alpha, method=method
    )
    assert low == pytest.approx(grid.min(), abs=0.02)
    assert high == (math.inf if np.isinf(grid).any() else pytest.approx(grid.max(), abs=1e-9))


def test_rectangle_across_the_diagonal_gives_zero():
    low, high = epsilon_interval(
        fn=10, tp=10, fp=10, tn=10, delta=0.0, alpha=0.05, method="clopper-pearson"
    )
    assert low == 0
    assert high > 0


def test_unknown_method_and_bad_counts():
    with pytest.raises(UserError, match="method must be one of jeffreys, clopper-pearson, got 'w'"):
        rate_interval(1, 2, tail=0.1, method="w")
    with pytest.raises(UserError, match="0 <= errors <= trials"):
        rate_interval(3, 2, tail=0.1, method="jeffreys")
    with pytest.raises(UserError, match=r"tail must lie in \(0, 0.5\), got 0.5"):
        rate_interval(1, 2, tail=0.5, method="jeffreys")
