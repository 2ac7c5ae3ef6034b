import csv
from pathlib import Path

import numpy as np
import pytest

from leakmeter.dpauc.threshold_layouts import thresholds
from leakmeter.runtime import UserError

PUBLISHED = Path(__file__).resolve().parents[2] / "resources" / "published"


def test_authors_layout_by_hand():
    # 8 nominal points: 4 on [0, 0.2], 2 on [0.2, 0.5], 2 on [0.5, 1]
    expected = [1.0, 0.5, 0.5, 0.2, 0.2, 0.2 * 2 / 3, 0.2 / 3, 0.0]
    np.testing.assert_allclose(thresholds(8), expected, rtol=1e-15)


def test_actual_numbers_are_those_of_the_authors_files():
    with open(PUBLISHED / "dpauc_author_repo_outputs.csv", newline="") as handle:
        pairs = {
            (int(row["n_thresholds_nominal"]), int(row["n_thresholds_actual"]))
            for row in csv.DictReader(handle)
        }
    assert len(pairs) >= 5
    for nominal, actual in pairs:
        assert thresholds(nominal).size == actual


@pytest.mark.parametrize("n", [10, 25, 50, 100, 200, 400])
def test_authors_layout_repeats_exactly_two_values(n):
    grid = thresholds(n)
    values, times = np.unique(grid, return_counts=True)
    assert values[times == 2].tolist() == [0.2, 0.5]
    assert times.max() == 2
    assert (np.diff(grid) <= 0).all()
    assert (grid[0], grid[-1]) == (1.0, 0.0)


def test_uniform_and_keras_layouts():
    np.testing.assert_allclose(thresholds(5, "uniform"), [1, 0.75, 0.5, 0.25, 0])
    keras = thresholds(5, "keras")
    np.testing.assert_allclose(keras[1:-1], [0.75, 0.5, 0.25])
    assert keras[0] > 1
    assert keras[-1] < 0


@pytest.mark.parametrize(
    ("n", "layout", "message"),
    [
        (3, "authors", "at least 4"),
        (1, "uniform", "at least 2"),
        (10.0, "authors", "integer"),
        (True, "uniform", "integer"),
        (10, "dense", "layout is 'dense'"),
    ],
)
def test_bad_requests(n, layout, message):
    with pytest.raises(UserError, match=message):
        thresholds(n, layout)
