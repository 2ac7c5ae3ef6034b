"""Scores of a user: exact AUC, bands, and the budget that an error needs."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from leakmeter.dpauc.counting import count
from leakmeter.dpauc.private_release import (
    METHODS,
    auc_error,
    binned_auc,
    private_auc,
    release_thresholds,
    simulate_private_auc,
)
from leakmeter.own import scored
from leakmeter.own.scored import DpaucOptions, dpauc_report
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


def pooled(scores, method):
    values = scores["score"].to_numpy()
    return count(values, scores["label"], release_thresholds(values, 100, method))


def test_simulated_rows_are_the_librarys(tmp_path, scores):
    report = dpauc_report(tmp_path / "scores.csv", DpaucOptions(**FEW, methods=["paper"]))
    seed = derive_seed(1, "own.dpauc", method="paper")
    values = simulate_private_auc(
        pooled(scores, "paper"), epsilon=8.0, repeats=60, seed=seed, method="paper", clients=20
    )
    row = report.table.set_index("epsilon").loc[8.0]
    exact = report.summary["exact_auc"]
    assert row["repeats"] == 60
    assert row["mean"] == values.mean()
    assert row["bias"] == values.mean() - exact
    assert row["std"] == values.std(ddof=1)
    assert row["rmse"] == pytest.approx(np.sqrt(np.mean((values - exact) ** 2)))
    assert (row["low"], row["high"]) == tuple(np.quantile(values, [0.025, 0.975]))


@pytest.mark.parametrize("method", ["histogram", "positives", "rank_sum", "randomized_response"])
def test_rows_in_closed_form_are_the_librarys_and_cover_releases(tmp_path, scores, method):
    options = DpaucOptions(epsilons=[4.0], methods=[method])
    report = dpauc_report(tmp_path / "scores.csv", options)
    row, counts = report.table.iloc[0], pooled(scores, method)
    error = auc_error(counts, epsilon=4.0, method=method, clients=20)
    assert row["repeats"] == 0
    assert row["std"] == error.std
    assert row["mean"] == binned_auc(counts) + error.bias
    # 300 releases: 95 % inside, give or take 1.3 %
    released = simulate_private_auc(
        counts, epsilon=4.0, repeats=300, seed=5, method=method, clients=20
    )
    inside = (row["low"] <= released) & (released <= row["high"])
    assert 0.9 < inside.mean() < 0.99


def test_a_release_lies_where_the_band_says(tmp_path, scores):
    report = dpauc_report(tmp_path / "scores.csv", DpaucOptions(epsilons=[4.0], level=0.9999))
    for row in report.table.itertuples():
        made = private_auc(
            scores["score"].to_numpy(),
            scores["label"],
            epsilon=4.0,
            method=row.method,
            clients=20,
            seed=3,
        )
        assert row.low <= made.auc <= row.high, row.method


def test_a_law_of_noise_may_be_named(tmp_path, scores):
    options = DpaucOptions(epsilons=[8.0], methods=["histogram:gaussian", "histogram:laplace"])
    table = dpauc_report(tmp_path / "scores.csv", options).table.set_index("method")
    for noise in ("gaussian", "laplace"):
        error = auc_error(
            pooled(scores, "histogram"), epsilon=8.0, clients=20, noise=noise, delta=1e-5
        )
        assert table.loc[f"histogram:{noise}", "std"] == error.std


def test_epsilon_for_error_is_where_the_error_is_met(tmp_path, scores):
    report = dpauc_report(tmp_path / "scores.csv", DpaucOptions(error=0.01))
    found = report.summary["epsilon_for_error"]
    assert set(found) == set(scored.DEFAULT_METHODS)
    for method in ("histogram", "positives", "rank_sum", "randomized_response"):
        options = DpaucOptions(epsilons=[found[method]], methods=[method])
        row = dpauc_report(tmp_path / "scores.csv", options).table.iloc[0]
        assert row["rmse"] == pytest.approx(0.01, rel=1e-3), method
    options = DpaucOptions(epsilons=[found["paper"]], methods=["paper"], repeats=4000)
    row = dpauc_report(tmp_path / "scores.csv", options).table.iloc[0]
    assert row["rmse"] == pytest.approx(0.01, rel=0.15)
    assert f"histogram: epsilon {found['histogram']:.3g}" in report.sentences[1]


def test_an_error_that_no_budget_reaches(tmp_path, scores):
    """Two bins miss the exact AUC by more than the target, without any noise."""
    options = DpaucOptions(thresholds=2, error=0.001, methods=["histogram"])
    report = dpauc_report(tmp_path / "scores.csv", options)
    assert report.summary["epsilon_for_error"] == {"histogram": None}
    gap = abs(report.summary["binned_auc"]["histogram"] - report.summary["exact_auc"])
    assert gap > 0.001
    assert f"pairs tied within bins alone make {gap:.2g}" in report.sentences[1]


def test_what_a_guarantee_covers_is_said(tmp_path, scores):
    report = dpauc_report(tmp_path / "scores.csv", DpaucOptions(**FEW))
    assert "paper, paper_tight, histogram cover a whole record" in report.sentences[-2]
    assert "positives, rank_sum, randomized_response cover the label alone" in report.sentences[-1]
    ranked = dpauc_report(tmp_path / "scores.csv", DpaucOptions(**FEW, ranks=True))
    assert "cover a whole record" not in " ".join(ranked.sentences)


def test_many_scores_are_ranked_in_bins(tmp_path, scores, monkeypatch):
    options = DpaucOptions(epsilons=[4.0], methods=["rank_sum"])
    whole = dpauc_report(tmp_path / "scores.csv", options).table.iloc[0]
    monkeypatch.setattr(scored, "_MOST_BINS", 500)
    binned = dpauc_report(tmp_path / "scores.csv", options).table.iloc[0]
    assert binned["std"] == pytest.approx(whole["std"], rel=0.01)
    assert binned["mean"] == pytest.approx(whole["mean"], abs=1e-4)


def test_ranks_keep_the_exact_auc(tmp_path):
    path = tmp_path / "logits.csv"
    path.write_text("score,label\n-3,0\n-1,0\n2,1\n-1,1\n7,1\n0,0\n")
    with pytest.raises(
        UserError, match=r"line 2, column score: is -3.0; expected a score in \[0, 1\]"
    ):
        dpauc_report(path, DpaucOptions(**FEW))
    dpauc_report(path, DpaucOptions(**FEW, methods=["positives"]))  # its bins follow the scores
    report = dpauc_report(path, DpaucOptions(**FEW, ranks=True))
    # pairs: 2 and 7 beat all three negatives, -1 ties with -1, beats -3 and loses to 0
    assert report.summary["exact_auc"] == 7.5 / 9


def test_the_number_of_clients_comes_from_the_option_without_a_column(tmp_path, scores):
    scores.drop(columns="client").to_csv(tmp_path / "s.csv", index=False)
    with_option = dpauc_report(tmp_path / "s.csv", DpaucOptions(**FEW, clients=20))
    with_column = dpauc_report(tmp_path / "scores.csv", DpaucOptions(**FEW))
    pd.testing.assert_frame_equal(with_option.table, with_column.table)


def test_undefined_releases_are_counted_and_left_out(tmp_path):
    """Of two records the noisy class sizes are often not positive."""
    path = tmp_path / "s.csv"
    path.write_text("score,label\n0.1,0\n0.9,1\n")
    row = dpauc_report(path, DpaucOptions(epsilons=[0.5], methods=["histogram"])).table.iloc[0]
    assert row["repeats"] == 400
    assert 0 < row["undefined"] < 400
    assert math.isfinite(row["mean"])


def test_one_class_only(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("score,label\n0.1,1\n0.9,1\n")
    with pytest.raises(UserError, match="column label is 1 in all 2 rows; an AUC needs"):
        dpauc_report(path)
    path.write_text("score,label\n0.1,1\n")
    with pytest.raises(UserError, match="has 1 row of data; expected at least 2"):
        dpauc_report(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilons": [0.0]}, "epsilon is 0; expected a number from"),
        ({"epsilons": [math.inf]}, "epsilon is inf"),
        ({"epsilons": []}, "epsilons is empty"),
        ({"clients": 0}, "clients is 0"),
        ({"repeats": 1}, "repeats is 1"),
        ({"level": 1.0}, "level is 1.0"),
        ({"delta": 0.0}, "delta is 0.0"),
        ({"error": -1.0}, "error is -1.0"),
        ({"methods": ["magic"]}, "method is 'magic'; expected one of paper"),
        ({"methods": ["paper:gaussian"]}, "noise of paper is 'gaussian'; expected one of laplace"),
        ({"thresholds": 1}, "thresholds is 1"),
    ],
)
def test_options(options, message):
    with pytest.raises(UserError, match=message):
        DpaucOptions(**options)


def test_the_methods_are_the_librarys():
    assert set(DpaucOptions().methods) <= set(METHODS)
    DpaucOptions(methods=[f"{name}:{law}" for name, m in METHODS.items() for law in m.noises])


def test_what_is_named_twice_gives_one_row(scores, tmp_path):
    options = DpaucOptions(epsilons=[1.0, 2.0, 1.0], methods=["positives", "positives"])
    table = dpauc_report(tmp_path / "scores.csv", options).table
    assert table["epsilon"].tolist() == [1.0, 2.0]


def test_thresholds_that_memory_cannot_hold_are_refused():
    with pytest.raises(UserError, match="thresholds is 100000; expected 2 to 10000"):
        DpaucOptions(thresholds=100_000)
    with pytest.raises(UserError, match="thresholds is 4000; expected 2 to 2048 with method stodd"):
        DpaucOptions(thresholds=4000, methods=["stoddard"])


def test_an_error_that_every_budget_keeps_is_said_so(scores, tmp_path):
    options = DpaucOptions(error=0.9, methods=["randomized_response", "paper"], epsilons=[1.0])
    text = dpauc_report(tmp_path / "scores.csv", options).as_text()
    assert "paper: any epsilon from 0.0001, the smallest tried" in text


def test_clients_are_given_once(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("score,label,client\n0.1,0,a\n0.9,1,b\n")
    with pytest.raises(UserError, match="has a column client and .* given as 1 "):
        dpauc_report(path, DpaucOptions(clients=1))
