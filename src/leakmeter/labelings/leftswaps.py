"""Left-swaps: the drawings of the paper's Figures 1 and 2 as data.

Indices are one-based and ascend with the guesses, as in the paper.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from leakmeter.labelings.guesses import check_labels
from leakmeter.runtime import UserError

_PAIR = re.compile(r"\(\s*(\d+)\s*,\s*(\d+)\s*\)")


def parse_pairs(text: str) -> list[tuple[int, int]]:
    """Pairs written as ``"(3,4);(3,5)"``."""
    parts = [part for part in text.split(";") if part.strip()]
    matches = [_PAIR.fullmatch(part.strip()) for part in parts]
    if not parts or None in matches:
        raise UserError(f"pairs {text!r}: expected (i,j);(i,j);...")
    return [(int(match[1]), int(match[2])) for match in matches]


def misranked_pairs(labels: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs ``(i, j)``, ``i < j``, with a one at ``i`` and a zero at ``j``, in ascending order."""
    ones = [i for i, label in enumerate(labels, start=1) if label]
    zeros = [j for j, label in enumerate(labels, start=1) if not label]
    return [(i, j) for i in ones for j in zeros if i < j]


def labels_from_pairs(pairs: Iterable[tuple[int, int]]) -> np.ndarray:
    """The shortest labeling with exactly these misranked pairs.

    Longer ones exist: zeros before the first one and ones after the last zero add no pair.

    Raises
    ------
    UserError
        If no labeling has exactly these pairs.
    """
    wanted = sorted(set(pairs))
    labels = np.zeros(max((j for _, j in wanted), default=0), np.uint8)
    labels[[i - 1 for i, _ in wanted]] = 1
    if not wanted or misranked_pairs(labels) != wanted:
        raise UserError(f"pairs {wanted}: no labeling has exactly these misranked pairs")
    return labels


def left_swap(labels: np.ndarray, index: int) -> np.ndarray:
    """Exchange the one at ``index`` with the zero just before it: one more misranked pair."""
    if not 2 <= index <= len(labels) or not labels[index - 1] or labels[index - 2]:
        raise UserError(f"index={index}: expected a one that has a zero just before it")
    swapped = np.array(labels, np.uint8)
    swapped[index - 2], swapped[index - 1] = 1, 0
    return swapped


def labels_from_swaps(n0: int, swaps: Sequence[int]) -> np.ndarray:
    """The labeling in which the ``i``-th one from the left was swapped left ``swaps[i]`` times.

    Starts from ``n0`` zeros followed by ``len(swaps)`` ones; ``n0 >= swaps[0] >= swaps[1] ...``.
    """
    bounds = [n0, *swaps]
    if any(a < b for a, b in pairwise(bounds)) or bounds[-1] < 0:
        raise UserError(f"swaps={list(swaps)}: expected a descending sequence between {n0} and 0")
    labels = np.zeros(n0 + len(swaps), np.uint8)
    labels[[n0 + i - swap for i, swap in enumerate(swaps)]] = 1
    return labels


def swaps_from_labels(labels: np.ndarray) -> list[int]:
    """Inverse of :func:`labels_from_swaps`: zeros after each one, from left to right."""
    labels = check_labels(labels)
    after = np.cumsum((labels == 0)[::-1])[::-1]
    return after[labels == 1].tolist()


def drawing_rows(stages: Sequence[tuple[str, np.ndarray]]) -> list[dict[str, object]]:
    """Tidy rows of a drawing: one per stage and index.

    Returns
    -------
    rows with keys ``stage, index, label, misranked_with``: the indices of the zeros a one is
    misranked with, separated by spaces (empty for zeros).
    """
    rows: list[dict[str, object]] = []
    for stage, labels in stages:
        pairs = misranked_pairs(labels)
        rows += [
            {
                "stage": stage,
                "index": index,
                "label": int(label),
                "misranked_with": " ".join(str(j) for i, j in pairs if i == index),
            }
            for index, label in enumerate(labels, start=1)
        ]
    return rows


def figure1_rows(pairs_before: Iterable[tuple[int, int]], index: int) -> list[dict[str, object]]:
    """Figure 1: a labeling given by its misranked pairs, and one left-swap of the one at ``index``."""
    before = labels_from_pairs(pairs_before)
    return drawing_rows([("y", before), ("z", left_swap(before, index))])


def figure2_rows(n0: int, swaps: Sequence[int]) -> list[dict[str, object]]:
    """Figure 2: the ordering without misranked pairs, then each one moved left, left-most first."""
    stages = [("r", labels_from_swaps(n0, [0] * len(swaps)))]
    for done in range(1, len(swaps) + 1):
        if swaps[done - 1]:
            partial = [*swaps[:done], *([0] * (len(swaps) - done))]
            stages.append((f"s{done}", labels_from_swaps(n0, partial)))
    return drawing_rows(stages)
