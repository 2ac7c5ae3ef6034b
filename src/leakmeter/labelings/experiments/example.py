"""The paper's counted example: ``w(n, p/q)`` over ``n``, and all labelings at one ``n``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from leakmeter.labelings.conjectures import threshold
from leakmeter.labelings.counting import rows_for_auc
from leakmeter.labelings.enumeration import enumerate_blocks
from leakmeter.labelings.experiments.facts import Facts
from leakmeter.labelings.guesses import misranked, ranking_order
from leakmeter.reporting.recording import Recorder
from leakmeter.runtime import UserError

_TABULATED = "n of smallest tabulated count"


def measure(record: Recorder, facts: Facts, settings: Mapping[str, Any]) -> None:
    """Rows of the table of ``w``, the stated facts about it, and the enumeration at its end."""
    auc = facts.example_auc()
    last = facts.integer(_TABULATED)
    limit = threshold(auc.denominator)
    if settings["below"] <= max(last, limit):
        raise UserError(
            f"labelings.example.below: got {settings['below']}, expected more than "
            f"{max(last, limit)}, the sizes the paper speaks of"
        )
    rows = rows_for_auc(range(2, settings["below"]), auc)
    sizes = {row["n"]: row["w"] for row in rows}
    for row in rows:
        axes = {name: row[name] for name in ("n", "n0", "n1")}
        record.add("w", axes, "w", row["w"])
        record.add("w", axes, "v", row["count"])
        record.add_all("w", axes, {"multiple": row["multiple"], "misranked": row["d"]})
    first = next(row for row in rows if row["multiple"] == 1)
    record.add("w", {}, "misranked_at_q_pairs", first["d"])
    record.add("w", {}, "auc_percent", 100 * auc, note=str(auc))
    record.add("w", {}, "threshold", limit)
    record.add("w", {}, "first_n", min(sizes))
    record.add("w", {}, "last_n_of_decrease", last_of_decrease(sizes))
    below = {n: w for n, w in sizes.items() if n < limit}
    record.add("w", {}, "n_of_smallest_below_threshold", min(below, key=below.__getitem__))
    at_last = sizes.get(last, 0)
    record.add("w", {"n": last}, "magnitude", len(str(at_last)) - 1, note=magnitude(at_last))
    _enumerate(record, auc, last)


def last_of_decrease(counts: Mapping[int, int]) -> int:
    """The last of the sizes up to which counts strictly decrease, from the first size on."""
    sizes = sorted(counts)
    for before, after in pairwise(sizes):
        if counts[after] >= counts[before]:
            return before
    return sizes[-1]


def magnitude(value: int) -> str:
    """The order of magnitude in words.

    >>> magnitude(468_686), magnitude(1_500), magnitude(7)
    ('hundreds of thousands', 'thousands', 'ones')
    """
    power = len(str(value)) - 1
    names = ("", "thousand", "million", "billion", "trillion")
    if value < 1 or power >= 3 * len(names):
        raise ValueError(f"value {value}: expected 1 to 10^{3 * len(names)} - 1")
    name = names[power // 3]
    step = ("", "tens", "hundreds")[power % 3]
    if not name:
        return step or "ones"
    return f"{step} of {name}s" if step else f"{name}s"


def _enumerate(record: Recorder, auc: Fraction, n: int) -> None:
    """Enumerate the labelings of ``n`` records; count them, the distinct and the right ones."""
    guesses = np.random.default_rng(record.seed_for("enumeration", n=n)).normal(size=n)
    order = ranking_order(guesses)
    packed, right = [], 0
    for labelings in enumerate_blocks(guesses, auc):
        wrong, ones = misranked(labelings, order)
        pairs = (n - ones) * ones
        right += int(np.sum(wrong * auc.denominator == (auc.denominator - auc.numerator) * pairs))
        packed.append(np.packbits(labelings, axis=1))
    value = _auc_of_all(wrong, pairs) if right == sum(map(len, packed)) else None
    axes = {"n": n}
    record.add("enumeration", axes, "labelings", sum(map(len, packed)))
    record.add("enumeration", axes, "distinct", distinct_rows(packed))
    record.add("enumeration", axes, "right_auc", right)
    if value is not None:
        record.add("enumeration", axes, "numerator", value.numerator)
        record.add("enumeration", axes, "denominator", value.denominator)


def _auc_of_all(wrong: np.ndarray, pairs: np.ndarray) -> Fraction:
    """The AUC of a block's last labeling, computed from its misranked pairs."""
    return 1 - Fraction(int(wrong[-1]), int(pairs[-1]))


def distinct_rows(packed: Sequence[np.ndarray]) -> int:
    """Number of different rows of some uint8 blocks of equal width."""
    rows = np.ascontiguousarray(np.concatenate(packed))
    return len(np.unique(rows.view(np.dtype((np.void, rows.shape[1]))).ravel()))
