"""FMNIST: Fashion-MNIST."""

from __future__ import annotations

from leakmeter.datasets.resolve import Resolution
from leakmeter.datasets.standins import fashion_mnist as generator
from leakmeter.membership.sets.idx_images import image_table, read_idx_images
from leakmeter.membership.sets.table import Spec, Table

SPEC = Spec(
    name="fashion_mnist",
    title="FMNIST",
    n_classes=10,
    rows=70_000,
    features=784,
    preprocessing="pixels from 0..255 to [0, 1]",
)


def read(source: Resolution) -> Table:
    """The 60,000 training and 10,000 test images."""
    return read_idx_images(source, SPEC)


def standin(rows: int, seed: int) -> Table:
    """Generated images, see :mod:`leakmeter.datasets.standins.fashion_mnist`."""
    images, labels = generator.generate(rows, seed=seed)
    return image_table(images, labels, SPEC, "stand-in")
