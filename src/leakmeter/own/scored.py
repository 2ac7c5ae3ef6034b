"""Scores and labels of a user: exact AUC, DPAUC over a grid of budgets, the budget for an error."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm

from leakmeter.dpauc.binning import equal_mass_thresholds
from leakmeter.dpauc.counting import Counts, count
from leakmeter.dpauc.exact import exact_auc
from leakmeter.dpauc.private_release import (
    EPSILON_RANGE,
    METHODS,
    MOST_TREE_BINS,
    NoBudget,
    auc_error,
    binned_auc,
    check_budget,
    epsilon_for_error,
    release_thresholds,
    simulate_private_auc,
)
from leakmeter.own.reading import Column, Frame, read_table, require_both
from leakmeter.own.reports import Report, named_files
from leakmeter.runtime import UserError, derive_seed

SCHEMA = (
    Column("score", "number"),
    Column("label", "flag"),
    Column("client", "text", required=False),
)
#: Methods of :data:`leakmeter.dpauc.private_release.METHODS` shown unless others are asked for.
DEFAULT_METHODS = (
    "paper",
    "paper_tight",
    "histogram",
    "positives",
    "rank_sum",
    "randomized_response",
)
#: Bins that may be asked for; memory of simulated releases grows with them.
MOST_THRESHOLDS = 10_000
#: Bins that a release by ranks makes at most; the ties they make are far below any noise.
_MOST_BINS = 1_000_000


@dataclass(frozen=True)
class DpaucOptions:
    """Settings of :func:`dpauc_report`.

    Attributes
    ----------
    epsilons : label-DP budgets of one whole release, positive.
    delta : of methods with an approximate guarantee.
    thresholds : about how many bins to make, see :func:`leakmeter.dpauc.private_release.private_auc`.
    clients : K, where the file has no column client (None: 1); refused where it has one.
    repeats : simulated releases where bias and spread have no closed form.
    level : share of the releases inside a band.
    error : target of the root-mean-square error, or None.
    ranks : replace the scores by their ranks divided by the number of rows (ties share the highest).
    methods : keys of :data:`leakmeter.dpauc.private_release.METHODS`, each perhaps with a law of
        noise, as in ``"histogram:gaussian"``.
    seed : root seed.
    """

    epsilons: Sequence[float] = (0.5, 1.0, 2.0, 4.0, 8.0)
    delta: float = 1e-5
    thresholds: int = 100
    clients: int | None = None
    repeats: int = 400
    level: float = 0.95
    error: float | None = None
    ranks: bool = False
    methods: Sequence[str] = DEFAULT_METHODS
    seed: int = 1

    def __post_init__(self) -> None:
        # what is named twice gives one row
        object.__setattr__(self, "epsilons", tuple(dict.fromkeys(self.epsilons)))
        object.__setattr__(self, "methods", tuple(dict.fromkeys(self.methods)))
        for epsilon in self.epsilons:
            check_budget(epsilon)
        if not self.epsilons:
            raise UserError("epsilons is empty; expected at least one budget")
        for name, low, value in (("clients", 1, self.clients), ("repeats", 2, self.repeats)):
            if value is not None and value < low:
                raise UserError(f"{name} is {value}; expected at least {low}")
        for name, value in (("level", self.level), ("delta", self.delta)):
            if not 0 < value < 1:
                raise UserError(f"{name} is {value}; expected a number between 0 and 1")
        if self.error is not None and not 0 < self.error < 1:
            raise UserError(f"error is {self.error}; expected a number between 0 and 1")
        for spec in self.methods:
            trees = _parse(spec)[0] == "stoddard"
            most = MOST_TREE_BINS if trees else MOST_THRESHOLDS
            if not 2 <= self.thresholds <= most:
                raise UserError(
                    f"thresholds is {self.thresholds}; expected 2 to {most}"
                    + (f" with method {spec}" if trees else "")
                )


@dataclass(frozen=True)
class _Release:
    """One method on one file.

    Attributes
    ----------
    spec : as the user named it. kind : what the library's functions take to name it.
    counts : pooled, at the thresholds of the method. binned : AUC of these bins without noise.
    """

    spec: str
    kind: Mapping[str, object]
    counts: Counts
    binned: float

    @property
    def closed_form(self) -> bool:
        return METHODS[str(self.kind["method"])].closed_form


def _parse(spec: str) -> tuple[str, str | None]:
    method, _, noise = spec.partition(":")
    if method not in METHODS:
        raise UserError(f"method is {method!r}; expected one of {', '.join(METHODS)}")
    if noise and noise not in METHODS[method].noises:
        raise UserError(
            f"noise of {method} is {noise!r}; expected one of {', '.join(METHODS[method].noises)}"
        )
    return method, noise or None


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
        rmse, low and high (the band), undefined (releases without an AUC, which the other columns
        leave out), repeats (0 where bias and spread are closed forms; the band is then normal).

    Raises
    ------
    UserError : a mistake in the file or the options.
    """
    options = options or DpaucOptions()
    frame = read_table(path, SCHEMA, least=2)
    require_both(frame, "label", why="an AUC needs records of both classes")
    scores, clients = _scores(frame, options), _client_number(frame, options)
    exact = exact_auc(scores, frame["label"])
    releases = [
        _prepare(spec, scores, frame["label"], clients, options) for spec in options.methods
    ]
    rows = [
        _row(release, epsilon, exact, options)
        for release in releases
        for epsilon in options.epsilons
    ]
    positives = int(frame["label"].sum())
    methods = {release.spec: METHODS[str(release.kind["method"])] for release in releases}
    summary = {
        "files": named_files(scores=path),
        "rows": len(frame),
        "positives": positives,
        "negatives": len(frame) - positives,
        "clients": clients,
        "exact_auc": exact,
        "thresholds": options.thresholds,
        "delta": options.delta,
        "level": options.level,
        "error": options.error,
        "seed": options.seed,
        "methods": {spec: method.title for spec, method in methods.items()},
        # a rank depends on the scores of all: no guarantee covers a score then
        "protects": {s: "label" if options.ranks else m.protects for s, m in methods.items()},
        "server_learns": {spec: method.server_learns for spec, method in methods.items()},
        "binned_auc": {release.spec: release.binned for release in releases},
    }
    answers: dict[str, str] = {}
    if options.error is not None:
        found = {
            release.spec: needed_epsilon(release, exact, options.error) for release in releases
        }
        summary["epsilon_for_error"] = {spec: epsilon for spec, (epsilon, _) in found.items()}
        answers = {spec: answer for spec, (_, answer) in found.items()}
    return Report("dpauc", summary, _sentences(summary, answers), pd.DataFrame(rows))


def _scores(frame: Frame, options: DpaucOptions) -> np.ndarray:
    scores = frame["score"]
    if options.ranks:
        return np.searchsorted(np.sort(scores), scores, side="right") / len(scores)
    outside = np.flatnonzero((scores < 0) | (scores > 1))
    fixed = [s for s in options.methods if METHODS[_parse(s)[0]].bin_totals == "private"]
    if len(outside) and fixed:
        raise UserError(
            f"{frame.place(int(outside[0]))}, column score: is {float(scores[outside[0]])!r}; expected a "
            f"score in [0, 1] for the bins of {fixed[0]} (or ranks in place of the scores: --ranks, "
            "dpauc.own.ranks)"
        )
    return scores


def _client_number(frame: Frame, options: DpaucOptions) -> int:
    """K: noise does not depend on who owns which record, so only their number matters."""
    if "client" not in frame:
        return options.clients or 1
    if options.clients is not None:
        raise UserError(
            f"the file has a column client and the number of clients is given as {options.clients} "
            "(--clients, dpauc.own.clients); expected one of the two"
        )
    return len(set(frame["client"].tolist()))


def _prepare(
    spec: str, scores: np.ndarray, labels: np.ndarray, clients: int, options: DpaucOptions
) -> _Release:
    method, noise = _parse(spec)
    if method == "rank_sum" and len(scores) > _MOST_BINS:
        grid = equal_mass_thresholds(scores, _MOST_BINS)
    else:
        grid = release_thresholds(scores, options.thresholds, method)
    counts = count(scores, labels, grid)
    kind = {"method": method, "noise": noise, "clients": clients, "delta": options.delta}
    return _Release(spec, kind, counts, binned_auc(counts))


def _row(
    release: _Release, epsilon: float, exact: float, options: DpaucOptions
) -> dict[str, object]:
    error = (
        auc_error(release.counts, epsilon=epsilon, **release.kind) if release.closed_form else None
    )
    if error is not None and error.reliable:
        mean, half = release.binned + error.bias, norm.ppf((1 + options.level) / 2) * error.std
        numbers = {
            "mean": mean,
            "bias": mean - exact,
            "std": error.std,
            "rmse": math.hypot(mean - exact, error.std),
            "low": mean - half,
            "high": mean + half,
            "undefined": 0,
            "repeats": 0,
        }
    else:
        numbers = _simulated(release, epsilon, exact, options)
    return {"method": release.spec, "epsilon": float(epsilon), **numbers}


def _simulated(
    release: _Release, epsilon: float, exact: float, options: DpaucOptions
) -> dict[str, object]:
    """Mean, spread and band of simulated releases; all budgets of a method share one seed."""
    seed = derive_seed(options.seed, "own.dpauc", method=release.spec)
    values = simulate_private_auc(
        release.counts, epsilon=epsilon, repeats=options.repeats, seed=seed, **release.kind
    )
    defined = values[~np.isnan(values)]
    undefined = len(values) - len(defined)
    if len(defined) < 2:
        nothing = dict.fromkeys(("mean", "bias", "std", "rmse", "low", "high"), math.nan)
        return {**nothing, "undefined": undefined, "repeats": len(values)}
    tail = (1 - options.level) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return {
        "mean": float(defined.mean()),
        "bias": float(defined.mean()) - exact,
        "std": float(defined.std(ddof=1)),
        "rmse": float(np.sqrt(np.mean((defined - exact) ** 2))),
        "low": float(low),
        "high": float(high),
        "undefined": undefined,
        "repeats": len(values),
    }


def needed_epsilon(release: _Release, exact: float, error: float) -> tuple[float | None, str]:
    """The budget at which the root-mean-square error against the exact AUC is ``error``, in words too.

    None where no budget has that error; the words say why.
    """
    try:
        epsilon = epsilon_for_error(release.counts, error=error, exact=exact, **release.kind)
    except NoBudget as failure:
        return None, f"no epsilon up to {EPSILON_RANGE[1]:g} ({failure.reason})"
    if epsilon <= EPSILON_RANGE[0]:
        return epsilon, f"any epsilon from {epsilon:.3g}, the smallest tried, has a smaller one"
    return epsilon, f"epsilon {epsilon:.3g}"


def _sentences(summary: dict, answers: Mapping[str, str]) -> tuple[str, ...]:
    clients = summary["clients"]
    said = [
        f"The exact AUC of {summary['rows']:,} records ({summary['positives']:,} positive, "
        f"{summary['negatives']:,} negative) is {summary['exact_auc']:.6f}."
    ]
    if answers:
        needs = "; ".join(f"{spec}: {answer}" for spec, answer in answers.items())
        said.append(
            f"For a root-mean-square error of {summary['error']:g} with {clients:,} "
            f"client{'s' if clients != 1 else ''}: {needs}."
        )
    for kind, what in (
        ("record", "cover a whole record, its score included"),
        (
            "label",
            "cover the label alone: how many records each bin holds, or their order, is seen",
        ),
    ):
        specs = [spec for spec, protected in summary["protects"].items() if protected == kind]
        if specs:
            said.append(f"The guarantees of {', '.join(specs)} {what}.")
    return tuple(said)
