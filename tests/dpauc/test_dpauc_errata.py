"""Every erratum of the DPAUC paper holds on fresh measurements; a false one fails here."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from leakmeter.dpauc.exact import keras_auc
from leakmeter.dpauc.experiments import (
    ablation,
    budget,
    ground_truth,
    laplace,
    randomized_response,
    released,
    score_noise,
)
from leakmeter.dpauc.experiments.origins import load_origin
from leakmeter.reporting.errata import evaluate_errata, read_errata
from leakmeter.reporting.measurements import read_measurements, write_measurements
from leakmeter.runtime import write_json

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "resources/published"
ERRATA = [
    e
    for e in read_errata(ROOT / "resources/errata.yaml")
    if e["paper"] == "dpauc" and "evidence" in e
]


@pytest.fixture(scope="module")
def measurements(tmp_path_factory):
    folder = tmp_path_factory.mktemp("errata")
    authors = load_origin(
        "authors", [PUBLISHED / "dpauc_roc_epoch0_reconstruction.csv"], None, scale="test", seed=1
    )
    settings = {
        "repeats": 30,
        "reference_repeats": 10,
        "score_noise_repeats": 3,
        "score_epsilons": [1],
        "epsilons": [8, 1],
        "clients": [10, 1000],
        "thresholds": [10, 100],
        "flip": "per-repeat",
        "level": 0.01,
    }
    tables = {
        "table1": "table1_rr",
        "table4": "table4_iid_vs_noniid",
        "table5": "table5_thresholds",
    }
    outputs = PUBLISHED / "dpauc_author_repo_outputs.csv"
    paths = {name: PUBLISHED / f"dpauc_{stem}.csv" for name, stem in tables.items()}
    rng = np.random.default_rng(0)
    labels = (rng.random(2000) < 0.3).astype(np.uint8)
    scores = (rng.random(2000) * 0.7 + 0.3 * labels).astype(np.float32)
    pd.DataFrame({"score": scores, "label": labels}).to_parquet(folder / "p.parquet")
    write_json(folder / "meta.json", {"data": "standin"})
    ours = load_origin(
        "wide_deep", [folder / "p.parquet"], folder / "meta.json", scale="test", seed=1
    )
    records = [
        ablation.measure(authors, settings, table4=paths["table4"], outputs=outputs),
        ground_truth.measure(authors, [], keras_auc),
        randomized_response.measure(authors, settings),
        score_noise.measure(authors, settings),
        laplace.measure(ours, settings),
        ground_truth.measure(ours, [[folder / "p.parquet"]], keras_auc),
        budget.measure(thresholds=[10, 100, 200], epsilons=[8], delta=1e-5, scale="test", seed=1),
        released.measure(outputs=outputs, tables=paths, scale="test", seed=1),
    ]
    rows = [row for record in records for row in record.rows]
    write_measurements(folder / "m.csv", rows)
    return read_measurements([folder / "m.csv"])


@pytest.mark.parametrize("entry", ERRATA, ids=lambda entry: entry["id"])
def test_erratum(entry, measurements):
    row = evaluate_errata([entry], measurements).iloc[0]
    assert bool(row["holds"]), f"{row['evidence']} is {row['value']}, claimed {row['condition']}"


@pytest.mark.parametrize("entry", ERRATA, ids=lambda entry: entry["id"])
def test_a_false_erratum_would_be_seen(entry, measurements):
    """The opposite condition on the same evidence does not hold."""
    opposite = {
        "above": "below",
        "below": "above",
        "equals": "differs_from",
        "differs_from": "equals",
    }
    evidence = {opposite.get(key, key): value for key, value in entry["evidence"].items()}
    row = evaluate_errata([{**entry, "evidence": evidence}], measurements).iloc[0]
    assert row["holds"] is not None
    assert not row["holds"]


def test_the_named_tests_exist():
    for entry in read_errata(ROOT / "resources/errata.yaml"):
        if "test" in entry:
            assert (ROOT / entry["test"]).is_file(), entry["id"]
