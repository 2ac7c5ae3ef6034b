"""Left-swaps and the two drawings."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
from leakmeter.runtime import UserError


@pytest.fixture
def facts(root):
    path = root / "resources/published/auc_labelings_published_facts.csv"
    return {row["quantity"]: row["value"] for row in csv.DictReader(path.open(encoding="utf-8"))}


def test_figure_1(facts):
    """The caption's pairs before and after one left-swap; only one index of y allows it."""
    before = parse_pairs(facts["Figure 1 misranked pairs of y"])
    after = parse_pairs(facts["Figure 1 misranked pairs of z"])
    labels = labels_from_pairs(before)
    movable = [j for j in range(2, len(labels) + 1) if labels[j - 1] and not labels[j - 2]]
    reached = [j for j in movable if misranked_pairs(left_swap(labels, j)) == sorted(after)]
    assert reached == [6]
    rows = figure1_rows(before, reached[0])
    z = [row for row in rows if row["stage"] == "z"]
    drawn = [(row["index"], int(j)) for row in z for j in row["misranked_with"].split()]
    assert drawn == sorted(after)
    assert [row["label"] for row in rows if row["stage"] == "y"] == labels.tolist()


def test_figure_2(facts):
    """n1 = 5 ones; each stage has the misranked pairs of the swaps so far."""
    swaps = [int(s) for s in facts["Figure 2 left-swap counts"].split(";")]
    rows = figure2_rows(4, swaps)
    stages = list(dict.fromkeys(row["stage"] for row in rows))
    assert stages == ["r", "s1", "s2"]
    pairs = {
        stage: sum(len(row["misranked_with"].split()) for row in rows if row["stage"] == stage)
        for stage in stages
    }
    assert pairs == {"r": 0, "s1": swaps[0], "s2": swaps[0] + swaps[1]}
    final = np.array([row["label"] for row in rows if row["stage"] == "s2"])
    assert swaps_from_labels(final) == swaps


labels = st.lists(st.integers(0, 1), min_size=2, max_size=14).filter(lambda y: 0 < sum(y) < len(y))


@settings(deadline=None)
@given(labels)
def test_a_left_swap_adds_one_misranked_pair(y):
    for j in range(2, len(y) + 1):
        if y[j - 1] and not y[j - 2]:
            assert len(misranked_pairs(left_swap(np.array(y), j))) == len(misranked_pairs(y)) + 1


@settings(deadline=None)
@given(labels)
def test_swap_counts_determine_the_labeling(y):
    swaps = swaps_from_labels(np.array(y))
    assert sum(swaps) == len(misranked_pairs(y))
    assert labels_from_swaps(y.count(0), swaps).tolist() == y


@settings(deadline=None)
@given(labels)
def test_pairs_determine_the_labeling_up_to_its_ends(y):
    pairs = misranked_pairs(y)
    if pairs:
        found = labels_from_pairs(pairs)
        assert found.tolist() == y[: len(found)]
        assert all(y[len(found) :])


@pytest.mark.parametrize(
    "call",
    [
        lambda: left_swap(np.array([0, 1, 1]), 3),
        lambda: left_swap(np.array([0, 1]), 1),
        lambda: left_swap(np.array([1, 0]), 2),
        lambda: labels_from_pairs([(1, 3)]),
        lambda: labels_from_pairs([]),
        lambda: labels_from_swaps(3, [1, 2]),
        lambda: labels_from_swaps(3, [4]),
        lambda: labels_from_swaps(3, [1, -1]),
        lambda: parse_pairs("3,4"),
        lambda: parse_pairs(""),
    ],
)
def test_refuses(call):
    with pytest.raises(UserError):
        call()
