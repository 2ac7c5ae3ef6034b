"""From the losses of a setting's models to intervals, CDFs and their comparison with m = 1."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from leakmeter.audit.attack import ATTACKS, SELECTIONS, auc, choose_threshold, scores, tally
from leakmeter.audit.coverage import coverage_study, randomized_response_point
from leakmeter.audit.experiments.setting_names import POINTS
from leakmeter.audit.game import Played
from leakmeter.audit.intervals import METHODS, epsilon_interval
from leakmeter.audit.null_distributions import (
    GRID,
    Posteriors,
    bootstrap_tallies,
    coin_flip_tallies,
    differences,
)
from leakmeter.reporting.recording import Recorder
from leakmeter.runtime import UserError, derive_seed

#: The attack whose intervals are drawn and claimed; the other is reported beside it.
MAIN_ATTACK = "calibrated"
#: What must be beaten for a setting without privacy to say anything: one-sided level.
CONTROL_LEVEL = 0.001


def measure(record: Recorder, played: Played, **about: Any) -> pd.DataFrame:
    """Both kinds of challenge points of a setting; arguments as :func:`measure_points`."""
    curves = []
    for points in POINTS:
        part = Played(
            *(
                frame[frame["points"] == points]
                for frame in (played.trials, played.references, played.accuracy)
            )
        )
        curves.append(measure_points(record, part, points=points, **about))
    return pd.concat(curves, ignore_index=True)


def measure_points(
    record: Recorder,
    played: Played,
    *,
    points: str,
    settings: Mapping[str, Any],
    epsilons: Mapping[str, float],
    majority: float,
    coin_low: Mapping[str, float],
) -> pd.DataFrame:
    """Everything about one setting and one kind of challenge points.

    Parameters
    ----------
    record : its origin is the setting.
    settings : ``alpha, delta`` and ``games`` of the configuration.
    epsilons : of the training, by adjacency; infinite without privacy.
    majority : accuracy of the best constant answer.
    coin_low : selection -> lower end that 95 % of coin-flip attacks stay below.

    Returns
    -------
    The CDFs to draw, columns ``setting, points, game, epsilon, cdf, null_low, null_high``.
    """
    games = settings["games"]
    levels = {k: settings[k] for k in ("delta", "alpha")}
    tallies: dict[str, dict[str, int]] = {}
    values: dict[str, np.ndarray] = {}
    for name, trials in played.trials.groupby("game", sort=False):
        references = played.references[played.references["game"] == name]
        bits = trials["bit"].to_numpy()
        for attack in ATTACKS:
            found = scores(trials, references, attack)
            axes = {"points": points, "game": name, "attack": attack}
            record.add("games", axes, "auc", auc(found, bits))
            for selection in SELECTIONS:
                threshold = choose_threshold(found, bits, selection, **levels)
                counts = tally(found, bits, threshold)
                _one_tally(
                    record, {**axes, "selection": selection}, counts, coin_low[selection], levels
                )
                if attack == MAIN_ATTACK and selection == games["selection"]:
                    tallies[str(name)], values[str(name)] = counts, found
    _accuracy(record, played, points, majority)
    chance_low = coin_low[games["selection"]]
    _theory(record, points, tallies, epsilons, levels, games, chance_low)
    return _against_m1(record, played, points, tallies, values, levels, games)


def _one_tally(
    record: Recorder,
    axes: Mapping[str, Any],
    counts: Mapping[str, int],
    coin_low: float,
    levels: Mapping[str, float],
) -> None:
    """A tally, its intervals, and whether it beats guessing."""
    for name, count in counts.items():
        record.add("games", axes, name, count)
    trials = sum(counts.values())
    right = counts["tp"] + counts["tn"]
    share = right / trials
    std = math.sqrt(share * (1 - share) * trials / (trials - 1))
    record.add("games", axes, "correct", share, std=std, n=trials)
    record.add("games", axes, "p_chance", _chance_level(counts))
    for method in METHODS:
        low, high = epsilon_interval(**counts, **levels, method=method)
        record.add("games", {**axes, "method": method}, "low", low)
        record.add("games", {**axes, "method": method}, "high", high)
        if method == "bayesian":
            record.add("games", axes, "clears_coin_flip", int(low > coin_low))


def _accuracy(record: Recorder, played: Played, points: str, majority: float) -> None:
    """Accuracy of target models by game; a single model has no spread."""
    targets = played.accuracy[played.accuracy["kind"] == "target"]
    for name, rows in targets.groupby("game", sort=False):
        axes = {"points": points, "game": name}
        values = rows["accuracy"].to_numpy()
        spread = {"std": float(values.std(ddof=1))} if len(values) > 1 else {}
        record.add("accuracy", axes, "accuracy", float(values.mean()), n=len(values), **spread)
        record.add("accuracy", axes, "gain", float(values.mean()) - majority)
    record.add("accuracy", {"points": points}, "majority", majority)
    record.add("accuracy", {"points": points}, "models", len(played.accuracy))


def _theory(
    record: Recorder,
    points: str,
    tallies: Mapping[str, Mapping[str, int]],
    epsilons: Mapping[str, float],
    levels: Mapping[str, float],
    games: Mapping[str, Any],
    coin_low: float,
) -> None:
    """Lower ends against the epsilon of the training, for the game's own adjacency.

    ``chance_above`` is the probability that the lower end of a credible interval exceeds epsilon at
    an operating point that reaches the bound, by simulation: not alpha/2, see the coverage study.
    ``coin_lows_above`` counts as ``lows_above`` does for attacks that flip a coin: a claim that they
    meet as well says nothing about the training.
    """
    for adjacency, epsilon in epsilons.items():
        record.add("theory", {"points": points, "adjacency": adjacency}, "epsilon", epsilon)
    bound = epsilons["replace-one"]
    if math.isinf(bound):
        return
    lows = [float(epsilon_interval(**t, **levels)[0]) for t in tallies.values()]
    record.add("theory", {"points": points}, "largest_low", max(lows))
    record.add("theory", {"points": points}, "lows_above", sum(low > bound for low in lows))
    coins = len(tallies) * (coin_low > bound)
    record.add("theory", {"points": points}, "coin_lows_above", coins)
    half = games["trials"] // 2
    (row,) = coverage_study(
        [randomized_response_point(bound, delta=levels["delta"])],
        members=half,
        nonmembers=half,
        alpha=levels["alpha"],
        repeats=20_000,
        seed=record.seed,
        methods=["bayesian"],
    )
    record.add("theory", {"points": points}, "chance_above", row["too_high"])


def _against_m1(
    record: Recorder,
    played: Played,
    points: str,
    tallies: Mapping[str, Mapping[str, int]],
    values: Mapping[str, np.ndarray],
    levels: Mapping[str, float],
    games: Mapping[str, Any],
) -> pd.DataFrame:
    """Differences of every game's posterior from that of m = 1, beside what independent runs show.

    The null runs draw the trials of m = 1 (independent models) with replacement, choose a threshold
    anew and are compared in pairs. "Outside" means beyond their 95 %.
    """
    if "m1" not in tallies:
        raise UserError("the comparison needs the game with m = 1; audit.games.m must hold 1")
    own = [name for name in tallies if name == "m1" or name.startswith("m1-replicate")]
    pooled = np.concatenate([values[name] for name in own])
    bits = np.concatenate(
        [played.trials.loc[played.trials["game"] == name, "bit"].to_numpy() for name in own]
    )
    axes = {"setting": record.origin, "points": points}
    runs = bootstrap_tallies(
        pooled,
        bits,
        trials=games["trials"],
        selection=games["selection"],
        repeats=2 * games["null_repeats"],
        seed=derive_seed(record.seed, "audit_bootstrap", **axes),
        **levels,
    )
    spread = Posteriors.of(runs, **levels)
    null = differences(*spread.halves())
    bounds = {name: float(np.quantile(v, 0.95)) for name, v in null.items()}
    for name, found in null.items():
        record.add("heuristic_null", {"points": points}, name, found)
        record.add("heuristic_null", {"points": points}, f"{name}_95", bounds[name])
    posteriors = {name: Posteriors.of(dict(t), **levels) for name, t in tallies.items()}
    coin = _coin_differences(record, posteriors["m1"], axes, levels, games)
    coin_outside = int(float((coin > bounds["sup"]).mean()) >= 0.5)
    control = _chance_level(tallies["m1"]) < CONTROL_LEVEL
    for name, posterior in posteriors.items():
        if name == "m1":
            continue
        found = differences(posteriors["m1"], posterior)
        cell = {"points": points, "game": name}
        for metric, gap in found.items():
            record.add("heuristic", cell, metric, float(gap[0]))
            record.add("heuristic", cell, f"{metric}_outside", int(gap[0] > bounds[metric]))
        if "-" not in name:
            _claimed(
                record,
                points,
                int(name.removeprefix("m")),
                found["sup"][0] > bounds["sup"],
                coin_outside,
                control,
            )
    return _curves(axes, posteriors, spread)


def _claimed(
    record: Recorder, points: str, m: int, outside: bool, coin_outside: int, control: bool
) -> None:
    """What is claimed on m pairs per model, with the baselines that must not meet it as well."""
    axes = {"points": points, "m": m}
    record.add("coincide", axes, "outside", int(outside))
    record.add("coincide", axes, "coin_outside", coin_outside)
    record.add("coincide", axes, "control_failed", int(not control))


def _chance_level(counts: Mapping[str, int]) -> float:
    """P(at least as many right answers by guessing)."""
    right = counts["tp"] + counts["tn"]
    return float(stats.binom.sf(right - 1, sum(counts.values()), 0.5))


def _coin_differences(record, reference, axes, levels, games) -> np.ndarray:
    """sup differences of coin-flip attacks from m = 1: does guessing look like it as well?"""
    flips = coin_flip_tallies(
        trials=games["trials"],
        selection=games["selection"],
        repeats=games["null_repeats"],
        seed=derive_seed(record.seed, "audit_coin_against_m1", **axes),
        **levels,
    )
    return differences(reference, Posteriors.of(flips, **levels))["sup"]


def _curves(
    axes: Mapping[str, str], posteriors: Mapping[str, Posteriors], spread: Posteriors
) -> pd.DataFrame:
    band = np.quantile(spread.cdf, [0.025, 0.975], axis=0)
    frames = []
    for name, posterior in posteriors.items():
        shown = {"epsilon": GRID, "cdf": posterior.cdf[0]}
        shown |= {"null_low": band[0], "null_high": band[1]}
        frames.append(pd.DataFrame(shown).assign(**axes, game=name))
    columns = ["setting", "points", "game", "epsilon", "cdf", "null_low", "null_high"]
    return pd.concat(frames, ignore_index=True)[columns]


def coin_low_of(measurements: pd.DataFrame) -> dict[str, float]:
    """Selection -> ``low_95`` of the coin-flip attack, from the chance experiment's measurements."""
    rows = measurements[
        (measurements["item"] == "coin_flip") & (measurements["metric"] == "low_95")
    ]
    return {row["cell"].split("=")[1]: float(row["value"]) for row in rows.to_dict("records")}
