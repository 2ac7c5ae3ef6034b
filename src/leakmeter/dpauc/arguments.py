"""Checks of arguments that many functions share: each refuses with one sentence.

A refusal may be seen by whoever waits for a release, so what is checked here are settings, never
labels or scores that a guarantee covers.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike

from leakmeter.runtime import UserError


def check_number(name: str, value: object, low: float, high: float, *, ends: bool = True) -> None:
    """:class:`UserError` unless ``value`` is a number in [low, high], or in (low, high)."""
    if _is_real(value) and (low <= value <= high if ends else low < value < high):
        return
    where = f"from {low:g} to {high:g}" if ends else f"strictly between {low:g} and {high:g}"
    raise UserError(f"{name} is {_shown(value)}; expected a number {where}")


def check_positive(name: str, value: object) -> None:
    """:class:`UserError` unless ``value`` is a positive, finite number."""
    if not (_is_real(value) and value > 0 and math.isfinite(value)):
        raise UserError(f"{name} is {_shown(value)}; expected a positive, finite number")


def check_delta(delta: object) -> None:
    """:class:`UserError` unless ``delta`` is a number in (0, 1)."""
    check_number("delta", delta, 0, 1, ends=False)


def check_integer(name: str, value: object, least: int = 1) -> None:
    """:class:`UserError` unless ``value`` is an integer of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise UserError(f"{name} is {value!r}; expected an integer of at least {least}")


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """:class:`UserError` unless ``value`` is one of ``choices``."""
    names = list(choices)
    if not isinstance(value, str) or value not in names:
        raise UserError(f"{name} is {value!r}; expected one of {', '.join(names)}")


def check_numbers(name: str, values: ArrayLike, *, finite: bool = True) -> np.ndarray:
    """The values as (n,) float64, n >= 1, without NaN, and without infinity if ``finite``.

    Raises
    ------
    UserError : anything else; the first wrong value is named.
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise UserError(f"{name} is {values!r}; expected numbers") from None
    if array.ndim != 1 or array.size == 0:
        raise UserError(f"{name} has shape {array.shape}; expected (n,) with n >= 1")
    wrong = ~np.isfinite(array) if finite else np.isnan(array)
    if wrong.any():
        at = int(wrong.argmax())
        what = "finite numbers" if finite else "numbers"
        raise UserError(f"{name}[{at}] is {array[at]}; expected {what}")
    return array


def seeded(seed: int | None) -> np.random.Generator:
    """Generator of a seed; None seeds it by 128 bits of the operating system's randomness.

    Raises
    ------
    UserError : a seed that is not an integer of at least 0.
    """
    if seed is None:
        return np.random.default_rng(secrets.randbits(128))
    check_integer("seed", seed, 0)
    return np.random.default_rng(seed)


def _is_real(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _shown(value: object) -> str:
    return f"{float(value):g}" if _is_real(value) else repr(value)
