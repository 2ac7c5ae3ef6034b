"""Scores of a user: exact AUC, bands, and the budget that an error needs."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from leakmeter.dpauc.accounting import epsilon_per_count
from leakmeter.dpauc.counting import count
from leakmeter.dpauc.mechanisms import laplace_auc
from leakmeter.dpauc.threshold_layouts import thresholds
from leakmeter.own import scored
from leakmeter.own.scored import METHODS, DpaucOptions, dpauc_report
from leakmeter.runtime import UserError, derive_seed

FEW = {"repeats": 60, "epsilons": (1.0, 8.0)}


@pytest.fixture
def scores(tmp_path):
    random = np.random.default_rng(0)
    label = random.random(3000) < 0.3
    frame = pd.DataFrame(
        {
            "score": random.beta(2 + 2 * label, 3),
            "label": label.astype(int),
            "client": random.integers(0, 20, 3000),
        }
    )
    frame.to_csv(tmp_path / "scores.csv", index=False)
    frame.to_parquet(tmp_path / "scores.parquet")
    return frame


def test_the_exact_auc_is_scikit_learns(tmp_path, scores):
    report = dpauc_report(tmp_path / "scores.csv", DpaucOptions(**FEW))
    want = roc_auc_score(scores["label"], scores["score"])
    assert report.summary["exact_auc"] == pytest.approx(want, rel=1e-14)
    assert report.summary["clients"] == 20
    assert report.summary["positives"] + report.summary["negatives"] == 3000


def test_csv_and_parquet_agree(tmp_path, scores):
    options = DpaucOptions(**FEW, error=0.05)
    first, second = (dpauc_report(tmp_path / f"scores.{s}", options) for s in ("csv", "parquet"))
    pd.testing.assert_frame_equal(first.table, second.table)
    assert first.summary["epsilon_for_error"] == second.summary["epsilon_for_error"]
    assert first.sentences == second.sentences


def test_rows_are_those_of_the_library(tmp_path, scores):
    report = dpauc_report(tmp_path / "scores.csv", DpaucOptions(**FEW, methods=["laplace"]))
    counts = count(scores["score"], scores["label"], thresholds(100, "uniform"))
    values = laplace_auc(
        counts,
        clients=20,
        epsilon_per_count=epsilon_per_count(100, 8.0),
        repeats=60,
        seed=derive_seed(1, "own.dpauc", method="laplace"),
    )
    row = report.table.set_index("epsilon").loc[8.0]
    exact = report.summary["exact_auc"]
    assert row["mean"] == values.mean()
    assert row["bias"] == values.mean() - exact
    assert row["std"] == values.std(ddof=1)
    assert row["rmse"] == pytest.approx(np.sqrt(np.mean((values - exact) ** 2)))
    assert (row["low"], row["high"]) == tuple(np.quantile(values, [0.025, 0.975]))


def test_epsilon_for_error_is_where_the_error_is_met(tmp_path, scores):
    options = DpaucOptions(repeats=200, error=0.01)
    report = dpauc_report(tmp_path / "scores.csv", options)
    counts = count(scores["score"], scores["label"], thresholds(100, "uniform"))
    exact = report.summary["exact_auc"]
    found = report.summary["epsilon_for_error"]
    assert set(found) == set(options.methods)
    for method, epsilon in found.items():
        at = scored.rmse(scored.releases(method, counts, 20, epsilon, options), exact)
        below = scored.rmse(scored.releases(method, counts, 20, epsilon / 1.03, options), exact)
        assert at <= 0.01 < below, method
    assert found["laplace"] == pytest.approx(2 * found["laplace_tight"], rel=0.3)


def test_an_error_that_no_budget_reaches(tmp_path, scores):
    """Three thresholds miss the exact AUC by more than the target, without any noise."""
    options = DpaucOptions(repeats=20, thresholds=3, error=0.001, methods=["gaussian"])
    report = dpauc_report(tmp_path / "scores.csv", options)
    assert report.summary["epsilon_for_error"] == {"gaussian": None}
    gap = abs(report.summary["thresholded_auc"] - report.summary["exact_auc"])
    assert gap > 0.001
    assert f"the thresholds alone cost {gap:.2g}" in report.sentences[1]


def test_an_error_that_any_budget_reaches(tmp_path, scores):
    options = DpaucOptions(repeats=20, error=0.99, methods=["gaussian"])
    report = dpauc_report(tmp_path / "scores.csv", options)
    assert report.summary["epsilon_for_error"] == {"gaussian": scored.LOWEST}
    assert "0.001 or less is needed" in report.sentences[1]


def test_ranks_keep_the_exact_auc(tmp_path):
    path = tmp_path / "logits.csv"
    path.write_text("score,label\n-3,0\n-1,0\n2,1\n-1,1\n7,1\n0,0\n")
    with pytest.raises(
        UserError, match=r"line 2, column score: is -3; expected a score in \[0, 1\]"
    ):
        dpauc_report(path, DpaucOptions(**FEW))
    report = dpauc_report(path, DpaucOptions(**FEW, ranks=True))
    # pairs: 2 and 7 beat all three negatives, -1 ties with -1, beats -3 and loses to 0
    assert report.summary["exact_auc"] == 7.5 / 9


def test_the_number_of_clients_comes_from_the_option_without_a_column(tmp_path, scores):
    scores.drop(columns="client").to_csv(tmp_path / "s.csv", index=False)
    with_option = dpauc_report(tmp_path / "s.csv", DpaucOptions(**FEW, clients=20))
    with_column = dpauc_report(tmp_path / "scores.csv", DpaucOptions(**FEW))
    pd.testing.assert_frame_equal(with_option.table, with_column.table)


def test_undefined_releases_are_counted_and_left_out(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("score,label\n0.1,0\n0.9,1\n")
    report = dpauc_report(
        path, DpaucOptions(epsilons=[0.1], repeats=200, methods=["randomized_response"])
    )
    row = report.table.iloc[0]
    assert 0 < row["undefined"] < 200
    assert math.isfinite(row["mean"])


def test_one_class_only(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("score,label\n0.1,1\n0.9,1\n")
    with pytest.raises(UserError, match="column label is 1 in all 2 rows; an AUC needs"):
        dpauc_report(path)
    path.write_text("score,label\n0.1,1\n")
    with pytest.raises(UserError, match="has 1 rows of data; expected at least 2"):
        dpauc_report(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilons": [0.0]}, "epsilon is 0.0"),
        ({"epsilons": [math.inf]}, "epsilon is inf"),
        ({"epsilons": []}, "epsilons is empty"),
        ({"clients": 0}, "clients is 0"),
        ({"repeats": 1}, "repeats is 1"),
        ({"level": 1.0}, "level is 1.0"),
        ({"delta": 0.0}, "delta is 0.0"),
        ({"error": -1.0}, "error is -1.0"),
        ({"methods": ["magic"]}, "method is 'magic'; expected one of laplace"),
    ],
)
def test_options(options, message):
    with pytest.raises(UserError, match=message):
        DpaucOptions(**options)


def test_every_method_says_what_its_budget_means():
    assert set(DpaucOptions().methods) <= set(METHODS)
    assert all(method.title and method.guarantee for method in METHODS.values())
