"""Guesses of a user: labelings, posterior and enumeration against brute force."""

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakmeter.labelings.aucs import AucInterval
from leakmeter.own import constrained
from leakmeter.own.constrained import LabelingOptions, labelings_report, read_auc
from leakmeter.runtime import UserError


def written(folder, guesses):
    path = folder / "g.csv"
    path.write_text("guess\n" + "".join(f"{float(g)!r}\n" for g in guesses))
    return path


def auc_of(guesses, labels):
    pairs = [(p, q) for p, y in zip(guesses, labels, strict=True) if y
             for q, z in zip(guesses, labels, strict=True) if not z]  # fmt: skip
    return Fraction(sum(p > q for p, q in pairs), len(pairs)) if pairs else None


def brute_force(guesses, low, high, ones):
    found = [labels for labels in product((0, 1), repeat=len(guesses))
             if (auc := auc_of(guesses, labels)) is not None and low <= auc <= high
             and ones in (None, sum(labels))]  # fmt: skip
    return np.array(found)


@settings(max_examples=40, deadline=None)
@given(
    st.permutations(range(6)),
    st.sampled_from(["0.77", "0.5", "3/4", "1", "0.8", "5/8", "0"]),
    st.sampled_from([None, 2, 3]),
)
def test_everything_against_all_labelings(tmp_path_factory, guesses, auc, ones):
    path = written(tmp_path_factory.mktemp("g"), guesses)
    value = read_auc(auc)
    low, high = (value.low, value.high) if isinstance(value, AucInterval) else (value, value)
    labelings = brute_force(guesses, low, high, ones)
    options = LabelingOptions(ones=ones, enumerate=64)
    if not len(labelings):
        with pytest.raises(UserError, match="no labeling of 6 records"):
            labelings_report(path, auc, options)
        return
    report = labelings_report(path, auc, options)
    assert report.summary["labelings"] == str(len(labelings))
    np.testing.assert_allclose(report.records["probability"], labelings.mean(0), atol=1e-15)
    certain = report.records["certain"]
    assert certain.isna().tolist() == [0 < p < 1 for p in labelings.mean(0)]
    listed = report.records.filter(like="labeling_").to_numpy().T
    assert sorted(map(tuple, listed)) == sorted(map(tuple, labelings))
    by_ones = {int(r.ones): int(r.labelings) for r in report.table.itertuples()}
    assert by_ones == {n1: int((labelings.sum(1) == n1).sum()) for n1 in set(labelings.sum(1))}
    assert report.table["share"].sum() == pytest.approx(1)


def test_a_count_of_the_paper(tmp_path):
    """w(106, 1387/1440) = 468,686 (Whitehill, Table of w)."""
    path = written(tmp_path, range(106))
    report = labelings_report(path, "1387/1440", LabelingOptions(posterior=False))
    assert report.summary["labelings"] == "468686"
    assert "probability" not in report.records


def test_readings_of_an_auc():
    assert read_auc("1387/1440") == Fraction(1387, 1440)
    assert read_auc("0.77") == AucInterval(Fraction(153, 200), Fraction(31, 40))
    assert read_auc("0.770") == AucInterval(Fraction(1539, 2000), Fraction(1541, 2000))
    for wrong in ("1.2", "7/3", "high", "-0.1", "3/0", "1e-3"):
        with pytest.raises(
            UserError, match=f"auc is '{wrong}'; expected a fraction .* or a decimal"
        ):
            read_auc(wrong)


def test_big_counts_are_kept_whole(tmp_path):
    report = labelings_report(written(tmp_path, range(80)), "0.7", LabelingOptions(posterior=False))
    assert int(report.summary["labelings"]) == sum(map(int, report.table["labelings"]))
    assert "about 2^" in report.sentences[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("guess\n0.1\n0.5\n0.1\n", "line 4, column guess: is 0.1 as in line 2; expected distinct"),
        ("guess\n0.1\n", "has 1 row of data; expected at least 2"),
        ("guess\n0.1\ninf\n", "line 3, column guess: is 'inf'"),
        ("score\n0.1\n0.2\n", "line 1: no column 'guess' among 'score'"),
    ],
)
def test_bad_guesses(tmp_path, content, message):
    path = tmp_path / "g.csv"
    path.write_text(content)
    with pytest.raises(UserError, match=message):
        labelings_report(path, "0.5")


def test_bounds(tmp_path):
    path = written(tmp_path, range(30))
    with pytest.raises(UserError, match="ones is 30; expected 1 to 29 of the 30 records"):
        labelings_report(path, "0.77", LabelingOptions(ones=30))
    with pytest.raises(UserError, match="enumerate is -1"):
        LabelingOptions(enumerate=-1)


def test_more_labelings_than_are_listed_cost_nothing_else(tmp_path):
    path = written(tmp_path, range(30))
    plain = labelings_report(path, "0.77")
    report = labelings_report(path, "0.77", LabelingOptions(enumerate=100))
    assert report.sentences == (*plain.sentences, "Not listed, being more than 100.")
    pd.testing.assert_frame_equal(report.records, plain.records)
    assert report.table.equals(plain.table)
    assert (report.summary["enumerate"], report.summary["listed"]) == (100, 0)


def test_listed_labelings_are_printed(tmp_path):
    path = written(tmp_path, range(4))
    for auc, ones, found in (("1/1", 2, ["0011"]), ("3/4", 2, ["0101"]), ("2/3", 1, ["0010"])):
        report = labelings_report(path, auc, LabelingOptions(ones=ones, enumerate=3))
        assert report.sentences[-1] == "Listed in the column labeling_1 of the records."
        assert report.as_text().splitlines()[-len(found) :] == found
    several = labelings_report(path, "0.7", LabelingOptions(enumerate=9))
    listed = several.records.filter(like="labeling_")
    assert several.sentences[-1].endswith(
        f"labeling_1 to labeling_{listed.shape[1]} of the records."
    )
    lines = several.as_text().splitlines()[-listed.shape[1] :]
    assert lines == ["".join(map(str, column)) for column in listed.to_numpy().T]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 6),
    st.sampled_from(["5/7", "0.43", "0.999", "1/13", "0.1", "12/13", "0.001"]),
    st.sampled_from([None, 1, 2]),
)
def test_the_nearest_possible_auc(n, auc, ones):
    value = read_auc(auc)
    low, high = (value.low, value.high) if isinstance(value, AucInterval) else (value, value)
    possible = [
        auc_of(range(n), labels)
        for labels in product((0, 1), repeat=n)
        if ones in (None, sum(labels)) and 0 < sum(labels) < n
    ]
    distances = [max(low - a, a - high, 0) for a in possible]
    if not possible:
        return
    near = constrained.nearest_auc(n, value, ones)
    if min(distances) > 0:
        assert near == min(possible, key=lambda a: (max(low - a, a - high), a))


def test_an_impossible_auc_names_the_file_and_the_nearest(tmp_path):
    path = written(tmp_path, range(4))
    with pytest.raises(UserError) as error:
        labelings_report(path, "0.95", LabelingOptions(ones=2))
    assert str(error.value) == (
        f"{path}: no labeling of 4 records with 2 ones has auc 0.95; expected an AUC that is "
        "possible, the nearest of which is 1/1 (1)"
    )


def test_more_work_than_a_minute_is_refused_before_it_starts(tmp_path):
    path = written(tmp_path, range(2000))
    with pytest.raises(UserError, match="2000 records .* for the posterior"):
        labelings_report(path, "0.77")
    with pytest.raises(UserError, match="need over a minute to count"):
        labelings_report(path, "0.77", LabelingOptions(posterior=False))
    known = constrained.auc_cells(300, read_auc("0.77"), 150)
    assert sum(map(constrained._work, known)) < constrained.POSTERIOR_WORK / 50


def test_a_rounded_one_says_how_to_write_the_exact_one(tmp_path):
    path = written(tmp_path, range(6))
    assert "1/1 stands for exactly 1." in labelings_report(path, "1").as_text()
    assert "stands for exactly" not in labelings_report(path, "1/1").as_text()


def test_what_takes_too_long_names_the_options(tmp_path):
    with pytest.raises(UserError, match="--ones, .*--no-posterior"):
        labelings_report(written(tmp_path, range(400)), "0.77")
