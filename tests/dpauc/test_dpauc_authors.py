import csv
import math
from pathlib import Path

import numpy as np
import pytest

from leakmeter.dpauc.authors import Reconstruction, _unclipped_mean, load_reconstruction
from leakmeter.dpauc.counting import count
from leakmeter.dpauc.exact import exact_auc
from leakmeter.dpauc.roc import auc_from_counts, auc_from_totals, roc_points
from leakmeter.dpauc.threshold_layouts import thresholds
from leakmeter.runtime import UserError

PUBLISHED = Path(__file__).resolve().parents[2] / "resources" / "published"
CURVE = PUBLISHED / "dpauc_roc_epoch0_reconstruction.csv"


def rows(name, **where):
    with open(PUBLISHED / name, newline="") as handle:
        return [
            row
            for row in csv.DictReader(handle)
            if all(row[key] == value for key, value in where.items())
        ]


@pytest.fixture(scope="module")
def authors():
    return load_reconstruction(CURVE)


def figure_of(counts, rng, clients=10, epsilon=2.0):
    """What a figure of these counts would show: noise, clipping, rates, points sorted by FPR."""
    gammas = rng.standard_gamma(clients, (2, *counts.stacked().shape))
    fpr, tpr = roc_points(counts.stacked() + (gammas[0] - gammas[1]) / epsilon)
    order = np.argsort(fpr, kind="stable")
    p, n = int(counts.positives), int(counts.negatives)
    return Reconstruction(
        thresholds=thresholds(200),
        tp=p * tpr[order],
        fp=n * fpr[order],
        positives=p,
        negatives=n,
        clients=clients,
        epsilon_per_count=epsilon,
    )


# --- the file -------------------------------------------------------------------------------------


def test_file_is_read_whole(authors):
    published = rows("dpauc_author_repo_outputs.csv")[0]
    assert authors.thresholds.tolist() == thresholds(200).tolist()
    assert authors.clients == int(published["K"])
    # Recall = positives / P, with both printed in Table 2, confirms P.
    table2 = {(r["top_k"], r["metric"]): float(r["value"]) for r in rows("dpauc_table2_topk.csv")}
    share = table2["100000", "n_positives"] / table2["100000", "recall"]
    assert authors.positives == pytest.approx(share, rel=2e-3)


def test_noise_in_the_figure_is_as_large_as_stated(authors):
    """0.2 and 0.5 occur twice, with independent noise on equal counts."""
    z = []
    for measured, sd in zip((authors.tp, authors.fp), authors.noise_sd, strict=True):
        repeats = np.flatnonzero(np.diff(authors.thresholds) == 0)
        assert repeats.size == 2
        z += list((measured[repeats] - measured[repeats + 1]) / (sd[repeats] * math.sqrt(2)))
    assert 0.2 < np.mean(np.square(z)) < 4


@pytest.mark.parametrize("nominal", ["100", "200", "400"])
def test_noise_free_values_of_the_authors(authors, nominal):
    row = rows(
        "dpauc_author_repo_outputs.csv",
        epoch="0",
        mechanism="None",
        n_thresholds_nominal=nominal,
    )[0]
    grid = thresholds(int(nominal))
    source = authors.source_sd(grid, seed=1, draws=200)
    estimate = auc_from_counts(authors.counts_at(grid))
    assert abs(estimate - float(row["auc_mean"])) < 3 * source.sd
    assert abs(estimate - source.auc) < source.sd
    assert source.sd < 3e-5  # precise enough to be worth testing against


def test_exact_and_keras_values_of_the_authors(authors):
    row = rows("dpauc_author_repo_outputs.csv", epoch="0", mechanism="None")[0]
    other = rows("dpauc_author_repo_outputs.csv", epoch="0", mechanism="RR")[0]
    for n, published in ((200, row["auc_tf"]), (1000, other["auc_tf"])):
        grid = thresholds(n, "keras")
        sd = authors.source_sd(grid, seed=1, draws=200).sd
        assert abs(auc_from_counts(authors.counts_at(grid)) - float(published)) < 3 * sd
        # the printed TensorFlow values differ by more than that: they are two settings
        assert abs(float(row["auc_tf"]) - float(other["auc_tf"])) > 2 * sd
    scores, labels = authors.pseudo_scores(seed=1)
    sd = authors.source_sd(thresholds(400), seed=1, draws=200).sd
    assert abs(exact_auc(scores, labels) - float(row["auc_sklearn"])) < 3 * sd


def test_a_uniform_layout_does_not_fit(authors):
    """Nominal 10: the authors' 9 points and 10 uniform ones are far apart; the files say which."""
    published = rows(
        "dpauc_author_repo_outputs.csv",
        epoch="0",
        n_thresholds_nominal="10",
        epsilon_total_nominal="8.0",
    )[0]
    mean, se = float(published["auc_mean"]), float(published["auc_std"]) / math.sqrt(50)
    z = {
        layout: (auc_from_counts(authors.counts_at(thresholds(10, layout))) - mean)
        / math.hypot(se, authors.source_sd(thresholds(10, layout), seed=1, draws=100).sd)
        for layout in ("authors", "uniform")
    }
    assert abs(z["authors"]) < 3
    assert abs(z["uniform"]) > 20


# --- the method -----------------------------------------------------------------------------------


def test_estimate_is_a_possible_set_of_counts(authors):
    for n in (10, 100, 200, 400):
        counts = authors.counts_at(thresholds(n))  # Counts checks monotony and class sizes
        assert counts.tp[-1] == authors.positives
        assert counts.fp[-1] == authors.negatives
    at_grid = authors.counts_at(authors.thresholds)
    for estimate, measured, sd in zip(
        (at_grid.tp, at_grid.fp), (authors.tp, authors.fp), authors.noise_sd, strict=True
    ):
        inner = (measured > 50) & (measured < measured.max() - 50)
        assert (np.abs(estimate - measured)[inner] < 5 * sd[inner] + 1).all()


def test_thresholds_outside_the_unit_interval(authors):
    counts = authors.counts_at([1.5, 1.0, -0.5])
    assert (counts.tp[0], counts.fp[0]) == (0, 0)
    assert (counts.tp[-1], counts.fp[-1]) == (authors.positives, authors.negatives)
    drawn = authors.draw_counts([1.5, -0.5], draws=3, seed=1)
    assert (drawn[:, :2, 0] == 0).all()
    assert (drawn[:, 0, 1] == authors.positives).all()


def test_drawn_counts_are_possible_and_centred(authors):
    grid = thresholds(100)
    drawn = authors.draw_counts(grid, draws=200, seed=2)
    assert drawn.shape == (200, 4, 100)
    assert (drawn >= 0).all()
    assert (np.diff(drawn[:, :2], axis=-1) >= 0).all()
    assert (drawn[:, 0] + drawn[:, 3] == authors.positives).all()
    assert (drawn[:, 1] + drawn[:, 2] == authors.negatives).all()
    best = authors.counts_at(grid).stacked()
    error = np.abs(drawn.mean(0) - best) / (drawn.std(0) / math.sqrt(200) + 0.3)
    assert error.max() < 5


def test_interpolated_spread_is_the_binomial_bridge(authors):
    """Half-way in a wide bin of n records the spread is about sqrt(n) / 2."""
    high, low = authors.thresholds[60:62]
    middle = (high + low) / 2
    drawn = authors.draw_counts([high, middle, low], draws=4000, seed=3)
    for cls in (0, 1):
        n = drawn[:, cls, 2].mean() - drawn[:, cls, 0].mean()
        share = (drawn[:, cls, 1].mean() - drawn[:, cls, 0].mean()) / n
        bridge = n * share * (1 - share)
        noise = drawn[:, cls, 0].var() * (1 - share) ** 2 + drawn[:, cls, 2].var() * share**2
        assert drawn[:, cls, 1].std() == pytest.approx(math.sqrt(bridge + noise), rel=0.05)
    no_bridge = authors.draw_counts([middle], draws=500, seed=3, interpolation=False)
    assert no_bridge[:, 0, 0].std() < drawn[:, 0, 1].std() / 2


def test_stated_uncertainty_covers_the_truth(authors):
    """Figures simulated from known records: errors of the estimate over the stated sd are N(0, 1)."""
    scores, labels = authors.pseudo_scores(seed=4)
    truth = {n: auc_from_counts(count(scores, labels, thresholds(n))) for n in (100, 200)}
    counts = count(scores, labels, thresholds(200))
    rng = np.random.default_rng(5)
    z = []
    for _ in range(12):
        figure = figure_of(counts, rng)
        source = figure.source_sd(thresholds(200), seed=6, draws=60)
        z.append((auc_from_counts(figure.counts_at(thresholds(200))) - truth[200]) / source.sd)
    assert 0.4 < np.sqrt(np.mean(np.square(z))) < 1.7
    # At 100 the records between thresholds matter, and they are the same in all figures.
    source = figure.source_sd(thresholds(100), seed=6, draws=60)
    assert abs(auc_from_counts(figure.counts_at(thresholds(100))) - truth[100]) < 3.5 * source.sd
    assert source.sd > 3 * source.sd_measurement


def test_ends_are_not_biased_by_clipping_and_sorting():
    """All counts of the top end are 0; their clipped, sorted noise must not become records."""
    rng = np.random.default_rng(7)
    scores = rng.random(50_000) * 0.6
    counts = count(scores, rng.integers(0, 2, scores.size), thresholds(200))
    above = []
    for _ in range(20):
        estimate = figure_of(counts, rng).counts_at([0.61])
        above += [int(estimate.tp[0]), int(estimate.fp[0])]
    assert np.mean(above) < 0.6  # the raw mean of clipped noise is 0.9, its maximum about 5


def test_unclipped_mean_inverts_the_clipping():
    rng = np.random.default_rng(8)
    for mu in (0.0, 0.7, 5.0):
        clipped = np.maximum(0, mu + 2 * rng.standard_normal(200_000)).mean()
        assert _unclipped_mean(clipped, 2.0) == pytest.approx(mu, abs=0.03)
    assert _unclipped_mean(0.0, 2.0) == 0.0


def test_pseudo_scores_have_the_estimated_counts(authors):
    scores, labels = authors.pseudo_scores(seed=9)
    assert scores.min() >= 0
    assert scores.max() <= 1
    recounted = count(scores, labels, authors.thresholds)
    expected = authors.counts_at(authors.thresholds)
    np.testing.assert_array_equal(recounted.stacked(), expected.stacked())
    # rows carry no order
    assert abs(labels[:10_000].mean() - labels.mean()) < 5 * math.sqrt(0.2 / 10_000)
    again, _ = authors.pseudo_scores(seed=9)
    np.testing.assert_array_equal(again, scores)


def test_topk_agrees_with_the_counts_and_with_table_2(authors):
    table = [r for r in rows("dpauc_table2_topk.csv") if r["metric"] == "n_positives"]
    ks = [int(r["top_k"]) for r in table]
    result, sd = authors.topk(ks, draws=200, seed=1)
    z = (np.array([float(r["value"]) for r in table]) - result.positives) / np.hypot(sd, 0.3)
    assert np.abs(z).max() < 3.2  # 11 cells at a family-wise 1.5 %
    np.testing.assert_allclose(result.precision, result.positives / ks)
    everything, none = authors.topk([authors.positives + authors.negatives], draws=5, seed=1)
    assert everything.positives.tolist() == [authors.positives]
    assert none.tolist() == [0]
    with pytest.raises(UserError, match="ks ranges"):
        authors.topk([0], seed=1)


def test_same_seed_same_draws(authors):
    grid = thresholds(50)
    a, b, c = (authors.draw_counts(grid, draws=3, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert (a != c).any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.replace("tp_count", "tps"), "column 'tp_count' is missing"),
        (lambda t: t.replace("0.9897959184", "high", 1), ":3: threshold is 'high'"),
        (lambda t: t.replace("K=10", "K=ten"), "expected one 'K="),
        (lambda t: t.replace("0.9897959184", "1.9897959184", 1), "descending"),
        (lambda t: t.replace("199,0.0000000000", "199,0.0000000001"), "expected 1 down to 0"),
        (lambda t: t.replace(",1.000000000,", ",0.999999999,"), "expected one whole count"),
    ],
)
def test_bad_files(tmp_path, change, message):
    path = tmp_path / "curve.csv"
    path.write_text(change(CURVE.read_text()))
    with pytest.raises(UserError, match=message):
        load_reconstruction(path)


def test_missing_file(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        load_reconstruction(tmp_path / "none.csv")


# --- the published noisy cells -------------------------------------------------------------------


def test_published_laplace_cells_at_the_figures_thresholds(authors):
    """Means of the authors' runs at nominal 200 and 10 clients, epoch 0, against ours."""
    from leakmeter.dpauc.mechanisms import laplace_auc

    counts = authors.counts_at(thresholds(200))
    sd_source = authors.source_sd(thresholds(200), seed=1, draws=100).sd
    cells = rows(
        "dpauc_author_repo_outputs.csv",
        epoch="0",
        mechanism="Laplace",
        K="10",
        n_thresholds_nominal="200",
    )
    assert len(cells) >= 4
    for cell in cells:
        ours = laplace_auc(
            counts,
            clients=10,
            epsilon_per_count=float(cell["epsilon_arg"]),
            repeats=500,
            seed=11,
        )
        se = math.hypot(ours.std() / math.sqrt(500), float(cell["auc_std"]) / math.sqrt(50))
        assert abs(ours.mean() - float(cell["auc_mean"])) < 4 * math.hypot(se, sd_source)


def test_totals_of_the_figure_integrate_like_its_counts(authors):
    totals = np.stack(
        [authors.tp, authors.fp, authors.negatives - authors.fp, authors.positives - authors.tp]
    )
    counts = authors.counts_at(authors.thresholds)
    assert auc_from_totals(totals) == pytest.approx(auc_from_counts(counts), abs=1e-6)
