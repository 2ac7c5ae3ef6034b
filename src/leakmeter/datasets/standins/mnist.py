"""Stand-in for MNIST: blurred shapes, several a class, moved and with noise.

Only the shape of the data, the classes and their counts are those of the real set; how hard the
classes are to tell apart is not.
"""

from __future__ import annotations

import numpy as np

from leakmeter.datasets.standins.mixtures import blurred_images, proportional_labels
from leakmeter.runtime import generator

#: Records of each class in the real set.
COUNTS = (6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958)


def generate(rows: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Images (rows, 28, 28) uint8 and labels (rows,)."""
    rng = generator(seed, "standin_mnist", rows=rows)
    labels = proportional_labels(rows, COUNTS, rng)
    images = blurred_images(
        labels,
        side=28,
        channels=1,
        n_classes=len(COUNTS),
        variants=3,
        shift=2,
        noise=0.15,
        rng=rng,
    )
    return np.rint(255 * images[..., 0]).astype(np.uint8), labels
