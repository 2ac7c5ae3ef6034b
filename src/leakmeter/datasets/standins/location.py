"""Stand-in for LOCATION: a mixture of Bernoulli products with the real set's shape and counts.

Density (0.12), class counts and number of features are the real set's. The mixing was chosen so
that logistic regression separates 1,000 training records perfectly and generalises to between
half and three quarters, as it does on the real set: levels on it prove nothing.
"""

from __future__ import annotations

import numpy as np

from leakmeter.datasets.standins.mixtures import class_bits, proportional_labels
from leakmeter.runtime import generator

#: Records of each class in the real set.
COUNTS = (
    *(169, 178, 147, 155, 97, 182, 120, 308, 145, 210, 189, 184, 141, 122, 229),
    *(110, 176, 128, 180, 254, 228, 117, 158, 170, 139, 139, 155, 152, 149, 179),
)
FEATURES = 446
#: Quantiles of how often a feature is one: 0, 50, 90 and 100 per cent of the features.
_FREQUENCIES = ((0.0, 0.5, 0.9, 1.0), (0.030, 0.061, 0.290, 0.9986))


def frequencies(features: int, rng: np.random.Generator) -> np.ndarray:
    """Heavy-tailed frequencies of ones, LOCATION's quantiles interpolated in the logarithm."""
    quantiles, values = _FREQUENCIES
    return rng.permutation(
        np.exp(np.interp((np.arange(features) + 0.5) / features, quantiles, np.log(values)))
    )


def generate(rows: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Bits (rows, 446) uint8 and labels (rows,) from 0."""
    rng = generator(seed, "standin_location", rows=rows)
    labels = proportional_labels(rows, COUNTS, rng)
    bits = class_bits(
        labels,
        frequencies(FEATURES, rng),
        n_classes=len(COUNTS),
        own_share=0.25,
        keep=0.4,
        rng=rng,
    )
    return bits, labels
