"""Experiments: what rows they make, on small predictions and on the authors' counts."""

import math

import numpy as np
import pandas as pd
import pytest

from leakmeter.dpauc.exact import exact_auc, keras_auc
from leakmeter.dpauc.experiments import (
    ablation,
    author_outputs,
    budget,
    curves,
    gaussian,
    ground_truth,
    laplace,
    leaks,
    randomized_response,
    released,
    score_noise,
    top_k,
)
from leakmeter.dpauc.experiments.origins import load_origin
from leakmeter.reporting.measurements import parse_cell, read_measurements, write_measurements
from leakmeter.runtime import UserError, write_json

SETTINGS = {
    "repeats": 6,
    "reference_repeats": 8,
    "score_noise_repeats": 3,
    "epsilons": [8, 1],
    "score_epsilons": [1, 10],
    "clients": [10, 1000],
    "thresholds": [10, 100],
    "top_k": [1, 50, 10_000],
    "flip": "per-repeat",
    "delta": 1e-5,
}
M = 3000


@pytest.fixture(scope="module")
def predictions(tmp_path_factory):
    """Two models of two epochs; the second epoch separates the classes better."""
    folder = tmp_path_factory.mktemp("predictions")
    rng = np.random.default_rng(0)
    labels = (rng.random(M) < 0.3).astype(np.uint8)
    paths = []
    for model in range(2):
        for epoch in range(2):
            scores = 1 / (1 + np.exp(-(labels * (1.0 + epoch) - 1 + rng.normal(size=M))))
            path = folder / f"model{model}_epoch{epoch}.parquet"
            frame = pd.DataFrame({"score": scores.astype(np.float32), "label": labels})
            frame.to_parquet(path)
            paths.append(path)
    write_json(folder / "meta.json", {"data": "related"})
    return paths


@pytest.fixture(scope="module")
def wide_deep(predictions):
    meta = predictions[0].with_name("meta.json")
    return load_origin("wide_deep", predictions[:2], meta, scale="smoke", seed=1)


@pytest.fixture(scope="module")
def published():
    from pathlib import Path

    return Path(__file__).resolve().parents[2] / "resources/published"


@pytest.fixture(scope="module")
def authors(published):
    path = published / "dpauc_roc_epoch0_reconstruction.csv"
    return load_origin("authors", [path], None, scale="smoke", seed=1)


def by_cell(rows, item, metric="auc"):
    return {row["cell"]: row for row in rows if (row["item"], row["metric"]) == (item, metric)}


def test_unknown_origin():
    with pytest.raises(UserError, match="expected wide_deep or authors"):
        load_origin("elsewhere", [], None, scale="s", seed=1)


def test_rows_carry_label_scale_seed_and_size(wide_deep, authors):
    for origin, data, m in ((wide_deep, "related", M), (authors, "authors", 458_407)):
        record = origin.recorder()
        record.add("table4", {"epoch": 0}, "auc", [0.5, 0.7])
        (row,) = record.rows
        assert (row["paper"], row["origin"]) == ("dpauc", origin.name)
        assert (row["data"], row["m"], row["scale"], row["seed"]) == (data, m, "smoke", 1)
        assert (row["value"], row["n"]) == (pytest.approx(0.6), 2)
        assert row["std"] == pytest.approx(math.sqrt(0.02))


def test_laplace_covers_the_grid_of_both_tables(wide_deep):
    record = laplace.measure(wide_deep, SETTINGS)
    rows, draws = record.rows, record.draws
    cells = by_cell(rows, "table4")
    assert len(cells) == 2 * 2 * 2 * 2  # epochs, partitions, clients, budgets
    assert len(by_cell(rows, "table5")) == 2 * 2 * 2
    assert all(row["n"] == 6 for row in cells.values())
    assert len(draws) == 24
    assert {d["metric"] for d in draws} == {"auc"}


def test_a_cell_that_stands_in_both_tables_has_one_value(authors):
    rows = laplace.measure(authors, SETTINGS).rows
    in4 = by_cell(rows, "table4")["epoch=0;partition=IID;K=10;epsilon=8"]
    in5 = by_cell(rows, "table5")["epoch=0;thresholds=100;epsilon=8"]
    assert in4["value"] == in5["value"]


def test_the_authors_origin_has_reference_draws_and_source_uncertainty(authors):
    record = laplace.measure(authors, SETTINGS)
    rows, draws = record.rows, record.draws
    assert all(row["source_std"] > 0 for row in by_cell(rows, "table4").values())
    reference = [d for d in draws if d["metric"] == "auc_reference"]
    assert len(reference) * 2 == len(draws)
    assert {len(d["values"]) for d in reference} == {8}


def test_partitions_pool_to_the_same_counts(wide_deep):
    rows = laplace.measure(wide_deep, SETTINGS).rows
    assert {row["value"] for row in by_cell(rows, "pooling", "pooled_difference").values()} == {0}
    counts = [wide_deep.counts(0, 100, clients=10, partition=p) for p in ("IID", "Non-IID")]
    assert counts[0].n_clients == 10
    assert not np.array_equal(counts[0].tp, counts[1].tp)


def test_a_smaller_budget_spreads_more_and_more_clients_too(authors):
    rows = laplace.measure(authors, SETTINGS | {"repeats": 100}).rows
    std = {key: row["std"] for key, row in by_cell(rows, "table4").items()}
    assert (
        std["epoch=0;partition=IID;K=10;epsilon=1"]
        > 4 * std["epoch=0;partition=IID;K=10;epsilon=8"]
    )
    ratio = (
        std["epoch=0;partition=IID;K=1000;epsilon=8"] / std["epoch=0;partition=IID;K=10;epsilon=8"]
    )
    assert 6 < ratio < 16  # sqrt(100) = 10


def test_randomized_response_flips_once_or_per_repeat(wide_deep):
    rows = randomized_response.measure(wide_deep, SETTINGS).rows
    assert all(row["std"] > 0 for row in by_cell(rows, "table1").values())
    assert {r["value"] for r in by_cell(rows, "table1", "range_flipped_once").values()} == {0.0}
    once = randomized_response.measure(wide_deep, SETTINGS | {"flip": "once"}).rows
    assert max(row["std"] for row in by_cell(once, "table1").values()) < 1e-15
    assert "once" in by_cell(once, "table1")["epoch=0;epsilon=8"]["note"]


def test_score_noise_falls_with_epsilon_and_counts_what_leaves_the_unit_interval(wide_deep):
    record = score_noise.measure(wide_deep, SETTINGS)
    rows, draws = record.rows, record.draws
    auc = by_cell(rows, "table3")
    assert auc["epoch=1;epsilon=10"]["value"] > auc["epoch=1;epsilon=1"]["value"] + 0.05
    share = by_cell(rows, "table3", "share_outside")["epoch=1;epsilon=1"]["value"]
    scores, _ = wide_deep.records(1)
    noisy = scores + np.random.default_rng(99).laplace(scale=1.0, size=scores.size)
    assert share == pytest.approx(np.mean((noisy < 0) | (noisy > 1)), abs=0.03)
    assert len(draws) == 4


def test_top_k_beyond_the_records_is_undefined_with_a_note(wide_deep):
    rows = top_k.measure(wide_deep, SETTINGS).rows
    cells = by_cell(rows, "table2", "positives")
    assert cells["epoch=0;k=10000"]["value"] is None
    assert "3,000" in cells["epoch=0;k=10000"]["note"]
    scores, labels = wide_deep.records(0)
    best = labels[np.argsort(-scores, kind="stable")[:50]]
    assert cells["epoch=0;k=50"]["value"] == best.sum()


def test_gaussian_rows(authors):
    rows = gaussian.measure(authors, SETTINGS).rows
    assert len(rows) == 4
    assert parse_cell(rows[0]["cell"])["delta"] == "1e-05"


def test_ground_truth_and_the_spread_over_models(wide_deep, predictions):
    record = ground_truth.measure(wide_deep, [predictions[:2], predictions[2:]], keras_auc)
    rows, draws = record.rows, record.draws
    scores, labels = wide_deep.records(1)
    exact = by_cell(rows, "ground_truth", "auc_exact")["epoch=1"]["value"]
    assert exact == exact_auc(scores, labels)
    training = by_cell(rows, "training")
    assert training["epoch=1"]["n"] == 2
    assert training["epoch=1"]["value"] > training["epoch=0"]["value"]
    assert [len(d["values"]) for d in draws] == [2, 2]
    as_printed = by_cell(rows, "ground_truth", "auc_axes_as_printed")["epoch=1"]["value"]
    assert as_printed == pytest.approx(1 - exact, abs=1e-12)


def test_ablation_marks_what_the_printed_numbers_exclude(authors, published):
    def rejected_at(level):
        rows = ablation.measure(
            authors,
            SETTINGS | {"repeats": 50, "level": level},
            table4=published / "dpauc_table4_iid_vs_noniid.csv",
            outputs=published / "dpauc_author_repo_outputs.csv",
        ).rows
        return {
            (cell["layout"], cell["clip"], cell["sort"], cell["ends"]): row["value"]
            for row in rows
            if row["metric"] == "rejected_cells"
            for cell in [parse_cell(row["cell"])]
        }

    rejected = rejected_at(0.01)
    assert rejected["authors", "True", "fpr", "False"] == 0
    assert rejected["authors", "False", "fpr", "False"] > 0
    # no adjusted p-value exceeds 1: at a level above it all cells are rejected
    assert set(rejected_at(1.1).values()) == {8}


def test_leaks_on_exact_and_noisy_releases(wide_deep):
    rows = leaks.measure(wide_deep, SETTINGS).rows
    recovered = {
        (cell["attack"], cell["epsilon"]): row["value"]
        for row in rows
        if row["metric"] in ("located", "recovered")
        for cell in [parse_cell(row["cell"])]
    }
    assert recovered["scores_from_thresholds", "inf"] == 1.0
    assert recovered["scores_from_thresholds", "1"] < 0.5
    everything = [
        row for row in rows if row["metric"] == "recovered" and "epsilon=inf" in row["cell"]
    ]
    assert max(row["value"] for row in everything) == 1.0


def test_author_outputs_has_every_released_setting_of_epoch_0(authors, published):
    path = published / "dpauc_author_repo_outputs.csv"
    record = author_outputs.measure(authors, SETTINGS, published=path)
    rows, draws = record.rows, record.draws
    frame = pd.read_csv(path, keep_default_na=False)
    frame = frame[frame["epoch"] == 0]
    keys = ["mechanism", "partition", "K", "n_thresholds_nominal", "epsilon_arg"]
    assert len(rows) == len(frame[keys].drop_duplicates())
    noisy = frame[frame["mechanism"] != "None"]
    assert len(draws) == 2 * len(noisy[keys].drop_duplicates())


def test_budget_rows_follow_the_formulas():
    rows = budget.measure(thresholds=[100], epsilons=[1], delta=1e-5, scale="s", seed=1).rows
    values = {row["metric"]: row["value"] for row in rows}
    assert values["epsilon_per_count"] == 1 / 400
    assert values["tight"] == pytest.approx(0.5)
    assert values["thresholds_distinct"] == 98
    assert values["pld"] < values["tight"]


def test_released_rows_and_slips(published):
    rows = released.measure(
        outputs=published / "dpauc_author_repo_outputs.csv",
        tables={
            "table1": published / "dpauc_table1_rr.csv",
            "table5": published / "dpauc_table5_thresholds.csv",
        },
        scale="s",
        seed=1,
    ).rows
    slips = {row["cell"]: row["value"] for row in rows if row["metric"] == "slips"}
    assert slips == {"table=table1": 2, "table=table5": 3}
    repeats = {row["cell"]: row["value"] for row in rows if row["metric"] == "repeats"}
    assert repeats == {"mechanism=Laplace": 50, "mechanism=RR": 20}


def test_curves_and_densities(wide_deep):
    density = curves.densities(wide_deep)
    for _, part in density.groupby(["epoch", "label"]):
        assert (part["density"] * (part["right"] - part["left"])).sum() == pytest.approx(1)
    roc = curves.roc_curves(wide_deep, SETTINGS)
    assert set(roc["curve"]) == {
        "exact",
        *(f"K={k};epsilon={e}" for k in (10, 1000) for e in (8, 1)),
    }
    exact = roc[roc["curve"] == "exact"]
    assert exact["fpr"].is_monotonic_increasing


def test_every_row_passes_the_schema_and_survives_the_file(wide_deep, authors, tmp_path):
    rows = []
    for origin in (wide_deep, authors):
        rows += laplace.measure(origin, SETTINGS).rows + top_k.measure(origin, SETTINGS).rows
    write_measurements(tmp_path / "m.csv", rows)
    frame = read_measurements([tmp_path / "m.csv"])
    assert len(frame) == len(rows)
    written = {(r["item"], r["cell"], r["origin"], r["metric"]): r["value"] for r in rows}
    for record in frame.to_dict("records"):
        key = tuple(record[k] for k in ("item", "cell", "origin", "metric"))
        if written[key] is None:
            assert math.isnan(record["value"])
        else:
            assert written[key] == record["value"]


def test_the_same_seed_gives_the_same_rows_and_another_seed_others(predictions):
    meta = predictions[0].with_name("meta.json")

    def run(seed):
        origin = load_origin("wide_deep", predictions[:2], meta, scale="s", seed=seed)
        return laplace.measure(origin, SETTINGS).rows

    assert [r["value"] for r in run(1)] == [r["value"] for r in run(1)]
    assert [r["value"] for r in run(1)] != [r["value"] for r in run(2)]
