"""Scores and labels of a user: exact AUC, DPAUC over a grid of budgets, the budget for an error."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from leakmeter.dpauc.accounting import epsilon_per_count
from leakmeter.dpauc.counting import Counts, count
from leakmeter.dpauc.exact import exact_auc
from leakmeter.dpauc.mechanisms import gaussian_auc, laplace_auc
from leakmeter.dpauc.randomized import randomized_response_from_counts
from leakmeter.dpauc.roc import auc_from_counts
from leakmeter.dpauc.threshold_layouts import thresholds
from leakmeter.own.reading import Column, Frame, read_table, require_both
from leakmeter.own.reports import Report, named_files
from leakmeter.runtime import UserError, derive_seed

SCHEMA = (
    Column("score", "number"),
    Column("label", "flag"),
    Column("client", "text", required=False),
)
#: Budgets between which the answer to "what epsilon do I need" is looked for.
LOWEST, HIGHEST = 1e-3, 1e4
#: Relative accuracy of that answer, not counting the finite number of simulated releases.
_ACCURACY = 0.01


@dataclass(frozen=True)
class DpaucOptions:
    """Settings of :func:`dpauc_report`.

    Attributes
    ----------
    epsilons : label-DP budgets of one whole release, positive.
    delta : of the Gaussian mechanism.
    thresholds : number of evenly spaced thresholds on [0, 1], ends included.
    clients : K, where the file has no column client.
    repeats : simulated releases behind every bias, spread and band.
    level : share of the releases inside a band.
    error : target of the root-mean-square error, or None.
    ranks : replace the scores by their ranks divided by the number of rows (ties share the highest).
    methods : keys of :data:`METHODS`.
    seed : root seed.
    """

    epsilons: Sequence[float] = (0.5, 1.0, 2.0, 4.0, 8.0)
    delta: float = 1e-5
    thresholds: int = 100
    clients: int = 1
    repeats: int = 400
    level: float = 0.95
    error: float | None = None
    ranks: bool = False
    methods: Sequence[str] = ("laplace", "laplace_tight", "gaussian", "randomized_response")
    seed: int = 1

    def __post_init__(self) -> None:
        for epsilon in self.epsilons:
            if not (epsilon > 0 and math.isfinite(epsilon)):
                raise UserError(f"epsilon is {epsilon}; expected a positive, finite number")
        if not self.epsilons:
            raise UserError("epsilons is empty; expected at least one budget")
        for name, low, value in (("clients", 1, self.clients), ("repeats", 2, self.repeats)):
            if value < low:
                raise UserError(f"{name} is {value}; expected at least {low}")
        for name, value in (("level", self.level), ("delta", self.delta)):
            if not 0 < value < 1:
                raise UserError(f"{name} is {value}; expected a number between 0 and 1")
        if self.error is not None and not 0 < self.error < 1:
            raise UserError(f"error is {self.error}; expected a number between 0 and 1")
        for method in self.methods:
            if method not in METHODS:
                raise UserError(f"method is {method!r}; expected one of {', '.join(METHODS)}")


@dataclass(frozen=True)
class Setting:
    """What a mechanism is run on: one file, one budget."""

    counts: Counts
    clients: int
    epsilon: float
    delta: float
    repeats: int
    seed: int


def _laplace(rule: str) -> Callable[[Setting], np.ndarray]:
    def releases(s: Setting) -> np.ndarray:
        per_count = epsilon_per_count(s.counts.n_thresholds, s.epsilon, rule=rule)
        return laplace_auc(
            s.counts,
            clients=s.clients,
            epsilon_per_count=per_count,
            repeats=s.repeats,
            seed=s.seed,
        )

    return releases


def _gaussian(s: Setting) -> np.ndarray:
    return gaussian_auc(
        s.counts,
        clients=s.clients,
        epsilon=s.epsilon,
        delta=s.delta,
        repeats=s.repeats,
        seed=s.seed,
    )


def _randomized_response(s: Setting) -> np.ndarray:
    return randomized_response_from_counts(
        s.counts, epsilon=s.epsilon, repeats=s.repeats, seed=s.seed
    ).auc


@dataclass(frozen=True)
class Method:
    """A way to release an AUC: its name, what the budget means, how releases are simulated."""

    title: str
    guarantee: str
    releases: Callable[[Setting], np.ndarray]


METHODS = {
    "laplace": Method(
        "Laplace, the paper's count", "epsilon; 4 T eps' is charged", _laplace("paper")
    ),
    "laplace_tight": Method(
        "Laplace, tight count", "epsilon; 2 T eps' is charged", _laplace("tight")
    ),
    "gaussian": Method("Gaussian", "(epsilon, delta)", _gaussian),
    "randomized_response": Method(
        "randomised response", "epsilon of each label, also against the client's server",
        _randomized_response,
    ),
}  # fmt: skip


def dpauc_report(path: str | Path, options: DpaucOptions | None = None) -> Report:
    """Exact AUC, DPAUC for a grid of budgets with bands, and the budget an error needs.

    Parameters
    ----------
    path : table with the columns ``score`` (finite; in [0, 1] unless ``options.ranks``), ``label``
        (0 or 1, both present) and possibly ``client`` (any text: the owner of the record).
    options : see :class:`DpaucOptions`.

    Returns
    -------
    Report : ``table`` has one row per method and budget: mean, bias against the exact AUC, std,
        rmse, low and high (the band), undefined (releases without an AUC), repeats.

    Raises
    ------
    UserError : a mistake in the file or the options.
    """
    options = options or DpaucOptions()
    frame = read_table(path, SCHEMA, least=2)
    require_both(frame, "label", why="an AUC needs records of both classes")
    scores, clients = _scores(frame, options), _client_number(frame, options)
    exact = exact_auc(scores, frame["label"])
    grid = thresholds(options.thresholds, "uniform")
    counts = count(scores, frame["label"], grid)
    rows = [
        _row(method, epsilon, releases(method, counts, clients, epsilon, options), exact, options)
        for method in options.methods
        for epsilon in options.epsilons
    ]
    summary = {
        "files": named_files(scores=path),
        "rows": len(frame),
        "positives": int(counts.positives),
        "negatives": int(counts.negatives),
        "clients": clients,
        "exact_auc": exact,
        "thresholds": options.thresholds,
        "thresholded_auc": auc_from_counts(counts),
        "delta": options.delta,
        "level": options.level,
        "error": options.error,
        "seed": options.seed,
        "methods": {m: METHODS[m].title for m in options.methods},
        "guarantees": {m: METHODS[m].guarantee for m in options.methods},
    }
    if options.error is not None:
        summary["epsilon_for_error"] = {
            method: epsilon_for_error(method, counts, clients, exact, options)
            for method in options.methods
        }
    return Report("dpauc", summary, _sentences(summary), pd.DataFrame(rows))


def _scores(frame: Frame, options: DpaucOptions) -> np.ndarray:
    scores = frame["score"]
    if options.ranks:
        return np.searchsorted(np.sort(scores), scores, side="right") / len(scores)
    outside = np.flatnonzero((scores < 0) | (scores > 1))
    if len(outside):
        raise UserError(
            f"{frame.place(int(outside[0]))}, column score: is {scores[outside[0]]:g}; expected a "
            "score in [0, 1] (or ranks in place of the scores: --ranks, dpauc.own.ranks)"
        )
    return scores


def _client_number(frame: Frame, options: DpaucOptions) -> int:
    """K: noise does not depend on who owns which record, so only their number matters."""
    if "client" not in frame:
        return options.clients
    return len(set(frame["client"].tolist()))


def releases(
    method: str, counts: Counts, clients: int, epsilon: float, options: DpaucOptions
) -> np.ndarray:
    """(repeats,) simulated releases of one method at one budget.

    All budgets of a method share one seed, so that the error changes smoothly with the budget.
    """
    seed = derive_seed(options.seed, "own.dpauc", method=method)
    setting = Setting(counts, clients, epsilon, options.delta, options.repeats, seed)
    return METHODS[method].releases(setting)


def rmse(values: np.ndarray, exact: float) -> float:
    """Root-mean-square distance of releases from the exact AUC; infinite if one is undefined."""
    if np.isnan(values).any():
        return math.inf
    return float(np.sqrt(np.mean((values - exact) ** 2)))


def _row(
    method: str, epsilon: float, values: np.ndarray, exact: float, options: DpaucOptions
) -> dict[str, object]:
    defined = values[~np.isnan(values)]
    tail = (1 - options.level) / 2
    low, high = np.quantile(defined, [tail, 1 - tail]) if len(defined) else (math.nan, math.nan)
    few = len(defined) < 2
    return {
        "method": method,
        "epsilon": float(epsilon),
        "mean": math.nan if few else float(defined.mean()),
        "bias": math.nan if few else float(defined.mean()) - exact,
        "std": math.nan if few else float(defined.std(ddof=1)),
        "rmse": rmse(defined, exact) if len(defined) else math.nan,
        "low": float(low),
        "high": float(high),
        "undefined": len(values) - len(defined),
        "repeats": len(values),
    }


def epsilon_for_error(
    method: str, counts: Counts, clients: int, exact: float, options: DpaucOptions
) -> float | None:
    """The smallest budget from which on the root-mean-square error is at most ``options.error``.

    Budgets are halved from :data:`HIGHEST` on until the error exceeds the target, and the last step
    is bisected to 1 %. With R releases the answer moves by about 1/sqrt(2 R) of itself.

    Returns
    -------
    The budget; :data:`LOWEST` when that is enough already; None when even :data:`HIGHEST` is not:
    the distance of the thresholded AUC from the exact one is an error that no budget removes.
    """

    @cache
    def excess(epsilon: float) -> bool:
        return rmse(releases(method, counts, clients, epsilon, options), exact) > options.error

    high = HIGHEST
    if excess(high):
        return None
    while not excess(low := max(high / 2, LOWEST)):
        if low == LOWEST:
            return LOWEST
        high = low
    while high > low * (1 + _ACCURACY):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if excess(middle) else (low, middle)
    return high


def _sentences(summary: dict) -> tuple[str, ...]:
    said = [
        f"The exact AUC of {summary['rows']:,} records ({summary['positives']:,} positive, "
        f"{summary['negatives']:,} negative) is {summary['exact_auc']:.6f}; with "
        f"{summary['thresholds']} thresholds and no noise it is {summary['thresholded_auc']:.6f}."
    ]
    for method, epsilon in summary.get("epsilon_for_error", {}).items():
        title = METHODS[method].title
        if epsilon is None:
            answer = (
                f"no epsilon up to {HIGHEST:g} is enough: the thresholds alone cost "
                f"{abs(summary['thresholded_auc'] - summary['exact_auc']):.2g}"
            )
        else:
            most = " or less" if epsilon == LOWEST else ""
            answer = f"epsilon {epsilon:.3g}{most} is needed"
        said.append(
            f"For a root-mean-square error of {summary['error']:g} with {title} and "
            f"{summary['clients']:,} client{'s' if summary['clients'] != 1 else ''}, {answer}."
        )
    return tuple(said)
