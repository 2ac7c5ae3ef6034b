"""The last test imports TensorFlow, which takes some seconds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from leakmeter.dpauc.counting import count
from leakmeter.dpauc.exact import auc_of_sorted, exact_auc, keras_auc
from leakmeter.dpauc.roc import auc_from_counts
from leakmeter.dpauc.threshold_layouts import thresholds
from leakmeter.runtime import UserError


def records(seed, m, positive_share, decimals=None, dtype=np.float64):
    rng = np.random.default_rng(seed)
    labels = (rng.random(m) < positive_share).astype(np.int8)
    labels[:2] = 0, 1
    scores = rng.beta(2 + labels, 5)
    return (scores if decimals is None else scores.round(decimals)).astype(dtype), labels


@given(
    st.lists(st.tuples(st.integers(-4, 4), st.booleans()), min_size=1, max_size=50),
    st.sampled_from([np.float32, np.float64]),
)
@settings(max_examples=200, deadline=None)
def test_equals_scikit_learn_with_ties(rows, dtype):
    scores = np.array([0, 1, *(s for s, _ in rows)], dtype) / 3
    labels = np.array([0, 1, *(y for _, y in rows)])
    assert exact_auc(scores, labels) == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("decimals", [None, 2])
@pytest.mark.parametrize("share", [0.02, 0.25, 0.9])
def test_equals_scikit_learn_on_larger_sets(dtype, decimals, share):
    scores, labels = records(1, 30_000, share, decimals, dtype)
    assert abs(exact_auc(scores, labels) - roc_auc_score(labels, scores)) < 1e-12


def test_equals_the_pairs():
    scores, labels = records(2, 60, 0.4, 1)
    pairs = [(p > n) + 0.5 * (p == n) for p in scores[labels == 1] for n in scores[labels == 0]]
    assert exact_auc(scores, labels) == pytest.approx(np.mean(pairs), abs=1e-15)


def test_extremes_and_infinities():
    assert exact_auc([1, 2], [0, 1]) == 1.0
    assert exact_auc([2, 1], [0, 1]) == 0.0
    assert exact_auc([1, 1, 1], [0, 1, 1]) == 0.5
    assert exact_auc([-np.inf, np.inf, 0], [0, 1, 0]) == 1.0


def test_both_search_directions_agree():
    few, many = np.array([0.1, 0.5, 0.5]), np.array([0.1, 0.2, 0.3, 0.5, 0.9])
    assert auc_of_sorted(few, many) == pytest.approx(1 - auc_of_sorted(many, few), abs=1e-15)


@pytest.mark.parametrize("n", [2, 200, 1000])
def test_keras_auc_is_the_curve_on_keras_thresholds(n):
    scores, labels = records(3, 5000, 0.3, dtype=np.float32)
    curve = auc_from_counts(count(scores, labels, thresholds(n, "keras")))
    assert keras_auc(scores, labels, n) == pytest.approx(curve, abs=1e-12)


def test_keras_auc_ties_what_leaves_the_unit_interval():
    # All four scores are on one side of [0, 1]: a rank AUC of 1, a tie for Keras.
    assert exact_auc([1.1, 1.2, 1.3, 1.4], [0, 0, 1, 1]) == 1.0
    assert keras_auc([1.1, 1.2, 1.3, 1.4], [0, 0, 1, 1]) == 0.5
    with pytest.raises(UserError, match="at least 2"):
        keras_auc([0.1, 0.2], [0, 1], 1)


@pytest.mark.slow
def test_keras_auc_equals_tensorflow():
    import tensorflow as tf

    for decimals in (None, 2):
        scores, labels = records(4, 20_000, 0.3, decimals, np.float32)
        scores[:4] = 0.0, 1.0, -0.5, 1.5
        for n in (200, 1000):
            metric = tf.keras.metrics.AUC(num_thresholds=n)
            metric.update_state(labels, scores)
            assert keras_auc(scores, labels, n) == pytest.approx(float(metric.result()), abs=2e-6)
