"""What the paper's Figures 1 and 2 draw: one left-swap, and a sequence of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from leakmeter.labelings.experiments.facts import Facts
from leakmeter.labelings.leftswaps import (
    figure1_rows,
    figure2_rows,
    labels_from_pairs,
    labels_from_swaps,
    left_swap,
    misranked_pairs,
    parse_pairs,
    swaps_from_labels,
)
from leakmeter.reporting.recording import Recorder
from leakmeter.runtime import UserError


def measure(record: Recorder, facts: Facts) -> None:
    """Rows of both drawings, and the quantities of their captions computed from them."""
    _figure1(record, facts)
    _figure2(record, facts)


def swap_between(before: np.ndarray, after: np.ndarray) -> int:
    """The index whose left-swap leads from one labeling to another."""
    for index in range(2, len(before) + 1):
        movable = before[index - 1] and not before[index - 2]
        if movable and np.array_equal(left_swap(before, index), after):
            return index
    raise UserError(
        f"labelings {before.tolist()} and {after.tolist()}: no single left-swap leads from one to "
        f"the other"
    )


def _figure1(record: Recorder, facts: Facts) -> None:
    pairs = parse_pairs(facts.text("Figure 1 misranked pairs of y"))
    before = labels_from_pairs(pairs)
    after = labels_from_pairs(parse_pairs(facts.text("Figure 1 misranked pairs of z")))
    index = swap_between(before, after)
    _drawing(record, "figure1", figure1_rows(pairs, index))
    record.add("figure1", {}, "swap_index", index)
    for name, labels in (("y", before), ("z", left_swap(before, index))):
        found = misranked_pairs(labels)
        record.add("figure1", {}, f"pairs_{name}", len(found), note=_text(found))


def _figure2(record: Recorder, facts: Facts) -> None:
    swaps = [int(s) for s in facts.numbers("Figure 2 left-swap counts")]
    # The caption gives the ones and their swaps only; as many zeros as swaps leave room for all.
    zeros = sum(swaps)
    labels = labels_from_swaps(zeros, swaps)
    _drawing(record, "figure2", figure2_rows(zeros, swaps))
    found = swaps_from_labels(labels)
    record.add("figure2", {}, "swaps", len(found), note=";".join(map(str, found)))
    record.add("figure2", {}, "misranked", len(misranked_pairs(labels)))


def _drawing(record: Recorder, item: str, rows: Iterable[Mapping[str, object]]) -> None:
    for row in rows:
        axes = {"stage": row["stage"], "index": row["index"]}
        record.add(item, axes, "label", row["label"], note=str(row["misranked_with"]))


def _text(pairs: Iterable[tuple[int, int]]) -> str:
    return ";".join(f"({i},{j})" for i, j in pairs)
