"""The likelihood-ratio attack (I_lira) of Carlini et al., "Membership inference attacks from first
principles" (IEEE S&P 2022)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from leakmeter.membership.argument_checks import (
    as_array,
    check_flags,
    check_labels,
    check_number,
    check_values,
    require_real,
)
from leakmeter.membership.model_outputs import log_weights
from leakmeter.runtime import UserError

Mode = Literal["online", "offline"]
Variance = Literal["per-example", "fixed", "reference"]
Location = Literal["mean", "median"]
#: Largest confidence: sums of squares stay far from overflow.
_LARGEST = 1e100


def scaled_confidence(
    probabilities: ArrayLike,
    labels: ArrayLike,
    *,
    from_logits: bool = False,
    clamp: float | None = None,
) -> np.ndarray:
    """Logit of the true class's probability, ``log(p_y / (1 - p_y))``, in nats.

    From logits z it is ``z_y - log sum_{i != y} exp(z_i)``: linear in the margin, never saturated.

    Parameters
    ----------
    probabilities : (n, classes) probabilities, or logits with ``from_logits=True``.
    labels : (n,) integers from 0 to classes - 1.
    clamp : lower limit of ``p_y`` and ``1 - p_y``; without it an infinite logit is refused.

    Raises
    ------
    UserError : NaN, infinity, not probabilities, a label out of range; ``p_y`` exactly 0 or 1.
    """
    from scipy.special import logsumexp

    weights = log_weights(probabilities, from_logits=from_logits, name="probabilities")
    n, classes = weights.shape
    labels = check_labels(labels, n, classes)
    rows = np.arange(n)
    weights -= weights.max(axis=1, keepdims=True)  # keeps the digits of logits far from 0
    own = weights[rows, labels]
    weights[rows, labels] = -np.inf
    with np.errstate(divide="ignore"):
        logit = own - logsumexp(weights, axis=1)
    if clamp is not None:
        expected = "a probability above 0 and below 0.5"
        clamp = check_number(clamp, "clamp", lambda c: 0 < c < 0.5, expected)
        limit = np.log1p(-clamp) - np.log(clamp)
        logit = np.clip(logit, -limit, limit)
    infinite = np.isinf(logit)
    if infinite.any():
        raise UserError(
            f"probabilities: the true class of record {int(np.argmax(infinite))} "
            f"({int(infinite.sum())} of {n}) has probability exactly 0 or 1; "
            "expected logits (from_logits=True) or a clamp"
        )
    return logit


def lira(
    confidences: ArrayLike,
    members: ArrayLike,
    target: ArrayLike,
    *,
    mode: Mode = "online",
    variance: Variance = "per-example",
    location: Location = "mean",
    ddof: int = 1,
    equal_counts: bool = False,
) -> np.ndarray:
    """Membership score of each record against a target model; high for members.

    - online: ``log N(t; mu_in, s_in) - log N(t; mu_out, s_out)``; positive when the member
      hypothesis is the likelier.
    - offline: ``(t - mu_out) / s_out``, a monotone function of the paper's one-sided
      ``1 - P(N(mu_out, s_out) > t)`` that does not saturate at 1. In-models are not used.

    Parameters
    ----------
    confidences : (models, n) :func:`scaled_confidence` of each record under each shadow model.
    members : (models, n) booleans: was the record in that model's training set?
    target : (n,) the same statistic under the target model.
    variance : per record and side (``"per-example"``); or one per side (``"fixed"``), pooled over
        the records *after centring each on its own mean* (few shadow models estimate it better so).
        ``"reference"`` is what the authors' script computes when told to fix the variance, for
        comparison only: the standard deviation of all values, not centred per record, ddof 0, and
        online the in-models' one for both sides, always with equal counts.
    location : centre of the Gaussians: ``"mean"`` as in the paper, ``"median"`` as in the script.
    ddof : 1 for unbiased variances; 0 as in the script.
    equal_counts : use of every record's in-models the first m, m being the smallest number that any
        record has, and likewise of the out-models, as the script does. Needed where the counts tell
        the members: if all records are in half of the models and the target is one of those, a
        member has an in-model less than a non-member, and the noisier mean lowers its score.

    Returns
    -------
    (n,) float64.

    Raises
    ------
    UserError : NaN or infinity; a record in too few (or too many) shadow models; no variance.
    ValueError : shapes that do not fit.
    """
    confidences, members = _shadow_records(confidences, members)
    target = check_values(target, "target")
    if target.shape != confidences.shape[1:]:
        raise ValueError(
            f"target has shape {target.shape}; expected {confidences.shape[1:]}, one per record"
        )
    _check_options(mode, variance, location, ddof)
    least = 1 + ddof if variance == "per-example" else 1
    inside, outside = members, ~members
    if equal_counts or variance == "reference":
        inside, outside = _first(inside), _first(outside)
    _require_models(outside, least, "out")
    out_mean, out_var = _side(confidences, outside, variance, location, ddof, "out")
    if mode == "offline":
        return (target - out_mean) / np.sqrt(out_var)
    _require_models(inside, least, "in")
    in_mean, in_var = _side(confidences, inside, variance, location, ddof, "in")
    if variance == "reference":
        out_var = in_var
    return _log_density(target, in_mean, in_var) - _log_density(target, out_mean, out_var)


def lira_leave_one_out(
    confidences: ArrayLike,
    members: ArrayLike,
    *,
    mode: Mode = "online",
    variance: Variance = "per-example",
    location: Location = "mean",
    ddof: int = 1,
) -> np.ndarray:
    """:func:`lira` with each model in turn as the target and its :func:`shadow_models`.

    Where the shadow models' counts still tell the target's members (all records are in as many
    models), they are made equal.

    Returns
    -------
    (models, n) float64; compare with ``members`` for rates over all models, or fit a threshold on
    some models and use it on another.

    Raises
    ------
    UserError : less than two models; otherwise as :func:`lira`.
    """
    confidences, members = _shadow_records(confidences, members)
    if len(confidences) < 2:
        raise UserError("confidences holds one model; expected at least 2, to attack one by others")
    scores = []
    for model, target in enumerate(confidences):
        rest = shadow_models(members, model)
        scores.append(
            lira(
                confidences[rest],
                members[rest],
                target,
                mode=mode,
                variance=variance,
                location=location,
                ddof=ddof,
                equal_counts=_counts_tell(members[rest], members[model]),
            )
        )
    return np.stack(scores)


def shadow_models(members: ArrayLike, target: int) -> np.ndarray:
    """(models,) booleans: the models that may be shadow models of one of them.

    All but the target and any trained on exactly the records that the target was not: without the
    latter, every shadow model's records are independent of the target's where models come in
    complementary pairs. (With it, a non-member would have an in-model more than a member, which
    alone puts the attack's AUC below 1/2: 0.47 with ten models and a variance per record.)

    Parameters
    ----------
    members : (models, n) booleans: was the record in that model's training set?
    """
    members = np.asarray(members, bool)
    rest = (members == members[target]).any(axis=1)
    rest[target] = False
    return rest


def _counts_tell(members: np.ndarray, target: np.ndarray) -> bool:
    """Whether the number of in-models separates the target's members from the others."""
    counts = members.sum(axis=0)
    inside, outside = counts[target], counts[~target]
    if not inside.size or not outside.size:
        return False
    return inside.max() < outside.min() or inside.min() > outside.max()


def _first(side: np.ndarray) -> np.ndarray:
    """Of the models of each record, the first m, m being the smallest number of any record."""
    return side & (side.cumsum(axis=0) <= side.sum(axis=0).min())


def _shadow_records(confidences: ArrayLike, members: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    confidences = as_array(confidences, "confidences")
    require_real(confidences, "confidences")
    confidences = confidences.astype(np.float64)
    if confidences.ndim != 2 or not confidences.size:
        raise ValueError(f"confidences has shape {confidences.shape}; expected (models, records)")
    bad = ~(np.abs(confidences) <= _LARGEST)
    if bad.any():
        model, record = np.argwhere(bad)[0]
        raise UserError(
            f"confidences[{model}, {record}] is {confidences[model, record]}; expected finite "
            f"numbers of at most {_LARGEST:g} in size"
        )
    return confidences, check_flags(members, "members", confidences.shape)


def _check_options(mode: str, variance: str, location: str, ddof: int) -> None:
    for name, value, allowed in (
        ("mode", mode, ("online", "offline")),
        ("variance", variance, ("per-example", "fixed", "reference")),
        ("location", location, ("mean", "median")),
        ("ddof", ddof, (0, 1)),
    ):
        if value not in allowed:
            raise UserError(f"{name} is {value!r}; expected one of {', '.join(map(repr, allowed))}")


def _require_models(side: np.ndarray, least: int, name: str) -> None:
    counts = side.sum(axis=0)
    if (counts < least).any():
        record = int(np.argmax(counts < least))
        raise UserError(
            f"members: record {record} is {name} of {counts[record]} of {len(side)} shadow models; "
            f"expected at least {least}"
        )


def _side(
    values: np.ndarray,
    side: np.ndarray,
    variance: Variance,
    location: Location,
    ddof: int,
    name: str,
) -> tuple[np.ndarray, np.ndarray]:
    """Centre and variance (both broadcastable to (n,)) of the values where ``side`` holds."""
    counts = side.sum(axis=0)
    mean = np.where(side, values, 0.0).sum(axis=0) / counts
    squares = np.where(side, values - mean, 0.0) ** 2
    # equal values have no variance, whatever the rounding of their mean says
    low, high = np.where(side, values, np.inf).min(0), np.where(side, values, -np.inf).max(0)
    squares[:, low == high] = 0.0
    if variance == "per-example":
        spread = squares.sum(axis=0) / (counts - ddof)
    elif variance == "fixed":
        freedom = int((counts - ddof).sum())
        if freedom == 0:
            raise UserError(
                f"members: no record is {name} of two shadow models; expected some to pool a variance"
            )
        spread = np.atleast_1d(squares.sum() / freedom)
    else:
        spread = np.atleast_1d(values[side].var() if low.min() < high.max() else 0.0)
    if not (spread > 0).all():
        where = f"record {int(np.argmin(spread))}" if len(spread) > 1 else "all records"
        raise UserError(
            f"confidences: the {name}-models give {where} a variance of 0; expected models that "
            f"differ{', or one pooled variance' if len(spread) > 1 else ''}"
        )
    if location == "median":
        return np.nanmedian(np.where(side, values, np.nan), axis=0), spread
    return mean, spread


def _log_density(x: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Log of the Gaussian density without the constant that cancels in the ratio."""
    return -0.5 * (np.log(variance) + (x - mean) ** 2 / variance)
