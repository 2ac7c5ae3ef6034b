"""Which details of the curve's construction the published numbers can tell apart."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping

import numpy as np

from leakmeter.dpauc.counting import Counts
from leakmeter.dpauc.mechanisms import laplace_auc
from leakmeter.dpauc.roc import AUTHORS, SORTS, CurveOptions, auc_from_counts
from leakmeter.runtime import UserError


def ablation(
    counts: Mapping[str, Counts],
    *,
    clients: int,
    epsilon_per_count: float,
    repeats: int,
    seed: int,
    default_layout: str = "authors",
    published_repeats: int = 50,
    clip: Iterable[bool] = (True, False),
    sorts: Iterable[str] = SORTS,
    end_points: Iterable[bool] = (False, True),
) -> list[dict]:
    """Mean and spread of the Laplace AUC for every combination of the curve's options.

    All settings of one layout see the same noise, so that their differences are measured far more
    precisely than the means.

    Parameters
    ----------
    counts : counts by name of the threshold layout; must hold ``default_layout``.
    clients, epsilon_per_count, repeats, seed : see
        :func:`leakmeter.dpauc.mechanisms.laplace_auc`.
    published_repeats : number of repeats behind a published mean.
    clip, sorts, end_points : values to combine; the authors' setting is always included.

    Returns
    -------
    One dict per setting, the authors' first: ``layout``, ``clip``, ``sort``, ``end_points``;
    ``noise_free`` AUC; ``mean`` and ``std`` of the noisy AUC; ``difference`` of the mean from the
    authors' setting and ``difference_se``, its standard error; ``z``, that difference over the
    standard error of a mean of ``published_repeats`` releases under the authors' setting. A
    published mean tells the setting apart if \\|z\\| is well above 2.
    """
    if default_layout not in counts:
        raise UserError(f"counts has no layout {default_layout!r}; found {', '.join(counts)}")
    options = [AUTHORS] + [
        candidate
        for candidate in (CurveOptions(*c) for c in itertools.product(clip, sorts, end_points))
        if candidate != AUTHORS
    ]
    layouts = [default_layout] + [name for name in counts if name != default_layout]
    rows: list[dict] = []
    reference: np.ndarray | None = None
    for layout, option in itertools.product(layouts, options):
        aucs = laplace_auc(
            counts[layout],
            clients=clients,
            epsilon_per_count=epsilon_per_count,
            repeats=repeats,
            seed=seed,
            options=option,
        )
        reference = aucs if reference is None else reference
        paired = layout == default_layout
        rows.append(
            {
                "layout": layout,
                "clip": option.clip,
                "sort": option.sort,
                "end_points": option.end_points,
                "noise_free": auc_from_counts(counts[layout], option),
                "mean": float(aucs.mean()),
                "std": _std(aucs),
                **_difference(aucs, reference, paired, published_repeats),
            }
        )
    return rows


def _difference(
    aucs: np.ndarray, reference: np.ndarray, paired: bool, published_repeats: int
) -> dict[str, float]:
    difference = float(aucs.mean() - reference.mean())
    spread = _std(aucs - reference) if paired else math.hypot(_std(aucs), _std(reference))
    published_se = _std(reference) / math.sqrt(published_repeats)
    return {
        "difference": difference,
        "difference_se": spread / math.sqrt(aucs.size),
        "z": difference / published_se if published_se > 0 else math.nan,
    }


def _std(values: np.ndarray) -> float:
    return float(values.std(ddof=1)) if values.size > 1 else math.nan
