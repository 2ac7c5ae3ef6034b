import math

import numpy as np
import pytest
from scipy import stats

from leakmeter.dpauc.exact import exact_auc, keras_auc
from leakmeter.dpauc.score_noise import _laplace, score_noise_auc
from leakmeter.runtime import UserError


def data(m=2000):
    rng = np.random.default_rng(0)
    labels = (rng.random(m) < 0.3).astype(int)
    return rng.beta(2 + labels, 5).astype(np.float32), labels


def test_noise_is_laplace():
    assert stats.kstest(_laplace(np.random.default_rng(1), 20_000), stats.laplace.cdf).pvalue > 1e-3


def test_law_of_the_auc_against_a_direct_simulation():
    scores, labels = data()
    rng = np.random.default_rng(2)
    direct = [
        exact_auc(scores + rng.laplace(scale=1 / 3, size=scores.size), labels) for _ in range(400)
    ]
    ours = score_noise_auc(scores, labels, epsilon=3.0, repeats=400, seed=1)
    assert stats.ks_2samp(ours, direct).pvalue > 1e-3


def test_expected_value_by_quadrature():
    """Two points a distance d apart: P(d + L - L' > 0) = 1 - e^(-x) (2 + x) / 4 with x = eps d."""
    scores, labels = np.repeat([0.0, 0.5], 4000), np.repeat([0, 1], 4000)
    x = 2.0 * 0.5
    expected = 1 - math.exp(-x) * (2 + x) / 4
    assert score_noise_auc(scores, labels, epsilon=2.0, repeats=20, seed=3).mean() == pytest.approx(
        expected, abs=4 * 0.5 / math.sqrt(20 * 4000)
    )


def test_no_noise_and_ever_more():
    scores, labels = data()
    exact = exact_auc(scores, labels)
    assert (
        score_noise_auc(scores, labels, epsilon=math.inf, repeats=2, seed=1).tolist() == [exact] * 2
    )
    means = [
        score_noise_auc(scores, labels, epsilon=e, repeats=20, seed=1).mean() for e in (8, 4, 1)
    ]
    assert exact > means[0] > means[1] > means[2] > 0.5


def test_keras_metric_loses_what_leaves_the_unit_interval():
    scores, labels = data()
    keras = score_noise_auc(scores, labels, epsilon=1.0, repeats=20, seed=1, metric="keras")
    rank = score_noise_auc(scores, labels, epsilon=1.0, repeats=20, seed=1)
    assert keras.shape == (20,)
    assert abs(keras - rank).max() > 1e-4  # ties of the clamped scores
    no_noise = score_noise_auc(
        scores, labels, epsilon=math.inf, repeats=1, seed=1, metric="keras", keras_thresholds=200
    )
    assert no_noise[0] == pytest.approx(keras_auc(scores, labels, 200))


def test_same_seed_same_bytes_and_prefixes():
    scores, labels = data()
    long = score_noise_auc(scores, labels, epsilon=2.0, repeats=8, seed=5)
    np.testing.assert_array_equal(
        score_noise_auc(scores, labels, epsilon=2.0, repeats=3, seed=5), long[:3]
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 0}, "epsilon is 0"),
        ({"repeats": -1}, "repeats is -1"),
        ({"metric": "tf"}, "metric is 'tf'"),
    ],
)
def test_bad_arguments(change, message):
    good = {"epsilon": 1.0, "repeats": 1, "seed": 1}
    with pytest.raises(UserError, match=message):
        score_noise_auc([0.1, 0.2], [0, 1], **{**good, **change})
