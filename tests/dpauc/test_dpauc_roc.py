import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import auc as sklearn_auc

from leakmeter.dpauc.counting import count
from leakmeter.dpauc.exact import exact_auc
from leakmeter.dpauc.roc import (
    SORTS,
    CurveOptions,
    auc_from_counts,
    auc_from_totals,
    order_points,
    roc_points,
)
from leakmeter.runtime import UserError

noisy_totals = hnp.arrays(np.float64, (4, 6), elements=st.floats(-50, 50))


def authors_auc(totals):
    """The published procedure, point by point."""
    points = []
    for tp, fp, tn, fn in np.maximum(totals, 0).T:
        empty = fp + tn == 0 or tp + fn == 0
        points.append((0.0, 0.0) if empty else (fp / (fp + tn), tp / (tp + fn)))
    points.sort(key=lambda point: point[0])  # list.sort is stable
    return sklearn_auc([x for x, _ in points], [y for _, y in points])


@given(noisy_totals)
@settings(max_examples=200, deadline=None)
def test_default_is_the_published_procedure(totals):
    assert auc_from_totals(totals) == pytest.approx(authors_auc(totals), abs=1e-12)


@given(hnp.arrays(np.float64, (3, 4, 6), elements=st.floats(-50, 50)), st.sampled_from(SORTS))
@settings(max_examples=50, deadline=None)
def test_repeats_are_independent_of_each_other(totals, sort):
    options = CurveOptions(sort=sort, end_points=True)
    together = auc_from_totals(totals, options)
    np.testing.assert_array_equal(together, [auc_from_totals(t, options) for t in totals])


def test_empty_denominator_gives_the_origin():
    # Columns: no negatives left; no positives left; both present.
    totals = np.array([[2.0, -1, 3], [0, 1, 1], [-5, 1, 1], [2, -2, 1]])
    fpr, tpr = roc_points(totals)
    np.testing.assert_array_equal(fpr, [0, 0, 0.5])
    np.testing.assert_array_equal(tpr, [0, 0, 0.75])


def test_clipping_is_optional():
    totals = np.array([[-1.0], [1], [3], [5]])
    assert roc_points(totals)[1] == [0]
    assert roc_points(totals, clip=False)[1] == [-0.25]


def test_orders():
    fpr = np.array([0.5, 0.1, 0.5, 0.3])
    tpr = np.array([0.9, 0.2, 0.4, 0.6])
    expected = {
        "none": [0.9, 0.2, 0.4, 0.6],
        "fpr": [0.2, 0.6, 0.9, 0.4],
        "lexicographic": [0.2, 0.6, 0.4, 0.9],
        "monotone": [0.2, 0.4, 0.6, 0.9],
    }
    for sort in SORTS:
        assert order_points(fpr, tpr, sort)[1].tolist() == expected[sort]


def test_end_points_add_the_missing_triangles():
    # One point at (0.5, 0.8): alone it has no area, with the ends 0.2 + 0.45.
    totals = np.array([[8.0], [5], [5], [2]])
    assert auc_from_totals(totals) == 0
    assert auc_from_totals(totals, CurveOptions(end_points=True)) == pytest.approx(0.65)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_every_score_a_threshold_gives_the_exact_auc(data):
    m = data.draw(st.integers(2, 25))
    scores = np.array(data.draw(st.lists(st.integers(0, 9), min_size=m, max_size=m))) / 10
    labels = np.array(data.draw(st.lists(st.integers(0, 1), min_size=m, max_size=m)))
    labels[:2] = 0, 1
    counts = count(scores, labels, np.unique(scores)[::-1])
    for sort in SORTS:  # without noise the points are in order whatever the sort
        options = CurveOptions(sort=sort, end_points=True)
        assert auc_from_counts(counts, options) == pytest.approx(exact_auc(scores, labels))


def test_unknown_sort_and_wrong_shape():
    with pytest.raises(UserError, match="sort is 'tpr'"):
        CurveOptions(sort="tpr")
    with pytest.raises(UserError, match="sort is 'tpr'"):
        order_points(np.zeros(2), np.zeros(2), "tpr")
    with pytest.raises(ValueError, match=r"expected \(\.\.\., 4, T\)"):
        roc_points(np.zeros((3, 5)))
