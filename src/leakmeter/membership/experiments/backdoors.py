"""Backdoors and watermarks: memorised records with low scores (the paper's blind spot).

Three kinds of marked records are added to the pool: labels flipped, an artefact with one target
label, and out-of-distribution records with one target label. Models are trained on halves of the
pool and of each kind of marked records, so that every record is in and out equally often. Two
quantities follow:

- memorisation of a record, ``|P[f(x) = y | in] - P[f(x) = y | out]|`` (Feldman, with the paper's
  absolute value): what the paper's formula says;
- memorisation of a kind, where "out" are further models without any marked record. It was added
  after the first had been seen, and is exploratory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from leakmeter.membership.argument_checks import check_flags
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
    - ``artefact``: the first tenth of the inputs is set to 1, the label to class 0;
    - ``out_of_distribution``: inputs drawn uniformly from [0, 1], the label is class 0.
    """
    inputs, targets = x[rows].copy(), labels[rows].copy()
    if kind == "label_flip":
        targets = (targets + rng.integers(1, n_classes, len(rows))) % n_classes
    elif kind == "artefact":
        inputs[:, : max(1, x.shape[1] // 10)] = 1.0
        targets[:] = 0
    elif kind == "out_of_distribution":
        inputs = rng.random(inputs.shape).astype(np.float32)
        targets[:] = 0
    else:
        raise ValueError(f"kind is {kind!r}; expected one of {', '.join(KINDS)}")
    return inputs, targets


def memorisation(correct: ArrayLike, members: ArrayLike) -> np.ndarray:
    """Feldman's memorisation with the paper's absolute value, per record.

    Parameters
    ----------
    correct, members : (models, n) booleans; every record is in and out of some model.

    Raises
    ------
    UserError : other flags than 0 and 1, a record that no model or every model was trained on.
    ValueError : shapes that do not fit.
    """
    correct = check_flags(correct, "correct")
    if correct.ndim != 2:
        raise ValueError(f"correct has shape {correct.shape}; expected (models, records)")
    members = check_flags(members, "members", correct.shape)
    one_sided = members.all(axis=0) | ~members.any(axis=0)
    if one_sided.any():
        record = int(np.argmax(one_sided))
        raise UserError(
            f"members: record {record} is in {members[:, record].sum()} of {len(members)} models; "
            "expected it in some and out of others"
        )
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
    rng = generator(seed, "shapr_backdoors", data=data.name)
    x, y, kinds = _with_marks(data, settings["share"], rng)
    clean = kinds == "clean"
    splits = _splits(data.splits, len(y), settings["models"], rng)
    correct, scores = _train(data, model, x, y, clean, splits, k=k, seed=seed)
    marked = splits[:, ~clean].any(axis=1)
    inside, outside = (_share_in(correct[marked], s) for s in (splits[marked], ~splits[marked]))
    found = pd.DataFrame(
        {"kind": kinds, "memorisation": memorisation(correct[marked], splits[marked])}
    )
    without = np.where(clean, outside, correct[~marked].mean(axis=0))
    found["kind_memorisation"] = np.abs(inside - without)
    found["right_left_out"] = outside
    found["shapr"] = np.nanmean(scores[marked], axis=0)
    found["shapr_rank"] = found["shapr"].rank(method="first").sub(1).div(len(y) - 1)
    found["fitted"] = inside
    for kind, mine in found.groupby("kind", sort=False):
        values = {name: mine[name].tolist() for name in mine.columns[1:]}
        note = (
            f"{int(marked.sum())} models with marked records and {int((~marked).sum())} without, "
            f"K = {k}; scores times the number of training records; spread over records"
        )
        of_kind = {"kind_memorisation": values.pop("kind_memorisation")}
        record.add_all("backdoors", {"kind": kind}, {"records": len(mine), **values}, note=note)
        record.add_all("backdoors", {"kind": kind}, of_kind, note=f"exploratory; {note}")
    return found.drop(columns=["fitted", "shapr_rank"])


def _with_marks(
    data: Prepared, share: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pool and marked copies of some of its records: inputs, labels and kinds."""
    x, labels = data.inputs(0), data.labels
    count = max(2, 2 * (round(share * len(labels)) // 2))
    parts = [(x, labels)]
    for kind in KINDS:
        rows = rng.choice(len(labels), count, replace=False)
        parts.append(mark_records(x, labels, rows, kind, data.n_classes, rng))
    kinds = np.repeat(["clean", *KINDS], [len(labels), *(count for _ in KINDS)])
    inputs, targets = (np.concatenate(part) for part in zip(*parts, strict=True))
    return inputs, targets, kinds


def _train(
    data: Prepared,
    model: Mapping[str, Any],
    x: np.ndarray,
    y: np.ndarray,
    clean: np.ndarray,
    splits: np.ndarray,
    *,
    k: int,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """(models, n) whether each model is right; SHAPr of its members times their number, else NaN."""
    trainer = make_trainer(data, model)
    correct, scores = np.zeros(splits.shape, bool), np.full(splits.shape, np.nan)
    for m, members in enumerate(splits):
        trainer.train(x[members], y[members], seed=data.model_seed(seed, m))
        logits = trainer.outputs(x).logits
        correct[m] = logits.argmax(axis=1) == y
        # the scores' test set is clean, as it is for a model builder
        used = members | clean
        target = Target(logits[used], y[used], members[used])
        scores[m, members] = target.shapr(k=k) * members.sum()
    return correct, scores


def _splits(pool: np.ndarray, n: int, models: int, rng: np.random.Generator) -> np.ndarray:
    """Members of every model among the n records, of which the last are marked.

    ``models`` on the pool's splits with complementary halves of each kind of marked records; then
    half as many on the first of the pool's splits and no marked record.
    """
    if models > len(pool):
        raise UserError(
            f"shapr.backdoors.models is {models}; expected at most the set's models, {len(pool)}"
        )
    count = (n - pool.shape[1]) // len(KINDS)
    marked = np.zeros((models, len(KINDS) * count), bool)
    for first in range(0, models, 2):
        for kind in range(len(KINDS)):
            chosen = kind * count + rng.permutation(count)[: count // 2]
            marked[first, chosen] = True
        marked[first + 1] = ~marked[first]
    without = np.zeros((models // 2, marked.shape[1]), bool)
    rows = np.concatenate([pool[:models], pool[: models // 2]])
    return np.concatenate([rows, np.concatenate([marked, without])], axis=1)
