"""Random tests have fixed seeds; each compares at a level that a correct law fails once in 1000."""

import math

import numpy as np
import pytest
from scipy import stats

from leakmeter.dpauc.counting import count
from leakmeter.dpauc.debiasing import debias
from leakmeter.dpauc.randomized import (
    flip_probability,
    randomized_response,
    randomized_response_auc,
    randomized_response_from_counts,
)
from leakmeter.dpauc.roc import AUTHORS, auc_from_counts, auc_from_totals
from leakmeter.dpauc.threshold_layouts import thresholds
from leakmeter.runtime import UserError

GRID = thresholds(25)


def data(m=3000, seed=0):
    rng = np.random.default_rng(seed)
    labels = (rng.random(m) < 0.3).astype(int)
    return rng.beta(2 + labels, 5), labels


def release(**arguments):
    scores, labels = data()
    defaults = {"epsilon": 1.0, "thresholds": GRID, "repeats": 400, "seed": 1}
    return randomized_response(scores, labels, **{**defaults, **arguments})


def test_flip_probability():
    assert flip_probability(0) == 0.5
    assert flip_probability(math.inf) == 0.0
    assert flip_probability(1e9) == 0.0
    # Equation (1): keeping and flipping have the odds e^eps.
    p = flip_probability(2.0)
    assert (1 - p) / p == pytest.approx(math.exp(2.0))
    for bad in (-1.0, math.nan):
        with pytest.raises(UserError, match="at least 0"):
            flip_probability(bad)


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_binned_and_per_record_have_one_law(epsilon):
    binned = release(epsilon=epsilon, repeats=1000)
    record = release(epsilon=epsilon, repeats=1000, seed=2, law="per-record")
    for name in ("auc", "noisy_auc", "noisy_positives", "alpha", "beta"):
        a, b = getattr(binned, name), getattr(record, name)
        assert stats.ks_2samp(a, b).pvalue > 1e-3, name
    other = release(epsilon=epsilon * 1.2, repeats=1000, seed=3)
    assert stats.ks_2samp(other.noisy_auc, record.noisy_auc).pvalue < 1e-3


def test_debiasing_is_right_on_average():
    scores, labels = data()
    clean = auc_from_counts(count(scores, labels, GRID))
    for base_rate in (None, labels.mean()):
        result = release(epsilon=2.0, repeats=4000, base_rate=base_rate)
        # The noisy AUC is far below; the debiased mean is off by the second-order bias at most.
        assert clean - result.noisy_auc.mean() > 0.03
        se = result.auc.std() / math.sqrt(4000)
        assert abs(result.auc.mean() - clean) < 4 * se + 2e-4


def test_uses_the_noisy_counts_and_not_the_true_ones():
    result = release(epsilon=1.0, repeats=50)
    again = debias(
        result.noisy_auc,
        noisy_positives=result.noisy_positives,
        noisy_negatives=result.noisy_negatives,
        p=flip_probability(1.0),
        q=flip_probability(1.0),
    )
    np.testing.assert_array_equal(again.auc, result.auc)
    assert np.ptp(result.base_rate) > 0
    assert (result.noisy_positives + result.noisy_negatives == 3000).all()


def test_flip_once_reuses_one_release():
    result = release(flip="once", repeats=6)
    assert np.unique(result.auc).size == 1
    assert result.auc.shape == result.noisy_positives.shape == (6,)
    per_repeat = release(repeats=6)
    assert np.unique(per_repeat.auc).size == 6
    assert result.auc[0] == per_repeat.auc[0]  # the same first flip


def test_same_seed_same_bytes_and_prefixes():
    for law in ("binned", "per-record"):
        long = release(repeats=150, law=law).auc
        assert release(repeats=150, law=law).auc.tobytes() == long.tobytes()
        np.testing.assert_array_equal(release(repeats=70, law=law).auc, long[:70])


def test_no_noise_at_infinite_epsilon():
    scores, labels = data()
    counts = count(scores, labels, GRID)
    for law in ("binned", "per-record"):
        result = release(epsilon=math.inf, repeats=2, law=law)
        assert result.auc == pytest.approx(auc_from_counts(counts), abs=1e-12)
        assert (result.noisy_positives == labels.sum()).all()


def test_epsilon_zero_flips_half_and_says_nothing():
    result = release(epsilon=0.0)
    assert result.undefined.all()
    assert not result.outside.any()
    assert result.noisy_positives.mean() == pytest.approx(1500, abs=5 * math.sqrt(750 / 400))
    assert abs(result.noisy_auc.mean() - 0.5) < 0.003


def test_tiny_epsilon_is_flagged_and_not_clipped():
    result = release(epsilon=0.01)
    assert result.outside.any()
    assert not result.undefined.all()
    assert ((result.auc[result.outside] < 0) | (result.auc[result.outside] > 1)).all()


def test_undefined_when_a_class_disappears():
    # Two records, strong flips: in a quarter of the releases both labels are equal.
    result = randomized_response(
        [0.2, 0.8], [0, 1], epsilon=0.1, thresholds=[0.5], repeats=400, seed=1
    )
    gone = (result.noisy_positives == 0) | (result.noisy_negatives == 0)
    assert 0 < gone.sum() < 400
    assert result.undefined[gone].all()


def test_counts_suffice_and_clients_play_no_part():
    scores, labels = data()
    owner = np.random.default_rng(1).integers(0, 5, scores.size)
    a = randomized_response_from_counts(
        count(scores, labels, GRID, owner), epsilon=1.0, repeats=10, seed=4
    )
    b = randomized_response_auc(scores, labels, epsilon=1.0, thresholds=GRID, repeats=10, seed=4)
    np.testing.assert_array_equal(a.auc, b)


def test_curve_is_that_of_the_flipped_labels():
    """Per record with one repeat: reproduce the flips and count from scratch."""
    scores, labels = data(300)
    rate = flip_probability(1.5)
    flips = np.random.default_rng(7).random(300) < rate
    expected = auc_from_totals(count(scores, labels ^ flips, GRID).stacked(), AUTHORS)
    result = randomized_response(
        scores, labels, epsilon=1.5, thresholds=GRID, repeats=1, seed=7, law="per-record"
    )
    assert result.noisy_auc[0] == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": -1}, "epsilon is -1"),
        ({"flip": "never"}, "flip is 'never'"),
        ({"law": "fast"}, "law is 'fast'"),
        ({"repeats": 0}, "repeats is 0"),
        ({"base_rate": 1.0}, "base_rate is 1.0"),
        ({"thresholds": [0.1, 0.2]}, "descending"),
    ],
)
def test_bad_arguments(change, message):
    with pytest.raises(UserError, match=message):
        release(**{"repeats": 1, **change})
