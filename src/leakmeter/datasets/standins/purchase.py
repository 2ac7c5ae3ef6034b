"""Stand-in for PURCHASE: a mixture of Bernoulli products, 600 bits, 100 classes.

The real class counts and density are not known here: the counts fall geometrically so that the
largest class has nine times the smallest, the frequencies of ones are LOCATION's. The mixing makes
a linear model perfect on its training records and well below on others: levels on it prove nothing.
"""

from __future__ import annotations

import numpy as np

from leakmeter.datasets.standins.location import frequencies
from leakmeter.datasets.standins.mixtures import class_bits, proportional_labels
from leakmeter.runtime import generator

CLASSES = 100
FEATURES = 600
_LARGEST_TO_SMALLEST = 9.0


def generate(rows: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Bits (rows, 600) uint8 and labels (rows,) from 0."""
    rng = generator(seed, "standin_purchase", rows=rows)
    counts = _LARGEST_TO_SMALLEST ** -np.linspace(0, 1, CLASSES)
    labels = proportional_labels(rows, rng.permutation(counts), rng)
    bits = class_bits(
        labels,
        frequencies(FEATURES, rng),
        n_classes=CLASSES,
        own_share=0.3,
        keep=0.5,
        rng=rng,
    )
    return bits, labels
