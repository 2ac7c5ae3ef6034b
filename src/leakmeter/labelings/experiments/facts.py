"""The paper's stated facts, from their CSV files."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import numpy as np

from leakmeter.runtime import UserError


class Facts:
    """Published quantities by name, as text.

    Parameters
    ----------
    paths : CSV files with the columns ``quantity`` and ``value``.
    """

    def __init__(self, paths: Iterable[str | Path]) -> None:
        self._paths = [str(path) for path in paths]
        self._values: dict[str, str] = {}
        for path in self._paths:
            try:
                with open(path, encoding="utf-8", newline="") as handle:
                    for row in csv.DictReader(handle):
                        self._values[row["quantity"]] = row["value"]
            except (OSError, KeyError) as error:
                raise UserError(
                    f"{path}: cannot be read as a table with the columns quantity and value ({error})"
                ) from error

    def text(self, quantity: str) -> str:
        """The value of a quantity as printed."""
        if quantity not in self._values:
            raise UserError(f"{', '.join(self._paths)}: no row has the quantity {quantity!r}")
        return self._values[quantity]

    def integer(self, quantity: str) -> int:
        """The value of a quantity that is a whole number."""
        text = self.text(quantity)
        try:
            return int(text)
        except ValueError as error:
            raise UserError(f"{quantity}: got {text!r}, expected a whole number") from error

    def numbers(self, quantity: str) -> list[float]:
        """The values of a quantity that is a list ``a;b;c``."""
        return [float(part) for part in self.text(quantity).split(";")]

    def example_auc(self) -> Fraction:
        """The AUC ``p/q`` of the paper's counted example."""
        return Fraction(self.integer("p"), self.integer("q"))

    def puzzle(self) -> tuple[np.ndarray, Fraction]:
        """Guesses and AUC of the paper's example with four records."""
        return np.array(self.numbers("example n=4 guesses")), Fraction(self.text("example AUC"))
