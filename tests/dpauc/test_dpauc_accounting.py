import math

import numpy as np
import pytest

from leakmeter.dpauc.accounting import (
    _pld_epsilon,
    budget,
    epsilon_per_count,
    label_dp_epsilon,
)
from leakmeter.runtime import UserError


def laplace_delta(epsilon, eps, compositions):
    """Hockey-stick divergence of a sum of Laplace losses, by a convolution on a grid."""
    step = eps / 2000
    grid = np.arange(-eps, eps + step / 2, step)
    # Loss of one mechanism at output x, x ~ Laplace around 0 against 1: atoms at both ends.
    density = 0.25 * np.exp((grid - eps) / 2) * step
    density[0] = 0.5 * math.exp(-eps)
    density[-1] = 0.5
    inner = 1 - density[0] - density[-1]
    density[1:-1] *= inner / density[1:-1].sum()
    total = density
    for _ in range(compositions - 1):
        total = np.convolve(total, density)
    loss = np.linspace(-eps * compositions, eps * compositions, total.size)
    return float((total * np.maximum(0, -np.expm1(epsilon - loss))).sum())


@pytest.mark.parametrize("eps", [0.0025, 0.1, 2.0])
@pytest.mark.parametrize("delta", [1e-4, 1e-2])
def test_single_laplace_closed_form(eps, delta):
    """delta(epsilon) = 1 - exp((epsilon - eps) / 2), so epsilon = eps + 2 log(1 - delta)."""
    expected = max(0.0, eps + 2 * math.log1p(-delta))
    assert _pld_epsilon(1, eps, delta) == pytest.approx(expected, rel=1e-3, abs=1e-4 * eps)


@pytest.mark.parametrize(("eps", "compositions"), [(0.5, 2), (0.1, 6), (0.02, 40)])
def test_composition_against_a_direct_convolution(eps, compositions):
    spent = _pld_epsilon(compositions, eps, 1e-3)
    assert laplace_delta(spent, eps, compositions) == pytest.approx(1e-3, rel=2e-2)


def test_cost_of_a_hundred_thresholds():
    """In the limit of many small losses the release is Gaussian-like: mu = eps' sqrt(2 T)."""
    from leakmeter.dpauc.mechanisms import gaussian_delta

    eps = epsilon_per_count(100, 1.0, rule="paper")
    assert eps == pytest.approx(0.0025)
    spent = label_dp_epsilon(100, eps, rule="pld", delta=1e-5)
    mu = eps * math.sqrt(200)
    assert gaussian_delta(spent, 1 / mu) == pytest.approx(1e-5, rel=0.1)
    assert spent < 0.25 * label_dp_epsilon(100, eps, rule="tight")


def test_rules_by_hand():
    assert label_dp_epsilon(100, 0.02, rule="paper") == pytest.approx(8)
    assert label_dp_epsilon(100, 0.02, rule="tight") == pytest.approx(4)


@pytest.mark.parametrize("n", [1, 9, 200])
def test_pld_is_at_most_the_tight_rule(n):
    for eps in (1e-3, 0.05, 2.0):
        values = [label_dp_epsilon(n, eps, rule="pld", delta=d) for d in (1e-10, 1e-5, 0.1)]
        assert values == sorted(values, reverse=True)
        assert values[0] <= label_dp_epsilon(n, eps, rule="tight") * (1 + 1e-12)


@pytest.mark.parametrize("rule", ["paper", "tight", "pld"])
@pytest.mark.parametrize("n", [9, 100])
def test_conversions_are_inverse(rule, n):
    delta = 1e-5 if rule == "pld" else None
    for total in (0.3, 1.0, 8.0):
        eps = epsilon_per_count(n, total, rule=rule, delta=delta)
        assert label_dp_epsilon(n, eps, rule=rule, delta=delta) == pytest.approx(total, rel=1e-3)


def test_budget_of_a_truncated_layout():
    """Nominal 10 uses 9 thresholds, 7 of them distinct."""
    b = budget(10, epsilon_total=8.0)
    assert (b.nominal, b.actual, b.distinct) == (10, 9, 7)
    assert b.epsilon_per_count == pytest.approx(0.2)
    assert b.published == pytest.approx(8.0)
    assert b.paper_formula == pytest.approx(7.2)
    assert b.spent == pytest.approx(3.6)
    assert b.spent_if_distinct == pytest.approx(2.8)
    assert b.spent_at_delta < b.spent
    assert budget(10, epsilon_per_count=0.2) == budget(10, epsilon_total=8.0)
    uniform = budget(10, epsilon_total=8.0, layout="uniform")
    assert (uniform.actual, uniform.distinct) == (10, 10)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: budget(10), "exactly one"),
        (lambda: budget(10, epsilon_total=1, epsilon_per_count=1), "exactly one"),
        (lambda: budget(10, epsilon_per_count=0), "positive"),
        (lambda: label_dp_epsilon(0, 1, rule="tight"), "at least 1"),
        (lambda: label_dp_epsilon(5, 1, rule="basic"), "rule is 'basic'"),
        (lambda: label_dp_epsilon(5, 1, rule="pld"), "delta is None"),
        (lambda: label_dp_epsilon(5, math.inf, rule="paper"), "finite"),
        (lambda: epsilon_per_count(5, 0), "epsilon_total"),
        (lambda: epsilon_per_count(5, 1, rule="pld", delta=2), "delta is 2"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(UserError, match=message):
        call()
