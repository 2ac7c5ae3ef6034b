"""Laplace noise on every score (Table 3 of the DPAUC paper): private scores, ruined AUC."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from leakmeter.dpauc.exact import auc_of_sorted, keras_auc
from leakmeter.dpauc.mechanisms import check_repeats
from leakmeter.dpauc.records import check_records
from leakmeter.runtime import UserError

METRICS = ("rank", "keras")


def score_noise_auc(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    epsilon: float,
    repeats: int,
    seed: int,
    metric: str = "rank",
    keras_thresholds: int = 1000,
) -> np.ndarray:
    """AUCs after adding Laplace(0, 1/epsilon) noise to each score (sensitivity 1).

    Noisy scores leave [0, 1], where a thresholded AUC on [0, 1] ties them; the default is therefore
    the exact rank-based AUC.

    Parameters
    ----------
    scores, labels : (M,) records.
    epsilon : budget of each score, > 0; infinity adds no noise.
    repeats : R.
    seed : of the generator. The first r of R repeats do not depend on R.
    metric : ``"rank"``, or ``"keras"`` for what ``keras.metrics.AUC`` makes of the noisy scores.
    keras_thresholds : number of thresholds of the Keras metric.

    Returns
    -------
    (R,) float64.
    """
    scores, positive = check_records(scores, labels)
    if not epsilon > 0:
        raise UserError(f"epsilon is {epsilon}; expected a positive number")
    if metric not in METRICS:
        raise UserError(f"metric is {metric!r}; expected one of {', '.join(METRICS)}")
    check_repeats(repeats)
    scale = 0.0 if math.isinf(epsilon) else 1.0 / epsilon
    classes = [scores[mask].astype(np.float64) for mask in (positive, ~positive)]
    is_positive = np.repeat([True, False], [classes[0].size, classes[1].size])
    rng = np.random.default_rng(seed)
    result = np.empty(repeats)
    for i in range(repeats):
        noisy = [values + scale * _laplace(rng, values.size) for values in classes]
        if metric == "rank":
            result[i] = auc_of_sorted(np.sort(noisy[0]), np.sort(noisy[1]))
        else:
            result[i] = keras_auc(np.concatenate(noisy), is_positive, keras_thresholds)
    return result


def _laplace(rng: np.random.Generator, size: int) -> np.ndarray:
    # The difference of two exponentials is Laplace, and the ziggurat draws them twice as fast as
    # the inversion behind Generator.laplace.
    noise = rng.standard_exponential(size)
    noise -= rng.standard_exponential(size)
    return noise
