"""The threshold on one statistic that separates members from non-members best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from leakmeter.membership.argument_checks import check_values
from leakmeter.runtime import UserError


@dataclass(frozen=True)
class Threshold:
    """A rule and how well it does on the records it was chosen on (so: optimistic for these).

    value : the threshold, itself a member: ``v <= value`` or ``v >= value`` (``member_if``).
    balanced_accuracy : mean of the true-positive and true-negative rates on the search records.
    """

    value: float
    balanced_accuracy: float
    member_if: Literal["low", "high"]


def best_threshold(
    member_values: ArrayLike,
    nonmember_values: ArrayLike,
    *,
    member_if: Literal["low", "high"],
) -> Threshold:
    """Search all observed values for the rule of the highest balanced accuracy, in O(n log n).

    Same optimum as trying every observed value in turn (the reference implementation of Song and
    Mittal's attacks, O(n^2)), compared in exact integers. Of several optima the one that calls the
    fewest records members is taken, so that the order of the records does not matter.

    Parameters
    ----------
    member_values : (n_in,), nonmember_values : (n_out,). Infinities are allowed.
    member_if : whether low or high values point to members.

    Raises
    ------
    UserError : NaN, or ``member_if`` unknown. ValueError : an empty vector.
    """
    if member_if not in ("low", "high"):
        raise UserError(f"member_if is {member_if!r}; expected 'low' or 'high'")
    inside = check_values(member_values, "member_values", infinite=True)
    outside = check_values(nonmember_values, "nonmember_values", infinite=True)
    sign = 1.0 if member_if == "low" else -1.0
    values = sign * np.concatenate((inside, outside))
    member = np.arange(len(values)) < len(inside)
    order = np.argsort(values, kind="stable")
    values, member = values[order], member[order]
    # a threshold takes all equal values or none: count at the last of each run
    last = np.flatnonzero(np.append(values[1:] != values[:-1], True))
    true_positives = np.cumsum(member)[last]
    false_positives = last + 1 - true_positives
    gain = true_positives * len(outside) - false_positives * len(inside)
    best = int(np.argmax(gain))
    accuracy = 0.5 + 0.5 * int(gain[best]) / (len(inside) * len(outside))
    return Threshold(float(sign * values[last[best]]), accuracy, member_if)
