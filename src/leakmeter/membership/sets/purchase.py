"""PURCHASE: what shoppers bought, clustered into 100 classes."""

from __future__ import annotations

import numpy as np

from leakmeter.datasets.content import open_binary
from leakmeter.datasets.resolve import Resolution
from leakmeter.datasets.standins import purchase as generator
from leakmeter.membership.sets.binary_rows import bits_table, read_bits, read_npz
from leakmeter.membership.sets.table import Spec, Table

SPEC = Spec(
    name="purchase",
    title="PURCHASE",
    n_classes=100,
    rows=197_324,
    features=600,
    preprocessing="bits as they are",
)


def read(source: Resolution) -> Table:
    """Rows of a label (1 to 100) and 600 bits; or the repacked arrays."""
    if source.variant == "npz":
        return read_npz(source, SPEC.features, SPEC.n_classes)
    path = source.files["archive"]
    with open_binary(path, "dataset_purchase") as handle:
        values = read_bits(handle, SPEC.features + 1, str(path))
    labels = values[:, 0].astype(np.int64) - 1
    return bits_table(values[:, 1:], labels, n_classes=SPEC.n_classes, where=str(path))


def standin(rows: int, seed: int) -> Table:
    """Generated rows, see :mod:`leakmeter.datasets.standins.purchase`."""
    features, labels = generator.generate(rows, seed=seed)
    return bits_table(features, labels, n_classes=SPEC.n_classes, where="stand-in")
