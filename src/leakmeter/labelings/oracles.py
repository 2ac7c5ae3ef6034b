"""The oracle of the attacks: it holds the labels and answers with an AUC."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from leakmeter.labelings.guesses import check_labels, exact_auc, ranking_order
from leakmeter.runtime import UserError


class RoundingTooCoarse(UserError):
    """The answers of an oracle are rounded to too few decimals for an attack."""


class Oracle:
    """Answers submissions with their AUC and counts them.

    Parameters
    ----------
    labels : (n,) of 0/1 with both classes.
    decimals : if given, answers are rounded to this many decimals, half to even.

    Attributes
    ----------
    queries : submissions answered so far.
    half_width : largest distance of an answer from the exact AUC.
    """

    def __init__(self, labels: np.ndarray, *, decimals: int | None = None) -> None:
        self._labels = check_labels(labels)
        if decimals is not None and decimals < 1:
            raise UserError(f"decimals={decimals}: expected at least 1")
        self._decimals = decimals
        self.queries = 0
        self.half_width = Fraction(0) if decimals is None else Fraction(1, 2 * 10**decimals)

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self._labels)

    def query(self, guesses: np.ndarray) -> Fraction:
        """The AUC of (n,) distinct finite guesses."""
        return self.query_order(ranking_order(guesses))

    def query_order(self, order: np.ndarray) -> Fraction:
        """The AUC of a ranking given as record indices in ascending order of the guesses."""
        order = np.asarray(order)
        if sorted(order.tolist()) != list(range(self.n)):
            raise UserError(f"order: expected each record index 0 .. {self.n - 1} exactly once")
        self.queries += 1
        auc = exact_auc(self._labels, order)
        return auc if self._decimals is None else Fraction(round(auc, self._decimals))
