"""Checked tallies of a membership attack, broadcast against each other and against delta, alpha."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from leakmeter.runtime import UserError

#: Smallest accepted significance level; below it the quadrature's cut-offs would be felt.
SMALLEST_ALPHA = 1e-12


@dataclass(frozen=True)
class Tallies:
    """Outcomes of a two-way test, one entry per attack.

    Attributes
    ----------
    fn, tp, fp, tn : (rows,) float64, integer-valued; every row has trials of both kinds.
    delta : (rows,) float64 in [0, 1).
    extra : further arguments broadcast with the tallies, (rows,) float64 each.
    shape : the shape results are returned in; ``()`` when every argument was a scalar.
    """

    fn: np.ndarray
    tp: np.ndarray
    fp: np.ndarray
    tn: np.ndarray
    delta: np.ndarray
    extra: tuple[np.ndarray, ...]
    shape: tuple[int, ...]

    def restore(self, values: np.ndarray) -> Any:
        """``values`` (rows,) in the shape of the arguments; a float when all were scalars."""
        values = values.reshape(self.shape)
        return float(values) if self.shape == () else values


def check_tallies(
    *, fn: Any, tp: Any, fp: Any, tn: Any, delta: Any, extra: dict[str, Any] | None = None
) -> Tallies:
    """Validate and broadcast the arguments every function of this room takes.

    Parameters
    ----------
    fn, tp : errors and successes among the trials with a member; fp, tn : among those without.
    delta : the delta of (epsilon, delta), in [0, 1).
    extra : further numeric arguments by name, already known to be in range.

    Raises
    ------
    UserError : a tally that is negative or no whole number, no trials of one kind, delta out of
        range, or shapes that do not broadcast.
    """
    counts = {
        name: _whole(name, value)
        for name, value in (("fn", fn), ("tp", tp), ("fp", fp), ("tn", tn))
    }
    delta = in_range("delta", delta, 0.0, 1.0, closed_low=True, closed_high=False)
    arrays = {**counts, "delta": delta, **(extra or {})}
    try:
        broadcast = np.broadcast_arrays(*arrays.values())
    except ValueError as error:
        shapes = ", ".join(f"{name} {np.shape(value)}" for name, value in arrays.items())
        raise UserError(
            f"tallies must have shapes that broadcast together, got {shapes}"
        ) from error
    shape = broadcast[0].shape
    rows = [np.ascontiguousarray(array, dtype=np.float64).ravel() for array in broadcast]
    for first, second, kind in ((0, 1, "a member"), (2, 3, "a non-member")):
        empty = rows[first] + rows[second] == 0
        if empty.any():
            names = list(arrays)
            raise UserError(
                f"{names[first]} + {names[second]} must be at least 1, got 0 trials with {kind}"
                f"{_where(empty, shape)}"
            )
    return Tallies(*rows[:5], extra=tuple(rows[5:]), shape=shape)


def in_range(
    name: str, value: Any, low: float, high: float, *, closed_low: bool, closed_high: bool
) -> np.ndarray:
    """``value`` as a float64 array whose entries lie between ``low`` and ``high``.

    Raises
    ------
    UserError : names the argument, the first offending value and the range.
    """
    array = _numeric(name, value)
    inside = (array >= low if closed_low else array > low) & (
        array <= high if closed_high else array < high
    )
    if not inside.all():
        bounds = f"{'[' if closed_low else '('}{low:g}, {high:g}{']' if closed_high else ')'}"
        bad = ~inside
        raise UserError(f"{name} must lie in {bounds}, got {array[bad][0]:g}{_where(bad)}")
    return array


def check_alpha(alpha: Any) -> np.ndarray:
    """The significance level, in [1e-12, 1)."""
    return in_range("alpha", alpha, SMALLEST_ALPHA, 1.0, closed_low=True, closed_high=False)


def _numeric(name: str, value: Any) -> np.ndarray:
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise UserError(f"{name} must be an array of numbers, got a ragged sequence") from error
    if array.dtype.kind not in "iuf":
        got = repr(value) if array.ndim == 0 else f"an array of {array.dtype}"
        raise UserError(f"{name} must be a number or an array of numbers, got {got}")
    if array.size == 0:
        raise UserError(f"{name} must not be empty, got an array of shape {array.shape}")
    return array.astype(np.float64)


def _whole(name: str, value: Any) -> np.ndarray:
    array = _numeric(name, value)
    bad = ~((array >= 0) & (array == np.floor(array)) & np.isfinite(array))
    if bad.any():
        raise UserError(
            f"{name} must count trials (whole numbers from 0), got {array[bad][0]:g}{_where(bad)}"
        )
    return array


def _where(bad: np.ndarray, shape: tuple[int, ...] | None = None) -> str:
    """ " at index (3,)" for arrays, nothing for scalars."""
    bad = bad.reshape(bad.shape if shape is None else shape)
    if bad.ndim == 0:
        return ""
    index = tuple(int(i) for i in np.argwhere(bad)[0])
    return f" at index {index[0] if len(index) == 1 else index}"
