"""The tree mechanism: no noise no error, least squares, sensitivity of every neighbour."""

import itertools

import numpy as np
import pytest

from leakmeter.dpauc.histogram_release import auc_from_histograms
from leakmeter.dpauc.stoddard import stoddard_aucs, tree_depth, tree_matrices, tree_sensitivity


@pytest.mark.parametrize("bins", [1, 2, 3, 5, 8, 100])
def test_without_noise_it_is_the_binned_auc(bins):
    rng = np.random.default_rng(bins)
    p, n = rng.integers(0, 9, (2, bins)) + 1
    nodes, _ = tree_matrices(bins)
    aucs = stoddard_aucs(p, n, np.zeros((2, 2, nodes.shape[0])))
    assert aucs == pytest.approx([float(auc_from_histograms(p, n))] * 2)


@pytest.mark.parametrize("bins", [1, 3, 4, 6])
def test_nodes_are_sums_of_subtrees_and_the_inverse_undoes_them(bins):
    nodes, inverse = tree_matrices(bins)
    assert nodes[0] == pytest.approx(np.ones(bins))
    assert nodes[-bins:] == pytest.approx(np.eye(bins))
    assert inverse @ nodes == pytest.approx(np.eye(bins), abs=1e-12)
    assert (nodes.sum(axis=0) == tree_depth(bins) + 1).all()


@pytest.mark.parametrize("bins", [2, 3, 4])
def test_sensitivity_over_all_neighbours(bins):
    """Every data set of three records, every record replaced by every other, every label flipped."""
    nodes, _ = tree_matrices(bins)

    def trees(records):
        counts = np.zeros((2, bins))
        for place, label in records:
            counts[label, place] += 1
        return counts @ nodes.T

    kinds = list(itertools.product(range(bins), (0, 1)))
    label_changes, replacements = 0.0, 0.0
    for rest in itertools.combinations_with_replacement(kinds, 2):
        for old, new in itertools.product(kinds, repeat=2):
            moved = np.abs(trees([*rest, old]) - trees([*rest, new])).sum()
            replacements = max(replacements, moved)
            if old[0] == new[0]:
                label_changes = max(label_changes, moved)
    assert label_changes == tree_sensitivity(bins)
    assert replacements <= tree_sensitivity(bins)


def test_the_curve_is_monotone_so_the_area_stays_in_the_unit_interval():
    nodes, _ = tree_matrices(8)
    noise = np.random.default_rng(1).laplace(scale=30, size=(300, 2, nodes.shape[0]))
    aucs = stoddard_aucs(np.arange(1, 9)[::-1], np.arange(1, 9), noise)
    seen = aucs[~np.isnan(aucs)]
    assert 0 < seen.size < aucs.size
    assert ((seen >= -1e-12) & (seen <= 1 + 1e-12)).all()
