"""Tallies or attack scores of a user's own mechanism: intervals for the attack's epsilon.

Whether something was found is a test of the null hypothesis that the guesses know nothing. For a
tally it is Fisher's exact test. For attack scores the membership bits are permuted and everything
is done again, the choice of the thresholds included; the p-value is the share of permutations
whose interval starts at least as high. "Found" means a lower end above 0 and p at most alpha.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leakmeter.audit.attack import auc, choose_threshold, tally
from leakmeter.audit.intervals import METHODS, epsilon_interval
from leakmeter.audit.null_distributions import stack
from leakmeter.audit.region import point_estimate
from leakmeter.own.reading import Column, Frame, column_names, read_table, require_both
from leakmeter.own.reports import Report, file_name, named_files
from leakmeter.runtime import UserError, generator

TALLIES = ("fn", "tp", "fp", "tn")
TALLY_SCHEMA = (
    *(Column(name, "count") for name in TALLIES),
    Column("delta", "number", required=False, low=0.0, below=1.0),
    Column("alpha", "number", required=False, low=1e-12, below=1.0),
    Column("name", "text", required=False),
)
SCORE_SCHEMA = (Column("score", "number"), Column("member", "flag"))
#: Rules for a threshold that no sample chooses for itself.
SELECTIONS = ("high", "low", "median")
#: Fewest trials of a half beyond a threshold.
_BEYOND = 10
#: Fewest trials with attack scores: each half needs a few of both kinds.
FEWEST = 20
MOST_TRIALS = 10**9
_PERMUTATIONS = (200, 2000)


@dataclass(frozen=True)
class AuditOptions:
    """Settings of the reports of this module.

    Attributes
    ----------
    delta, alpha, method, sides : as for :func:`leakmeter.audit.intervals.epsilon_interval`; columns
        delta and alpha of a table of tallies go before the first two.
    selection : rule for the threshold on attack scores. "high": the percentile from 50 up with the
        largest Jeffreys lower end on the other half, for attacks that are surest about high scores;
        "low": the same from 50 down; "median": the median of the other half. One tail, because
        thresholds of the two halves in opposite tails would undo each other.
    seed : root seed of the split into halves and of the permutations.
    """

    delta: float = 1e-5
    alpha: float = 0.1
    method: str = "bayesian"
    sides: int = 2
    selection: str = "high"
    seed: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.delta < 1:
            raise UserError(f"delta is {self.delta}; expected a number in [0, 1)")
        if not 1e-12 <= self.alpha < 1:
            raise UserError(f"alpha is {self.alpha}; expected a number in [1e-12, 1)")
        if self.method not in METHODS:
            raise UserError(f"method is {self.method!r}; expected one of {', '.join(METHODS)}")
        if self.sides not in (1, 2):
            raise UserError(f"sides is {self.sides}; expected 1 or 2")
        if self.selection not in SELECTIONS:
            raise UserError(
                f"selection is {self.selection!r}; expected one of {', '.join(SELECTIONS)}"
            )


def audit_report(
    *,
    tallies: str | Path | None = None,
    attack_scores: str | Path | None = None,
    options: AuditOptions | None = None,
) -> Report:
    """Intervals from a table of tallies, a table of attack scores, or both.

    Parameters
    ----------
    tallies : columns ``fn, tp, fp, tn`` and possibly ``delta, alpha, name``, one attack a row.
    attack_scores : columns ``score, member``, one trial a row.
    options : see :class:`AuditOptions`.

    Returns
    -------
    Report : ``table`` has one row per attack, that of the attack scores first: the tally, the point
        estimate, the interval, the p-value of the null and the verdict ("found" or "nothing
        found").

    Raises
    ------
    UserError : a mistake in a file or in the options, neither file given, or a rule for the
        threshold and no attack scores to use it on.
    """
    options = options or AuditOptions()
    if tallies is None and attack_scores is None:
        raise UserError("neither tallies nor attack scores are given; expected at least one")
    if attack_scores is None:
        _no_selection(options)
    rows, extra = [], {}
    # the first lines of a table and of a figure have it, however many tallies there are
    if attack_scores is not None:
        row, extra = _score_row(attack_scores, options)
        rows.append(row)
    if tallies is not None:
        rows += _tally_rows(tallies, options)
    return _report(
        rows, options, {"files": named_files(tallies=tallies, attack_scores=attack_scores), **extra}
    )


def tally_report(
    tally: Mapping[str, int], options: AuditOptions | None = None, *, name: str = "tally"
) -> Report:
    """The interval of a single tally with the keys ``fn, tp, fp, tn``."""
    options = options or AuditOptions()
    _no_selection(options)
    _check_trials(tally, "the tally")
    return _report([_interval_row(name, tally, options)], options, {})


def _no_selection(options: AuditOptions) -> None:
    if options.selection != AuditOptions.selection:
        raise UserError(
            f"selection is {options.selection!r} and there are no attack scores, which alone have a "
            "threshold; expected no selection with tallies"
        )


def table_kind(path: str | Path) -> str:
    """ "tallies" or "attack_scores", by the header.

    Raises
    ------
    UserError : neither.
    """
    names = set(column_names(path))
    if {"score", "member"} <= names:
        return "attack_scores"
    if names & set(TALLIES):
        return "tallies"
    shown = ", ".join(sorted(names)[:6])
    raise UserError(
        f"{path}: has the columns {shown}; expected fn, tp, fp, tn (tallies) or score, member "
        "(attack scores)"
    )


# --- rows ---------------------------------------------------------------------------------------


def _tally_rows(path: str | Path, options: AuditOptions) -> list[dict[str, Any]]:
    frame = read_table(path, TALLY_SCHEMA)
    rows = []
    for i in range(len(frame)):
        counts = {name: int(frame[name][i]) for name in TALLIES}
        _check_trials(counts, frame.place(i))
        given = {k: float(frame[k][i]) for k in ("delta", "alpha") if k in frame}
        name = frame["name"][i] if "name" in frame else f"{frame.unit} {i + frame.first}"
        rows.append(_interval_row(name, counts, AuditOptions(**asdict(options) | given)))
    return rows


def _check_trials(counts: Mapping[str, int], place: str) -> None:
    for name in TALLIES:
        if not 0 <= counts[name] <= MOST_TRIALS:
            raise UserError(
                f"{place}: {name} is {counts[name]}; expected a number of trials from 0 to "
                f"{MOST_TRIALS:,}"
            )
    for first, second, kind in (("fn", "tp", "members"), ("fp", "tn", "non-members")):
        if counts[first] + counts[second] == 0:
            raise UserError(f"{place}: {first} + {second} is 0; expected trials with {kind}")


def _interval_row(name: str, counts: Mapping[str, int], options: AuditOptions) -> dict[str, Any]:
    from scipy.stats import fisher_exact

    table = [[counts["tp"], counts["fn"]], [counts["fp"], counts["tn"]]]
    return _row(name, counts, options, float(fisher_exact(table).pvalue), options.alpha)


def _row(
    name: str, counts: Mapping[str, int], options: AuditOptions, p: float, level: float
) -> dict[str, Any]:
    low, high = epsilon_interval(
        **counts,
        delta=options.delta,
        alpha=options.alpha,
        method=options.method,
        sides=options.sides,
    )
    return {
        "name": name,
        **{key: int(counts[key]) for key in TALLIES},
        "delta": options.delta,
        "alpha": options.alpha,
        "method": options.method,
        "sides": options.sides,
        "point": point_estimate(**counts, delta=options.delta),
        "low": low,
        "high": high,
        "p": p,
        "verdict": "found" if low > 0 and p <= level else "nothing found",
    }


# --- attack scores ------------------------------------------------------------------------------


def _score_row(path: str | Path, options: AuditOptions) -> tuple[dict[str, Any], dict[str, Any]]:
    """The row of a table of attack scores, and what else the summary says about it."""
    frame = read_table(path, SCORE_SCHEMA, least=FEWEST)
    require_both(frame, "member", why="an audit needs trials with members and with non-members")
    values, bits = _shuffled(frame, options)
    threshold = choose(values, bits, options)
    counts = tally(values, bits, threshold)
    random = generator(options.seed, "own.audit.permutations")
    runs = permutations(options.alpha)
    null = stack([_permuted(values, bits, options, random) for _ in range(runs)])
    low, p = null_p_value(counts, null, options)
    halves = threshold[[0, -1]].tolist()
    extra = {
        "attack_scores": {
            "file": file_name(path),
            "trials": len(values),
            "members": int(bits.sum()),
            "auc": auc(values, bits),
            "selection": options.selection,
            "thresholds_of_the_halves": halves,
            "permutations": runs,
            "null_low": low,
        }
    }
    # with few permutations the smallest p there can be counts as small enough
    row = _row(file_name(path), counts, options, p, max(options.alpha, 1 / (runs + 1)))
    return row, extra


def _shuffled(frame: Frame, options: AuditOptions) -> tuple[np.ndarray, np.ndarray]:
    """Scores and bits in an order such that each half has its share of members.

    Users' tables are often sorted by membership; the rule for the threshold cuts them in halves.
    """
    random = generator(options.seed, "own.audit.halves")
    bits = frame["member"].astype(np.int64)
    for kind in (0, 1):
        if (bits == kind).sum() < 4:
            raise UserError(
                f"{frame.path}: has {int((bits == kind).sum())} trials with member {kind}; "
                "expected at least 4"
            )
    # the records of each kind, in random order, spread evenly over (0, 1)
    position = np.empty(len(bits))
    for kind in (0, 1):
        rows = random.permutation(np.flatnonzero(bits == kind))
        position[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
    order = np.argsort(position, kind="stable")
    return frame["score"][order], bits[order]


def choose(values: np.ndarray, bits: np.ndarray, options: AuditOptions) -> np.ndarray:
    """(n,) thresholds, each from the half of the trials that the trial is not in."""
    median = options.selection == "median"
    return choose_threshold(
        values,
        bits,
        "median" if median else "crossfit",
        delta=options.delta,
        alpha=options.alpha,
        percentiles=tail_percentiles(len(values) // 2, options.selection),
    )


def tail_percentiles(half: int, tail: str) -> np.ndarray:
    """Percentiles of one tail of ``half`` trials: 50 to 95 by 1, then closer, 10 trials left."""
    shares = np.linspace(0.5, 0.05, 46)
    if half * 0.05 > _BEYOND:
        shares = np.concatenate([shares, np.geomspace(0.05, _BEYOND / half, 21)[1:]])
    return 100 * (shares[::-1] if tail == "low" else 1 - shares)


def permutations(alpha: float) -> int:
    """How many permutations tell a p-value of ``alpha`` apart: 20 / alpha, from 200 to 2,000."""
    low, high = _PERMUTATIONS
    return min(max(math.ceil(20 / alpha), low), high)


def _permuted(
    values: np.ndarray, bits: np.ndarray, options: AuditOptions, random: np.random.Generator
) -> dict[str, int]:
    """A tally under the null: the bits permuted within each half, so that none is of one kind."""
    half = len(bits) // 2
    mixed = np.concatenate([random.permutation(bits[:half]), random.permutation(bits[half:])])
    return tally(values, mixed, choose(values, mixed, options))


def null_p_value(
    counts: Mapping[str, int], null: Mapping[str, np.ndarray], options: AuditOptions
) -> tuple[float, float]:
    """Lower end that 1 - alpha of the permutations stay below, and the p-value of the tally.

    The p-value counts the tally itself among the permutations (Phipson and Smyth, 2010).
    """
    kept = {"delta": options.delta, "alpha": options.alpha, "method": options.method}
    own, _ = epsilon_interval(**counts, **kept, sides=options.sides)
    lows, _ = epsilon_interval(**null, **kept, sides=options.sides)
    p = (1 + int((lows >= own).sum())) / (1 + len(lows))
    return float(np.quantile(lows, 1 - options.alpha, method="higher")), p


# --- in words -----------------------------------------------------------------------------------


def _report(rows: list[dict[str, Any]], options: AuditOptions, extra: dict[str, Any]) -> Report:
    summary = {**asdict(options), "attacks": len(rows), **extra}
    summary["found"] = sum(row["verdict"] == "found" for row in rows)
    return Report("audit", summary, _sentences(rows, extra), pd.DataFrame(rows))


def _sentences(rows: list[dict[str, Any]], extra: dict[str, Any]) -> tuple[str, ...]:
    said = [_sentence(row) for row in rows[:10]]
    if len(rows) > 10:
        found = sum(row["verdict"] == "found" for row in rows)
        said.append(f"Of all {len(rows):,} attacks, {found:,} found something.")
    if scores := extra.get("attack_scores"):
        said.append(
            f"{scores['file']}: AUC {scores['auc']:.4f} over {scores['trials']:,} trials; thresholds "
            f"by the rule '{scores['selection']}', each half's from the other half; the same with "
            f"permuted bits gives a lower end below {scores['null_low']:.4g} in "
            f"{100 * (1 - rows[0]['alpha']):.12g}% of {scores['permutations']:,} permutations."
        )
    return tuple(said)


def _sentence(row: dict[str, Any]) -> str:
    level = f"{1 - row['alpha']:.12g}"
    high = "inf" if math.isinf(row["high"]) else f"{row['high']:.4f}"
    kind = "credible" if row["method"] == "bayesian" else "confidence"
    interval = f"{level} {kind} interval [{row['low']:.4f}, {high}] ({row['method']})"
    text = f"{row['name']}: the attack's epsilon at delta {row['delta']:g} has the {interval}"
    if row["verdict"] == "found":
        return f"{text}; found, p {_small(row['p'])} for an attack that knows nothing."
    if row["p"] <= row["alpha"]:
        # a large delta allows this attack at epsilon 0
        return (
            f"{text}; nothing found: at this delta the interval starts at 0, although p "
            f"{_small(row['p'])} for an attack that knows nothing; this is no proof of privacy."
        )
    return f"{text}; nothing found (p {_small(row['p'])}), which is no proof of privacy."


def _small(p: float) -> str:
    return f"= {p:.2g}" if p > 1e-300 else "< 1e-300"
