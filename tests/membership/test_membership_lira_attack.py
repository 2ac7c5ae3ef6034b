"""Likelihood-ratio scores against scipy's Gaussians, record by record."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from leakmeter.membership.attack_roc import roc
from leakmeter.membership.lira_attack import (
    lira,
    lira_leave_one_out,
    scaled_confidence,
    shadow_models,
)
from leakmeter.membership.pools import member_splits
from leakmeter.runtime import UserError


@pytest.fixture(scope="module")
def shadows():
    """16 models, 40 records, each record in half of them; records differ in level and spread."""
    rng = np.random.default_rng(0)
    members = np.stack([rng.permutation(np.arange(16) < 8) for _ in range(40)], axis=1)
    level, spread = rng.normal(0, 5, 40), rng.uniform(0.5, 2, 40)
    values = level + 1.5 * members + spread * rng.normal(size=(16, 40))
    return values, members, level + rng.normal(size=40)


def sides(shadows):
    values, members, _ = shadows
    n = values.shape[1]
    return (
        [values[members[:, j], j] for j in range(n)],
        [values[~members[:, j], j] for j in range(n)],
    )


@pytest.mark.parametrize("location", ["mean", "median"])
@pytest.mark.parametrize("ddof", [0, 1])
def test_per_example_variance(shadows, location, ddof):
    values, members, target = shadows
    centre = getattr(np, location)
    inside, outside = sides(shadows)
    online, offline = [], []
    for t, a, b in zip(target, inside, outside, strict=True):
        log_in = norm.logpdf(t, centre(a), a.std(ddof=ddof))
        log_out = norm.logpdf(t, centre(b), b.std(ddof=ddof))
        online.append(log_in - log_out)
        offline.append(norm.cdf(t, centre(b), b.std(ddof=ddof)))
    options = {"location": location, "ddof": ddof}
    assert np.allclose(lira(values, members, target, **options), online, rtol=1e-12)
    got = lira(values, members, target, mode="offline", **options)
    assert np.allclose(norm.cdf(got), offline, rtol=1e-12)


def test_fixed_variance_is_pooled_after_centring(shadows):
    values, members, target = shadows
    inside, outside = sides(shadows)
    s_in, s_out = (
        np.sqrt(sum(((v - v.mean()) ** 2).sum() for v in side) / sum(len(v) - 1 for v in side))
        for side in (inside, outside)
    )
    expected = [
        norm.logpdf(t, a.mean(), s_in) - norm.logpdf(t, b.mean(), s_out)
        for t, a, b in zip(target, inside, outside, strict=True)
    ]
    assert np.allclose(lira(values, members, target, variance="fixed"), expected, rtol=1e-12)
    # the records' levels differ by far more than the models do: centring is what keeps this small
    assert s_out < 0.5 * np.concatenate(outside).std()


def test_reference_variance_takes_the_in_data_for_both_sides(shadows):
    values, members, target = shadows
    inside, outside = sides(shadows)
    s_in, s_out = np.std(np.concatenate(inside)), np.std(np.concatenate(outside))
    script = [
        norm.logpdf(t, np.median(a), s_in) - norm.logpdf(t, np.median(b), s_in)
        for t, a, b in zip(target, inside, outside, strict=True)
    ]
    options = {"variance": "reference", "location": "median", "ddof": 0}
    got = lira(values, members, target, **options)
    assert np.allclose(got, script, rtol=1e-12)
    own = [
        norm.logpdf(t, np.median(a), s_in) - norm.logpdf(t, np.median(b), s_out)
        for t, a, b in zip(target, inside, outside, strict=True)
    ]
    assert not np.allclose(got, own, rtol=1e-3)
    offline = lira(values, members, target, mode="offline", **options)
    assert np.allclose(offline, (target - [np.median(b) for b in outside]) / s_out)


@pytest.mark.parametrize("mode", ["online", "offline"])
@pytest.mark.parametrize("variance", ["reference", "per-example"])
def test_script_takes_as_many_models_of_each_record(mode, variance):
    """The script's loops, written out: it cuts every record to the fewest in- and out-models."""
    rng = np.random.default_rng(3)
    members = np.stack([rng.permutation(np.arange(7) < 3 + j % 2) for j in range(30)], axis=1)
    values, target = rng.normal(size=(7, 30)) + members, rng.normal(size=30)
    inside, outside = sides((values, members, target))
    dat_in = np.array([v[: min(map(len, inside))] for v in inside])
    dat_out = np.array([v[: min(map(len, outside))] for v in outside])
    if variance == "reference":
        s_in = np.full(30, np.std(dat_in))
        s_out = s_in if mode == "online" else np.full(30, np.std(dat_out))
    else:
        s_in, s_out = np.std(dat_in, axis=1), np.std(dat_out, axis=1)
    log_out = norm.logpdf(target, np.median(dat_out, axis=1), s_out)
    script = norm.logpdf(target, np.median(dat_in, axis=1), s_in) - log_out
    if mode == "offline":
        script = (target - np.median(dat_out, axis=1)) / s_out
    options = {"variance": variance, "location": "median", "ddof": 0, "mode": mode}
    got = lira(values, members, target, equal_counts=variance != "reference", **options)
    assert np.allclose(got, script, rtol=1e-12)


def test_centred_and_reference_variance_order_records_differently(shadows):
    values, members, target = shadows
    ours = lira(values, members, target, variance="fixed")
    script = lira(values, members, target, variance="reference", location="median", ddof=0)
    assert np.abs(ours).max() > 5 * np.abs(script).max()


def test_far_scores_do_not_saturate():
    values, members = np.array([[0.0], [1.0], [100.0], [101.0]]), [[0], [0], [1], [1]]
    far = [lira(values, members, [t], mode="offline")[0] for t in (1e3, 1e4, 1e5)]
    assert far[0] < far[1] < far[2]
    assert np.isfinite(lira(values, members, [1e6])).all()


def test_known_answer():
    # unit variances, centres -1 and 1: the ratio is 2 t
    values, members = np.array([[-2.0], [0.0], [0.0], [2.0]]), [[0], [0], [1], [1]]
    got = lira(np.repeat(values, 3, 1), np.repeat(members, 3, 1), [-1.0, 0.0, 0.5], ddof=0)
    assert got == pytest.approx([-2.0, 0.0, 1.0])


@pytest.mark.parametrize("variance", ["per-example", "fixed"])
def test_leave_one_out_is_lira_without_the_target(shadows, variance):
    """All records are in half of the models: the counts are made equal."""
    values, members, _ = shadows
    scores = lira_leave_one_out(values, members, variance=variance)
    assert scores.shape == values.shape
    rest = np.arange(16) != 3
    expected = lira(values[rest], members[rest], values[3], variance=variance, equal_counts=True)
    assert np.array_equal(scores[3], expected)
    assert scores[members].mean() > scores[~members].mean()
    # counts that tell nothing stay as they are
    counts = members.copy()
    counts[5] = True
    expected = lira(values[rest], counts[rest], values[3], variance=variance)
    assert np.array_equal(lira_leave_one_out(values, counts, variance=variance)[3], expected)


def _pairs(models, n):
    return member_splits(np.zeros(n, int), models, seed=1, where="pool")


def _halves(models, n):
    order = np.random.default_rng(1).random((models, n)).argsort(axis=0)
    return order.argsort(axis=0) < models // 2


def test_shadow_models_leave_out_the_complement():
    members = _pairs(6, 10)
    for target in range(6):
        left_out = {target, target ^ 1}
        assert set(np.flatnonzero(~shadow_models(members, target))) == left_out
    assert set(np.flatnonzero(~shadow_models(_halves(6, 40), 2))) == {2}


@pytest.mark.parametrize("variance", ["per-example", "fixed", "reference"])
@pytest.mark.parametrize("design", [_pairs, _halves])
@pytest.mark.parametrize("models", [6, 10])
def test_models_that_know_nothing_are_attacked_by_chance(variance, design, models):
    """No confidence depends on membership: AUC 1/2 (sd 0.0012 of the mean over models)."""
    members = design(models, 30_000)
    values = np.random.default_rng(2).normal(size=members.shape)
    scores = lira_leave_one_out(values, members, variance=variance)
    auc = np.mean([roc(s, m).auc for s, m in zip(scores, members, strict=True)])
    assert auc == pytest.approx(0.5, abs=0.005)


def test_all_other_models_as_shadows_would_be_biased():
    """Why the complement is left out: with it, ten models that know nothing give 0.47."""
    members = _pairs(10, 30_000)
    values = np.random.default_rng(2).normal(size=members.shape)
    scores = lira(values[1:], members[1:], values[0])
    assert roc(scores, members[0]).auc < 0.48


def test_unequal_counts_use_all_models():
    values = np.array([[0.0, 0.0], [1.0, 2.0], [5.0, 7.0], [6.0, 9.0], [7.0, 5.5]])
    members = np.array([[0, 0], [0, 0], [1, 1], [1, 1], [1, 0]], bool)
    got = lira(values, members, [3.0, 4.0])
    a, b = values[[2, 3], 1], values[[0, 1, 4], 1]
    expected = norm.logpdf(4.0, a.mean(), a.std(ddof=1)) - norm.logpdf(4.0, b.mean(), b.std(ddof=1))
    assert got[1] == pytest.approx(expected, rel=1e-12)


def test_offline_needs_no_in_models():
    values = np.array([[0.0], [2.0]])
    got = lira(values, np.zeros((2, 1)), [3.0], mode="offline")
    assert got == pytest.approx([2 / np.sqrt(2)])
    with pytest.raises(UserError, match="record 0 is in of 0 of 2 shadow models"):
        lira(values, np.zeros((2, 1)), [3.0])


@pytest.mark.parametrize("margin", [-900.0, -3.0, 0.0, 17.0, 900.0])
def test_scaled_confidence_is_linear_in_the_margin(margin):
    got = scaled_confidence([[margin, 0.0, 0.0]], [0], from_logits=True)
    assert got == pytest.approx([margin - np.log(2)], rel=1e-15)


def test_scaled_confidence_of_probabilities():
    assert scaled_confidence([[0.9, 0.1], [0.25, 0.75]], [0, 0]) == pytest.approx(
        [np.log(9), -np.log(3)]
    )
    # the other classes give 1 - p even where p was rounded to 1
    assert scaled_confidence([[1.0, 1e-20]], [0]) == pytest.approx([20 * np.log(10)])
    with pytest.raises(UserError, match="record 1 .* has probability exactly 0 or 1"):
        scaled_confidence([[0.5, 0.5], [1.0, 0.0]], [0, 0])
    limit = np.log((1 - 1e-6) / 1e-6)
    clamped = scaled_confidence([[0.0, 1.0], [1.0, 0.0]], [0, 0], clamp=1e-6)
    assert clamped == pytest.approx([-limit, limit])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"confidences": [[0.0], [np.nan]]}, UserError, r"confidences\[1, 0\] is nan"),
        ({"confidences": [[0.0], [1e200]]}, UserError, r"confidences\[1, 0\] is 1e\+200"),
        ({"confidences": [["0.0"], ["1.0"]]}, UserError, "confidences"),
        ({"target": [np.inf]}, UserError, r"target\[0\] is inf"),
        ({"members": [[0], [2]]}, UserError, "members holds other values than 0 and 1"),
        ({"mode": "both"}, UserError, "mode is 'both'"),
        ({"variance": "global"}, UserError, "variance is 'global'"),
        ({"ddof": 2}, UserError, "ddof is 2"),
        ({"confidences": [[0.1], [0.1]]}, UserError, "give all records a variance of 0"),
        ({"target": [0.0, 1.0]}, ValueError, "target has shape"),
        ({"members": [0, 0]}, ValueError, "members has shape"),
    ],
)
def test_bad_input_is_one_clear_error(change, error, message):
    good = {
        "confidences": [[0.0], [1.0]],
        "members": [[0], [0]],
        "target": [0.0],
        "mode": "offline",
    }
    with pytest.raises(error, match=message) as caught:
        lira(**(good | change))
    assert "\n" not in str(caught.value)


def test_equal_confidences_have_no_variance_whatever_rounding_says():
    values = np.array([[0.1, 0.0], [0.1, 1.0], [0.1, 2.0]])
    with pytest.raises(UserError, match="out-models give record 0 a variance of 0"):
        lira(values, np.zeros((3, 2)), [0.0, 0.0], mode="offline")
    got = lira(values, np.zeros((3, 2)), [0.1, 1.0], mode="offline", variance="fixed")
    assert got == pytest.approx([0, 0], abs=1e-15)


@pytest.mark.parametrize("clamp", [0.0, 0.5, 1.0, float("nan"), "0.1"])
def test_a_clamp_is_a_small_probability(clamp):
    with pytest.raises(
        UserError, match="clamp is .*; expected a probability above 0 and below 0.5"
    ):
        scaled_confidence([[0.5, 0.5]], [0], clamp=clamp)


def test_one_model_cannot_be_attacked_by_others():
    with pytest.raises(UserError, match="confidences holds one model; expected at least 2"):
        lira_leave_one_out([[0.0, 1.0]], [[0, 1]])


def test_one_model_a_side_has_no_variance_to_pool():
    with pytest.raises(UserError, match="no record is out of two shadow models"):
        lira([[0.0]], [[0]], [0.0], mode="offline", variance="fixed")
