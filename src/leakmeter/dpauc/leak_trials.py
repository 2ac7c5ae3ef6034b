"""The attacks of :mod:`leakmeter.dpauc.leaks` run on records, exact and under DPAUC noise.

Each trial returns one row per setting, with the exact release (``epsilon_per_count`` infinite) and
the noisy ones side by side.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import ArrayLike

from leakmeter.dpauc.accounting import label_dp_epsilon
from leakmeter.dpauc.counting import Counts, assign_clients, check_thresholds, count
from leakmeter.dpauc.exact import exact_auc
from leakmeter.dpauc.leaks import (
    MAX_UNKNOWN,
    Recovery,
    label_log_odds,
    labels_from_auc,
    labels_from_roc,
    score_leak,
)
from leakmeter.dpauc.mechanisms import check_repeats, laplace_release
from leakmeter.dpauc.randomized import flip_probability
from leakmeter.dpauc.records import check_records
from leakmeter.dpauc.roc import CurveOptions, auc_from_totals, roc_points
from leakmeter.runtime import UserError, derive_seed, generator

Row = dict[str, float | int | str]


def score_location_trial(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    clients: int,
    assignment: str,
    thresholds: ArrayLike,
    epsilons_per_count: Iterable[float],
    seed: int,
) -> list[Row]:
    """Share of the scores located to a grid cell from each client's counts.

    Returns
    -------
    One row per eps': ``clients``, ``assignment``, ``epsilon_per_count``, ``located``, ``baseline``,
    ``mean_width`` (see :class:`leakmeter.dpauc.leaks.ScoreLeak`).
    """
    owner = assign_clients(
        scores,
        clients=clients,
        assignment=assignment,
        seed=derive_seed(seed, "leak assignment", clients=clients),
    )
    counts = count(scores, labels, thresholds, owner, n_clients=clients)
    rows: list[Row] = []
    for epsilon in epsilons_per_count:
        released = laplace_release(
            counts,
            epsilon_per_count=epsilon,
            seed=derive_seed(seed, "leak release", clients=clients, epsilon=epsilon),
        )
        leak = score_leak(released, scores, owner, thresholds)
        rows.append(
            {
                "clients": clients,
                "assignment": assignment,
                "epsilon_per_count": epsilon,
                **vars(leak),
            }
        )
    return rows


def known_labels_trial(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    thresholds: ArrayLike,
    unknown: Iterable[int],
    clients: int,
    epsilons_per_count: Iterable[float],
    trials: int,
    seed: int,
) -> list[Row]:
    """Recover the labels of a few random records by one who knows all others.

    From the curve, and for at most 20 unknown labels also from the AUC alone (the exact one, or the
    noisy one of the released curve). The attacker is not told the class sizes.

    Returns
    -------
    One row per number of unknown labels, source (``"roc"`` or ``"auc"``) and eps': ``unknown``,
    ``source``, ``clients``, ``epsilon_per_count``, ``trials`` and the means of ``recovered``,
    ``wrong``, ``accuracy`` and ``baseline`` (see :class:`leakmeter.dpauc.leaks.Recovery`); for
    ``"auc"`` also the mean number of ``consistent`` labelings.
    """
    scores, positive = check_records(scores, labels)
    check_repeats(trials, "trials")
    counts = count(scores, positive, thresholds)
    epsilons = list(epsilons_per_count)
    rows: list[Row] = []
    for u in unknown:
        if not 1 <= u <= scores.size:
            raise UserError(f"unknown is {u}; expected 1 to {scores.size}, the number of records")
        sources = ("roc", "auc") if u <= MAX_UNKNOWN else ("roc",)
        for epsilon, source in itertools.product(epsilons, sources):

            def attack(
                trial: int, u: int = u, epsilon: float = epsilon, source: str = source
            ) -> Recovery:
                known = np.ones(scores.size, bool)
                rng = generator(seed, "unknown labels", unknown=u, trial=trial)
                known[rng.choice(scores.size, u, replace=False)] = False
                totals = _noisy_totals(
                    counts, clients, epsilon, derive_seed(seed, "known labels", trial=trial)
                )
                if source == "auc":
                    exact = math.isinf(epsilon)
                    auc = exact_auc(scores, positive) if exact else auc_from_totals(totals)
                    return labels_from_auc(float(auc), scores, positive, known=known)
                fpr, tpr = roc_points(totals)
                return labels_from_roc(
                    fpr,
                    tpr,
                    scores,
                    positive,
                    thresholds=thresholds,
                    known=known,
                )

            rows.append(
                {
                    "unknown": u,
                    "source": source,
                    "clients": clients,
                    "epsilon_per_count": epsilon,
                    **_means(attack, trials),
                }
            )
    return rows


def enumeration_trial(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    sizes: Iterable[int],
    epsilons_per_count: Iterable[float],
    trials: int,
    seed: int,
) -> list[Row]:
    """Recover all labels of small random test sets, from the full curve and from the AUC alone.

    One client releases the counts at every distinct score of its set. The attacker knows the
    scores, but no label and not the class sizes.

    Returns
    -------
    One row per size, source (``"roc"`` or ``"auc"``) and eps', with the columns of
    :func:`known_labels_trial` and, for ``"auc"``, the mean number of ``consistent`` labelings.
    """
    scores, positive = check_records(scores, labels)
    check_repeats(trials, "trials")
    rows: list[Row] = []
    for size, epsilon, source in itertools.product(sizes, list(epsilons_per_count), ("roc", "auc")):

        def attack(
            trial: int, size: int = size, epsilon: float = epsilon, source: str = source
        ) -> Recovery:
            rng = generator(seed, "small set", size=size, trial=trial)
            pick = _with_both_classes(rng, positive, size)
            s, y = scores[pick], positive[pick]
            grid = np.unique(s)[::-1]
            counts = count(s, y, grid)
            totals = _noisy_totals(
                counts, 1, epsilon, derive_seed(seed, "small release", trial=trial)
            )
            if source == "auc":
                return labels_from_auc(_area(totals), s, y)
            fpr, tpr = roc_points(totals)
            return labels_from_roc(fpr, tpr, s, y, thresholds=grid)

        rows.append(
            {
                "size": size,
                "source": source,
                "epsilon_per_count": epsilon,
                **_means(attack, trials),
            }
        )
    return rows


def single_label_trial(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    thresholds: ArrayLike,
    epsilons_per_count: Iterable[float],
    trials: int,
    seed: int,
) -> list[Row]:
    """The likelihood attack on one label of one client, the others known.

    In each trial a random record gets a label by a fair coin, and the client releases its counts.
    The guess is the sign of :func:`leakmeter.dpauc.leaks.label_log_odds`.

    Returns
    -------
    One row per eps' (finite): ``epsilon_per_count``, ``trials``, ``accuracy``, ``baseline`` (0.5),
    ``largest_log_odds`` seen, ``spent`` (2 T eps', the bound on it) and ``bound``, the largest
    accuracy that pure DP at ``spent`` allows, e^spent / (1 + e^spent).
    """
    scores, positive = check_records(scores, labels)
    check_repeats(trials, "trials")
    thresholds = check_thresholds(thresholds)
    counts = count(scores, positive, thresholds)
    rows: list[Row] = []
    for epsilon in epsilons_per_count:
        odds, truth = np.empty(trials), np.empty(trials, bool)
        for trial in range(trials):
            rng = generator(seed, "single label", trial=trial)
            record, label = int(rng.integers(scores.size)), int(rng.integers(2))
            truth[trial] = label
            predicted = scores[record] >= thresholds
            pair = [_relabelled(counts, predicted, positive[record], new) for new in (False, True)]
            release = laplace_release(
                pair[label],
                epsilon_per_count=epsilon,
                seed=derive_seed(seed, "single release", trial=trial, epsilon=epsilon),
            )
            odds[trial] = label_log_odds(
                release,
                if_negative=pair[0],
                if_positive=pair[1],
                epsilon_per_count=epsilon,
            )
        spent = label_dp_epsilon(counts.n_thresholds, epsilon, rule="tight")
        rows.append(
            {
                "epsilon_per_count": epsilon,
                "trials": trials,
                "accuracy": float(((odds > 0) == truth).mean()),
                "baseline": 0.5,
                "largest_log_odds": float(np.abs(odds).max()),
                "spent": spent,
                "bound": 1 - flip_probability(spent),
            }
        )
    return rows


def _relabelled(counts: Counts, predicted: np.ndarray, old: bool, new: bool) -> Counts:
    """Counts after the label of one record, predicted positive at ``predicted``, is changed."""
    change = int(new) - int(old)
    above, below = change * predicted, change * ~predicted
    return Counts(
        tp=counts.tp + above, fp=counts.fp - above, tn=counts.tn - below, fn=counts.fn + below
    )


def _noisy_totals(counts: Counts, clients: int, epsilon: float, seed: int) -> np.ndarray:
    """(4, T) sums over ``clients`` clients of one release of pooled counts."""
    exact = counts.pooled().stacked().astype(np.float64)
    if math.isinf(epsilon):
        return exact
    gammas = np.random.default_rng(seed).standard_gamma(clients, size=(2, *exact.shape))
    return exact + (gammas[0] - gammas[1]) / epsilon


def _area(totals: np.ndarray) -> float:
    """The exact AUC if ``totals`` are exact and their thresholds are all the scores."""
    return float(auc_from_totals(totals, CurveOptions(end_points=True)))


def _with_both_classes(rng: np.random.Generator, positive: np.ndarray, size: int) -> np.ndarray:
    if not 2 <= size <= positive.size:
        raise UserError(f"size is {size}; expected 2 to {positive.size}, the number of records")
    while True:
        pick = rng.choice(positive.size, size, replace=False)
        if 0 < positive[pick].sum() < size:
            return pick


def _means(attack: Callable[[int], Recovery], trials: int) -> Row:
    results = [attack(trial) for trial in range(trials)]
    row: Row = {"trials": trials}
    for name in ("recovered", "wrong", "accuracy", "baseline"):
        row[name] = float(np.mean([getattr(result, name) for result in results]))
    if results[0].consistent is not None:
        row["consistent"] = float(np.mean([result.consistent for result in results]))
    return row
