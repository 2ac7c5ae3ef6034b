import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakmeter.audit.region import (
    epsilon_at_rates,
    point_estimate,
    region_boundaries,
    region_corner,
    region_outline,
)
from leakmeter.runtime import UserError

rates = st.floats(0.001, 0.999)
deltas = st.sampled_from([0.0, 1e-5, 0.05, 0.5, 0.9])
epsilons = st.floats(0, 12)


def inside(x, y, epsilon, delta, slack=0.0):
    """The definition: four half-planes."""
    e = math.exp(epsilon)
    return (
        x + e * y >= 1 - delta - slack
        and e * x + y >= 1 - delta - slack
        and x + e * y <= e + delta + slack
        and e * x + y <= e + delta + slack
    )


def test_point_estimate_is_equation_1():
    value = point_estimate(fn=35, tp=65, fp=25, tn=75, delta=0.05)
    x, y = 0.35, 0.25
    assert value == pytest.approx(max(math.log((0.95 - y) / x), math.log((0.95 - x) / y)))


def test_point_estimate_at_the_ends():
    assert point_estimate(fn=0, tp=10, fp=0, tn=10, delta=0.0) == math.inf
    assert point_estimate(fn=10, tp=0, fp=10, tn=0, delta=0.0) == math.inf
    assert point_estimate(fn=0, tp=10, fp=5, tn=5, delta=0.4) == math.inf
    assert point_estimate(fn=0, tp=10, fp=5, tn=5, delta=0.5) == 0.0
    assert point_estimate(fn=0, tp=10, fp=10, tn=0, delta=0.0) == 0.0
    assert point_estimate(fn=5, tp=5, fp=5, tn=5, delta=0.0) == 0.0
    values = point_estimate(fn=[0, 5], tp=[10, 5], fp=0, tn=10, delta=1e-5)
    assert values.shape == (2,)
    assert values[0] == math.inf


def test_rates_near_one_keep_their_accuracy():
    """1 - delta - FPR with FPR = 1 - 1e-6 must not be formed from a rounded FPR."""
    value = point_estimate(fn=0.0, tp=1e6, fp=999_999, tn=1, delta=1e-7)
    assert value == math.inf
    value = point_estimate(fn=1, tp=10**9, fp=10**6 - 100, tn=100, delta=1e-6)
    assert value == pytest.approx(math.log((1e-4 - 1e-6) / (1 / (10**9 + 1))), abs=1e-12)


@given(rates, rates, deltas)
def test_epsilon_at_rates_is_the_smallest_region(x, y, delta):
    epsilon = epsilon_at_rates(x, y, delta=delta)
    assert inside(x, y, epsilon, delta, slack=1e-9)
    if epsilon > 1e-6:
        assert not inside(x, y, epsilon - 1e-6, delta)


@given(rates, rates, deltas)
def test_epsilon_is_symmetric(x, y, delta):
    value = epsilon_at_rates(x, y, delta=delta)
    assert epsilon_at_rates(y, x, delta=delta) == value
    assert epsilon_at_rates(1 - x, 1 - y, delta=delta) == pytest.approx(value, abs=1e-9)


@given(rates, epsilons, deltas)
def test_boundaries_are_the_extreme_points_of_the_region(x, epsilon, delta):
    low, high = (float(v) for v in region_boundaries(x, epsilon=epsilon, delta=delta))
    assert 0 <= low <= high <= 1
    slack = 1e-9 * math.exp(epsilon)
    assert inside(x, low, epsilon, delta, slack)
    assert inside(x, high, epsilon, delta, slack)
    step = 1e-6
    assert low == 0 or not inside(x, low - step, epsilon, delta)
    assert high == 1 or not inside(x, high + step, epsilon, delta)


@given(epsilons, deltas)
def test_corner_lies_on_the_boundary_and_the_diagonal(epsilon, delta):
    c = region_corner(epsilon=epsilon, delta=delta)
    assert c == pytest.approx((1 - delta) / (1 + math.exp(epsilon)))
    assert float(region_boundaries(c, epsilon=epsilon, delta=delta)[0]) == pytest.approx(
        c, rel=1e-9, abs=1e-12
    )


@given(epsilons, deltas)
def test_outline_is_closed_convex_and_symmetric(epsilon, delta):
    x, y = region_outline(epsilon=epsilon, delta=delta)
    assert (x[0], y[0]) == (x[-1], y[-1])
    cross = np.diff(x)[:-1] * np.diff(y)[1:] - np.diff(y)[:-1] * np.diff(x)[1:]
    assert (cross >= -1e-12).all()
    points = {(round(u, 9), round(v, 9)) for u, v in zip(x, y, strict=True)}
    assert {(v, u) for u, v in points} == points
    for u, v in points:
        assert min(abs(1 - u - p) + abs(1 - v - q) for p, q in zip(x, y, strict=True)) < 1e-8


def test_huge_epsilon_leaves_only_the_sides_out():
    low, high = region_boundaries([0.0, 1e-300, 0.5, 1.0], epsilon=800.0, delta=0.1)
    np.testing.assert_allclose(low, [0.9, 0, 0, 0])
    np.testing.assert_allclose(high, [1, 1, 1, 0.1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: epsilon_at_rates(1.5, 0.5, delta=0.0), r"fnr must lie in \[0, 1\], got 1.5"),
        (lambda: epsilon_at_rates(0.5, -0.1, delta=0.0), r"fpr must lie in \[0, 1\], got -0.1"),
        (lambda: epsilon_at_rates(0.5, 0.5, delta=1.0), r"delta must lie in \[0, 1\), got 1"),
        (lambda: region_corner(epsilon=-1.0, delta=0.0), r"epsilon must lie in \[0, inf\), got -1"),
        (
            lambda: region_boundaries(0.5, epsilon=math.inf, delta=0.0),
            r"epsilon must lie in \[0, inf\), got inf",
        ),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(UserError, match=message):
        call()
