import math

import numpy as np
import pytest

from leakmeter.dpauc.leak_trials import (
    enumeration_trial,
    known_labels_trial,
    score_location_trial,
    single_label_trial,
)
from leakmeter.dpauc.threshold_layouts import thresholds
from leakmeter.runtime import UserError

GRID = thresholds(50)


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(0)
    labels = (rng.random(3000) < 0.3).astype(int)
    return rng.beta(2 + labels, 5).astype(np.float32), labels


def test_score_location(records):
    rows = score_location_trial(
        *records,
        clients=30,
        assignment="iid",
        thresholds=GRID,
        epsilons_per_count=[math.inf, 1.0, 0.01],
        seed=1,
    )
    located = [row["located"] for row in rows]
    assert located[0] == 1.0
    assert located == sorted(located, reverse=True)
    assert located[2] < rows[2]["baseline"]
    assert [row["epsilon_per_count"] for row in rows] == [math.inf, 1.0, 0.01]


def test_known_labels(records):
    rows = known_labels_trial(
        *records,
        thresholds=GRID,
        unknown=[1, 8, 500],
        clients=1,
        epsilons_per_count=[math.inf, 0.1],
        trials=6,
        seed=2,
    )
    by = {(r["unknown"], r["source"], r["epsilon_per_count"]): r for r in rows}
    assert len(by) == len(rows) == 2 * (2 + 2 + 1)  # the AUC only while it can be enumerated
    assert by[1, "roc", math.inf]["recovered"] == 1.0
    assert by[1, "auc", math.inf]["recovered"] == 1.0
    assert by[8, "roc", math.inf]["recovered"] > by[500, "roc", math.inf]["recovered"]
    for row in rows:
        if math.isinf(row["epsilon_per_count"]):
            assert row["wrong"] == 0.0
            assert row["accuracy"] >= row["baseline"] - 1e-12 or row["unknown"] > 1
    assert by[8, "roc", 0.1]["accuracy"] < by[8, "roc", math.inf]["accuracy"]


def test_enumeration(records):
    rows = enumeration_trial(
        *records, sizes=[6, 12], epsilons_per_count=[math.inf, 0.05], trials=15, seed=3
    )
    by = {(r["size"], r["source"], r["epsilon_per_count"]): r for r in rows}
    for size in (6, 12):
        exact, noisy = by[size, "roc", math.inf], by[size, "roc", 0.05]
        assert exact["recovered"] == 1.0  # float32 scores of 3000 records: no ties in the samples
        assert noisy["accuracy"] < 0.9
        assert by[size, "auc", math.inf]["wrong"] == 0.0
    assert by[6, "auc", math.inf]["recovered"] > by[12, "auc", math.inf]["recovered"]
    assert by[6, "auc", math.inf]["consistent"] < by[12, "auc", math.inf]["consistent"]


def test_single_label(records):
    rows = single_label_trial(
        *records, thresholds=GRID, epsilons_per_count=[0.001, 0.1, 2.0], trials=300, seed=4
    )
    weak, middle, strong = (row["accuracy"] for row in rows)
    assert abs(weak - 0.5) < 0.12  # 4 sd
    assert weak < middle < strong
    assert strong > 0.99
    for row in rows:
        assert row["largest_log_odds"] <= row["spent"]
        assert row["spent"] == pytest.approx(2 * GRID.size * row["epsilon_per_count"])
        assert row["accuracy"] <= row["bound"] + 0.12


def test_same_seed_same_rows(records):
    def run(seed):
        return enumeration_trial(*records, sizes=[8], epsilons_per_count=[1.0], trials=4, seed=seed)

    assert run(5) == run(5)
    assert run(5) != run(6)


def test_bad_sizes(records):
    with pytest.raises(UserError, match="size is 1"):
        enumeration_trial(*records, sizes=[1], epsilons_per_count=[1.0], trials=1, seed=1)
    with pytest.raises(UserError, match="unknown is 0"):
        known_labels_trial(
            *records,
            thresholds=GRID,
            unknown=[0],
            clients=1,
            epsilons_per_count=[1.0],
            trials=1,
            seed=1,
        )
    with pytest.raises(UserError, match="trials"):
        single_label_trial(*records, thresholds=GRID, epsilons_per_count=[1.0], trials=0, seed=1)
