import math

import pytest

from leakmeter.audit.comparisons import perfect_attack_rows, width_rows
from leakmeter.audit.intervals import METHODS, epsilon_interval
from leakmeter.runtime import UserError


def test_width_rows_hold_every_cell_and_method():
    rates = [(0.1, 0.2), (0.0, 0.5), (0.45, 0.5)]
    rows = width_rows(trials=[40, 1000], rates=rates, delta=1e-5, alpha=0.1)
    keys = [(r["trials"], r["fnr"], r["fpr"], r["method"]) for r in rows]
    assert keys == [(n, x, y, m) for n in (40, 1000) for x, y in rates for m in METHODS]
    for row in rows:
        low, high = epsilon_interval(
            **{k: row[k] for k in ("fn", "tp", "fp", "tn", "delta", "alpha", "method")}
        )
        assert (row["low"], row["high"]) == pytest.approx((low, high))
        assert row["fn"] + row["tp"] == row["fp"] + row["tn"] == row["trials"] // 2
        assert row["fn"] == round(row["fnr"] * row["trials"] / 2)


def test_width_ratios():
    rows = width_rows(trials=[200], rates=[(0.1, 0.2), (0.0, 0.5)], delta=0.0, alpha=0.1)
    regular = {r["method"]: r for r in rows[:3]}
    assert regular["bayesian"]["bayesian_over_method"] == 1
    for method in ("jeffreys", "clopper-pearson"):
        row = regular[method]
        expected = regular["bayesian"]["width"] / (row["high"] - row["low"])
        assert row["bayesian_over_method"] == pytest.approx(expected)
        assert 0.5 < row["bayesian_over_method"] < 1
    unbounded = {r["method"]: r for r in rows[3:]}
    assert unbounded["jeffreys"]["width"] == math.inf
    assert unbounded["jeffreys"]["bayesian_over_method"] == 0
    assert unbounded["bayesian"]["bayesian_over_method"] == 1


def test_width_of_an_empty_interval_has_no_ratio():
    rows = width_rows(trials=[2000], rates=[(0.5, 0.5)], delta=0.5, alpha=0.1)
    assert all(r["width"] == 0 and math.isnan(r["bayesian_over_method"]) for r in rows)


def test_perfect_attack_rows():
    rows = perfect_attack_rows(trials=[1000, 2000], delta=1e-5, alpha=0.1)
    assert len(rows) == 2 * len(METHODS) * 2
    by_key = {(r["trials"], r["method"], r["sides"]): r["low"] for r in rows}
    for method in METHODS:
        for sides in (1, 2):
            # twice the trials halve the largest rate that explains no errors
            gain = by_key[2000, method, sides] - by_key[1000, method, sides]
            assert gain == pytest.approx(math.log(2), abs=0.01)
        assert by_key[2000, method, 1] > by_key[2000, method, 2]


@pytest.mark.parametrize("call", [perfect_attack_rows, width_rows])
@pytest.mark.parametrize("n", [0, 7, -2])
def test_odd_or_missing_trials(call, n):
    extra = {} if call is perfect_attack_rows else {"rates": [(0.1, 0.1)]}
    with pytest.raises(UserError, match=f"trials must be even and at least 2, got {n}"):
        call(trials=[n], delta=0.0, alpha=0.1, **extra)


def test_bad_rates():
    with pytest.raises(UserError, match=r"rates must lie in \[0, 1\], got \(0.1, 1.5\)"):
        width_rows(trials=[10], rates=[(0.1, 1.5)], delta=0.0, alpha=0.1)
