"""TEXAS: hospital discharges in Texas, 100 most frequent procedures as classes."""

from __future__ import annotations

import numpy as np

from leakmeter.datasets.content import open_binary
from leakmeter.datasets.resolve import Resolution
from leakmeter.datasets.standins import texas as generator
from leakmeter.membership.sets.binary_rows import bits_table, read_bits, read_npz
from leakmeter.membership.sets.table import Spec, Table
from leakmeter.runtime import UserError

SPEC = Spec(
    name="texas",
    title="TEXAS",
    n_classes=100,
    rows=67_330,
    features=6_169,
    preprocessing="bits as they are",
)
#: Members of the published archive; a repack has them without the folders.
_MEMBERS = (("texas/100/feats", "texas/100/labels"), ("feats", "labels"))


def read(source: Resolution) -> Table:
    """6,169 bits a row in one member, labels 1 to 100 in another; or the repacked arrays."""
    if source.variant == "npz":
        return read_npz(source, SPEC.features, SPEC.n_classes)
    path = source.files["archive"]
    problem: UserError | None = None
    for features, labels in _MEMBERS:
        try:
            with open_binary(path, features) as handle:
                bits = read_bits(handle, SPEC.features, str(path))
            with open_binary(path, labels) as handle:
                numbers = read_bits(handle, 1, str(path))[:, 0].astype(np.int64) - 1
        except UserError as error:
            problem = problem or error
            continue
        return bits_table(bits, numbers, n_classes=SPEC.n_classes, where=str(path))
    raise problem


def standin(rows: int, seed: int) -> Table:
    """Generated rows, see :mod:`leakmeter.datasets.standins.texas`."""
    features, labels = generator.generate(rows, seed=seed)
    return bits_table(features, labels, n_classes=SPEC.n_classes, where="stand-in")
