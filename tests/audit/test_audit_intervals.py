import csv
import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakmeter.audit.intervals import METHODS, epsilon_interval
from leakmeter.audit.posterior import epsilon_cdf
from leakmeter.audit.region import point_estimate
from leakmeter.runtime import UserError

NAMES = {"joint-beta (Bayesian)": "bayesian"}


def published(root, name):
    with open(root / "resources/published" / name, newline="") as handle:
        return list(csv.DictReader(handle))


def same(value, expected, tolerance):
    return value == expected if math.isinf(expected) else abs(value - expected) <= tolerance


# --- published and reference values -------------------------------------------------------------


def test_reference_intervals(root):
    rows = published(root, "bayes_reference_intervals.csv")
    assert len(rows) > 20
    for row in rows:
        low, high = epsilon_interval(
            fn=int(row["FN"]),
            tp=int(row["TP"]),
            fp=int(row["FP"]),
            tn=int(row["TN"]),
            delta=float(row["delta"]),
            alpha=float(row["alpha"]),
            method=NAMES.get(row["method"], row["method"]),
        )
        assert same(low, float(row["eps_lo"]), 1e-5), row
        assert same(high, float(row["eps_hi"]), 1e-5), row


def test_perfect_attack_lower_bounds(root):
    """Printed values to their last digit; the derived ones to 2e-6."""
    for row in published(root, "bayes_perfect_attack_lower_bounds.csv"):
        kind = row["interval"]
        method = next(
            name
            for text, name in (
                ("Clopper-Pearson", "clopper-pearson"),
                ("Jeffreys", "jeffreys"),
                ("joint posterior", "bayesian"),
            )
            if text in kind
        )
        n = int(row["trials_per_class"])
        low, _ = epsilon_interval(
            fn=0,
            tp=n,
            fp=0,
            tn=n,
            delta=float(row["delta"]),
            alpha=1 - float(row["confidence"]),
            method=method,
            sides=1 if "one-sided" in kind else 2,
        )
        digits = len(row["eps_lo"].partition(".")[2])
        tolerance = 0.5 * 10**-digits if row["source"] == "published" else 2e-6
        assert abs(low - float(row["eps_lo"])) <= tolerance, row


def test_perfect_attack_closed_forms():
    """No errors: the Clopper-Pearson end of each rate is 1 - tail^(1/n)."""
    for n, delta, alpha in product((5, 1000, 500_000), (0.0, 1e-5, 0.2), (0.01, 0.1)):
        top = -math.expm1(math.log(alpha / 4) / n)
        expected = max(0.0, math.log((1 - delta - top) / top) if top < 1 - delta else 0.0)
        low, high = epsilon_interval(
            fn=0, tp=n, fp=0, tn=n, delta=delta, alpha=alpha, method="clopper-pearson"
        )
        assert low == pytest.approx(expected, abs=1e-9)
        assert high == math.inf


# --- conventions --------------------------------------------------------------------------------


def test_credible_ends_have_the_stated_mass():
    random = np.random.default_rng(3)
    n = np.floor(10 ** random.uniform(1, 6, (2, 300)))
    errors = np.floor(n * random.choice([0, 1e-4, 0.01, 0.3, 0.5, 0.9, 1], (2, 300)))
    tally = dict(zip(("fn", "fp"), errors, strict=True))
    tally |= dict(zip(("tp", "tn"), n - errors, strict=True))
    delta = random.choice([0.0, 1e-5, 0.05, 0.6], 300)
    alpha = random.choice([1e-6, 0.05, 0.1, 0.9], 300)
    low, high = epsilon_interval(**tally, delta=delta, alpha=alpha)
    atom = epsilon_cdf(0.0, **tally, delta=delta)
    at_low, at_high = (epsilon_cdf(e, **tally, delta=delta) for e in (low, high))
    free = atom < alpha / 2
    assert 100 < free.sum() < 300
    np.testing.assert_allclose(at_low[free], alpha[free] / 2, rtol=1e-6)
    assert (low[~free] == 0).all()
    free = 1 - atom > alpha / 2
    np.testing.assert_allclose(1 - at_high[free], alpha[free] / 2, atol=1e-9, rtol=1e-6)
    assert (high[~free] == 0).all()


def test_zero_ends_follow_from_the_atom():
    tally = {"fn": 50, "tp": 50, "fp": 50, "tn": 50}
    atom = epsilon_cdf(0.0, **tally, delta=0.1)
    assert 0.8 < atom < 0.9
    near = 1e-6
    assert epsilon_interval(**tally, delta=0.1, alpha=2 * (1 - atom) + near)[1] == 0
    assert epsilon_interval(**tally, delta=0.1, alpha=2 * (1 - atom) - near)[1] > 0
    tally = {"fn": 40, "tp": 60, "fp": 40, "tn": 60}
    atom = epsilon_cdf(0.0, **tally, delta=0.1)
    assert epsilon_interval(**tally, delta=0.1, alpha=2 * atom - near)[0] == 0
    assert epsilon_interval(**tally, delta=0.1, alpha=2 * atom + near)[0] > 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("tally", [(3, 97, 10, 90), (0, 9, 0, 5), (98, 2, 97, 3), (40, 60, 50, 50)])
def test_one_sided_is_two_sided_at_twice_alpha(method, tally):
    named = dict(zip(("fn", "tp", "fp", "tn"), tally, strict=True))
    low, high = epsilon_interval(**named, delta=1e-5, alpha=0.05, method=method, sides=1)
    both = epsilon_interval(**named, delta=1e-5, alpha=0.1, method=method)
    assert low == pytest.approx(both[0], abs=1e-9)
    assert high == math.inf
    wide = epsilon_interval(**named, delta=1e-5, alpha=0.7, method=method, sides=1)
    assert low <= wide[0] < math.inf


def test_methods_order_for_a_clear_attack():
    """The credible interval is the narrowest, Clopper-Pearson the widest; all hold the estimate."""
    tally = {"fn": 50, "tp": 450, "fp": 100, "tn": 400, "delta": 1e-5}
    ends = [epsilon_interval(**tally, alpha=0.1, method=m) for m in METHODS]
    widths = [high - low for low, high in ends]
    assert widths == sorted(widths)
    estimate = point_estimate(**tally)
    assert all(low < estimate < high for low, high in ends)


# --- the whole range ----------------------------------------------------------------------------


@pytest.mark.parametrize("n", [5, 50, 5_000, 500_000])
@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.3, 0.999])
def test_every_kind_of_tally_gives_an_ordered_interval(n, delta):
    some = sorted({0, 1, n // 10, n // 2, n - 1, n})
    fn, fp = (a.ravel() for a in np.meshgrid(some, some))
    for method, alpha in product(METHODS, (1e-12, 0.05, 0.999)):
        low, high = epsilon_interval(
            fn=fn, tp=n - fn, fp=fp, tn=n - fp, delta=delta, alpha=alpha, method=method
        )
        assert not np.isnan(low).any()
        assert (low >= 0).all()
        assert (low <= high).all()
        assert np.isfinite(low).all()
        assert method != "bayesian" or np.isfinite(high).all()


def test_there_is_no_cap():
    _, high = epsilon_interval(fn=0, tp=500_000, fp=0, tn=500_000, delta=0.0, alpha=1e-6)
    # P(eps > t) is about 2 P(FNR < e^-t) = 2 sqrt(2 n e^-t) sqrt(2 / pi) for a chi-square_1
    expected = math.log(2 * 500_000) + 2 * math.log(2 * math.sqrt(2 / math.pi) / 5e-7)
    assert high == pytest.approx(expected, abs=1e-3)


def test_a_class_much_larger_than_the_other():
    """With FPR all but known, epsilon is a function of FNR alone and so are its quantiles."""
    from scipy import special

    n = 10**9
    low, high = epsilon_interval(fn=3, tp=17, fp=n // 2, tn=n // 2, delta=0.0, alpha=0.1)
    x = special.betaincinv(3.5, 17.5, [0.95, 0.05])
    expected = np.maximum(np.log(0.5 / x), np.log((1 - x) / 0.5))
    np.testing.assert_allclose([low, high], expected, atol=1e-4)


# --- shapes -------------------------------------------------------------------------------------


def test_vectors_equal_scalars():
    fn = np.array([[0, 7], [30, 50]])
    alpha = np.array([[0.05], [0.2]])
    for method in METHODS:
        low, high = epsilon_interval(
            fn=fn, tp=50 - fn, fp=4, tn=46, delta=0.01, alpha=alpha, method=method
        )
        assert low.shape == high.shape == (2, 2)
        for i, j in product(range(2), range(2)):
            one = epsilon_interval(
                fn=int(fn[i, j]),
                tp=50 - int(fn[i, j]),
                fp=4,
                tn=46,
                delta=0.01,
                alpha=float(alpha[i, 0]),
                method=method,
            )
            assert all(isinstance(v, float) for v in one)
            np.testing.assert_allclose([low[i, j], high[i, j]], one, rtol=1e-12)


# --- properties ---------------------------------------------------------------------------------

counts = st.integers(0, 400)
tallies = st.tuples(counts, counts, counts, counts).filter(
    lambda t: t[0] + t[1] > 0 and t[2] + t[3] > 0
)
methods = st.sampled_from(METHODS)


def ends(tally, **kwargs):
    return epsilon_interval(**dict(zip(("fn", "tp", "fp", "tn"), tally, strict=True)), **kwargs)


def close(a, b):
    return all(x == y or abs(x - y) <= 1e-7 for x, y in zip(a, b, strict=True))


@settings(max_examples=80, deadline=None)
@given(tallies, methods, st.sampled_from([0.0, 1e-5, 0.2]))
def test_symmetries(tally, method, delta):
    """Swapping the two kinds of trials, or the attack's two answers, changes nothing."""
    fn, tp, fp, tn = tally
    value = ends(tally, delta=delta, alpha=0.1, method=method)
    assert close(value, ends((fp, tn, fn, tp), delta=delta, alpha=0.1, method=method))
    assert close(value, ends((tp, fn, tn, fp), delta=delta, alpha=0.1, method=method))


@settings(max_examples=80, deadline=None)
@given(tallies, methods, st.floats(0.001, 0.9), st.floats(0.001, 0.9))
def test_intervals_nest_in_alpha(tally, method, a, b):
    wide = ends(tally, delta=0.01, alpha=min(a, b), method=method)
    narrow = ends(tally, delta=0.01, alpha=max(a, b), method=method)
    assert wide[0] <= narrow[0] + 1e-7
    assert narrow[1] <= wide[1] + 1e-7


@settings(max_examples=80, deadline=None)
@given(tallies, methods, st.floats(0, 0.95), st.floats(0, 0.95))
def test_ends_fall_as_delta_grows(tally, method, a, b):
    strict = ends(tally, delta=min(a, b), alpha=0.1, method=method)
    loose = ends(tally, delta=max(a, b), alpha=0.1, method=method)
    assert loose[0] <= strict[0] + 1e-7
    assert loose[1] <= strict[1] + 1e-7


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rates", [(0.1, 0.1), (0.3, 0.2), (0.05, 0.6), (0.9, 0.8), (0.5, 0.45)])
def test_more_trials_narrow_the_interval(method, rates):
    n = 20 * 4 ** np.arange(8)
    fn, fp = (np.rint(n * r) for r in rates)
    low, high = epsilon_interval(
        fn=fn, tp=n - fn, fp=fp, tn=n - fp, delta=0.0, alpha=0.1, method=method
    )
    width = high - low
    assert (np.diff(width) < 0).all()
    # and in the end as 1 / sqrt(trials)
    assert width[-2] / width[-1] == pytest.approx(2, abs=0.1)


# --- errors -------------------------------------------------------------------------------------

GOOD = {"fn": 1, "tp": 9, "fp": 2, "tn": 8, "delta": 0.0, "alpha": 0.1}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"method": "wald"},
            "method must be one of bayesian, jeffreys, clopper-pearson, got 'wald'",
        ),
        ({"method": None}, "method must be one of .*, got None"),
        ({"sides": 3}, "sides must be 1 or 2, got 3"),
        ({"alpha": 0.0}, r"alpha must lie in \[1e-12, 1\), got 0"),
        ({"alpha": 1.0}, r"alpha must lie in \[1e-12, 1\), got 1"),
        ({"delta": 1.0}, r"delta must lie in \[0, 1\), got 1"),
        ({"fn": -1}, "fn must count trials"),
        ({"tn": 0.5}, "tn must count trials"),
        ({"fp": 0, "tn": 0}, r"fp \+ tn must be at least 1"),
    ],
)
def test_one_clear_error_each(change, message):
    with pytest.raises(UserError, match=message) as caught:
        epsilon_interval(**(GOOD | change))
    assert "\n" not in str(caught.value)


def test_tallies_are_never_positional():
    with pytest.raises(TypeError):
        epsilon_interval(1, 9, 2, 8, 0.0, 0.1)
