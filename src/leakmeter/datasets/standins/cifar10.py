"""Stand-in for CIFAR-10: blurred coloured shapes, several a class, moved and with noise.

Only the shape of the data, the classes and their counts are those of the real set; how hard the
classes are to tell apart is not.
"""

from __future__ import annotations

import numpy as np

from leakmeter.datasets.standins.mixtures import blurred_images, proportional_labels
from leakmeter.runtime import generator

#: Records of each class in the real set (training and test together).
COUNTS = (6000,) * 10


def generate(rows: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Images (rows, 32, 32, 3) uint8 and labels (rows,) from 0 to 9."""
    rng = generator(seed, "standin_cifar10", rows=rows)
    labels = proportional_labels(rows, COUNTS, rng)
    images = blurred_images(
        labels,
        side=32,
        channels=3,
        n_classes=len(COUNTS),
        variants=4,
        shift=2,
        noise=0.3,
        rng=rng,
    )
    return np.rint(255 * images).astype(np.uint8), labels
