"""Accounting of DP-SGD under both adjacencies."""

import math

import pytest
from scipy import optimize, special

from leakmeter.audit.coverage import gaussian_epsilon
from leakmeter.audit.privacy_accounting import calibrate_noise, dpsgd_epsilon
from leakmeter.runtime import UserError

KIND = {"rate": 1.0, "steps": 1, "delta": 1e-5}


@pytest.mark.parametrize("noise", [0.8, 2.0])
@pytest.mark.parametrize(("adjacency", "sensitivity"), [("add-remove", 1), ("replace-one", 2)])
def test_one_full_batch_is_the_gaussian_mechanism(noise, adjacency, sensitivity):
    exact = gaussian_epsilon(sensitivity / noise, delta=1e-5)
    found = dpsgd_epsilon(noise, **KIND, adjacency=adjacency)
    assert found == pytest.approx(exact, abs=2e-3)
    assert found >= exact - 1e-6  # never optimistic


def test_steps_of_full_batches_compose_like_one_with_less_noise():
    found = dpsgd_epsilon(4.0, rate=1.0, steps=4, delta=1e-5, adjacency="add-remove")
    assert found == pytest.approx(gaussian_epsilon(0.5, delta=1e-5), abs=2e-3)


def test_one_sampled_step_against_its_hockey_stick_divergence():
    """Adding a record: q N(1, s^2) + (1-q) N(0, s^2) against N(0, s^2), integrated in closed form."""
    q, noise, delta = 0.2, 1.0, 1e-3

    def excess(epsilon):
        # the likelihood ratio exceeds e^epsilon above this point
        cut = noise**2 * math.log((math.exp(epsilon) - 1 + q) / q) + 0.5
        above = q * special.ndtr((1 - cut) / noise) + (1 - q) * special.ndtr(-cut / noise)
        return above - math.exp(epsilon) * special.ndtr(-cut / noise) - delta

    exact = optimize.brentq(excess, 1e-6, 10)
    found = dpsgd_epsilon(noise, rate=q, steps=1, delta=delta, adjacency="add-remove")
    assert found == pytest.approx(exact, abs=2e-3)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_calibration_meets_its_target_from_below(adjacency):
    kind = {"rate": 0.125, "steps": 50, "delta": 1e-5, "adjacency": adjacency}
    noise = calibrate_noise(8.0, **kind)
    assert 7.99 <= dpsgd_epsilon(noise, **kind) <= 8.0


def test_swapping_needs_more_noise_than_adding():
    kind = {"rate": 0.125, "steps": 20, "delta": 1e-5}
    assert calibrate_noise(4, **kind, adjacency="replace-one") > calibrate_noise(
        4, **kind, adjacency="add-remove"
    )


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"rate": 0.0}, "rate"),
        ({"steps": 0}, "steps"),
        ({"steps": 1.5}, "steps"),
        ({"delta": 0.0}, "delta"),
        ({"adjacency": "swap"}, "adjacency"),
    ],
)
def test_bad_arguments(change, match):
    with pytest.raises(UserError, match=match):
        dpsgd_epsilon(1.0, **{**KIND, "adjacency": "add-remove", **change})


def test_bad_targets():
    with pytest.raises(UserError, match="noise_multiplier"):
        dpsgd_epsilon(0.0, **KIND, adjacency="add-remove")
    with pytest.raises(UserError, match="epsilon"):
        calibrate_noise(-1.0, **KIND, adjacency="add-remove")
