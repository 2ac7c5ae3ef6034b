"""Backdoors and watermarks: memorised records with low scores (the paper's blind spot).

Three kinds of marked records are added to the pool: labels flipped, an artefact with one target
label, and out-of-distribution records with one target label. Every model is trained on a half of
the pool. The first half of the models is trained on halves of each kind of marked records as well,
the other half on none of them. Two quantities follow:

- memorisation of a record, ``|P[f(x) = y | in] - P[f(x) = y | out]|`` (Feldman, with the paper's
  absolute value), over models that have the other records of its kind: what the paper's formula says;
- memorisation of a kind, where "out" are the models without any record of the kind. A trigger that
  works on records it was not planted in has little of the first and much of the second.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from leakmeter.membership.experiments.assessment import Target
from leakmeter.membership.experiments.prepared import Prepared
from leakmeter.membership.experiments.training import make_trainer
from leakmeter.reporting.recording import Recorder
from leakmeter.runtime import UserError, generator

KINDS = ("label_flip", "artefact", "out_of_distribution")


def mark_records(
    x: np.ndarray,
    labels: np.ndarray,
    rows: np.ndarray,
    kind: str,
    n_classes: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Changed copies of some records: inputs (m, d) and labels (m,).

    - ``label_flip``: another class, drawn at random;
    - ``artefact``: the last tenth of the inputs is set to 1, the label to the rarest class;
    - ``out_of_distribution``: inputs drawn uniformly from [0, 1], the label is the rarest class.

    The rarest class is the one that a model gives to a strange record least by itself.
    """
    inputs, targets = x[rows].copy(), labels[rows].copy()
    rarest = int(np.bincount(labels, minlength=n_classes).argmin())
    if kind == "label_flip":
        targets = (targets + rng.integers(1, n_classes, len(rows))) % n_classes
    elif kind == "artefact":
        inputs[:, -max(1, x.shape[1] // 10) :] = 1.0
        targets[:] = rarest
    elif kind == "out_of_distribution":
        inputs = rng.random(inputs.shape).astype(np.float32)
        targets[:] = rarest
    else:
        raise ValueError(f"kind is {kind!r}; expected one of {', '.join(KINDS)}")
    return inputs, targets


def memorisation(correct: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Feldman's memorisation with the paper's absolute value, per record.

    Parameters
    ----------
    correct, members : (models, n) booleans; every record is in and out of some model.
    """
    return np.abs(_share_in(correct, members) - _share_in(correct, ~members))


def _share_in(correct: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Share of the models a record is in that are right about it."""
    return np.where(members, correct, 0).sum(axis=0) / members.sum(axis=0)


def measure(
    record: Recorder,
    data: Prepared,
    settings: Mapping[str, Any],
    *,
    model: Mapping[str, Any],
    k: int,
    seed: int,
) -> pd.DataFrame:
    """Rows per kind; the records' memorisation and mean SHAPr (for the figure)."""
    trainer = make_trainer(data, model)
    rng = generator(seed, "shapr_backdoors", data=data.name)
    x, labels = data.inputs(0), data.labels
    count = max(2, 2 * (round(settings["share"] * len(labels)) // 2))
    kinds = np.repeat(["clean", *KINDS], [len(labels), *(count for _ in KINDS)])
    parts = [(x, labels)]
    for kind in KINDS:
        rows = rng.choice(len(labels), count, replace=False)
        parts.append(mark_records(x, labels, rows, kind, data.n_classes, rng))
    x = np.concatenate([part for part, _ in parts])
    y = np.concatenate([part for _, part in parts])
    splits = _splits(data.splits, count, settings["models"], rng)
    correct, scores = [], np.full(splits.shape, np.nan)
    clean = kinds == "clean"
    for m, members in enumerate(splits):
        trainer.train(x[members], y[members], seed=data.model_seed(seed, m))
        logits = trainer.outputs(x).logits
        correct.append(logits.argmax(axis=1) == y)
        # the scores' test set is clean, as it is for a model builder
        used = members | clean
        target = Target(logits[used], y[used], members[used])
        scores[m, members] = target.shapr(k=k) * members.sum()
    correct = np.array(correct)
    with_marks = splits[:, ~clean].any(axis=1)
    remembered = np.where(
        clean,
        memorisation(correct, splits),
        memorisation(correct[with_marks], splits[with_marks]),
    )
    never = correct[~with_marks].mean(axis=0)
    of_kind = np.where(clean, remembered, np.abs(_share_in(correct, splits) - never))
    mean_score = np.nanmean(scores, axis=0)
    rank = mean_score.argsort(kind="stable").argsort(kind="stable") / (len(y) - 1)
    for kind in ("clean", *KINDS):
        mine = kinds == kind
        record.add_all(
            "backdoors",
            {"kind": kind},
            {
                "records": int(mine.sum()),
                "fitted": float(correct[splits & mine].mean()),
                "memorisation": remembered[mine].tolist(),
                "kind_memorisation": of_kind[mine].tolist(),
                "shapr": mean_score[mine].tolist(),
                "shapr_rank": rank[mine].tolist(),
            },
            note=f"{len(splits)} models, K = {k}; scores times the number of training records",
        )
    return pd.DataFrame(
        {
            "kind": kinds,
            "memorisation": remembered,
            "kind_memorisation": of_kind,
            "shapr": mean_score,
        }
    )


def _splits(pool: np.ndarray, count: int, models: int, rng: np.random.Generator) -> np.ndarray:
    """The pool's splits; halves of each kind of marked records in the first half of the models."""
    if models > len(pool):
        raise UserError(
            f"shapr.backdoors.models is {models}; expected at most shapr.shadow_models, {len(pool)}"
        )
    marked = np.zeros((models, len(KINDS) * count), bool)
    for first in range(0, models // 2, 2):
        for kind in range(len(KINDS)):
            chosen = kind * count + rng.permutation(count)[: count // 2]
            marked[first, chosen] = True
        marked[first + 1] = ~marked[first]
    return np.concatenate([pool[:models], marked], axis=1)
