"""The law that is really drawn, as exact fractions; sums over clients; shares."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from leakmeter.dpauc.discrete_noise import (
    LEAST_EPSILON,
    Noise,
    digit_thresholds,
    discrete_laplace,
    discrete_laplace_variance,
    polya_shares,
)
from leakmeter.runtime import UserError


def drawn_geometric(epsilon):
    """Exact law of the geometric variable that the comparisons draw: Fractions by value."""
    mass = [Fraction(1)]
    for threshold in digit_thresholds(epsilon):
        one = Fraction(int(threshold), 2**64)
        mass = [m * (1 - one) for m in mass] + [m * one for m in mass]
    return mass


def distance_of_the_drawn_geometric(epsilon):
    """Total variation from the geometric law, in decimal arithmetic of 80 digits."""
    with localcontext(prec=80):
        q = (-Decimal(epsilon)).exp()
        drawn = [Decimal(m.numerator) / Decimal(m.denominator) for m in drawn_geometric(epsilon)]
        gaps = [abs(m - (1 - q) * q**g) for g, m in enumerate(drawn)]
        return (sum(gaps) + q ** len(drawn)) / 2


@pytest.mark.parametrize("epsilon", [0.05, 0.35, 0.5, 1.0, 2.0, 5.0])
def test_the_drawn_law_is_as_near_as_is_said(epsilon):
    """(n + 2) 2^-64 for a geometric variable, so at most 2^-57 for the difference of two."""
    digits = digit_thresholds(epsilon).size
    distance = distance_of_the_drawn_geometric(epsilon)
    assert distance <= Decimal(digits + 2) / 2**64
    assert 2 * distance < Decimal(2) ** -57


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 5.0])
def test_delta_of_the_drawn_noise_over_all_outputs(epsilon):
    """Exact delta at epsilon of neighbouring counts, below (1 + exp(epsilon)) 2^-57."""
    size = len(drawn_geometric(epsilon))
    law = drawn_discrete_laplace(epsilon, reach=size)
    bound = Fraction((1 + Decimal(epsilon).exp()) / 2**57)
    growth = Fraction(Decimal(epsilon).exp())
    for sign in (1, -1):
        delta = sum(
            max(Fraction(0), law.get(x, 0) - growth * law.get(x - sign, 0))
            for x in range(-size, size + 1)
        )
        assert delta < bound


def drawn_discrete_laplace(epsilon, reach):
    g = drawn_geometric(epsilon)
    return {
        x: sum(g[i + max(x, 0)] * g[i + max(-x, 0)] for i in range(len(g) - abs(x)))
        for x in range(-reach, reach + 1)
    }


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 5.0])
def test_neighbouring_counts_differ_by_at_most_epsilon_in_the_drawn_law(epsilon):
    """Ratio of exact masses at every output whose mass is not negligible (2^-40).

    The last digit's chance is a few thousand of 2^64, so rounding it shows in the farthest tail; what
    is there counts towards a delta below 2^-40.
    """
    law = drawn_discrete_laplace(epsilon, reach=int(30 / epsilon))
    bound = math.exp(epsilon) * (1 + 1e-9)
    checked = 0
    for x in range(-int(30 / epsilon) + 1, int(30 / epsilon)):
        if min(law[x], law[x - 1]) > Fraction(1, 2**40):
            assert float(law[x] / law[x - 1]) <= bound
            assert float(law[x - 1] / law[x]) <= bound
            checked += 1
    assert checked > 4


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_the_drawn_law_is_the_discrete_laplace_law(epsilon):
    q = math.exp(-epsilon)
    mass = drawn_geometric(epsilon)
    assert sum(mass) == 1
    distance = sum(abs(float(m) - (1 - q) * q**g) for g, m in enumerate(mass))
    assert distance / 2 < 1e-15
    assert q ** len(mass) < 2**-63  # what lies beyond the last digit


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.5, 4.0])
def test_variance(epsilon):
    q = math.exp(-epsilon)
    assert discrete_laplace_variance(epsilon) == pytest.approx(2 * q / (1 - q) ** 2, rel=1e-6)
    draws = discrete_laplace(epsilon, (40_000,), np.random.default_rng(1)).astype(float)
    assert draws.var() == pytest.approx(discrete_laplace_variance(epsilon), rel=0.06)
    # never more than Laplace noise of the same privacy
    assert discrete_laplace_variance(epsilon) < 2 / epsilon**2


def convolved(epsilon, clients, reach=60):
    one = np.exp(-epsilon * np.abs(np.arange(-reach, reach + 1)))
    one /= one.sum()
    law = one
    for _ in range(clients - 1):
        law = np.convolve(law, one)
    return law


def assert_follows(draws, law, half=8):
    centre = law.size // 2
    inner = law[centre - half : centre + half + 1]
    seen = np.array([(draws == x).sum() for x in range(-half, half + 1)])
    rest, rest_law = draws.size - seen.sum(), 1 - inner.sum()
    assert chisquare([*seen, rest], draws.size * np.array([*inner, rest_law])).pvalue > 1e-4


@pytest.mark.parametrize("clients", [1, 3])
def test_the_sum_over_clients_in_one_step_has_the_law_of_single_draws(clients):
    noise = Noise("discrete", 0.7, clients)
    rng = np.random.default_rng(2)
    law = convolved(0.7, clients)
    assert_follows(noise.summed(rng, (50_000,)), law)
    assert_follows(noise.released(rng, (50_000,)).sum(axis=0), law)


def test_shares_of_clients_sum_to_one_discrete_laplace_variable():
    shares = polya_shares(0.7, 7, (50_000,), np.random.default_rng(3))
    assert shares.shape == (7, 50_000)
    assert_follows(shares.sum(axis=0), convolved(0.7, 1))


@pytest.mark.parametrize("law", ["laplace", "gaussian", "discrete"])
def test_variance_of_the_sum(law):
    noise = Noise(law, 0.5, 20)
    rng = np.random.default_rng(4)
    for draws in (noise.summed(rng, (40_000,)), noise.released(rng, (20_000,)).sum(axis=0)):
        assert draws.var() == pytest.approx(noise.variance, rel=0.05)
        assert abs(draws.mean()) < 5 * math.sqrt(noise.variance / draws.size)


def test_a_release_without_seed_differs_each_time():
    noise = Noise("discrete", 0.1)
    a, b = noise.released(None, (50,)), noise.released(None, (50,))
    assert a.dtype == np.int64
    assert (a != b).any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("uniform", 1.0), "noise is 'uniform'"),
        (("laplace", 0.0), "noise parameter is 0"),
        (("discrete", "1"), "noise parameter is '1'"),
        (("discrete", 1.0, 0), "clients is 0; expected an integer of at least 1"),
        (("discrete", 1.0, -3), "clients is -3"),
        (("gaussian", 1.0, 2.5), "clients is 2.5"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(UserError, match=message):
        Noise(*arguments)
    with pytest.raises(UserError, match="epsilon is 0"):
        digit_thresholds(0)


def test_epsilons_too_small_for_64_bits():
    assert digit_thresholds(LEAST_EPSILON).size <= 62
    with pytest.raises(UserError, match="epsilon is 5e-18; expected a number from 1e-17"):
        digit_thresholds(5e-18)
    for epsilon, clients, message in ((0, 1, "epsilon is 0"), (1.0, 0, "clients is 0")):
        with pytest.raises(UserError, match=message):
            polya_shares(epsilon, clients, (1,), np.random.default_rng(0))
