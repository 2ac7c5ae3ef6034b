"""LOCATION: Foursquare check-ins in Bangkok, clustered into 30 classes."""

from __future__ import annotations

import numpy as np

from leakmeter.datasets.resolve import Resolution
from leakmeter.datasets.standins import location as generator
from leakmeter.datasets.values import read_rows
from leakmeter.membership.sets.binary_rows import bits_table, labelled_bits
from leakmeter.membership.sets.table import Spec, Table

SPEC = Spec(
    name="location",
    title="LOCATION",
    n_classes=30,
    rows=5_010,
    features=446,
    preprocessing="bits as they are",
)


def read(source: Resolution) -> Table:
    """Rows of a label (1 to 30, quoted in the published file) and 446 bits."""
    where = source.where("table")
    values = read_rows(lambda: source.open("table"), SPEC.features + 1, np.uint8, where)
    return labelled_bits(values, SPEC, where)


def standin(rows: int, seed: int) -> Table:
    """Generated rows, see :mod:`leakmeter.datasets.standins.location`."""
    features, labels = generator.generate(rows, seed=seed)
    return bits_table(features, labels, SPEC, "stand-in")
