"""Tallies and attack scores of a user: intervals, thresholds, and when nothing was found."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import fisher_exact

from leakmeter.audit.attack import tally
from leakmeter.audit.intervals import METHODS, epsilon_interval
from leakmeter.own import audited
from leakmeter.own.audited import AuditOptions, audit_report, table_kind, tally_report
from leakmeter.own.files import write_folder
from leakmeter.runtime import UserError

TALLY = {"fn": 120, "tp": 380, "fp": 130, "tn": 370}


def score_file(tmp_path, shift, n=600, seed=0):
    random = np.random.default_rng(seed)
    member = np.arange(n) < n // 2  # sorted by membership, as users' tables are
    frame = pd.DataFrame(
        {"score": random.normal(size=n) + shift * member, "member": member.astype(int)}
    )
    path = tmp_path / f"attack{shift}.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("sides", [1, 2])
def test_a_tally_has_the_librarys_interval(method, sides):
    options = AuditOptions(delta=1e-3, alpha=0.05, method=method, sides=sides)
    row = tally_report(TALLY, options).table.iloc[0]
    low, high = epsilon_interval(**TALLY, delta=1e-3, alpha=0.05, method=method, sides=sides)
    assert (row["low"], row["high"]) == (low, high)
    assert row["p"] == fisher_exact([[380, 120], [130, 370]]).pvalue
    assert row["verdict"] == "found"


def test_known_answer():
    row = tally_report({"fn": 0, "tp": 1000, "fp": 0, "tn": 1000}).table.iloc[0]
    assert (round(row["low"], 3), round(row["high"], 3)) == (7.207, 14.501)
    assert row["point"] == np.inf


def test_chance_finds_nothing_and_that_proves_nothing():
    report = tally_report({"fn": 250, "tp": 250, "fp": 240, "tn": 260})
    assert report.table["verdict"].tolist() == ["nothing found"]
    assert report.summary["found"] == 0
    assert "nothing found (p = " in report.sentences[0]
    assert "no proof of privacy" in report.sentences[0]


def test_a_table_of_tallies_has_settings_of_its_own(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("name,fn,tp,fp,tn,delta,alpha\na,10,90,20,80,0,0.1\nb,10,90,20,80,0.01,0.01\n")
    table = audit_report(tallies=path).table
    for i, (delta, alpha) in enumerate([(0, 0.1), (0.01, 0.01)]):
        want = epsilon_interval(fn=10, tp=90, fp=20, tn=80, delta=delta, alpha=alpha)
        assert tuple(table.loc[i, ["low", "high"]]) == want
    assert table["name"].tolist() == ["a", "b"]


def test_rows_without_a_name_are_named_by_their_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("tn,fp,tp,fn\n80,20,90,10\n50,50,50,50\n")
    report = audit_report(tallies=path)
    assert report.table["name"].tolist() == ["line 2", "line 3"]
    assert report.table.loc[0, ["fn", "tp", "fp", "tn"]].tolist() == [10, 90, 20, 80]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("fn,tp,fp,tn\n1,2,3,-4\n", r"line 2, column tn: is '-4'; expected a whole number from 0"),
        ("fn,tp,fp,tn\n1,2,3,4\n0,0,3,4\n", r"line 3: fn \+ tp is 0; expected trials with members"),
        ("fn,tp,fp,tn\n1,2,0,0\n", r"line 2: fp \+ tn is 0; expected trials with non-members"),
        ("fn,tp,fp\n1,2,3\n", "line 1: no column 'tn'"),
        ("fn,tp,fp,tn,delta\n1,2,3,4,1\n", "line 2, column delta: is '1'; expected a number of at"),
        (
            "fn,tp,fp,tn,alpha\n1,2,3,4,0\n",
            "column alpha: is '0'; expected a number of at least 1e-12 and",
        ),
        (
            "fn,tp,fp,tn\n1,2,3,5000000000\n",
            "line 2: tn is 5000000000; expected a number of trials",
        ),
    ],
)
def test_bad_tallies(tmp_path, content, message):
    path = tmp_path / "t.csv"
    path.write_text(content)
    with pytest.raises(UserError, match=message):
        audit_report(tallies=path)


def test_found_by_the_p_value_but_not_by_the_interval_is_explained():
    counts = {"fn": 120, "tp": 380, "fp": 131, "tn": 369}
    said = tally_report(counts, AuditOptions(delta=0.9)).sentences[0]
    assert "nothing found: at this delta the interval starts at 0, although p = 6.4e-58" in said
    even = tally_report(dict.fromkeys(counts, 50)).sentences[0]
    assert "nothing found (p = 1), which is no proof of privacy." in even


def test_levels_next_to_one_are_not_rounded_to_it():
    counts = {"fn": 120, "tp": 380, "fp": 131, "tn": 369}
    for alpha, level in (
        (1e-12, "0.999999999999"),
        (0.1, "0.9"),
        (0.05, "0.95"),
        (1e-5, "0.99999"),
    ):
        said = tally_report(counts, AuditOptions(alpha=alpha)).sentences[0]
        assert f"has the {level} credible interval" in said


def test_a_selection_without_scores_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("tn,fp,tp,fn\n80,20,90,10\n")
    options = AuditOptions(selection="low")
    with pytest.raises(UserError, match="selection is 'low' and there are no attack scores"):
        audit_report(tallies=path, options=options)
    with pytest.raises(UserError, match="selection is 'low' and there are no attack scores"):
        tally_report(dict.fromkeys(("fn", "tp", "fp", "tn"), 5), options)
    both = audit_report(tallies=path, attack_scores=score_file(tmp_path, 1.5), options=options)
    assert len(both.table) == 2


def test_attack_scores_come_first_and_all_are_counted(tmp_path):
    """However many tallies there are: tables and figures show the first rows."""
    path = tmp_path / "t.csv"
    path.write_text("fn,tp,fp,tn,alpha\n" + "10,90,20,80,0.2\n" * 60)
    scores = score_file(tmp_path, 1.5)
    report = audit_report(tallies=path, attack_scores=scores, options=AuditOptions(alpha=0.05))
    assert report.table["name"].tolist()[:2] == [scores.name, "line 2"]
    assert report.sentences[0].startswith(scores.name)
    assert report.sentences[10] == "Of all 61 attacks, 61 found something."
    assert "in 95% of 400 permutations" in report.sentences[11]


# --- attack scores ------------------------------------------------------------------------------


def test_an_attack_that_works_is_found(tmp_path):
    report = audit_report(attack_scores=score_file(tmp_path, 1.5))
    row, facts = report.table.iloc[0], report.summary["attack_scores"]
    assert row["verdict"] == "found"
    assert row["p"] == pytest.approx(1 / (facts["permutations"] + 1))
    assert row["low"] > facts["null_low"]
    assert row["fn"] + row["tp"] == row["fp"] + row["tn"] == 300
    # unit normals 1.5 apart: AUC = Phi(1.5 / sqrt 2) = 0.856
    assert facts["auc"] == pytest.approx(0.856, abs=0.03)


def test_the_interval_is_that_of_its_tally(tmp_path):
    row = audit_report(attack_scores=score_file(tmp_path, 1.5)).table.iloc[0]
    counts = {name: row[name] for name in ("fn", "tp", "fp", "tn")}
    assert (row["low"], row["high"]) == epsilon_interval(**counts, delta=1e-5, alpha=0.1)


@pytest.mark.parametrize("selection", audited.SELECTIONS)
def test_an_attack_that_knows_nothing_is_found_as_often_as_alpha_says(selection, monkeypatch):
    """30 runs at alpha 0.1: more than 9 "found" has probability below 0.001."""
    monkeypatch.setattr(audited, "permutations", lambda alpha: 39)
    options = AuditOptions(selection=selection)
    found = 0
    for seed in range(30):
        random = np.random.default_rng(seed)
        values, bits = random.normal(size=100), random.permutation(np.arange(100) % 2)
        null = [audited._permuted(values, bits, options, random) for _ in range(39)]
        counts = tally(values, bits, audited.choose(values, bits, options))
        _, p = audited.null_p_value(counts, audited.stack(null), options)
        low, _ = epsilon_interval(**counts, delta=options.delta, alpha=options.alpha)
        found += low > 0 and p <= options.alpha
    assert found <= 9


def test_a_file_name_of_any_bytes(tmp_path):
    path = Path(os.fsdecode(os.fsencode(score_file(tmp_path, 1.5)) + b"_\xe9.csv"))
    score_file(tmp_path, 1.5).rename(path)
    report = audit_report(attack_scores=path)
    assert report.table["name"][0].endswith("_\N{REPLACEMENT CHARACTER}.csv")
    write_folder(report, tmp_path / "out")
    report.as_text().encode()


@pytest.mark.parametrize("selection", audited.SELECTIONS)
def test_no_trial_chooses_its_own_threshold(selection):
    random = np.random.default_rng(3)
    values, bits = random.normal(size=400), np.arange(400) % 2
    options = AuditOptions(selection=selection)
    before = audited.choose(values, bits, options)
    for i in (0, 199, 200, 399):
        changed = values.copy()
        changed[i] += 100.0
        after = audited.choose(changed, bits, options)
        same_half = slice(0, 200) if i < 200 else slice(200, 400)
        np.testing.assert_array_equal(after[same_half], before[same_half])


def test_both_thresholds_lie_in_the_tail_that_was_asked_for():
    random = np.random.default_rng(4)
    bits = np.arange(2000) % 2
    values = random.normal(size=2000) + bits
    for tail, above in (("high", True), ("low", False)):
        threshold = audited.choose(values, bits, AuditOptions(selection=tail))
        assert ((threshold >= np.median(values) - 0.1) == above).all()


def test_percentiles_leave_ten_trials_beyond():
    for half in (10, 100, 300, 10_000):
        high = audited.tail_percentiles(half, "high")
        assert (np.diff(high) > 0).all()
        assert high[0] == 50
        assert half * (1 - high[-1] / 100) >= min(10, 0.05 * half) - 1e-9
        np.testing.assert_allclose(audited.tail_percentiles(half, "low"), 100 - high[::-1])


def test_halves_hold_both_kinds_in_proportion(tmp_path):
    frame = audited.read_table(score_file(tmp_path, 0, n=601), audited.SCORE_SCHEMA)
    values, bits = audited._shuffled(frame, AuditOptions())
    assert sorted(values) == sorted(frame["score"])
    assert abs(bits[:300].sum() - bits[300:].sum()) <= 1


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["0.1,1"] * 10, "has 10 rows of data; expected at least 20"),
        (["0.1,1"] * 30, "column member is 1 in all 30 rows; an audit needs"),
        (["0.1,1"] * 30 + ["0.1,0"] * 3, "has 3 trials with member 0; expected at least 4"),
        (["0.1,1"] * 30 + ["nan,0"], "line 32, column score: is 'nan'"),
        (["0.1,1"] * 30 + ["0.5,2"], "line 32, column member: is '2'; expected 0 or 1"),
    ],
)
def test_bad_attack_scores(tmp_path, rows, message):
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["score,member", *rows]))
    with pytest.raises(UserError, match=message):
        audit_report(attack_scores=path)


def test_kind_of_a_table(tmp_path):
    path = tmp_path / "x.csv"
    for header, kind in (("fn,tp,fp,tn", "tallies"), ("member,score", "attack_scores")):
        path.write_text(f"{header}\n")
        assert table_kind(path) == kind
    path.write_text("a,b\n")
    with pytest.raises(UserError, match="has the columns a, b; expected fn, tp, fp, tn"):
        table_kind(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delta": 1.0}, "delta is 1.0"),
        ({"alpha": 0.0}, "alpha is 0.0"),
        ({"method": "wald"}, "method is 'wald'"),
        ({"sides": 3}, "sides is 3"),
        ({"selection": "authors"}, "selection is 'authors'"),
    ],
)
def test_options(options, message):
    with pytest.raises(UserError, match=message):
        AuditOptions(**options)
    with pytest.raises(UserError, match="neither tallies nor attack scores"):
        audit_report()
