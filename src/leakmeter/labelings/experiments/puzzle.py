"""The paper's opening example: four guesses and an AUC that leave one labeling."""

from __future__ import annotations

from itertools import product

import numpy as np

from leakmeter.labelings.enumeration import enumerate_labelings
from leakmeter.labelings.experiments.facts import Facts
from leakmeter.labelings.guesses import exact_auc, misranked, ranking_order
from leakmeter.reporting.recording import Recorder


def measure(record: Recorder, facts: Facts) -> None:
    """Every two-class labeling with its AUC, and what the enumeration leaves of them."""
    guesses, auc = facts.puzzle()
    order = ranking_order(guesses)
    for labels in product((0, 1), repeat=len(guesses)):
        if 0 < sum(labels) < len(labels):
            axes = {"labels": "-".join(map(str, labels))}
            wrong, ones = misranked(np.array([labels], np.uint8), order)
            value = exact_auc(labels, order)
            record.add_all("puzzle", axes, {"ones": int(ones[0]), "misranked": int(wrong[0])})
            record.add("puzzle", axes, "auc", value, note=str(value))
            record.add("puzzle", axes, "compatible", int(value == auc))
    found = list(enumerate_labelings(guesses, auc))
    record.add("puzzle", {}, "labelings", len(found))
    record.add("puzzle", {}, "first_labeling", 1, note=";".join(map(str, found[0].tolist())))
    value = exact_auc(found[0], order)
    record.add("puzzle", {}, "auc_of_first", value, note=str(value))
