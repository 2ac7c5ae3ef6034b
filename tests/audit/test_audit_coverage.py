import math

import numpy as np
import pytest
from scipy import optimize, stats

from leakmeter.audit.coverage import (
    coverage_study,
    gaussian_epsilon,
    gaussian_point,
    randomized_response_point,
)
from leakmeter.audit.intervals import METHODS, epsilon_interval
from leakmeter.audit.region import epsilon_at_rates
from leakmeter.runtime import UserError

SETTINGS = {"members": 30, "nonmembers": 20, "alpha": 0.1, "repeats": 20_000, "seed": 7}


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_randomized_response_reaches_its_epsilon(epsilon):
    point = randomized_response_point(epsilon)
    assert point.fnr == point.fpr == pytest.approx(1 / (1 + math.exp(epsilon)))
    assert point.epsilon == point.mechanism_epsilon == pytest.approx(epsilon)
    assert randomized_response_point(epsilon, delta=0.01).epsilon < epsilon


@pytest.mark.parametrize(("mu", "delta"), [(0.5, 1e-3), (1.0, 1e-5), (3.0, 1e-2), (8.0, 1e-6)])
def test_gaussian_epsilon_is_the_best_over_all_thresholds(mu, delta):
    """Thresholds are the most powerful tests, so their largest epsilon is the mechanism's."""

    def negative(threshold):
        fnr, fpr = stats.norm.cdf(threshold - mu), stats.norm.sf(threshold)
        return -epsilon_at_rates(fnr, fpr, delta=delta)

    grid = np.arange(0, mu + 8, 0.01)
    start = grid[np.argmin([negative(t) for t in grid])]
    best = optimize.minimize_scalar(
        negative, bounds=(start - 0.02, start + 0.02), method="bounded", options={"xatol": 1e-9}
    )
    assert gaussian_epsilon(mu, delta=delta) == pytest.approx(-best.fun, abs=1e-6)


def test_gaussian_ends():
    assert gaussian_epsilon(0.0, delta=0.1) == 0
    assert gaussian_epsilon(1.0, delta=0.0) == math.inf
    assert gaussian_epsilon(0.1, delta=0.5) == 0
    point = gaussian_point(1.0, threshold=0.5, delta=1e-5)
    assert point.fnr == pytest.approx(stats.norm.cdf(-0.5))
    assert point.fpr == pytest.approx(stats.norm.sf(0.5))
    assert point.epsilon < point.mechanism_epsilon


POINTS = [
    randomized_response_point(1.0),
    randomized_response_point(0.0),
    gaussian_point(1.0, threshold=1.5, delta=0.01),
    gaussian_point(0.2, threshold=0.1, delta=0.2),
]


def exact(point, method):
    """Coverage by summing over every tally, from the intervals themselves."""
    members, nonmembers = SETTINGS["members"], SETTINGS["nonmembers"]
    fn, fp = np.meshgrid(np.arange(members + 1), np.arange(nonmembers + 1), indexing="ij")
    weight = stats.binom.pmf(fn, members, point.fnr) * stats.binom.pmf(fp, nonmembers, point.fpr)
    low, high = epsilon_interval(
        fn=fn,
        tp=members - fn,
        fp=fp,
        tn=nonmembers - fp,
        delta=point.delta,
        alpha=SETTINGS["alpha"],
        method=method,
    )
    return {
        "too_low": weight[high < point.epsilon].sum(),
        "too_high": weight[low > point.epsilon].sum(),
        "below_mechanism": weight[high < point.mechanism_epsilon].sum(),
        "coverage": weight[(low <= point.epsilon) & (point.epsilon <= high)].sum(),
    }


def test_simulated_coverage_agrees_with_the_exact_sum():
    rows = coverage_study(POINTS, **SETTINGS)
    assert len(rows) == len(POINTS) * len(METHODS)
    for row, (point, method) in zip(rows, [(p, m) for p in POINTS for m in METHODS], strict=True):
        assert (row["mechanism"], row["method"]) == (point.mechanism, method)
        for column, expected in exact(point, method).items():
            expected = min(expected, 1.0)  # the sum of the weights may round to above 1
            error = math.sqrt(expected * (1 - expected) / SETTINGS["repeats"]) + 1e-4
            assert abs(row[column] - expected) < 4.5 * error, (row, column, expected)


def test_monte_carlo_error_is_reported():
    (row,) = coverage_study(POINTS[:1], **SETTINGS, methods=["jeffreys"])
    c = row["coverage"]
    assert row["std_error"] == pytest.approx(math.sqrt(c * (1 - c) / 20_000))
    assert row["coverage_low"] < c < row["coverage_high"]
    assert c == pytest.approx(1 - row["too_low"] - row["too_high"])
    exactly = stats.binomtest(round(c * 20_000), 20_000).proportion_ci(0.95, "exact")
    assert row["coverage_low"] == pytest.approx(exactly.low)
    assert row["coverage_high"] == pytest.approx(exactly.high)


def test_rate_methods_cover_at_least_their_level():
    """The union bound makes Clopper-Pearson conservative at every operating point."""
    points = [randomized_response_point(e) for e in (0.5, 1.0, 2.0)]
    for row in coverage_study(points, **SETTINGS, methods=["clopper-pearson"]):
        assert row["coverage_high"] >= 1 - row["alpha"]


def test_upper_ends_do_not_bound_the_mechanism():
    point = gaussian_point(1.0, threshold=0.5, delta=1e-5)
    big = SETTINGS | {"members": 1000, "nonmembers": 1000, "repeats": 300}
    for row in coverage_study([point], **big):
        assert row["below_mechanism"] > 0.99


def test_same_seed_same_rows_and_points_are_independent():
    first = coverage_study(POINTS, **SETTINGS)
    assert repr(coverage_study(POINTS, **SETTINGS)) == repr(first)
    assert repr(coverage_study(POINTS[2:3], **SETTINGS)) == repr(first[6:9])
    other = coverage_study(POINTS, **(SETTINGS | {"seed": 8}))
    assert [r["coverage"] for r in other] != [r["coverage"] for r in first]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"repeats": 0}, "repeats must be a whole number from 1, got 0"),
        ({"members": 2.5}, "members must be a whole number from 1, got 2.5"),
        ({"alpha": 1.5}, r"alpha must lie in \[1e-12, 1\)"),
        ({"methods": ["wald"]}, "method must be one of .* got 'wald'"),
    ],
)
def test_bad_arguments(change, message):
    with pytest.raises(UserError, match=message):
        coverage_study(POINTS, **(SETTINGS | change))
