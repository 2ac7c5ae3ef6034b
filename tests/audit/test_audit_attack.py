"""Scores, thresholds and tallies of the attack."""

import numpy as np
import pandas as pd
import pytest

from leakmeter.audit.attack import SELECTIONS, auc, choose_threshold, scores, tally
from leakmeter.audit.intervals import epsilon_interval
from leakmeter.runtime import UserError

LEVELS = {"delta": 1e-5, "alpha": 0.1}


def trials(n=4):
    return pd.DataFrame(
        {
            "trial": range(n),
            "rank0": [10.0, 90.0, 50.0, 20.0],
            "loss0": [1.0, 3.0, 1.0, 2.0],
            "loss1": [2.0, 1.0, 1.0, 2.0],
        }
    )


def references(count=2):
    return pd.DataFrame(
        {
            "trial": [3, 2, 1, 0],
            "sum0": [4.0, 2.0, 4.0, 2.0],
            "sum1": [4.0, 2.0, 4.0, 4.0],
            "count": count,
        }
    )


def test_calibration_takes_the_reference_means_by_trial():
    found = scores(trials(), references(), "calibrated")
    assert found.tolist() == [0.0, (3 - 2) - (1 - 2), 0.0, 0.0]
    assert scores(trials(), references(), "plain").tolist() == [10, 90, 50, 20]


def test_an_attack_that_cannot_be_made_is_one_clear_error():
    with pytest.raises(UserError, match="expected one of plain, calibrated"):
        scores(trials(), references(), "lira")
    with pytest.raises(UserError, match="reference models"):
        scores(trials(), references(count=0), "calibrated")
    with pytest.raises(UserError, match="expected one of median, crossfit, authors"):
        choose_threshold(np.arange(4.0), np.array([0, 1, 0, 1]), "best", **LEVELS)


def test_tallies_of_a_small_case():
    values, bits = np.array([0.1, 0.9, 0.8, 0.2, 0.7]), np.array([0, 1, 1, 1, 0])
    assert tally(values, bits, 0.5) == {"fn": 1, "tp": 2, "fp": 1, "tn": 1}
    assert tally(values, bits, np.full(5, 0.05)) == {"fn": 0, "tp": 3, "fp": 2, "tn": 0}


def test_auc_counts_ties_half_and_needs_both_bits():
    assert auc(np.array([1.0, 2.0, 3.0]), np.array([0, 0, 1])) == 1
    assert auc(np.ones(4), np.array([0, 1, 0, 1])) == 0.5
    assert np.isnan(auc(np.ones(2), np.array([1, 1])))


def test_the_median_of_one_half_is_used_on_the_other():
    values = np.array([1.0, 2.0, 3.0, 10.0, 20.0, 30.0])
    chosen = choose_threshold(values, np.array([0, 1, 0, 1, 0, 1]), "median", **LEVELS)
    assert chosen.tolist() == [20, 20, 20, 2, 2, 2]


@pytest.mark.parametrize("selection", ["median", "crossfit"])
def test_no_trial_chooses_its_own_threshold(selection):
    """A change to one half's bits or scores leaves that half's threshold alone."""
    rng = np.random.default_rng(0)
    values, bits = rng.normal(size=200), rng.integers(0, 2, 200)
    before = choose_threshold(values, bits, selection, **LEVELS)
    changed, flipped = values.copy(), bits.copy()
    changed[:100] += rng.normal(size=100)
    flipped[:100] = 1 - flipped[:100]
    after = choose_threshold(changed, flipped, selection, **LEVELS)
    assert np.array_equal(before[:100], after[:100])


def test_the_authors_choice_is_the_best_on_the_evaluated_trials():
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2, 300)
    values = rng.normal(size=300) + 0.8 * bits

    def low(threshold):
        return epsilon_interval(**tally(values, bits, threshold), **LEVELS, method="jeffreys")[0]

    chosen = choose_threshold(values, bits, "authors", **LEVELS)
    assert len(set(chosen)) == 1
    grid = np.percentile(values, np.linspace(0, 100, 1001))
    assert low(chosen[0]) >= max(map(low, grid)) - 0.15  # refined by the credible end nearby
    assert low(chosen[0]) >= low(np.median(values))


def test_crossfit_stays_off_the_tails():
    values, bits = np.arange(400.0), np.zeros(400, int)
    bits[[3, 203]] = 1
    bits[-1] = 1
    chosen = choose_threshold(values, bits, "crossfit", **LEVELS)
    assert 200 + 0.05 * 199 - 1 <= chosen[0] <= 200 + 0.95 * 199 + 1


def test_a_half_without_both_bits_is_one_clear_error():
    with pytest.raises(UserError, match="more trials"):
        choose_threshold(np.arange(6.0), np.array([0, 0, 0, 1, 0, 1]), "crossfit", **LEVELS)


@pytest.mark.parametrize("selection", SELECTIONS)
def test_a_perfect_attack_stays_perfect(selection):
    bits = np.tile([0, 1], 100)
    values = bits + np.linspace(0, 0.01, 200)
    found = tally(values, bits, choose_threshold(values, bits, selection, **LEVELS))
    assert found["fn"] + found["fp"] <= 10
