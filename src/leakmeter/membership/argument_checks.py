"""Checks of arguments: one sentence that names the argument, what was got and what was expected.

A wrong value is a :class:`UserError`; a wrong shape is a mistake of the caller's code and a
``ValueError``. Masked arrays are refused where something is masked: NumPy would drop the mask.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from leakmeter.runtime import UserError


def as_array(values: ArrayLike, name: str) -> np.ndarray:
    """``np.asarray`` that does not lose a mask; :class:`UserError` where a value is masked."""
    if np.ma.is_masked(values):
        place = ", ".join(map(str, np.argwhere(np.ma.getmaskarray(values))[0]))
        raise UserError(f"{name}[{place}] is masked; expected a value")
    return np.asarray(values)


def check_integer(
    value: Any, name: str, least: int, most: int | None = None, what: str = "a whole number"
) -> int:
    """A whole number from ``least`` to ``most``, as an int; :class:`UserError` otherwise.

    >>> check_integer(3, "k", 1)
    3
    """
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        limits = f"at least {least}" if most is None else f"from {least} to {most}"
        raise UserError(f"{name} is {value!r}; expected {what}, {limits}")
    return int(value)


def check_number(value: Any, name: str, holds: Callable[[float], bool], expected: str) -> float:
    """A real number for which ``holds``, as a float; :class:`UserError` otherwise.

    Parameters
    ----------
    holds : false for NaN. expected : what the message says, e.g. "a rate from 0 to 1".
    """
    number = math.nan
    if isinstance(value, Real) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:  # an integer beyond all floats
            number = math.inf if value > 0 else -math.inf
    if not holds(number):
        raise UserError(f"{name} is {value!r}; expected {expected}")
    return number


def check_matrix(x: ArrayLike, name: str, dtype: DTypeLike = np.float64) -> np.ndarray:
    """Records as given, (n, d) with n, d >= 1, real and finite also as ``dtype``.

    Raises
    ------
    UserError : no record or feature, not numbers, NaN, infinity or a number ``dtype`` cannot hold.
    ValueError : not a matrix.
    """
    x = as_array(x, name)
    if x.ndim != 2:
        raise ValueError(f"{name} has shape {x.shape}; expected (records, features)")
    require_real(x, name)
    if not x.size:
        raise UserError(f"{name} has shape {x.shape}; expected at least one record and one feature")
    with np.errstate(over="ignore"):
        # minimum and maximum carry NaN and infinity: no mask of the size of the data
        if not np.isfinite(np.array([x.min(), x.max()]).astype(dtype)).all():
            row, column = np.argwhere(~np.isfinite(x.astype(dtype)))[0]
            value = x[row, column]
            held = f"numbers that {np.dtype(dtype)} holds" if np.isfinite(value) else "numbers only"
            raise UserError(f"{name}[{row}, {column}] is {value}; expected finite {held}")
    return x


def require_real(array: np.ndarray, name: str) -> None:
    """:class:`UserError` for text, complex numbers, dates and objects."""
    if array.dtype.kind not in "biuf":
        raise UserError(f"{name} has type {array.dtype}; expected real numbers")


def check_labels(labels: ArrayLike, n: int, n_classes: int, name: str = "labels") -> np.ndarray:
    """Labels as (n,) int64 in ``0 .. n_classes - 1``; :class:`UserError` names the first that is not."""
    values = as_array(labels, name)
    if values.shape != (n,):
        raise ValueError(f"{name} has shape {values.shape}; expected ({n},), one per record")
    if values.dtype.kind not in "biuf":
        raise UserError(f"{name} has type {values.dtype}; expected integers 0 to {n_classes - 1}")
    bad = ~((values >= 0) & (values < n_classes))
    if values.dtype.kind == "f":
        bad |= values != np.floor(values)
    if bad.any():
        row = int(np.argmax(bad))
        raise UserError(
            f"{name}[{row}] is {values[row]}; expected an integer from 0 to {n_classes - 1}"
        )
    return values.astype(np.int64)


def require_classes(labels: np.ndarray, n_classes: int, name: str) -> None:
    """:class:`UserError` when a class has no record among ``labels``."""
    absent = np.flatnonzero(np.bincount(labels, minlength=n_classes) == 0)
    if len(absent):
        shown = ", ".join(map(str, absent[:5])) + (", ..." if len(absent) > 5 else "")
        raise UserError(
            f"{name} has no record of class {shown} ({len(absent)} of {n_classes} classes absent); "
            "expected at least one of each"
        )


def check_values(values: ArrayLike, name: str, *, infinite: bool = False) -> np.ndarray:
    """A (n,) float64 statistic without NaN (and, unless ``infinite``, without infinities)."""
    array = as_array(values, name)
    if array.ndim != 1 or not len(array):
        raise ValueError(f"{name} has shape {array.shape}; expected a non-empty vector")
    require_real(array, name)
    array = array.astype(np.float64)
    bad = np.isnan(array) if infinite else ~np.isfinite(array)
    if bad.any():
        row = int(np.argmax(bad))
        expected = "a number" if infinite else "a finite number"
        raise UserError(f"{name}[{row}] is {array[row]}; expected {expected}")
    return array


def check_flags(flags: ArrayLike, name: str, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """Booleans, given as such or as 0 and 1."""
    array = as_array(flags, name)
    if shape is not None and array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}; expected {shape}")
    if array.dtype != bool:
        if array.dtype.kind not in "iuf" or not np.isin(array, (0, 1)).all():
            raise UserError(f"{name} holds other values than 0 and 1; expected booleans")
        array = array.astype(bool)
    return array
