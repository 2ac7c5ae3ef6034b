"""Images in MNIST's four IDX files, for MNIST and Fashion-MNIST."""

from __future__ import annotations

import numpy as np

from leakmeter.datasets.readers import read_idx
from leakmeter.datasets.resolve import Resolution
from leakmeter.membership.sets.table import Table, make_table
from leakmeter.runtime import UserError


def read_idx_images(source: Resolution, n_classes: int) -> Table:
    """Both parts of the set, training images first; :class:`UserError` for parts that do not fit."""
    images, labels = [], []
    for part in ("train", "test"):
        for key, dimensions, into in (("images", 3, images), ("labels", 1, labels)):
            name = f"{part}_{key}"
            into.append(
                read_idx(source.files[name], source.members.get(name), dimensions=dimensions)
            )
        if len(images[-1]) != len(labels[-1]):
            raise UserError(
                f"{source.files[f'{part}_images']}: {len(images[-1])} images; "
                f"expected {len(labels[-1])}, the number of labels"
            )
    return image_table(
        np.concatenate(images), np.concatenate(labels), n_classes=n_classes, where=source.name
    )


def image_table(images: np.ndarray, labels: np.ndarray, *, n_classes: int, where: str) -> Table:
    """8-bit images as rows of pixels with the range 0 to 255."""
    return make_table(
        images.reshape(len(images), -1), labels, n_classes=n_classes, where=where, bounds=(0, 255)
    )
