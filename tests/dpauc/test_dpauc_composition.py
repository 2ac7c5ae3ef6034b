"""Repeated evaluation: closed forms, exact small cases, order of the rules."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from leakmeter.dpauc.composition import (
    RULES,
    composed_epsilon,
    epsilon_per_evaluation,
    gaussian_epsilon,
    gaussian_sigma_repeated,
    zcdp_delta,
    zcdp_rho,
    zcdp_sigma,
)
from leakmeter.dpauc.mechanisms import gaussian_delta
from leakmeter.runtime import UserError


def randomised_response_delta(epsilon, evaluations, total):
    """Delta of E binary randomised responses by summing over all transcripts (E + 1 of them)."""
    p = 1 / (1 + math.exp(-epsilon))
    mass = [
        (
            math.comb(evaluations, k) * p**k * (1 - p) ** (evaluations - k),
            math.comb(evaluations, k) * p ** (evaluations - k) * (1 - p) ** k,
        )
        for k in range(evaluations + 1)
    ]
    return sum(max(0.0, a - math.exp(total) * b) for a, b in mass)


@pytest.mark.parametrize(("epsilon", "evaluations"), [(0.5, 3), (0.1, 20), (1.0, 10)])
def test_optimal_composition_is_that_of_randomised_response(epsilon, evaluations):
    delta = 1e-3
    found = composed_epsilon(epsilon, evaluations, rule="optimal", delta=delta)
    assert randomised_response_delta(epsilon, evaluations, found) <= delta * (1 + 1e-9)
    # pessimistic by at most the discretisation
    assert randomised_response_delta(epsilon, evaluations, found * 0.999) > delta


def discrete_laplace_delta(epsilon, compositions, total, reach=60):
    """Delta of a few discrete Laplace releases of neighbouring counts by enumeration."""
    x = np.arange(-reach, reach + 1)
    p = np.exp(-epsilon * np.abs(x))
    q = np.exp(-epsilon * np.abs(x - 1))
    p, q = p / p.sum(), q / q.sum()
    a, b = p, q
    for _ in range(compositions - 1):
        a, b = np.outer(a, p).ravel(), np.outer(b, q).ravel()
    return np.maximum(0, a - math.exp(total) * b).sum()


@pytest.mark.parametrize(("release", "moved"), [("histogram", 2), ("positives", 1)])
def test_pld_covers_the_enumerated_law(release, moved):
    delta, epsilon = 1e-2, 1.0
    found = composed_epsilon(epsilon, 1, rule="pld", delta=delta, release=release)
    assert discrete_laplace_delta(epsilon / moved, moved, found) <= delta * (1 + 1e-6)
    assert discrete_laplace_delta(epsilon / moved, moved, found * 0.97) > delta


def test_advanced_composition_is_the_textbook_formula():
    value = composed_epsilon(0.1, 100, rule="advanced", delta=1e-5)
    expected = math.sqrt(200 * math.log(1e5)) * 0.1 + 10 * (math.exp(0.1) - 1)
    assert value == pytest.approx(expected)


@settings(max_examples=25, deadline=None)
@given(st.floats(0.02, 1.0), st.integers(1, 60))
def test_each_rule_is_at_most_the_one_before(epsilon, evaluations):
    totals = [composed_epsilon(epsilon, evaluations, rule=r, delta=1e-5) for r in RULES]
    for loose, tight in itertools.pairwise(totals):
        assert tight <= loose * 1.02  # discretisation of the last two


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("evaluations", [1, 10, 100])
def test_the_budget_of_one_evaluation_is_the_inverse(rule, evaluations):
    each = epsilon_per_evaluation(1.0, evaluations, rule=rule, delta=1e-5)
    back = composed_epsilon(each, evaluations, rule=rule, delta=1e-5)
    assert back == pytest.approx(1.0, rel=1e-3)
    assert back <= 1.0 + 1e-5


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1e-3, 1e-5), (0.1, 1e-5), (1.0, 1e-5), (8.0, 1e-6), (1e4, 1e-5)]
)
def test_zcdp_is_valid_for_the_gaussian_and_not_wasteful(epsilon, delta):
    rho = zcdp_rho(epsilon, delta)
    assert zcdp_delta(rho, epsilon) == pytest.approx(delta, rel=1e-6)
    exact = gaussian_delta(epsilon, 1 / math.sqrt(2 * rho))
    assert exact <= delta
    ratio = zcdp_sigma(epsilon, delta, 1.0) / gaussian_sigma_repeated(epsilon, delta, 1.0)
    assert 1 <= ratio < 1.25


def test_basic_composition_needs_no_delta():
    for delta in (0, None, 1e-5):
        assert composed_epsilon(0.5, 3, rule="basic", delta=delta) == 1.5
        assert epsilon_per_evaluation(1.5, 3, rule="basic", delta=delta) == 0.5


@pytest.mark.parametrize("rule", ["advanced", "optimal", "pld"])
@pytest.mark.parametrize(("total", "evaluations"), [(0.1, 2), (0.01, 3)])
def test_a_large_delta_buys_more_than_the_total(rule, total, evaluations):
    each = epsilon_per_evaluation(total, evaluations, rule=rule, delta=0.5)
    back = composed_epsilon(each, evaluations, rule=rule, delta=0.5)
    assert back == pytest.approx(total, rel=1e-3)


def test_zcdp_delta_beats_the_simple_conversion():
    """Bun and Steinke (2016): epsilon = rho + 2 sqrt(rho ln(1/delta))."""
    rho, delta = 0.05, 1e-5
    epsilon = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    assert zcdp_delta(rho, epsilon) < delta


def test_gaussian_releases_compose_into_one():
    sigma = gaussian_sigma_repeated(1.0, 1e-5, 2.0, evaluations=9)
    assert gaussian_epsilon(sigma / 2.0, 9, 1e-5) == pytest.approx(1.0)
    # delta at epsilon 0 is the total variation distance
    assert gaussian_epsilon(1.0, 1, 2 * norm.cdf(0.5) - 1 + 1e-9) == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon": 0}, "epsilon is 0"),
        ({"evaluations": 1.5}, "evaluations is 1.5"),
        ({"rule": "best"}, "rule is 'best'"),
        ({"delta": 1}, "delta is 1"),
        ({"delta": 0}, "delta is 0"),
        ({"delta": None}, "delta is None"),
        ({"delta": "a"}, "delta is 'a'"),
        ({"delta": 2, "rule": "basic"}, "delta is 2; expected a number from 0 to 1"),
        ({"epsilon": None}, "epsilon is None"),
        ({"evaluations": None}, "evaluations is None"),
        ({"release": "none"}, "release is 'none'"),
    ],
)
def test_bad_input(arguments, message):
    given = {"epsilon": 1.0, "evaluations": 1, "rule": "pld", "delta": 1e-5} | arguments
    epsilon, evaluations = given.pop("epsilon"), given.pop("evaluations")
    with pytest.raises(UserError, match=message):
        composed_epsilon(epsilon, evaluations, **given)
