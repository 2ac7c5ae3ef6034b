"""A user's feature matrix: SHAPr scores of the training records, and attacks on model outputs.

The rules of the attacks that need fitting (class thresholds of I_ment, histograms of SPRS) are
fitted on one half of the records and used on the other, in turn: no record chooses its own rule,
and the rates are not optimistic.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leakmeter.membership.attack_roc import roc, tpr_at_fpr
from leakmeter.membership.effectiveness import balanced_attack_accuracy, score_effectiveness
from leakmeter.membership.entropy_attack import (
    fit_entropy_attack,
    fixed_entropy_attack,
    modified_entropy,
)
from leakmeter.membership.lira_attack import scaled_confidence
from leakmeter.membership.shapley import knn_diagnostics, knn_shapley
from leakmeter.membership.sprs_scores import fit_sprs
from leakmeter.own.reading import Column, read_table
from leakmeter.own.reports import Report, named_files
from leakmeter.runtime import UserError, counted, generator

SCHEMA = (Column("label", "text"), Column("member", "flag"))
FEATURE = Column("feature", "number")
_LOGITS = "(or logits: --logits, shapr.own.logits)"
PROBABILITY = Column("probability", "number", low=0.0, high=1.0, hint=_LOGITS)
#: Clamp of probabilities in logarithms, as in the reference implementation of the attacks.
CLAMP = 1e-30
#: Distance from 1 that a row of probabilities may have: they may be rounded to a few digits.
_SUM_TOLERANCE = 0.01
_FPRS = (0.01, 0.001)


@dataclass(frozen=True)
class ShaprOptions:
    """Settings of :func:`shapr_report`.

    Attributes
    ----------
    k : neighbours of the K-NN utility.
    space : "outputs", "features", or None for the outputs where they are given.
    logits : the outputs are logits, not probabilities.
    bins : of the SPRS histograms.
    seed : root seed of the halves that rules are fitted on.
    """

    k: int = 5
    space: str | None = None
    logits: bool = False
    bins: int = 5
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("k", "bins"):
            if getattr(self, name) < 1:
                raise UserError(f"{name} is {getattr(self, name)}; expected at least 1")
        if self.space not in (None, "outputs", "features"):
            raise UserError(f"space is {self.space!r}; expected outputs or features")


@dataclass(frozen=True)
class Records:
    """The user's records: features (n, d), labels (n,) text, members (n,) bool, and outputs.

    outputs : (n, classes) probabilities or logits, columns in the order of ``classes``, or None.
    """

    features: np.ndarray
    labels: np.ndarray
    members: np.ndarray
    classes: tuple[str, ...]
    outputs: np.ndarray | None

    @property
    def codes(self) -> np.ndarray:
        """(n,) position of each label among the classes."""
        position = {name: i for i, name in enumerate(self.classes)}
        return np.array([position[label] for label in self.labels])


def read_records(
    features: str | Path, outputs: str | Path | None = None, *, logits: bool = False
) -> Records:
    """Read and check features and outputs.

    Parameters
    ----------
    features : table with the columns ``label`` and ``member`` (1: training record), every other
        column a feature; or .npz with arrays ``features`` (n, d), ``labels`` (n,), ``member`` (n,)
        and possibly ``outputs`` (n, classes), labels then being 0 to classes - 1.
    outputs : table with one row per record, in the same order, and one column per class, named as
        the label; not with an .npz.
    logits : the outputs are any finite numbers, not probabilities.

    Raises
    ------
    UserError : one sentence about the first thing that is wrong.
    """
    if Path(features).suffix.lower() == ".npz":
        if outputs is not None:
            raise UserError(
                f"{outputs}: outputs beside an .npz file; expected them inside it, as outputs"
            )
        records = _read_npz(Path(features).expanduser(), logits)
    else:
        records = _read_tables(features, outputs, logits)
    for kind, many in (("training records (member 1)", records.members.sum()),
                       ("test records (member 0)", (~records.members).sum())):  # fmt: skip
        if many == 0:
            raise UserError(f"{features}: has no {kind}; expected both kinds")
    return records


def _read_tables(features: str | Path, outputs: str | Path | None, logits: bool) -> Records:
    frame = read_table(features, SCHEMA, rest=FEATURE, least=2)
    if frame.matrix is None:
        raise UserError(f"{features}: has no columns beside label and member; expected features")
    labels, members = frame["label"], frame["member"].astype(bool)
    present = sorted(set(labels.tolist()))
    if outputs is None:
        return Records(frame.matrix, labels, members, tuple(present), None)
    given = read_table(outputs, (), rest=FEATURE if logits else PROBABILITY)
    if len(given) != len(frame):
        raise UserError(
            f"{outputs}: has {counted(len(given), 'row')}; expected {len(frame)}, one per row of {features}"
        )
    for name in present:
        if name not in given.rest:
            at = int(np.flatnonzero(labels == name)[0])
            raise UserError(
                f"{outputs}: no column {name!r}, the label of {frame.place(at)}; expected one column "
                "per class, named as the label"
            )
    _check_outputs(given.matrix, logits, given.place)
    return Records(frame.matrix, labels, members, given.rest, given.matrix)


def _check_outputs(outputs: np.ndarray, logits: bool, place: Callable[[int], str]) -> None:
    if outputs.shape[1] < 2:
        raise UserError(f"{place(0)}: has {outputs.shape[1]} class; expected at least 2")
    sums = outputs.sum(axis=1)
    # the sum of decimals that is off by the tolerance exactly may be off by a little more in binary
    off = np.flatnonzero(np.abs(sums - 1) > _SUM_TOLERANCE + 1e-9)
    if not logits and len(off):
        raise UserError(
            f"{place(int(off[0]))}: the probabilities sum to {sums[off[0]]:.6g}; expected 1, "
            f"within {_SUM_TOLERANCE:g}"
        )


def _read_npz(path: Path, logits: bool) -> Records:
    import zipfile
    import zlib

    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error, AttributeError):
        # NumPy's reasons advise to load what nobody should
        is_archive = path.is_file() and zipfile.is_zipfile(path)
        found = "is damaged or holds Python objects" if is_archive else "is not an .npz file"
        raise UserError(
            f"{path}: {found}; expected an archive of arrays of numbers or text, as numpy.savez "
            "writes it"
        ) from None
    for name in ("features", "labels", "member"):
        if name not in arrays:
            shown = ", ".join(sorted(arrays)) or "nothing"
            raise UserError(f"{path}: no array {name!r} among {shown}; expected one")
    n = len(np.atleast_1d(arrays["labels"]))
    dimensions = {"features": 2, "labels": 1, "member": 1, "outputs": 2}
    for name in dimensions.keys() & arrays.keys():
        array = arrays[name]
        if array.ndim != dimensions[name] or len(array) != n or array.size == 0:
            raise UserError(
                f"{path}: array {name} has shape {array.shape}; expected {dimensions[name]} "
                f"dimension{'s' if dimensions[name] > 1 else ''} and {n} rows"
            )
    _check_numbers(path, arrays["features"], "features", "finite numbers")
    member = arrays["member"]
    bad = np.flatnonzero(~np.isin(member, (0, 1)))
    if len(bad):
        raise UserError(
            f"{path}, row {bad[0] + 1}, array member: is {member[bad[0]]}; expected 0 or 1"
        )
    labels = np.array([_as_text(label) for label in arrays["labels"].tolist()], dtype=object)
    empty = np.flatnonzero(np.isin(labels.astype(str), ("", "nan")))
    if len(empty):
        raise UserError(f"{path}, row {empty[0] + 1}, array labels: is missing; expected a label")
    outputs, classes = arrays.get("outputs"), tuple(sorted(set(labels.tolist())))
    if outputs is not None:
        _check_numbers(path, outputs, "outputs", "finite numbers")
        if not logits and ((outputs < 0) | (outputs > 1)).any():
            row = int(np.flatnonzero(((outputs < 0) | (outputs > 1)).any(axis=1))[0])
            raise UserError(
                f"{path}, row {row + 1}, array outputs: is not between 0 and 1; expected "
                f"probabilities {_LOGITS}"
            )
        _check_outputs(outputs, logits, lambda i: f"{path}, row {i + 1}, array outputs")
        classes = tuple(map(str, range(outputs.shape[1])))
        for i, label in enumerate(labels):
            if label not in classes:
                raise UserError(
                    f"{path}, row {i + 1}, array labels: is {label}; expected 0 to "
                    f"{len(classes) - 1}, a column of outputs"
                )
    return Records(arrays["features"], labels, member.astype(bool), classes, outputs)


def _as_text(label: Any) -> str:
    if isinstance(label, bool) or (isinstance(label, float) and label.is_integer()):
        return str(int(label))
    return str(label)


def _check_numbers(path: Path, array: np.ndarray, name: str, expected: str) -> None:
    if array.dtype.kind not in "biuf":
        raise UserError(f"{path}: array {name} has type {array.dtype}; expected {expected}")
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if len(bad):
        value = array[bad[0]][~np.isfinite(array[bad[0]])][0]
        raise UserError(f"{path}, row {bad[0] + 1}, array {name}: is {value}; expected {expected}")


# --- the report ---------------------------------------------------------------------------------


def shapr_report(
    features: str | Path, outputs: str | Path | None = None, options: ShaprOptions | None = None
) -> Report:
    """SHAPr of every training record and, with model outputs, the attacks on all records.

    Parameters
    ----------
    features, outputs : see :func:`read_records`.
    options : see :class:`ShaprOptions`. SHAPr as published is computed on the model's outputs.

    Returns
    -------
    Report : ``records`` has one row per record of the file (row, label, member, shapr, and with
        outputs modified_entropy, sprs, confidence and the attacks' decisions); ``table`` one row
        per score, with what it tells about membership or about the attack.

    Raises
    ------
    UserError : a mistake in the files or the options.
    """
    options = options or ShaprOptions()
    records = read_records(features, outputs, logits=options.logits)
    space = options.space or ("features" if records.outputs is None else "outputs")
    if space == "outputs" and records.outputs is None:
        raise UserError("space is outputs and no outputs are given; expected outputs or features")
    if options.logits and records.outputs is None:
        raise UserError(
            "logits are announced (--logits, shapr.own.logits) and no outputs are given; expected "
            "outputs (--outputs, shapr.outputs) or no such option"
        )
    frame, summary = _shapr(records, space, options)
    rows = []
    if records.outputs is not None:
        attacks = _attacks(records, options)
        frame = frame.assign(**attacks)
        rows = _attack_rows(frame) + _effectiveness_rows(frame)
    summary["files"] = named_files(features=features, outputs=outputs)
    summary["seed"] = options.seed
    if not rows:
        rows = [{"score": "shapr", "against": "", "records": summary["members"]}]
    return Report("shapr", summary, _sentences(summary, rows), pd.DataFrame(rows), frame)


def _shapr(
    records: Records, space: str, options: ShaprOptions
) -> tuple[pd.DataFrame, dict[str, Any]]:
    inside, x = records.members, records.features if space == "features" else records.outputs
    sides = (x[inside], records.labels[inside], x[~inside], records.labels[~inside])
    values = knn_shapley(*sides, k=options.k)
    facts = knn_diagnostics(*sides, k=options.k)
    scores = np.full(len(inside), np.nan)
    scores[inside] = values
    frame = pd.DataFrame(
        {
            "row": np.arange(1, len(inside) + 1),
            "label": records.labels,
            "member": inside.astype(int),
            "shapr": scores,
        }
    )
    summary = {
        "records": len(inside),
        "members": int(inside.sum()),
        "classes": len(records.classes),
        "features": int(records.features.shape[1]),
        "space": space,
        "k": options.k,
        "shapr_mean": float(values.mean()),
        "shapr_positive": float((values > 0).mean()),
        "knn_utility": facts.utility,
        "tied_share": facts.tied_share,
    }
    return frame, summary


def _attacks(records: Records, options: ShaprOptions) -> dict[str, np.ndarray]:
    """Columns of the records that need the outputs."""
    kind = {"from_logits": options.logits, "clamp": CLAMP}
    codes, inside, outputs = records.codes, records.members, records.outputs
    if not options.logits:
        sums = outputs.sum(axis=1, keepdims=True)
        # what rounding to a few digits took or gave; other rows stay as they are
        outputs = np.where(np.abs(sums - 1) > 1e-6, outputs / sums, outputs)
    with warnings.catch_warnings():
        # saturated float32 probabilities: ties of confident records, which the ROC counts as such
        warnings.simplefilter("ignore", RuntimeWarning)
        entropy = modified_entropy(outputs, codes, **kind)
    confidence = scaled_confidence(outputs, codes, **kind)
    sprs = np.empty(len(codes))
    found = np.zeros(len(codes), dtype=bool)
    halves = _halves(records, options.seed)
    # classes without records have no rule and need none
    _, dense = np.unique(codes, return_inverse=True)
    n_classes = int(dense.max()) + 1
    for mine in (halves, ~halves):
        fitted = [part[~mine & side] for side in (inside, ~inside) for part in (entropy, dense)]
        histograms = fit_sprs(*fitted, n_classes=n_classes, bins=options.bins)
        rule = fit_entropy_attack(*fitted, n_classes=n_classes, shadow="independent")
        sprs[mine] = histograms.scores(entropy[mine], dense[mine])
        found[mine] = rule.members(entropy[mine], dense[mine])
    fixed = fixed_entropy_attack(n_classes).members(entropy, dense)
    return {
        "modified_entropy": entropy,
        "confidence": confidence,
        "sprs": sprs,
        "entropy_attack": found.astype(int),
        "fixed_entropy_attack": fixed.astype(int),
    }


def _halves(records: Records, seed: int) -> np.ndarray:
    """(n,) booleans: a random half of the members and of the others of every class.

    Raises
    ------
    UserError : a class with fewer than two members or others.
    """
    random = generator(seed, "own.shapr.halves")
    first = np.zeros(len(records.labels), dtype=bool)
    # by name: the order of the columns of the outputs does not matter
    for label in sorted(set(records.labels.tolist())):
        for member, kind in ((True, "training"), (False, "test")):
            rows = np.flatnonzero((records.labels == label) & (records.members == member))
            if len(rows) < 2:
                raise UserError(
                    f"label {label!r} has {len(rows)} {kind} records; the attacks on outputs need at "
                    "least 2 of each kind per class"
                )
            first[random.permutation(rows)[: len(rows) // 2]] = True
    return first


def _attack_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """How well each statistic tells members from others; high values speak for members."""
    member = frame["member"].to_numpy(dtype=bool)
    rows = []
    for name, sign, decision in (
        ("modified_entropy", -1.0, "entropy_attack"),
        ("modified_entropy, one threshold of 0.5", -1.0, "fixed_entropy_attack"),
        ("confidence", 1.0, None),
        ("sprs", 1.0, None),
    ):
        values = sign * frame[name.split(",")[0]].to_numpy()
        row = {
            "score": name,
            "against": "membership",
            "records": len(frame),
            "auc": roc(values, member).auc,
        }
        for rate in _FPRS:
            at = tpr_at_fpr(values, member, rate)
            row[f"tpr_at_fpr_{rate:g}"] = at.tpr if at.resolved else np.nan
        calls = frame[decision] if decision else (values > 0.5 if name == "sprs" else None)
        if calls is not None:
            calls = np.asarray(calls, dtype=bool)
            row["balanced_accuracy"] = balanced_attack_accuracy(calls[member], calls[~member])
        rows.append(row)
    return rows


def _effectiveness_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """How well risk scores of training records predict what the entropy attack finds."""
    inside = frame[frame["member"] == 1]
    rows = []
    for name, threshold in (("shapr", 0.0), ("sprs", 0.5)):
        e = score_effectiveness(
            inside[name].to_numpy(),
            inside["entropy_attack"].to_numpy(),
            threshold=threshold,
            attack_statistic=-inside["modified_entropy"].to_numpy(),
        )
        rows.append(
            {
                "score": name,
                "against": "entropy_attack",
                "records": e.n,
                "auc": e.auc,
                "balanced_accuracy": e.balanced_accuracy,
                "f1": e.f1,
                "baseline_f1": e.baseline_f1,
                "spearman": e.spearman,
            }
        )
    return rows


def _records(count: int, kind: str) -> str:
    return counted(count, f"{kind} record")


def _sentences(summary: dict[str, Any], rows: list[dict[str, Any]]) -> tuple[str, ...]:
    others = summary["records"] - summary["members"]
    said = [
        f"SHAPr of {_records(summary['members'], 'training')} on their {summary['space']} "
        f"(K = {summary['k']}, {_records(others, 'test')}): mean {summary['shapr_mean']:.6g}, "
        f"{summary['shapr_positive']:.1%} above 0; they sum to the K-NN utility "
        f"{summary['knn_utility']:.6g}."
    ]
    for row in rows:
        if "balanced_accuracy" in row and row["against"] == "membership":
            said.append(
                f"{row['score']}: balanced accuracy {row['balanced_accuracy']:.4f}, "
                f"AUC {row['auc']:.4f} against membership."
            )
    if len(rows) == 1:
        said.append("No model outputs are given, so there are no attacks to compare with.")
    return tuple(said)
