"""Laws of the privacy loss: closed forms, an independent accountant, brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakmeter.crossings.loss_laws import LossLaw, histogram_law, laplace_law, response_law
from leakmeter.dpauc.accounting import label_dp_epsilon
from leakmeter.runtime import UserError


@settings(max_examples=30, deadline=None)
@given(coordinates=st.integers(1, 60), eps=st.floats(0.01, 3.0))
def test_laplace_law_has_the_mean_of_its_coordinates(coordinates, eps):
    """The mean is that of one coordinate, eps' - 1 + e^-eps', times their number."""
    law = laplace_law(coordinates, eps)
    np.testing.assert_allclose(law.values, -law.values[::-1])
    assert law.values[-1] == pytest.approx(coordinates * eps)
    mean = coordinates * (eps - 1 + math.exp(-eps))
    assert law.values @ law.probabilities == pytest.approx(mean, rel=1e-3, abs=1e-6)


def test_one_coordinate_in_closed_form():
    """P(L = eps') = 1/2, P(L = -eps') = e^-eps' / 2, P(L <= 0) = e^(-eps'/2) / 2."""
    law = laplace_law(1, 2.0)
    assert law.probabilities[-1] == pytest.approx(0.5, abs=1e-3)
    assert law.probabilities[0] == pytest.approx(math.exp(-2) / 2, abs=1e-3)
    assert law.rates(0.0)[0] == pytest.approx(math.exp(-1) / 2, abs=1e-3)


def test_pure_cost_is_reached_at_one_threshold():
    """Both counts of T = 1 saturate with probability 1/4: 2 eps' is the epsilon of a real test."""
    law = laplace_law(2, 1.0)
    fnr, fpr = law.rates(2.0 - 1e-6)
    assert fnr == pytest.approx(0.75, abs=1e-3)
    assert math.log((1 - fnr) / fpr) == pytest.approx(2.0, abs=1e-6)
    assert law.epsilon(0.0) == pytest.approx(2.0, abs=1e-6)


@pytest.mark.parametrize(
    ("n_thresholds", "eps"), [(1, 1.0), (1, 3.0), (10, 0.1), (30, 0.1), (100, 0.02)]
)
@pytest.mark.parametrize("delta", [1e-5, 1e-3, 0.05])
def test_epsilon_agrees_with_the_accountant(n_thresholds, eps, delta):
    """An implementation that shares nothing with ours; its rounding is upwards."""
    ours = laplace_law(2 * n_thresholds, eps).epsilon(delta)
    theirs = label_dp_epsilon(n_thresholds, eps, rule="pld", delta=delta)
    assert ours == pytest.approx(theirs, abs=2e-3 * eps)


@settings(max_examples=30, deadline=None)
@given(coordinates=st.integers(1, 40), eps=st.floats(0.02, 1.0), delta=st.floats(1e-6, 0.2))
def test_epsilon_is_that_of_the_best_threshold(coordinates, eps, delta):
    """No threshold does better, and one does as well."""
    law = laplace_law(coordinates, eps)
    tests = [law.test_epsilon(t, delta) for t in np.linspace(-law.values[-1], law.values[-1], 801)]
    assert max(tests) <= law.epsilon(delta) + 1e-6
    at_optimum = law.test_epsilon(law.epsilon(delta) - 1e-9, delta)
    assert at_optimum == pytest.approx(law.epsilon(delta), abs=2 * eps / 100)


@pytest.mark.parametrize("observations", [1, 2, 5, 9])
@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.1])
def test_response_law_by_enumeration(observations, delta):
    """All 2^R sequences of noisy labels, the worst set by sorting them by their ratio."""
    epsilon = 0.7
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    pairs = []
    for seen in itertools.product((0, 1), repeat=observations):
        ones = sum(seen)
        pairs.append(
            (
                keep**ones * (1 - keep) ** (observations - ones),
                keep ** (observations - ones) * (1 - keep) ** ones,
            )
        )
    pairs.sort(key=lambda p: -p[0] / p[1])
    best = tp = fp = 0.0
    for one, zero in pairs:
        tp, fp = tp + one, fp + zero
        if tp > delta:
            best = max(best, math.log((tp - delta) / fp))
    assert response_law(observations, epsilon).epsilon(delta) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("observations", [1, 20, 100])
def test_response_law_agrees_with_the_accountant(observations):
    from dp_accounting.pld import privacy_loss_distribution as pld

    epsilon = 0.4
    single = pld.from_randomized_response(2 / (1 + math.exp(epsilon)), 2)
    theirs = single.self_compose(observations).get_epsilon_for_delta(1e-5)
    assert response_law(observations, epsilon).epsilon(1e-5) == pytest.approx(theirs, rel=2e-3)


@pytest.mark.parametrize("evaluations", [1, 30])
def test_histogram_law_agrees_with_composition(evaluations):
    """What repeated evaluation is charged elsewhere, from the accountant's discrete Laplace law."""
    from leakmeter.dpauc.composition import composed_epsilon

    theirs = composed_epsilon(0.5, evaluations, rule="pld", delta=1e-5)
    ours = response_law(2 * evaluations, 0.25).epsilon(1e-5)
    assert ours == pytest.approx(theirs, rel=2e-3)
    assert histogram_law(0.5).epsilon(0.0) == pytest.approx(0.5)


def test_large_epsilon_does_not_underflow():
    assert response_law(1, 64.0).epsilon(1e-5) == pytest.approx(64.0, abs=1e-3)
    assert response_law(100, 500.0).epsilon(1e-5) > 10_000


@pytest.mark.parametrize("eps", [5.0, 10.0])
def test_epsilon_beyond_the_smallest_double(eps):
    """The null probability of the worst set, e^-890 and less, is no double.

    The accountant rounds upwards, here by 0.1% at most.
    """
    theirs = label_dp_epsilon(100, eps, rule="pld", delta=1e-5)
    assert 0.998 * theirs < laplace_law(200, eps).epsilon(1e-5) < theirs < 0.96 * 200 * eps
    halved = response_law(1, 800.0).epsilon(0.5)
    assert halved == pytest.approx(800 - math.log(2), abs=1e-9)


@pytest.mark.parametrize("delta", [-1.0, 1.0, 2.0, math.nan])
def test_epsilon_refuses_an_impossible_delta(delta):
    with pytest.raises(UserError, match="delta must lie in"):
        response_law(1, 1.0).epsilon(delta)


def test_rates_at_a_value_of_the_law():
    """The test says one where the loss exceeds the threshold: an atom at it is a miss."""
    law = LossLaw(np.array([-1.0, 1.0]), np.array([0.25, 0.75]))
    assert law.rates(1.0) == (1.0, 0.0)
    assert law.rates(0.0) == (0.25, 0.25)
    assert law.rates(-1.0) == (0.25, 0.25)
    assert law.rates(-1.1) == (0.0, 1.0)


def test_refusals():
    with pytest.raises(UserError, match="coordinates is 0"):
        laplace_law(0, 1.0)
    with pytest.raises(UserError, match="epsilon_per_count is 0"):
        laplace_law(2, 0.0)
    with pytest.raises(UserError, match="observations is 0"):
        response_law(0, 1.0)
