"""Stand-in for USPS: blurred shapes, several a class, moved and with noise.

Only the shape of the data, the classes and their counts are those of the real set; how hard the
classes are to tell apart is not.
"""

from __future__ import annotations

import numpy as np

from leakmeter.datasets.standins.mixtures import blurred_images, proportional_labels
from leakmeter.runtime import generator

#: Records of each class in the real set.
COUNTS = (1553, 1269, 929, 824, 852, 716, 834, 792, 708, 821)


def generate(rows: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Images (rows, 16, 16) grey values in [-1, 1], float32 and labels (rows,)."""
    rng = generator(seed, "standin_usps", rows=rows)
    labels = proportional_labels(rows, COUNTS, rng)
    images = blurred_images(
        labels,
        side=16,
        channels=1,
        n_classes=len(COUNTS),
        variants=3,
        shift=1,
        noise=0.2,
        rng=rng,
    )
    return (2 * images[..., 0] - 1).astype(np.float32), labels
