"""Stand-in for TensorFlow's flower photos: blurred shapes, several a class, moved and with noise.

Only the shape of the data, the classes and their counts are those of the real set; how hard the
classes are to tell apart is not.
"""

from __future__ import annotations

import numpy as np

from leakmeter.datasets.standins.mixtures import blurred_images, proportional_labels
from leakmeter.runtime import generator

#: Records of each class in the real set.
COUNTS = (633, 898, 641, 699, 799)


def generate(rows: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Images (rows, 64, 64, 3) uint8 and labels (rows,)."""
    rng = generator(seed, "standin_flower", rows=rows)
    labels = proportional_labels(rows, COUNTS, rng)
    images = blurred_images(
        labels,
        side=64,
        channels=3,
        n_classes=len(COUNTS),
        variants=40,
        shift=8,
        noise=0.25,
        rng=rng,
    )
    return np.rint(255 * images).astype(np.uint8), labels
