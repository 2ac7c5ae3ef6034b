import numpy as np
import pytest

from leakmeter.dpauc.ablations import ablation
from leakmeter.dpauc.counting import count
from leakmeter.dpauc.mechanisms import laplace_auc
from leakmeter.dpauc.roc import CurveOptions
from leakmeter.dpauc.threshold_layouts import thresholds
from leakmeter.runtime import UserError

NOISE = {"clients": 10, "epsilon_per_count": 0.2, "repeats": 60, "seed": 3}


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(0)
    labels = (rng.random(5000) < 0.3).astype(int)
    scores = rng.beta(2 + labels, 5)
    return {
        layout: count(scores, labels, thresholds(50, layout)) for layout in ("uniform", "authors")
    }


def test_every_combination_once_and_the_authors_first(counts):
    table = ablation(counts, **NOISE)
    keys = [(r["layout"], r["clip"], r["sort"], r["end_points"]) for r in table]
    assert len(keys) == len(set(keys)) == 2 * 2 * 4 * 2
    assert keys[0] == ("authors", True, "fpr", False)
    assert (table[0]["difference"], table[0]["difference_se"], table[0]["z"]) == (0, 0, 0)


def test_rows_are_the_mechanism_with_that_option(counts):
    for row in ablation(counts, **NOISE):
        options = CurveOptions(row["clip"], row["sort"], row["end_points"])
        aucs = laplace_auc(counts[row["layout"]], **NOISE, options=options)
        assert row["mean"] == pytest.approx(aucs.mean())
        assert row["std"] == pytest.approx(aucs.std(ddof=1))


def test_differences_are_paired_within_a_layout(counts):
    table = ablation(counts, **NOISE, clip=[True], end_points=[False])
    reference = laplace_auc(counts["authors"], **NOISE)
    other = laplace_auc(counts["authors"], **NOISE, options=CurveOptions(sort="lexicographic"))
    row = next(r for r in table if r["sort"] == "lexicographic" and r["layout"] == "authors")
    assert row["difference"] == pytest.approx((other - reference).mean())
    assert row["difference_se"] == pytest.approx((other - reference).std(ddof=1) / np.sqrt(60))
    assert row["z"] == pytest.approx(row["difference"] / (reference.std(ddof=1) / np.sqrt(50)))


def test_missing_default_layout(counts):
    with pytest.raises(UserError, match="no layout 'authors'"):
        ablation({"uniform": counts["uniform"]}, **NOISE)
