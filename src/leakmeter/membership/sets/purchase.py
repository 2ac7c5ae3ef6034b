"""PURCHASE: what shoppers bought, clustered into 100 classes."""

from __future__ import annotations

from functools import partial

import numpy as np

from leakmeter.datasets.content import open_binary
from leakmeter.datasets.resolve import Resolution
from leakmeter.datasets.standins import purchase as generator
from leakmeter.datasets.values import read_rows
from leakmeter.membership.sets.binary_rows import bits_table, labelled_bits, read_npz
from leakmeter.membership.sets.table import Spec, Table

SPEC = Spec(
    name="purchase",
    title="PURCHASE",
    n_classes=100,
    rows=197_324,
    features=600,
    preprocessing="bits as they are",
)
_MEMBER = "dataset_purchase"


def read(source: Resolution) -> Table:
    """Rows of a label (1 to 100) and 600 bits; or the repacked arrays."""
    if source.variant == "npz":
        return read_npz(source, SPEC)
    path = source.files["archive"]
    where = f"{path}#{_MEMBER}"
    values = read_rows(partial(open_binary, path, _MEMBER), SPEC.features + 1, np.uint8, where)
    return labelled_bits(values, SPEC, where)


def standin(rows: int, seed: int) -> Table:
    """Generated rows, see :mod:`leakmeter.datasets.standins.purchase`."""
    features, labels = generator.generate(rows, seed=seed)
    return bits_table(features, labels, SPEC, "stand-in")
