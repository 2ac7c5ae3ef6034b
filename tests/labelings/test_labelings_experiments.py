"""Experiments of the labelings chain: their rows against brute force and against each other."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from leakmeter.labelings.attacks import fewest_queries
from leakmeter.labelings.counting import count, count_for_auc
from leakmeter.labelings.experiments import (
    certainty,
    conjecture,
    cost,
    counting,
    example,
    genuine_set,
    growth,
    improvement,
    inference,
    left_swaps,
    pruning,
    puzzle,
    recovery,
    rounding,
)
from leakmeter.labelings.experiments.facts import Facts
from leakmeter.labelings.guesses import exact_auc, ranking_order
from leakmeter.labelings.posteriors import label_posterior
from leakmeter.reporting.measurements import write_measurements
from leakmeter.reporting.recording import Recorder
from leakmeter.runtime import UserError

COUNTING = {
    "example": {"below": 120},
    "growth": {"aucs": ["1/2", "3/4"], "multiples": 3},
    "conjecture": {"denominators_below": 41, "range_denominators_below": 11},
    "cost": {"sizes": [10, 20, 40], "recurrence_up_to": 20},
}


@pytest.fixture
def record():
    return Recorder("labelings", "test", 1)


@pytest.fixture
def facts(root):
    folder = root / "resources/published"
    names = ("published_facts", "statements")
    return Facts([folder / f"auc_labelings_{name}.csv" for name in names])


def value(record, item, cell, metric):
    (row,) = (r for r in record.rows if (r["item"], r["cell"], r["metric"]) == (item, cell, metric))
    return row["value"]


def note(record, item, cell, metric):
    (row,) = (r for r in record.rows if (r["item"], r["cell"], r["metric"]) == (item, cell, metric))
    return row["note"]


def genuine(n=40, seed=0):
    """Scores that rank a little better than chance, with labels: a stand-in for a test set."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % 3 == 0).astype(np.uint8)
    return rng.normal(size=n) + labels, labels


# --- facts --------------------------------------------------------------------------------------


def test_facts_are_read_as_printed(facts):
    assert facts.example_auc() == Fraction(1387, 1440)
    guesses, auc = facts.puzzle()
    assert guesses.tolist() == [0.2, 0.5, 0.9, 0.1]
    assert auc == Fraction(3, 4)
    assert facts.integer("contest submissions per day") == 5


def test_facts_name_what_they_lack(tmp_path, facts):
    with pytest.raises(UserError, match="no row has the quantity 'age'"):
        facts.text("age")
    with pytest.raises(UserError, match="expected a whole number"):
        facts.integer("example AUC")
    with pytest.raises(UserError, match=r"none\.csv: cannot be read"):
        Facts([tmp_path / "none.csv"])
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UserError, match=r"other\.csv: cannot be read"):
        Facts([tmp_path / "other.csv"])


# --- counting -----------------------------------------------------------------------------------


def test_puzzle_lists_every_labeling_and_marks_one(record, facts):
    puzzle.measure(record, facts)
    guesses, _ = facts.puzzle()
    order = ranking_order(guesses)
    rows = [r for r in record.rows if r["metric"] == "auc"]
    assert len(rows) == 2**4 - 2
    for row in rows:
        labels = [int(c) for c in row["cell"].removeprefix("labels=").split("-")]
        assert row["value"] == float(exact_auc(labels, order))
        compatible = value(record, "puzzle", row["cell"], "compatible")
        assert compatible == (exact_auc(labels, order) == Fraction(3, 4))
    assert value(record, "puzzle", "", "labelings") == 1
    assert note(record, "puzzle", "", "first_labeling") == "1;0;1;0"
    assert note(record, "puzzle", "", "auc_of_first") == "3/4"


def test_captions_of_the_drawings_come_out_of_the_drawings(record, facts):
    left_swaps.measure(record, facts)
    for name in ("y", "z"):
        printed = facts.text(f"Figure 1 misranked pairs of {name}")
        assert note(record, "figure1", "", f"pairs_{name}") == printed
    assert value(record, "figure1", "", "pairs_z") == value(record, "figure1", "", "pairs_y") + 1
    assert value(record, "figure1", "", "swap_index") == 6
    assert note(record, "figure2", "", "swaps") == facts.text("Figure 2 left-swap counts")
    assert value(record, "figure2", "", "misranked") == 4
    # what is drawn is what is counted
    for item, stage, pairs in (("figure1", "y", 4), ("figure1", "z", 5), ("figure2", "s2", 4)):
        drawn = [
            r["note"] for r in record.rows if f"stage={stage};" in r["cell"] and r["item"] == item
        ]
        assert sum(len(text.split()) for text in drawn) == pairs


def test_a_swap_is_found_only_where_there_is_one():
    assert left_swaps.swap_between(np.array([0, 0, 1]), np.array([0, 1, 0])) == 3
    with pytest.raises(UserError, match="no single left-swap"):
        left_swaps.swap_between(np.array([0, 0, 1]), np.array([1, 0, 0]))


def test_example_rows_sum_to_w_and_cover_exactly_the_sizes_with_labelings(record, facts):
    example.measure(record, facts, {"below": 120})
    auc = facts.example_auc()
    sums: dict[int, int] = {}
    for row in record.rows:
        if (row["item"], row["metric"]) == ("w", "v"):
            axes = dict(part.split("=") for part in row["cell"].split(";"))
            n0, n1 = int(axes["n0"]), int(axes["n1"])
            d = value(record, "w", row["cell"], "misranked")
            assert row["value"] == count(n0, n1, int(d))
            assert 1 - Fraction(int(d), n0 * n1) == auc
            sums[int(axes["n"])] = sums.get(int(axes["n"]), 0) + int(row["value"])
            assert value(record, "w", row["cell"], "w") == count_for_auc(int(axes["n"]), auc)
    assert sums == {n: w for n in range(2, 120) if (w := count_for_auc(n, auc))}


def test_example_facts_follow_from_the_counts(record, facts):
    example.measure(record, facts, {"below": 120})
    auc = facts.example_auc()
    counts = {n: count_for_auc(n, auc) for n in range(2, 120)}
    last = int(value(record, "w", "", "last_n_of_decrease"))
    falling = [w for n, w in counts.items() if w and n <= last]
    assert all(a > b for a, b in itertools.pairwise(falling))
    following = next(w for n, w in counts.items() if w and n > last)
    assert following > falling[-1]
    assert value(record, "w", "", "threshold") == 108
    below = {n: w for n, w in counts.items() if w and n < 108}
    assert value(record, "w", "", "n_of_smallest_below_threshold") == min(below, key=below.get)
    assert value(record, "w", "", "auc_percent") == pytest.approx(96.3, abs=0.05)
    assert note(record, "w", "n=106", "magnitude") == "hundreds of thousands"


def test_every_enumerated_labeling_is_distinct_and_right(record, facts):
    example.measure(record, facts, {"below": 120})
    expected = count_for_auc(106, facts.example_auc())
    for metric in ("labelings", "distinct", "right_auc"):
        assert value(record, "enumeration", "n=106", metric) == expected
    assert value(record, "enumeration", "n=106", "numerator") == 1387
    assert value(record, "enumeration", "n=106", "denominator") == 1440


def test_distinct_rows_sees_repetitions():
    rows = np.array([[1, 2], [1, 3], [1, 2]], np.uint8)
    assert example.distinct_rows([rows[:2], rows[2:]]) == 2


def test_a_range_that_misses_the_papers_sizes_is_refused(record, facts):
    with pytest.raises(UserError, match=r"labelings\.example\.below: got 108"):
        example.measure(record, facts, {"below": 108})


@pytest.mark.parametrize(
    ("counts", "last"), [({4: 3, 5: 2, 7: 2}, 5), ({4: 3, 6: 1}, 6), ({2: 1, 3: 5}, 2)]
)
def test_last_of_decrease_is_strict(counts, last):
    assert example.last_of_decrease(counts) == last


def test_magnitudes_in_words():
    words = [example.magnitude(10**k) for k in range(8)]
    assert words == [
        *("ones", "tens", "hundreds"),
        *("thousands", "tens of thousands", "hundreds of thousands"),
        *("millions", "tens of millions"),
    ]
    assert example.magnitude(999_999) == "hundreds of thousands"
    with pytest.raises(ValueError, match="expected 1 to"):
        example.magnitude(0)


def test_growth_is_exact_and_at_least_exponential(record):
    growth.measure(record, {"aucs": ["3/4", "1/2"], "multiples": 4})
    assert value(record, "growth", "", "sizes") == 8
    assert value(record, "growth", "", "below_exponential") == 0
    for n in (16, 32, 48, 64):
        w = count_for_auc(n, Fraction(3, 4))
        assert value(record, "growth", f"auc=3/4;n={n}", "w") == w
        bits = value(record, "growth", f"auc=3/4;n={n}", "bits_per_record")
        assert bits == pytest.approx(math.log2(w) / n)


def test_growth_below_exponential_is_counted(record, monkeypatch):
    rows = [
        {"p": 1, "q": 2, "multiple": t, "n": 8 * t, "w": w, "log2_w": 0.0, "bits_per_record": 0.0}
        for t, w in ((1, 10), (2, 99), (3, 1000))
    ]
    monkeypatch.setattr(growth, "growth_rows", lambda *_: rows)
    growth.measure(record, {"aucs": ["1/2"], "multiples": 3})
    assert value(record, "growth", "", "below_exponential") == 1


def test_conjecture_totals_are_cumulative_and_name_the_failing_denominators(record, facts):
    settings = {"denominators_below": 61, "range_denominators_below": 6}
    conjecture.measure(record, facts, settings)
    totals = {}
    for bound in (50, 60):
        phi = sum(sum(math.gcd(p, q) == 1 for p in range(1, q)) for q in range(2, bound + 1))
        assert value(record, "conjecture", f"q_max={bound}", "fractions_tested") == phi
        totals[bound] = value(record, "conjecture", f"q_max={bound}", "violations_strict")
        assert note(record, "conjecture", f"q_max={bound}", "denominators_strict") == "4;16;36"
    assert totals[50] == totals[60] > 0
    per_q = [value(record, "conjecture", f"q={q}", "violations") for q in (4, 16, 36)]
    assert sum(per_q) == totals[60]


def test_counterexamples_are_increases_of_w(record, facts):
    conjecture.measure(record, facts, {"denominators_below": 41, "range_denominators_below": 6})
    for p, q, strict in ((3, 4, False), (15, 16, False), (35, 36, False), (1387, 1440, True)):
        cell = f"p={p};q={q}"
        row = {
            m: value(record, "conjecture", cell, m) for m in ("n_before", "n_after", "threshold")
        }
        assert row["n_before"] < row["n_after"] <= row["threshold"]
        before, after = (
            count_for_auc(int(row[m]), Fraction(p, q)) for m in ("n_before", "n_after")
        )
        assert value(record, "conjecture", cell, "w_before") == before
        assert value(record, "conjecture", cell, "w_after") == after > before
        assert value(record, "conjecture", cell, "holds_strictly") == strict


def test_range_of_misranked_pairs_is_exceeded(record, facts):
    conjecture.measure(record, facts, {"denominators_below": 20, "range_denominators_below": 8})
    fractions = value(record, "range", "q_max=7", "fractions")
    assert value(record, "range", "q_max=7", "fractions_beyond_q") == fractions == 17
    n0, n1, d = (int(value(record, "range", "p=1387;q=1440", m)) for m in ("n0", "n1", "misranked"))
    assert 1440 < d <= n0 * n1
    assert 1 - Fraction(d, n0 * n1) == Fraction(1387, 1440)


def test_cost_of_the_recurrence_grows_with_n0(record):
    cost.measure(record, {"sizes": [40, 10, 20, 30], "recurrence_up_to": 30})
    assert 0.8 < value(record, "cost", "", "growth_power") < 1
    assert {r["cell"] for r in record.rows if r["metric"] == "recurrence"} == {
        "n=10",
        "n=20",
        "n=30",
    }
    for n in (10, 20, 30):
        cells = value(record, "cost", f"n={n}", "table_entries")
        assert value(record, "cost", f"n={n}", "recurrence") > cells
        assert value(record, "cost", f"n={n}", "ours") < cells


def test_timings_have_a_row_per_method_and_size():
    frame = cost.timings({"sizes": [20, 10], "seconds": 1.0})
    assert sorted(set(frame["n"])) == [10, 20]
    assert set(frame["method"]) == {"ours", "recurrence", "full-polynomial"}
    assert (frame["seconds"] > 0).all()


def test_counting_joins_all_and_is_writable(root, tmp_path):
    folder = root / "resources/published"
    paths = [folder / f"auc_labelings_{n}.csv" for n in ("published_facts", "statements")]
    record = counting.measure(paths, COUNTING, scale="test", seed=3)
    assert {row["item"] for row in record.rows} == {
        *("puzzle", "figure1", "figure2", "w", "enumeration", "growth", "conjecture", "range"),
        "cost",
    }
    assert {row["data"] for row in record.rows} == {"exact"}
    write_measurements(tmp_path / "m.csv", record.rows)


# --- inference ----------------------------------------------------------------------------------


def test_expectations_equal_averages_over_the_labelings(record, brute_force):
    frame = improvement.measure_exact(record, {"sizes": [8], "aucs": ["2/3"]})
    labelings, ones, wrong = brute_force(8)
    chosen = labelings[3 * wrong == ones * (8 - ones)]
    share = chosen.mean(axis=0)
    assert np.allclose(frame["probability"], share)
    cell = "n=8;auc=2/3"
    assert value(record, "posterior", cell, "log2_labelings") == pytest.approx(
        math.log2(len(chosen))
    )
    accuracy = np.maximum(share, 1 - share).mean()
    assert value(record, "posterior", cell, "expected_accuracy") == pytest.approx(accuracy)
    losses = [improvement.log_loss(share, labels) for labels in chosen]
    assert value(record, "posterior", cell, "expected_log_loss") == pytest.approx(np.mean(losses))
    assert value(record, "posterior", cell, "expected_auc") == pytest.approx(2 / 3)


def test_only_the_largest_size_is_drawn(record):
    frame = improvement.measure_exact(record, {"sizes": [12, 6], "aucs": ["1/2", "3/4"]})
    assert set(frame["n"]) == {12}
    assert set(frame["auc"]) == {"1/2", "3/4"}
    assert len(frame) == 24


def test_an_auc_that_a_size_cannot_have_is_left_out(record):
    frame = improvement.measure_exact(record, {"sizes": [6, 20], "aucs": ["1/2", "77/100"]})
    assert {r["cell"] for r in record.rows} == {"n=6;auc=1/2", "n=20;auc=1/2", "n=20;auc=77/100"}
    assert set(frame["n"]) == {20}
    with pytest.raises(UserError, match=r"labelings\.posterior: no labeling of 6 records"):
        improvement.measure_exact(record, {"sizes": [6], "aucs": ["77/100"]})


def test_reranking_by_a_posterior_that_descends_gains(record, brute_force):
    """Ten records at AUC 3/5: one class size, and the posterior does not ascend with the guesses."""
    improvement.measure_exact(record, {"sizes": [10], "aucs": ["3/5"]})
    labelings, ones, wrong = brute_force(10)
    chosen = labelings[5 * (ones * (10 - ones) - wrong) == 3 * ones * (10 - ones)]
    best = np.argsort(chosen.mean(axis=0), kind="stable")
    gained = np.mean([float(exact_auc(labels, best)) for labels in chosen])
    assert value(record, "posterior", "n=10;auc=3/5", "expected_auc_improved") == pytest.approx(
        gained
    )
    assert gained > 0.6


def test_realised_values_are_those_of_the_true_labels():
    scores, labels = genuine()
    order = ranking_order(scores)
    truth, auc = labels[order], exact_auc(labels, order)
    result = label_posterior(len(labels), auc, int(labels.sum()))
    found = improvement.realised(result, truth, auc)
    p = result.probabilities()
    assert found["accuracy"] == np.mean((p >= 0.5).astype(int) == truth)
    expected = -np.mean(np.log(np.where(truth == 1, p, 1 - p)))
    assert found["log_loss"] == pytest.approx(expected)
    assert found["majority_accuracy"] == pytest.approx(26 / 40)
    assert found["auc"] == float(auc)


def test_log_loss_of_certain_guesses():
    assert improvement.log_loss([0.0, 1.0], np.array([0, 1])) == 0
    assert improvement.log_loss([0.0, 1.0], np.array([1, 1])) == math.inf


def test_genuine_posteriors_have_a_draw_per_split(record):
    improvement.measure_genuine(record, [genuine(seed=s) for s in range(3)])
    keys = {(row["cell"], row["metric"]): row for row in record.rows}
    for known in ("known", "unknown"):
        assert keys[f"ones={known}", "accuracy"]["n"] == 3
    assert keys["ones=known", "class_sizes"]["value"] == 1
    assert (
        keys["ones=unknown", "log2_labelings"]["value"]
        >= keys["ones=known", "log2_labelings"]["value"]
    )


def test_certain_attacks_determine_every_labeling(record):
    certainty.measure(record, {"records": 5})
    attacks = {"pairs", "swaps", "weighing", "pruning by pairs"}
    for attack in attacks:
        assert value(record, "certainty", f"attack={attack}", "undetermined") == 0
        for n in range(2, 6):
            assert value(record, "certainty", f"attack={attack};n={n}", "labelings") == 2**n - 2
            most = value(record, "certainty", f"attack={attack};n={n}", "most_queries")
            assert most >= value(record, "certainty", f"attack={attack};n={n}", "mean_queries")


def test_a_failing_attack_is_counted(record, monkeypatch):
    right = certainty.pair_attack

    def wrong_on_one(oracle):
        result = right(oracle)
        if result.labels.tolist() == [0, 1, 1]:
            result.labels[0] = -1
        return result

    monkeypatch.setattr(certainty, "pair_attack", wrong_on_one)
    certainty.measure(record, {"records": 3})
    assert value(record, "certainty", "attack=pairs;n=3", "undetermined") == 1
    assert value(record, "certainty", "attack=pairs", "undetermined") == 1


def test_inference_joins_both(tmp_path):
    settings = {"posterior": {"sizes": [8], "aucs": ["1/2"]}, "certainty": {"records": 3}}
    record, curves = inference.measure(settings, scale="test", seed=1)
    assert {row["item"] for row in record.rows} == {"posterior", "certainty"}
    assert len(curves) == 8
    write_measurements(tmp_path / "m.csv", record.rows)


# --- genuine sets -------------------------------------------------------------------------------


def test_rounding_adds_labelings_and_the_exact_answer_has_fewest(record):
    rounding.measure(record, [genuine(30, s) for s in (0, 1)], {"decimals": 4})
    for known in ("known", "unknown"):
        bits = [
            value(record, "rounding", f"decimals={d};ones={known}", "bits")
            for d in ("none", 1, 2, 3, 4, "exact")
        ]
        assert bits[0] == max(bits)
        assert bits[-1] == min(bits)
        assert bits[-1] < bits[1]
    assert value(record, "rounding", "decimals=none;ones=unknown", "bits") == math.log2(2**30 - 2)


def test_rounding_counts_what_agrees_with_the_rounded_auc(record, brute_force):
    scores, labels = genuine(12)
    rounding.measure(record, [(scores, labels)], {"decimals": 1})
    _, ones, wrong = brute_force(12)
    values = 1 - wrong / (ones * (12 - ones))
    shown = round(exact_auc(labels, ranking_order(scores)), 1)
    agreeing = np.abs(values - float(shown)) <= 0.05 + 1e-12
    bits = value(record, "rounding", "decimals=1;ones=unknown", "bits")
    assert bits == pytest.approx(math.log2(agreeing.sum()))
    same = agreeing & (ones == labels.sum())
    bits = value(record, "rounding", "decimals=1;ones=known", "bits")
    assert bits == pytest.approx(math.log2(same.sum()))


def test_recovery_counts_queries_days_and_labels(record):
    splits = [genuine(40, s) for s in (0, 1)]
    curves = recovery.measure(record, splits, decimals=[None, 4], per_day=5)
    for attack in ("pairs", "swaps", "weighing"):
        cell = f"attack={attack};decimals=exact"
        assert value(record, "attacks", cell, "correct") == 40
        assert value(record, "attacks", cell, "certain") == 1
        queries = next(
            d["values"] for d in record.draws if (d["cell"], d["metric"]) == (cell, "queries")
        )
        days = np.mean([-(-q // 5) for q in queries])
        assert value(record, "attacks", cell, "days") == days
        last = curves[curves["attack"] == attack].iloc[-1]
        assert (last["queries"], last["known"]) == (queries[0], 40)
    assert value(record, "attacks", "attack=posterior;decimals=exact", "certain") == 0
    bound = fewest_queries(40, int(splits[0][1].sum()))
    assert value(record, "attacks", "attack=pairs;decimals=exact", "fewest_queries") == bound
    assert value(record, "attacks", "", "submissions_a_day") == 5


def test_an_attack_that_rounding_defeats_has_no_queries(record):
    recovery.measure(record, [genuine(40)], decimals=[2], per_day=5)
    cells = {r["cell"] for r in record.rows if r["metric"] == "queries"}
    assert "attack=swaps;decimals=2" not in cells
    assert "attack=pairs;decimals=2" in cells


def test_an_attack_defeated_on_some_splits_only_says_on_how_many(record, monkeypatch):
    real = recovery.run_attacks
    calls = itertools.count()

    def without_pairs_first(*args, **kwargs):
        results = real(*args, **kwargs)
        return results if next(calls) else [r for r in results if r.attack != "pairs"]

    monkeypatch.setattr(recovery, "run_attacks", without_pairs_first)
    recovery.measure(record, [genuine(20, 0), genuine(20, 1)], decimals=[3], per_day=5)
    assert value(record, "attacks", "attack=pairs;decimals=3", "splits_possible") == 1
    cells = {r["cell"] for r in record.rows if r["metric"] == "queries"}
    assert "attack=pairs;decimals=3" not in cells


def test_pruning_ends_with_the_true_labels_or_only_counts():
    record = Recorder("labelings", "test", 1, origin="diabetes_high", data="related", note="n")
    curves = pruning.measure(record, {"sizes": [12, 60], "max_labelings": 5000})
    for attack in ("pruning by pairs", "pruning by rankings"):
        assert value(record, "pruning", f"n=12;attack={attack}", "correct") == 12
        part = curves[curves["attack"] == attack]
        assert part["labelings"].is_monotonic_decreasing
        assert part["labelings"].iloc[-1] == 1
        assert part["known"].iloc[-1] == 12
        assert part["expected_auc"].iloc[-1] == 1
    assert value(record, "pruning", "n=60", "log2_labelings") > math.log2(5000)
    assert set(curves["n"]) == {12}
    assert {row["m"] for row in record.rows} == {12, 60}


def test_pruning_nothing_leaves_an_empty_table_with_columns():
    record = Recorder("labelings", "test", 1, origin="diabetes_high", data="related", note="n")
    curves = pruning.measure(record, {"sizes": [60], "max_labelings": 1})
    assert curves.empty
    assert "labelings" in curves


def test_a_genuine_set_is_labelled_related_and_repeatable(root, tmp_path):
    paths = [root / "resources/published/auc_labelings_statements.csv"]
    settings = {
        "splits": 2,
        "decimals": 2,
        "oracle_decimals": [3],
        "pruning": {"sizes": [12], "max_labelings": 1000},
    }
    frames = []
    for _ in range(2):
        record, curves = genuine_set.measure("wine", paths, settings, scale="test", seed=1)
        assert {row["data"] for row in record.rows} == {"related"}
        assert all("no experiment on data" in row["note"] for row in record.rows)
        assert {row["origin"] for row in record.rows} == set(curves["origin"]) == {"wine"}
        write_measurements(tmp_path / "m.csv", record.rows)
        frames.append(((tmp_path / "m.csv").read_bytes(), curves))
    assert frames[0][0] == frames[1][0]
    pd.testing.assert_frame_equal(frames[0][1], frames[1][1])
    assert set(curves["attack"]) >= {"pairs", "posterior", "pruning by pairs"}
