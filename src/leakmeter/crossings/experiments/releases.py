"""Labels of small genuine test sets, attacked through exact and private AUCs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from leakmeter.crossings.auc_releases import (
    ExactRelease,
    HistogramRelease,
    LaplaceRelease,
    Release,
    ResponseRelease,
    exact_answers,
)
from leakmeter.crossings.label_attacks import (
    ATTACKS,
    attack_labels,
    bayes_bound,
    rank_posterior,
)
from leakmeter.labelings.genuine import genuine_scores
from leakmeter.reporting.recording import Recorder
from leakmeter.runtime import derive_seed, generator

PAPER = "beyond"
#: Private mechanism -> (epsilon of one answer, thresholds) -> release.
MECHANISMS: Mapping[str, Callable[[float, int], Release]] = {
    "laplace": LaplaceRelease,
    "histogram": HistogramRelease,
    "rr_once": lambda epsilon, thresholds: ResponseRelease(epsilon, "once"),
    "rr_anew": lambda epsilon, thresholds: ResponseRelease(epsilon, "per-repeat"),
}
#: Answers of a made-up labeling from which the adversary learns the error of one answer.
_REHEARSED = 400


def measure(name: str, settings: Mapping[str, Any], *, scale: str, seed: int) -> Recorder:
    """Rows of one test set, over splits into training and test records.

    Items ``released_auc`` (many submissions: ``attack``, ``mechanism``, ``epsilon`` of one answer;
    metrics ``correct``, ``bound`` for whoever knows the base rate only, ``cost`` of all answers,
    ``answers``), ``one_auc`` (one answer to the classifier's own ranking: ``correct``, ``log_loss``,
    ``rmse``, ``cost``) and ``label_baselines``.
    """
    record = Recorder(
        PAPER,
        scale,
        seed,
        origin=name,
        data="related",
        m=settings["records"],
        note=f"scikit-learn's bundled set behind {name}; class sizes are known to the adversary",
    )
    # The seed of a split carries no mechanism: all attack the same records.
    splits = [
        genuine_scores(name, record.seed_for("released_auc", split=split), settings["records"])
        for split in range(settings["splits"])
    ]
    _baselines(record, splits)
    grid = [("exact", math.inf), *((m, e) for m in MECHANISMS for e in settings["epsilons"])]
    for mechanism, epsilon in grid:
        release: Release = ExactRelease()
        if mechanism != "exact":
            release = MECHANISMS[mechanism](epsilon, settings["thresholds"])
        axes = {"mechanism": mechanism, "epsilon": epsilon}
        _one_answer(record, axes, release, splits, settings["delta"])
        for attack in ATTACKS:
            _many_answers(record, {**axes, "attack": attack}, release, splits, settings)
    return record


def _baselines(record: Recorder, splits: list[tuple[np.ndarray, np.ndarray]]) -> None:
    """Without any answer: the commoner class, and the class sizes laid over the ranking."""
    majority, ranked, entropy, areas = [], [], [], []
    for scores, labels in splits:
        rate = float(labels.mean())
        by_rank = labels[np.argsort(scores)]
        guess = np.arange(len(labels)) >= len(labels) - labels.sum()
        majority.append(max(rate, 1 - rate))
        ranked.append(float((guess == by_rank).mean()))
        entropy.append(-rate * math.log(rate) - (1 - rate) * math.log(1 - rate))
        areas.append(float(exact_answers(by_rank[None])[0]))
    values = {"majority": majority, "ranking": ranked, "entropy": entropy, "auc": areas}
    record.add_all("label_baselines", {}, values)


def _one_answer(
    record: Recorder, axes: Mapping[str, Any], release: Release, splits: list, delta: float
) -> None:
    """The posterior of every label given one answer to the classifier's own ranking."""
    correct, loss, errors = [], [], []
    for split, (scores, labels) in enumerate(splits):
        seed = record.seed_for("one_auc", split=split, **axes)
        order, ones = np.argsort(scores), int(labels.sum())
        answer = float(release.answers(labels, order[None], derive_seed(seed, "answer"))[0])
        spread = _spread(release, labels, derive_seed(seed, "rehearsal"))
        posterior = rank_posterior(len(labels) - ones, ones, answer, spread)
        truth = labels[order]
        correct.append(float(((posterior > 0.5) == truth).mean()))
        likely = np.where(truth == 1, posterior, 1 - posterior)
        loss.append(float(-np.log(np.maximum(likely, 1e-300)).mean()))
        errors.append(_rmse(release, labels, order, derive_seed(seed, "utility")))
    record.add_all("one_auc", axes, {"correct": correct, "log_loss": loss, "rmse": errors})
    record.add("one_auc", axes, "cost", release.cost(1, delta))


def _spread(release: Release, labels: np.ndarray, seed: int) -> float:
    """Root mean square error of an answer on made-up labels; 0 for the exact AUC."""
    made_up = generator(seed, "made_up").permutation(labels)
    return _rmse(release, made_up, np.arange(len(labels)), derive_seed(seed, "noise"))


def _rmse(release: Release, labels: np.ndarray, order: np.ndarray, seed: int) -> float:
    exact = exact_answers(labels[order][None])[0]
    answers = release.afresh().answers(labels, np.tile(order, (_REHEARSED, 1)), seed)
    return float(np.sqrt(np.mean((answers - exact) ** 2)))


def _many_answers(
    record: Recorder,
    axes: Mapping[str, Any],
    release: Release,
    splits: list,
    settings: Mapping[str, Any],
) -> None:
    correct, answers = [], 0
    for split, (_, labels) in enumerate(splits):
        found, answers = attack_labels(
            release,
            labels,
            axes["attack"],
            submissions=settings["submissions"] * len(labels),
            seed=record.seed_for("released_auc", split=split, **axes),
            rehearsals=settings["rehearsals"],
        )
        correct.append(float((found == labels).mean()))
    cost = release.cost(answers, settings["delta"])
    # The bound is convex in the base rate: that of the mean rate would be too small.
    bounds = [bayes_bound(cost, float(labels.mean()), settings["delta"]) for _, labels in splits]
    record.add_all("released_auc", axes, {"correct": correct, "bound": bounds})
    record.add_all("released_auc", axes, {"cost": cost, "answers": answers})
