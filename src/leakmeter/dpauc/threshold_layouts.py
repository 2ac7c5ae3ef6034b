"""Where the thresholds of a released ROC curve lie."""

from __future__ import annotations

import numpy as np

from leakmeter.runtime import UserError

LAYOUTS = ("authors", "uniform", "keras")

# (share of the nominal number, lower end, upper end) of each segment of the authors' layout.
_AUTHORS_SEGMENTS = ((0.5, 0.0, 0.2), (0.25, 0.2, 0.5), (0.25, 0.5, 1.0))

# Keras moves its outermost thresholds by this much so that scores of 0 and 1 fall inside.
_KERAS_MARGIN = 1e-7


def thresholds(n: int, layout: str = "authors") -> np.ndarray:
    """Thresholds of a curve with ``n`` nominal points, in descending order.

    Parameters
    ----------
    n : nominal number of thresholds.
    layout :
        - ``"authors"``: half of the points on [0, 0.2], a quarter on [0.2, 0.5], a quarter on
          [0.5, 1], evenly spaced with both ends included, as in the code released with the DPAUC
          paper. Each part is truncated to an integer, so there may be fewer than ``n`` points, and
          0.2 and 0.5 occur twice. Duplicates are kept: each is released with its own noise.
        - ``"uniform"``: ``n`` evenly spaced points on [0, 1], ends included.
        - ``"keras"``: the thresholds of ``keras.metrics.AUC(num_thresholds=n)``, whose outermost
          points lie 1e-7 outside [0, 1].

    Returns
    -------
    (T,) float64, non-increasing.

    Raises
    ------
    UserError : unknown layout, or too few points for the layout (4 for ``"authors"``, else 2).

    Examples
    --------
    >>> [thresholds(n).size for n in (10, 25, 50, 100, 200)]
    [9, 24, 49, 100, 200]
    """
    if layout not in LAYOUTS:
        raise UserError(f"layout is {layout!r}; expected one of {', '.join(LAYOUTS)}")
    least = 4 if layout == "authors" else 2
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < least:
        raise UserError(
            f"number of thresholds is {n!r}; the layout {layout!r} needs an integer of at least {least}"
        )
    if layout == "authors":
        ascending = np.concatenate(
            [np.linspace(low, high, int(n * share)) for share, low, high in _AUTHORS_SEGMENTS]
        )
    else:
        ascending = np.linspace(0.0, 1.0, n)
        if layout == "keras":
            ascending[0] -= _KERAS_MARGIN
            ascending[-1] += _KERAS_MARGIN
    return np.sort(ascending)[::-1].copy()
