"""Audits of the mechanisms: separate samples, bounds that hold, tests that are reached."""

from __future__ import annotations

import numpy as np
import pytest

from leakmeter.crossings.label_games import evenly_spaced_game
from leakmeter.crossings.mechanism_audits import audit, audit_laplace, audit_response

COMMON = {"trials": 20_000, "delta": 1e-5, "alpha": 0.05}


def test_the_threshold_is_not_chosen_on_the_evaluated_sample():
    """Two calls with different seeds, and the tally is that of the second at the threshold."""
    samples = {}

    def play(seed):
        rng = np.random.default_rng(seed)
        bits = rng.integers(0, 2, 500)
        samples[seed] = (bits, bits + rng.normal(size=500))
        return samples[seed]

    found = audit(play, seed=1, delta=1e-5, alpha=0.05)
    assert len(samples) == 2
    selection, evaluation = samples.values()
    assert found.threshold >= selection[1].min()
    bits, values = evaluation
    assert found.tp == int(((values > found.threshold) & (bits == 1)).sum())
    assert found.fn + found.tp + found.fp + found.tn == 500


@pytest.mark.parametrize("n_thresholds", [1, 10, 100])
def test_order_of_the_charges_and_the_audit(n_thresholds):
    """low <= exact epsilon of the mechanism <= 2 T eps' < 4 T eps' (the first with 97.5 %)."""
    found = audit_laplace(
        evenly_spaced_game(10),
        n_thresholds=n_thresholds,
        epsilon_per_count=2 / n_thresholds,
        observer="server",
        seed=5,
        **COMMON,
    )
    assert found["low"] <= found["pld"] <= found["tight"] < found["paper"]
    assert found["paper"] == pytest.approx(2 * found["tight"])
    assert found["low"] <= found["estimate"] <= found["high"]


def test_one_threshold_reaches_the_pure_cost():
    found = audit_laplace(
        evenly_spaced_game(10),
        n_thresholds=1,
        epsilon_per_count=0.5,
        observer="server",
        seed=7,
        **COMMON,
    )
    assert found["test"] > 0.95 * found["tight"]
    assert found["low"] < 1.0 < found["high"] + 0.1


def test_intervals_hold_the_epsilon_of_the_chosen_test():
    """Of 40 audits at level 95 % about 38; fewer than 32 has a chance below 1e-4."""
    held = 0
    for seed in range(40):
        found = audit_laplace(
            evenly_spaced_game(10),
            n_thresholds=5,
            epsilon_per_count=0.2,
            observer="server",
            trials=2000,
            delta=1e-5,
            alpha=0.05,
            seed=seed,
        )
        held += found["low"] <= found["test"] <= found["high"]
    assert held >= 32


def test_randomised_response_flipped_anew_costs_every_time():
    once = audit_response(epsilon=1.0, releases=10, flip="once", seed=1, **COMMON)
    anew = audit_response(epsilon=1.0, releases=10, flip="per-repeat", seed=1, **COMMON)
    assert once["tight"] == 1.0
    assert once["low"] < 1.0 < once["high"] + 0.1
    assert anew["tight"] == 10.0
    assert 2.0 < anew["low"] <= anew["pld"]
