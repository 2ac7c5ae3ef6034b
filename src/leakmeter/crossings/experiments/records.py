"""SHAPr scores against audits of single records: the chain's own models, and many smaller sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from leakmeter.crossings.record_risks import (
    Tally,
    advantage,
    attack_decisions,
    attainable,
    coin_flip_level,
    epsilons,
    group_tallies,
    mean_confidence,
    mean_shapr,
    rank_correlation,
    record_tallies,
    score_groups,
)
from leakmeter.membership.experiments.prepared import Prepared
from leakmeter.membership.experiments.training import train_models
from leakmeter.membership.pools import draw_pool, member_splits
from leakmeter.reporting.recording import Recorder
from leakmeter.runtime import UserError

PAPER = "beyond"
ITEM = "record_risk"


def smaller(data: Prepared, settings: Mapping[str, Any], *, seed: int) -> Prepared:
    """A pool of ``2 * records`` of a set's pool, with splits for ``models`` models.

    Raises
    ------
    UserError : fewer than eight models are left to audit.
    """
    if settings["models"] - settings["scoring_models"] < 8:
        raise UserError(
            f"beyond.record_risk: {settings['models']} models of which "
            f"{settings['scoring_models']} score; expected at least 8 more to audit"
        )
    where = f"{data.name}_records"
    drawn = draw_pool(data.table, settings["records"], data.n_classes, seed=seed, where=where)
    splits = member_splits(drawn.table.labels, settings["models"], seed=seed, where=where)
    return replace(data, name=where, table=drawn.table, splits=splits)


def train(
    data: Prepared, settings: Mapping[str, Any], model: Mapping[str, Any], *, seed: int
) -> dict[str, np.ndarray]:
    """Logits (models, 2n, classes) of a smaller pool under many models, its labels and splits."""
    pool = smaller(data, settings, seed=seed)
    trained = train_models(pool, model, targets=0, l2=(), seed=seed)
    return {"logits": trained.logits, "labels": pool.labels, "splits": pool.splits}


def measure_many(
    record: Recorder,
    arrays: Mapping[str, np.ndarray],
    settings: Mapping[str, Any],
    *,
    k: int,
) -> None:
    """Scores from the first models, the audit on the others; every score is a mean over its models."""
    logits, labels, splits = arrays["logits"], arrays["labels"], arrays["splits"]
    scoring = settings["scoring_models"]
    held, inside = (logits[:scoring], labels, splits[:scoring]), splits[scoring:]
    scores = {
        "shapr": mean_shapr(*held, k=k),
        "loss_inside": -mean_confidence(*held, inside=True),
        "loss_outside": -mean_confidence(*held, inside=False),
    }
    decisions = attack_decisions(logits[scoring:], labels, inside, variance="per-example")
    tally = record_tallies(decisions, inside)
    # is it because typical records score high? typical: predicted by models without the record
    given = {"shapr_given_outside": ("shapr", "loss_outside")}
    found = _compare(record, scores, tally, settings, given=given)
    # halves of complementary pairs: every record is in half of each half's models
    halves = [record_tallies(decisions[part], inside[part]) for part in _halves(len(decisions))]
    limits = {
        "epsilon": [epsilons(t, delta=settings["delta"], alpha=0.5)["median"] for t in halves],
        "advantage": [advantage(t) for t in halves],
    }
    for statistic, pair in limits.items():
        record.add(ITEM, {"statistic": statistic}, "attainable", attainable(*pair))
    width = found["high"] - found["low"]
    record.add(ITEM, {}, "median_width", float(np.median(width)))
    level = coin_flip_level(tally, delta=settings["delta"], alpha=settings["alpha"])
    record.add(ITEM, {}, "coin_flip_level", level)
    record.add(ITEM, {}, "share_above_coin_flip", float((found["low"] > level).mean()))
    record.add(ITEM, {}, "audited_models", len(decisions))


def measure_chain(
    record: Recorder,
    data: Prepared,
    logits: np.ndarray,
    scores: Mapping[str, np.ndarray],
    settings: Mapping[str, Any],
) -> None:
    """The chain's scores of its first target against its other models."""
    members = data.splits[0]
    inside = data.splits[1:]
    decisions = attack_decisions(logits[1:], data.labels, inside, variance="fixed")
    tally = record_tallies(decisions[:, members], inside[:, members])
    kept = (logits[:1], data.labels, data.splits[:1])
    with np.errstate(invalid="ignore"):
        loss = -mean_confidence(*kept, inside=True)[members]
    _compare(
        record,
        {"shapr": scores["shapr"], "sprs": scores["sprs"], "loss_inside": loss},
        tally,
        settings,
    )
    record.add(ITEM, {}, "audited_models", len(decisions))


def _halves(models: int) -> tuple[slice, slice]:
    middle = models // 4 * 2
    return slice(0, middle), slice(middle, models)


def _compare(
    record: Recorder,
    scores: Mapping[str, np.ndarray],
    tally: Tally,
    settings: Mapping[str, Any],
    *,
    given: Mapping[str, tuple[str, str]] | None = None,
) -> Tally:
    """Correlations of each score with both statistics, and epsilon by group of the SHAPr score.

    ``given``: name -> (score, score held fixed), for partial correlations.
    """
    delta, alpha, groups = settings["delta"], settings["alpha"], settings["groups"]
    found = epsilons(tally, delta=delta, alpha=alpha)
    for statistic, values in {"epsilon": found["median"], "advantage": advantage(tally)}.items():
        for name, score in scores.items():
            related = rank_correlation(score, values, alpha=alpha)
            axes = {"statistic": statistic, "score": name}
            record.add_all(ITEM, axes, vars(related))
        for name, (score, fixed) in (given or {}).items():
            left = rank_correlation(scores[score], values, alpha=alpha, given=scores[fixed])
            record.add_all(ITEM, {"statistic": statistic, "score": name}, vars(left))
    group = score_groups(scores["shapr"], groups)
    by_group = epsilons(group_tallies(tally, group), delta=delta, alpha=alpha)
    for number in range(groups):
        axes = {"group": number + 1}
        record.add_all(ITEM, axes, {name: value[number] for name, value in by_group.items()})
        record.add(ITEM, axes, "mean_score", float(scores["shapr"][group == number].mean()))
        record.add(ITEM, axes, "mean_advantage", float(advantage(tally)[group == number].mean()))
    return found


def measure_set(
    data: Prepared,
    logits: np.ndarray,
    scores: Mapping[str, np.ndarray],
    many: Mapping[str, np.ndarray] | None,
    settings: Mapping[str, Any],
    *,
    neighbours: Sequence[int],
    scale: str,
    seed: int,
) -> Recorder:
    """Rows of item ``record_risk`` of one set.

    Axis ``models``: ``chain`` (the SHAPr chain's own models and scores) and ``many`` (what
    :func:`train` made, if it was run for the set). Axes ``score`` and ``statistic`` for rank
    correlations, ``group`` for groups of records by SHAPr score.

    Parameters
    ----------
    logits : (models, 2n, classes) of the chain. scores : of the chain's first target.
    """
    record = Recorder(
        PAPER,
        scale,
        seed,
        origin="target",
        data=data.meta["label"],
        undefined="undefined in this run: a statistic has one value",
    )
    chain = replace(record, axes={"set": data.name, "models": "chain"}, m=data.meta["n_train"])
    measure_chain(chain, data, logits, scores, settings)
    if many is not None:
        audited = replace(record, axes={"set": data.name, "models": "many"}, m=len(many["labels"]))
        measure_many(audited, many, settings, k=max(neighbours))
    return record
