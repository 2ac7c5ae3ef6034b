"""AUC values as exact fractions or as intervals, and the class sizes that can produce them."""

from __future__ import annotations

import numbers
import operator
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from leakmeter.runtime import UserError

_DECIMAL = re.compile(r"\s*[0-9]*\.?[0-9]+\s*")
_RATIO = re.compile(r"\s*([0-9]+)\s*/\s*(0*[1-9][0-9]*)\s*")


@dataclass(frozen=True)
class AucInterval:
    """All AUC values in ``[low, high]``, both ends included."""

    low: Fraction
    high: Fraction

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high <= 1:
            raise UserError(
                f"AUC interval [{self.low}, {self.high}]: expected 0 <= low <= high <= 1"
            )


class Cell(NamedTuple):
    """Class sizes and the inclusive range of misranked pairs that agree with an AUC."""

    n0: int
    n1: int
    d_low: int
    d_high: int


def parse_auc(value: object, *, max_denominator: int | None = None) -> Fraction:
    """An AUC as a fraction in lowest terms.

    Parameters
    ----------
    value : a rational number, text ``"p/q"``, or a decimal (float or text such as ``"0.9632"``).
    max_denominator : largest denominator allowed; required for a decimal, which stands for the
        fraction closest to it within the bound.

    Raises
    ------
    UserError
        If a decimal comes without a bound, no fraction within the bound agrees with all the digits
        given, the value is outside [0, 1], or it is not a number at all. A decimal that was rounded
        to a few digits does not determine a fraction: use :func:`rounded_auc` for it.
    """
    if isinstance(value, numbers.Rational):
        auc = Fraction(value)
    elif isinstance(value, str) and (ratio := _RATIO.fullmatch(value)):
        auc = Fraction(int(ratio[1]), int(ratio[2]))
    elif _is_decimal(value):
        auc = _closest_fraction(value, max_denominator)
    else:
        raise UserError(f"auc={value!r}: expected a fraction p/q or a decimal number")
    if not 0 <= auc <= 1:
        raise UserError(f"auc={value!r}: expected a value in [0, 1]")
    return auc


def _is_decimal(value: object) -> bool:
    if isinstance(value, str):
        return bool(_DECIMAL.fullmatch(value))
    # NaN and infinities are floats that no fraction approximates.
    return isinstance(value, numbers.Real) and abs(value) < 2


def _closest_fraction(value: object, max_denominator: int | None) -> Fraction:
    if max_denominator is None:
        raise UserError(
            f"auc={value!r}: a decimal is turned into a fraction only with max_denominator=, "
            f"expected that bound or a fraction p/q"
        )
    if max_denominator < 1:
        raise UserError(f"max_denominator={max_denominator}: expected at least 1")
    exact = Fraction(value if isinstance(value, str) else float(value))
    if isinstance(value, str):
        tolerance = Fraction(1, 2 * 10 ** len(value.strip().partition(".")[2]))
    else:
        # A few units in the last place: the value comes from a division or a short sum.
        tolerance = Fraction(1, 2**50)
    closest = exact.limit_denominator(max_denominator)
    if abs(closest - exact) > tolerance:
        raise UserError(
            f"auc={value!r}: no fraction with a denominator up to {max_denominator} has these "
            f"digits (the closest is {closest}), expected a larger max_denominator"
        )
    return closest


def rounded_auc(value: str) -> AucInterval:
    """The AUC values that print as ``value``, for example ``"0.963"`` -> [0.9625, 0.9635].

    Both ends are included, since rounding rules differ on ties.
    """
    if not isinstance(value, str) or not _DECIMAL.fullmatch(value) or Fraction(value) > 1:
        raise UserError(f"auc={value!r}: expected a decimal in [0, 1] written as text")
    half = Fraction(1, 2 * 10 ** len(value.strip().partition(".")[2]))
    centre = Fraction(value)
    return AucInterval(max(centre - half, Fraction(0)), min(centre + half, Fraction(1)))


def auc_cells(n: int, auc: Fraction | AucInterval, n1: int | None = None) -> list[Cell]:
    """Class sizes of ``n`` records, with the misranked pairs each must have, that give ``auc``.

    For an exact ``p/q`` these are the ``n1`` with ``q | n0 n1`` and
    ``d = (q - p) n0 n1 / q``; both orders ``(n0, n1)`` and ``(n1, n0)`` are listed.

    Parameters
    ----------
    n : number of records, at least 2.
    auc : exact value, or an interval for a rounded one.
    n1 : number of ones if known.

    Raises
    ------
    UserError
        If ``n < 2``, ``n1`` leaves a class empty (the AUC is undefined then), or ``auc`` is
        neither an interval nor a rational number in [0, 1].
    """
    n = operator.index(n)
    if n < 2:
        raise UserError(f"n={n}: expected at least 2 records, one of each class")
    if n1 is not None and not 0 < n1 < n:
        raise UserError(f"n1={n1}: expected 1 to {n - 1} ones among {n} records (both classes)")
    low, high = (auc.low, auc.high) if isinstance(auc, AucInterval) else (parse_auc(auc),) * 2
    cells = []
    for ones in range(1, n) if n1 is None else (operator.index(n1),):
        pairs = (n - ones) * ones
        # ceil((1 - high) pairs) and floor((1 - low) pairs) in integers: Fraction is slow here.
        d_low = -(-((high.denominator - high.numerator) * pairs) // high.denominator)
        d_high = (low.denominator - low.numerator) * pairs // low.denominator
        if d_low <= d_high:
            cells.append(Cell(n - ones, ones, d_low, d_high))
    return cells
