"""TEXAS: hospital discharges in Texas, 100 most frequent procedures as classes."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from leakmeter.datasets.content import NoMember, open_binary
from leakmeter.datasets.resolve import Resolution
from leakmeter.datasets.standins import texas as generator
from leakmeter.datasets.values import class_numbers, read_rows
from leakmeter.membership.sets.binary_rows import bits_table, read_npz
from leakmeter.membership.sets.table import Spec, Table

SPEC = Spec(
    name="texas",
    title="TEXAS",
    n_classes=100,
    rows=67_330,
    features=6_169,
    preprocessing="bits as they are",
)


def read(source: Resolution) -> Table:
    """6,169 bits a row in one member, labels 1 to 100 in another; or the repacked arrays.

    The members of the published archive lie in a folder; a repack has them without it.
    """
    if source.variant == "npz":
        return read_npz(source, SPEC)
    path = source.files["archive"]
    try:
        bits, labels = _members(path, "texas/100/")
    except NoMember as error:
        try:
            bits, labels = _members(path, "")
        except NoMember:
            raise error from None
    return bits_table(bits, labels, SPEC, str(path))


def _members(path: Path, folder: str) -> tuple[np.ndarray, np.ndarray]:
    """Bits, and labels from 0."""
    bits, labels = (
        read_rows(
            partial(open_binary, path, folder + name), columns, np.uint8, f"{path}#{folder}{name}"
        )
        for name, columns in (("feats", SPEC.features), ("labels", 1))
    )
    return bits, class_numbers(labels[:, 0], SPEC.n_classes, f"{path}#{folder}labels", first=1)


def standin(rows: int, seed: int) -> Table:
    """Generated rows, see :mod:`leakmeter.datasets.standins.texas`."""
    features, labels = generator.generate(rows, seed=seed)
    return bits_table(features, labels, SPEC, "stand-in")
