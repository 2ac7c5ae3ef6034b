"""Modified entropy against 60-digit arithmetic; thresholds against the exhaustive search."""

from __future__ import annotations

import warnings
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakmeter.membership.entropy_attack import (
    fit_entropy_attack,
    fixed_entropy_attack,
    modified_entropy,
)
from leakmeter.membership.model_outputs import log_probabilities
from leakmeter.runtime import UserError


def exact_entropy(weights, label):
    """The definition in decimal arithmetic; weights are unnormalised probabilities."""
    total = sum(weights)
    p = [w / total for w in weights]
    entropy = -(1 - p[label]) * p[label].ln()
    return entropy - sum(q * (1 - q).ln() for i, q in enumerate(p) if i != label and q)


def exact_from_logits(logits, label):
    with localcontext() as context:
        context.prec = 900  # 1 - p needs as many digits as the margin has
        return float(exact_entropy([Decimal(float(z)).exp() for z in logits], label))


@pytest.mark.parametrize("margin", [0.0, 0.3, 5.0, 17.0, 40.0, 200.0, 360.0])
@pytest.mark.parametrize("label", [0, 1, 2])
def test_logits_at_any_margin(margin, label):
    logits = np.array([margin, 0.0, -1.25])
    got = modified_entropy([logits], [label], from_logits=True)[0]
    assert got == pytest.approx(exact_from_logits(logits, label), rel=2e-13)
    assert got > 0


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(2, 6), st.floats(0, 365))
def test_the_relative_error_is_that_of_a_rounding_of_the_logits(seed, classes, margin):
    rng = np.random.default_rng(seed)
    logits, label = rng.normal(size=classes), int(rng.integers(classes))
    logits[0] = logits.max() + margin
    got = modified_entropy([logits], [label], from_logits=True)[0]
    expected = exact_from_logits(logits, label)
    # twice what the docstring says is about the error; subnormal numbers have their own spacing
    bound = 4 + 2 * (1 + np.ptp(logits))
    assert abs(got - expected) <= bound * np.finfo(float).eps * expected + 2e-323


@pytest.mark.parametrize("classes", [2, 100, 1000, 10_000])
@pytest.mark.parametrize("spread", [0.01, 1.0, 8.0])
def test_log_probabilities_of_many_classes(classes, spread):
    """log p to a few eps, log(1 - p) to as many more as -log p; the top class as well as any."""
    logits = spread * np.random.default_rng(classes).normal(size=classes)
    top = int(logits.argmax())
    log_p, log_q = (part[0] for part in log_probabilities(logits[None]))
    shown = {top, *range(0, classes, max(1, classes // 50))}
    with localcontext() as context:
        context.prec = 40
        weights = [Decimal(float(z)).exp() for z in logits]
        total = sum(weights)
        for i in shown:
            p = weights[i] / total
            for got, exact, most in (
                (log_p[i], p.ln(), 4),
                (log_q[i], (1 - p).ln(), 4 - float(p.ln())),
            ):
                error = abs((Decimal(float(got)) - exact) / exact)
                assert float(error) <= most * np.finfo(float).eps


def test_shifted_logits_keep_their_digits():
    logits = np.array([[20.0, 1.5, -3.0]])
    near = modified_entropy(logits, [0], from_logits=True)
    far = modified_entropy(logits + 2.0**20, [0], from_logits=True)
    assert far == pytest.approx(near, rel=1e-14)


def test_probabilities_agree_with_logits_until_they_are_rounded():
    rng = np.random.default_rng(0)
    logits = rng.normal(scale=4, size=(200, 7))
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    labels = rng.integers(0, 7, 200)
    from_logits = modified_entropy(logits, labels, from_logits=True)
    assert np.allclose(modified_entropy(p, labels), from_logits, rtol=1e-12)


def test_a_rounded_top_probability_does_not_hide_the_rest():
    # 1 - p is taken from the other classes: the stored 1.0 does not saturate the entropy
    got = modified_entropy([[1.0, 1e-20], [1.0, 3e-20]], [0, 0])
    assert got[1] == pytest.approx(3 * got[0], rel=1e-12)
    assert got[0] == pytest.approx(2e-40, rel=1e-12)


def test_a_clamp_is_the_reference_implementations_rule():
    got = modified_entropy([[0.0, 1.0], [1.0, 0.0]], [0, 1], clamp=1e-30)
    assert got == pytest.approx([-2 * np.log(1e-30)] * 2)


def test_infinite_entropy_is_refused():
    with pytest.raises(UserError, match="record 1 .* infinite because a probability is exactly"):
        modified_entropy([[0.5, 0.5], [0.0, 1.0]], [0, 0])


def test_lost_order_is_said():
    with pytest.warns(RuntimeWarning, match="2 of 3 records have a modified entropy of exactly 0"):
        modified_entropy([[1.0, 0.0], [1.0, 0.0], [0.5, 0.5]], [0, 0, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        modified_entropy([[30.0, 0.0], [300.0, 0.0]], [0, 0], from_logits=True)


@pytest.mark.parametrize(
    ("outputs", "labels", "message"),
    [
        ([[0.5, np.nan]], [0], "row 0 .* expected finite numbers"),
        ([[0.5, 0.6]], [0], "expected probabilities that sum to 1"),
        ([[1.5, -0.5]], [0], r"expected probabilities in \[0, 1\]"),
        ([[0.5, 0.5]], [2], r"labels\[0\] is 2; expected an integer from 0 to 1"),
        ([[0.5, 0.5]], [-1], r"labels\[0\] is -1"),
        ([[0.5, 0.5]], [0.5], r"labels\[0\] is 0.5"),
        ([[0.5, 0.5]], ["a"], "expected integers 0 to 1"),
        ([["0.5", "0.5"]], [0], "probabilities has type <U3; expected real numbers"),
        ([[0.5 + 0j, 0.5]], [0], "probabilities has type complex128; expected real numbers"),
        ([[None, 0.5]], [0], "probabilities has type object"),
        (np.ma.array([[0.5, 0.5]], mask=[[0, 1]]), [0], r"probabilities\[0, 1\] is masked"),
        ([[0.5, 0.5]], np.ma.array([0], mask=[1]), r"labels\[0\] is masked; expected a value"),
        (np.array([["1e400", 1]]).astype(np.longdouble), [0], "expected finite numbers"),
    ],
)
def test_bad_input_is_one_clear_error(outputs, labels, message):
    with pytest.raises(UserError, match=message) as caught:
        modified_entropy(outputs, labels)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("clamp", [0, 1, -1.0, np.nan, "0.1", True])
def test_clamps(clamp):
    with pytest.raises(UserError, match="clamp is .*; expected a probability above 0 and below 1"):
        modified_entropy([[0.5, 0.5]], [0], clamp=clamp)


@pytest.mark.filterwarnings("error")
def test_logits_whose_differences_overflow_are_not_told_to_become_logits():
    with pytest.raises(UserError, match=r"row 1 .* expected logits whose differences float64"):
        modified_entropy([[1.0, 0.0], [1e308, -1e308]], [0, 1], from_logits=True)


def test_shapes():
    with pytest.raises(ValueError, match="at least 2 classes"):
        modified_entropy([[1.0]], [0])
    with pytest.raises(ValueError, match=r"labels has shape \(2,\)"):
        modified_entropy([[0.5, 0.5]], [0, 1])


def balanced(inside, outside, threshold):
    return 0.5 * (np.mean(inside <= threshold) + np.mean(outside > threshold))


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10**6))
def test_class_thresholds_reach_the_exhaustive_optimum(seed):
    rng = np.random.default_rng(seed)
    classes, n = 3, int(rng.integers(20, 60))
    member, nonmember = rng.integers(0, 9, n) / 4, rng.integers(2, 11, n) / 4
    m_labels, n_labels = rng.permutation(np.arange(n) % classes), np.arange(n) % classes
    attack = fit_entropy_attack(
        member, m_labels, nonmember, n_labels, n_classes=classes, shadow="target"
    )
    for label in range(classes):
        inside, outside = member[m_labels == label], nonmember[n_labels == label]
        best = max(balanced(inside, outside, t) for t in np.concatenate((inside, outside)))
        assert balanced(inside, outside, attack.thresholds[label]) == pytest.approx(best)


def test_decisions_use_the_threshold_of_the_class():
    attack = fit_entropy_attack(
        [0.1, 0.2, 1.0, 1.2],
        [0, 0, 1, 1],
        [0.3, 0.5, 1.5, 1.1],
        [0, 0, 1, 1],
        n_classes=2,
        shadow="independent",
    )
    assert attack.thresholds.tolist() == [0.2, 1.0]
    assert attack.members([0.2, 0.21, 0.9, 1.01], [0, 0, 1, 1]).tolist() == [1, 0, 1, 0]
    assert not attack.optimistic


def test_the_target_as_its_own_shadow_is_labelled_optimistic():
    arguments = ([0.1], [0], [0.2], [0])
    assert fit_entropy_attack(*arguments, n_classes=1, shadow="target").optimistic
    assert not fit_entropy_attack(*arguments, n_classes=1, shadow="independent").optimistic
    assert not fixed_entropy_attack(1).optimistic


def test_fitted_thresholds_never_do_worse_than_the_fixed_one_on_their_own_records():
    rng = np.random.default_rng(3)
    member, nonmember = rng.gamma(0.4, size=500), rng.gamma(0.9, size=500)
    labels = np.arange(500) % 5
    fitted = fit_entropy_attack(member, labels, nonmember, labels, n_classes=5, shadow="target")
    fixed = fixed_entropy_attack(5)
    accuracy = [
        np.mean(a.members(member, labels)) - np.mean(a.members(nonmember, labels))
        for a in (fitted, fixed)
    ]
    assert accuracy[0] > accuracy[1]
    assert fixed.members([0.5, 0.51], [0, 4]).tolist() == [True, False]


def test_an_absent_class_is_named():
    with pytest.raises(UserError, match=r"nonmember_labels has no record of class 1, 3 \(2 of 4"):
        fit_entropy_attack(
            np.ones(4), [0, 1, 2, 3], np.ones(2), [0, 2], n_classes=4, shadow="target"
        )
    with pytest.raises(UserError, match="member_entropy\\[0\\] is nan"):
        fit_entropy_attack([np.nan], [0], [1.0], [0], n_classes=1, shadow="target")
    with pytest.raises(UserError, match="shadow is 'mine'"):
        fit_entropy_attack([1.0], [0], [1.0], [0], n_classes=1, shadow="mine")


@pytest.mark.parametrize("n_classes", [0, -1, 1.0, 2.5, "2", None, True])
def test_numbers_of_classes(n_classes):
    with pytest.raises(UserError, match=r"n_classes is .*; expected a whole number, at least 1"):
        fixed_entropy_attack(n_classes)
    with pytest.raises(UserError, match=r"n_classes is .*; expected a whole number, at least 1"):
        fit_entropy_attack([0.1], [0], [0.2], [0], n_classes=n_classes, shadow="target")


@pytest.mark.parametrize("threshold", [np.nan, "0.5", None])
def test_fixed_thresholds(threshold):
    with pytest.raises(UserError, match="threshold is .*; expected a number of nats"):
        fixed_entropy_attack(2, threshold=threshold)
    assert not fixed_entropy_attack(2, threshold=-np.inf).members([0.0], [1]).any()
