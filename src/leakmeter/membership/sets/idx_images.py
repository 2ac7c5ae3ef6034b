"""Images in MNIST's four IDX files, for MNIST and Fashion-MNIST."""

from __future__ import annotations

import math

import numpy as np

from leakmeter.datasets.readers import read_idx
from leakmeter.datasets.resolve import Resolution
from leakmeter.membership.sets.table import Spec, Table, join_tables, make_table
from leakmeter.runtime import UserError

_SHAPE = (28, 28)


def read_idx_images(source: Resolution, spec: Spec) -> Table:
    """Both parts of the set, training images first; :class:`UserError` for parts that do not fit."""
    return join_tables([_part(source, part, spec) for part in ("train", "test")])


def _part(source: Resolution, part: str, spec: Spec) -> Table:
    images, labels = (
        read_idx(source.files[name], source.members.get(name), dimensions=dimensions)
        for name, dimensions in ((f"{part}_images", 3), (f"{part}_labels", 1))
    )
    where = source.where(f"{part}_images")
    if images.shape[1:] != _SHAPE or len(images) != len(labels):
        raise UserError(
            f"{where}: images of shape {images.shape}; expected {(len(labels), *_SHAPE)}, one a label"
        )
    return image_table(images, labels, spec, where, source.where(f"{part}_labels"))


def image_table(
    images: np.ndarray, labels: np.ndarray, spec: Spec, where: str, where_labels: str | None = None
) -> Table:
    """8-bit images as rows of pixels with the range 0 to 255."""
    rows = images.reshape(len(images), math.prod(images.shape[1:]))
    return make_table(
        rows, labels, spec=spec, where=where, where_labels=where_labels, bounds=(0, 255)
    )
