"""Every erratum of SHAPr evaluated on measurements made here; fails when one is false."""

import numpy as np
import pandas as pd
import pytest

from leakmeter.membership.experiments import facts
from leakmeter.membership.shapley import knn_shapley
from leakmeter.reporting.errata import evaluate_errata, read_errata
from leakmeter.reporting.recording import Recorder


@pytest.fixture(scope="module")
def exact():
    record = Recorder("shapr", "test", 1, data="exact", origin="exact")
    facts.measure(record, train=24_000, test=24_000)
    return pd.DataFrame(record.rows)


def entries(root, only):
    return [e for e in read_errata(root / "resources/errata.yaml") if e["id"] in only]


EXACT = ["shapr_cost", "shapr_binomial_bar", "shapr_random_subset", "shapr_eq3_intuition"]


@pytest.mark.parametrize("name", EXACT)
def test_exact_erratum_holds(root, exact, name):
    (row,) = evaluate_errata(entries(root, [name]), exact).to_dict("records")
    assert row["holds"], row


def test_every_entry_of_the_chain_names_this_file(root):
    own = [e for e in read_errata(root / "resources/errata.yaml") if e["paper"] == "shapr"]
    assert len(own) >= 6
    tests = {e["test"] for e in own if "evidence" in e}
    assert tests == {"tests/membership/test_membership_errata.py"}


def test_the_first_ranks_weigh_the_same_for_larger_k(exact):
    steps = exact[exact["metric"] == "weight_step_rank_1_to_2"].set_index("cell")["value"]
    assert steps["k=1"] == 0.5
    assert steps["k=5"] == 0


def test_the_mean_score_is_the_accuracy_of_a_knn_classifier():
    """shapr_mean_is_accuracy: whatever the features, the scores sum to the K-NN's utility."""
    rng = np.random.default_rng(0)
    for k in (1, 3):
        x, y = rng.normal(size=(40, 3)), rng.integers(3, size=40)
        t, ty = rng.normal(size=(25, 3)), rng.integers(3, size=25)
        distances = ((t[:, None] - x[None]) ** 2).sum(axis=2)
        nearest = y[distances.argsort(axis=1)[:, :k]]
        utility = (nearest == ty[:, None]).mean()
        assert knn_shapley(x, y, t, ty, k=k, threads=1).sum() == pytest.approx(utility, abs=1e-12)


def test_the_feature_space_changes_the_share_of_positive_scores():
    """Why the assumed feature space matters: scores on a model's confident outputs and on inputs differ in sign."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 20))
    y = (x[:, 0] > 0).astype(int)
    tx = rng.normal(size=(200, 20))
    ty = (tx[:, 0] > 0).astype(int)

    def outputs(inputs, sharp):
        p = 1 / (1 + np.exp(-sharp * inputs[:, 0]))
        return np.column_stack([1 - p, p])

    on_inputs = knn_shapley(x, y, tx, ty, k=5, threads=1)
    on_outputs = knn_shapley(outputs(x, 20), y, outputs(tx, 20), ty, k=5, threads=1)
    assert (on_outputs > 0).mean() != (on_inputs > 0).mean()
    assert np.corrcoef(on_inputs, on_outputs)[0, 1] < 0.5
