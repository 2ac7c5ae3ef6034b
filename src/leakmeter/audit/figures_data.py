"""What Figures 2 and 3 show, as numbers: region outlines, the rate rectangle, its band, masses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from leakmeter.audit.intervals import epsilon_interval
from leakmeter.audit.loose_quadrature import loose_epsilon_interval
from leakmeter.audit.posterior import epsilon_cdf
from leakmeter.audit.rates import rate_interval
from leakmeter.audit.region import point_estimate, region_outline
from leakmeter.audit.tallies import check_alpha, check_tallies, in_range


@dataclass(frozen=True)
class WorkedExample:
    """One tally seen both ways: a rectangle of rate intervals, and the posterior of epsilon.

    Attributes
    ----------
    fn, tp, fp, tn, delta, alpha, method : the settings; ``method`` is that of the rate intervals.
    estimate : Eq. (1) at the observed rates.
    fnr_low, fnr_high, fpr_low, fpr_high : the rectangle, each rate at level 1 - alpha/2.
    rectangle_low, rectangle_high : its interval for epsilon.
    rectangle_mass : posterior probability of the rectangle.
    rectangle_confidence : (1 - alpha/2)^2, the level the two rate intervals have jointly (their
        errors are independent); above 1 - alpha.
    band_mass : posterior probability of all rates whose epsilon lies in the rectangle's interval.
    credible_low, credible_high : equal-tailed credible interval of level 1 - alpha.
    credible_mass : posterior probability of the rates whose epsilon lies in it: 1 - alpha unless
        the atom at 0 is inside.
    narrowing : 1 - width of the credible interval / width of the rectangle's (1 when unbounded).
    """

    fn: int
    tp: int
    fp: int
    tn: int
    delta: float
    alpha: float
    method: str
    estimate: float
    fnr_low: float
    fnr_high: float
    fpr_low: float
    fpr_high: float
    rectangle_low: float
    rectangle_high: float
    rectangle_mass: float
    rectangle_confidence: float
    band_mass: float
    credible_low: float
    credible_high: float
    credible_mass: float
    narrowing: float


def worked_example(
    *, fn: int, tp: int, fp: int, tn: int, delta: float, alpha: float, method: str
) -> WorkedExample:
    """Everything Figure 3 and its paragraph state about one tally.

    Parameters
    ----------
    fn, tp, fp, tn, delta, alpha : scalars, as in :func:`leakmeter.audit.epsilon_interval`.
    method : "clopper-pearson" or "jeffreys", for the rectangle.

    Raises
    ------
    UserError : an argument out of range or an unknown method.
    """
    check_tallies(fn=fn, tp=tp, fp=fp, tn=tn, delta=delta)
    alpha = float(check_alpha(alpha))
    tally = {"fn": fn, "tp": tp, "fp": fp, "tn": tn, "delta": delta}
    fnr = rate_interval(fn, fn + tp, tail=alpha / 4, method=method)
    fpr = rate_interval(fp, fp + tn, tail=alpha / 4, method=method)
    rectangle = epsilon_interval(**tally, alpha=alpha, method=method)
    credible = epsilon_interval(**tally, alpha=alpha)
    return WorkedExample(
        **tally,
        alpha=alpha,
        method=method,
        estimate=point_estimate(**tally),
        fnr_low=fnr[0],
        fnr_high=fnr[1],
        fpr_low=fpr[0],
        fpr_high=fpr[1],
        rectangle_low=rectangle[0],
        rectangle_high=rectangle[1],
        rectangle_mass=_rate_mass(fn, tp, fnr) * _rate_mass(fp, tn, fpr),
        rectangle_confidence=(1 - alpha / 2) ** 2,
        band_mass=_band_mass(tally, *rectangle),
        credible_low=credible[0],
        credible_high=credible[1],
        credible_mass=_band_mass(tally, *credible),
        narrowing=1 - (credible[1] - credible[0]) / (rectangle[1] - rectangle[0]),
    )


def _rate_mass(errors: int, rest: int, interval: tuple[float, float]) -> float:
    below = special.betainc(errors + 0.5, rest + 0.5, np.array(interval))
    return float(below[1] - below[0])


def _band_mass(tally: dict[str, Any], low: float, high: float) -> float:
    """P(low <= epsilon <= high); an interval that starts at 0 includes the atom there."""
    below = epsilon_cdf(low, **tally) if low > 0 else 0.0
    return epsilon_cdf(high, **tally) - below


def settings_rows(
    *, fn: int, tp: int, fp: int, tn: int, settings: Iterable[tuple[str, float, float, str]]
) -> list[dict[str, Any]]:
    """One tally under several settings, to find out which of them printed numbers follow from.

    Parameters
    ----------
    fn, tp, fp, tn : the tally.
    settings : (label, delta, alpha, method of the rate intervals) each.

    Returns
    -------
    Rows ``settings, delta, alpha, method, quantity, low, high``. Quantities: ``rate interval``,
    ``credible interval``, ``credible interval, loose`` (at the released package's tolerances);
    ``rectangle mass``, ``band mass``, ``credible mass`` have ``high`` NaN.
    """
    rows = []
    for label, delta, alpha, method in settings:
        tally = {"fn": fn, "tp": tp, "fp": fp, "tn": tn, "delta": delta, "alpha": alpha}
        example = worked_example(**tally, method=method)
        loose = loose_epsilon_interval(**tally)
        for quantity, low, high in (
            ("rate interval", example.rectangle_low, example.rectangle_high),
            ("credible interval", example.credible_low, example.credible_high),
            ("credible interval, loose", *loose),
            ("rectangle mass", example.rectangle_mass, np.nan),
            ("band mass", example.band_mass, np.nan),
            ("credible mass", example.credible_mass, np.nan),
        ):
            row = {"settings": label, "delta": delta, "alpha": alpha, "method": method}
            rows.append(row | {"quantity": quantity, "low": low, "high": high})
    return rows


def region_rows(*, epsilons: Iterable[float], deltas: Iterable[float]) -> list[dict[str, Any]]:
    """Figure 2: outlines of R(epsilon, delta), one row per vertex.

    Columns ``epsilon, delta, vertex, fnr, fpr``; vertices run counter-clockwise from
    (0, 1 - delta) and the first is repeated, so consecutive rows are the sides.
    """
    return [
        {"epsilon": float(e), "delta": float(d), "vertex": i, "fnr": float(x), "fpr": float(y)}
        for e in epsilons
        for d in deltas
        for i, (x, y) in enumerate(zip(*region_outline(epsilon=e, delta=d), strict=True))
    ]


def example_rows(example: WorkedExample) -> list[dict[str, Any]]:
    """Figure 3: closed curves to draw, one row per vertex.

    Columns ``curve, epsilon, vertex, fnr, fpr``. Curves: ``rectangle`` (epsilon is NaN);
    ``band_low, band_high`` bound the band of the rectangle's interval, ``credible_low,
    credible_high`` the credible region. An infinite end has no outline but the unit square.
    """
    x = (example.fnr_low, example.fnr_high, example.fnr_high, example.fnr_low, example.fnr_low)
    y = (example.fpr_low, example.fpr_low, example.fpr_high, example.fpr_high, example.fpr_low)
    curves = [("rectangle", np.nan, x, y)]
    for name, epsilon in (
        ("band_low", example.rectangle_low),
        ("band_high", example.rectangle_high),
        ("credible_low", example.credible_low),
        ("credible_high", example.credible_high),
    ):
        if np.isinf(epsilon):
            outline = np.array([0.0, 0, 1, 1, 0]), np.array([1.0, 0, 0, 1, 1])
        else:
            outline = region_outline(epsilon=epsilon, delta=example.delta)
        curves.append((name, epsilon, *outline))
    return [
        {"curve": name, "epsilon": float(e), "vertex": i, "fnr": float(u), "fpr": float(v)}
        for name, e, us, vs in curves
        for i, (u, v) in enumerate(zip(us, vs, strict=True))
    ]


def rate_density(fnr: Any, fpr: Any, *, fn: int, tp: int, fp: int, tn: int) -> np.ndarray:
    """Joint posterior density of the rates, Eq. (5), for shading Figure 3.

    ``fnr`` and ``fpr`` broadcast, within [0, 1]; infinite at a rate of 0 or 1 that no trial spoke
    against.
    """
    check_tallies(fn=fn, tp=tp, fp=fp, tn=tn, delta=0.0)
    x = in_range("fnr", fnr, 0.0, 1.0, closed_low=True, closed_high=True)
    y = in_range("fpr", fpr, 0.0, 1.0, closed_low=True, closed_high=True)
    return _beta_density(x, fn, tp) * _beta_density(y, fp, tn)


def _beta_density(x: np.ndarray, k: int, m: int) -> np.ndarray:
    log = (
        special.xlogy(k - 0.5, x) + special.xlog1py(m - 0.5, -x) - special.betaln(k + 0.5, m + 0.5)
    )
    return np.exp(log)
