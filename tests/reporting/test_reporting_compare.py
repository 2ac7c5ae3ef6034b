"""What moved between two folders: known answers, error rates, both directions."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakmeter.reporting import compare
from leakmeter.reporting.measurements import COLUMNS, read_measurements, write_measurements
from leakmeter.runtime import UserError

BASE = {
    "paper": "dpauc",
    "item": "table1",
    "origin": "wide_deep",
    "metric": "auc",
    "data": "real",
    "scale": "laptop",
    "seed": 1,
}


def row(cell, value, std=None, n=1, **more):
    return BASE | {"cell": cell, "value": value, "std": std, "n": n} | more


def write(folder, rows, verdicts=()):
    write_measurements(folder / "dpauc" / "measurements.csv", rows)
    if verdicts:
        frame = pd.DataFrame(
            verdicts, columns=["id", "item", "cell", "origin", "metric", "verdict", "why"]
        )
        frame.to_csv(folder / "claims.csv", index=False)
    return folder


def states(tmp_path, first, second, **options):
    a, b = write(tmp_path / "a", first), write(tmp_path / "b", second)
    table, _ = compare.compare_folders(a, b, **options)
    return dict(zip(table["cell"], table["state"], strict=True))


def test_every_state(tmp_path):
    first = [
        row("k=1", 0.5),
        row("k=2", 0.5),
        row("k=3", 0.5, 0.1, 100),
        row("k=4", 0.5, 0.1, 100),
        row("k=5", 0.5),
        row("k=6", None),
        row("k=8", 0.5, source_std=0.1),
        row("k=9", 0.5, source_std=0.1),
        row("k=10", float("inf")),
    ]
    second = [
        row("k=1", 0.5),
        row("k=2", 0.6),
        row("k=3", 0.51, 0.1, 100),
        row("k=4", 0.7, 0.1, 100),
        row("k=6", None),
        row("k=7", 1.0),
        row("k=8", 0.6),
        row("k=9", 2.5),
        row("k=10", float("inf")),
    ]
    assert states(tmp_path, first, second) == {
        "k=1": "equal",
        "k=2": "changed",
        "k=3": "within noise",
        "k=4": "moved",
        "k=5": "only in the first",
        "k=6": "equal",
        "k=7": "only in the second",
        "k=8": "within noise",
        "k=9": "moved",
        "k=10": "equal",
    }


def test_the_p_value_is_welchs(tmp_path):
    from scipy import stats

    write(tmp_path / "a", [row("k=1", 1.0, 0.3, 12)])
    write(tmp_path / "b", [row("k=1", 1.4, 0.5, 7)])
    table, _ = compare.compare_folders(tmp_path / "a", tmp_path / "b")
    expected = stats.ttest_ind_from_stats(1.4, 0.5, 7, 1.0, 0.3, 12, equal_var=False)
    assert table["p"][0] == pytest.approx(expected.pvalue)
    assert table["z"][0] == pytest.approx(expected.statistic)


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20), st.floats(0, 10), st.integers(2, 50)
)
@settings(max_examples=40, deadline=None)
def test_swapping_the_folders_swaps_signs_and_nothing_else(values, std, n):
    def frame(shift):
        rows = [row(f"k={i}", v + shift * (i % 3), std, n) for i, v in enumerate(values)]
        filled = [dict.fromkeys(COLUMNS) | {"source_std": 0.0} | r for r in rows]
        return pd.DataFrame(filled, columns=list(COLUMNS))

    there = compare.compare_measurements(frame(0.0), frame(1.0)).set_index("cell").sort_index()
    back = compare.compare_measurements(frame(1.0), frame(0.0)).set_index("cell").sort_index()
    assert (there["state"] == back["state"]).all()
    np.testing.assert_array_equal(
        there["difference"].astype(float), -back["difference"].astype(float)
    )


def test_noise_alone_moves_nothing_in_most_comparisons():
    rng = np.random.default_rng(1)
    moved = 0
    for _ in range(60):
        sides = []
        for _ in range(2):
            draws = rng.normal(size=(20, 10))
            rows = [
                row(f"k={i}", d.mean(), d.std(ddof=1), 10, source_std=0.0, m=None, note="")
                for i, d in enumerate(draws)
            ]
            sides.append(pd.DataFrame(rows)[list(COLUMNS)])
        table = compare.compare_measurements(*sides, level=0.05)
        moved += (table["state"] == "moved").any()
    assert moved <= 9  # 3 expected; 3.5 standard deviations above


def test_a_folder_with_itself_is_equal_everywhere(tmp_path):
    folder = write(tmp_path / "a", [row("k=1", 0.1, 0.2, 5), row("k=2", 0.3)])
    table, verdicts = compare.compare_folders(folder, folder)
    assert set(table["state"]) == {"equal"}
    assert verdicts == []


def test_changed_verdicts_are_named(tmp_path):
    claim = {
        "id": "c",
        "item": "table1",
        "cell": "k=1",
        "origin": "o",
        "metric": "auc",
        "why": "because",
    }
    a = write(tmp_path / "a", [row("k=1", 0.5)], [claim | {"verdict": "reproduced"}])
    b = write(tmp_path / "b", [row("k=1", 0.5)], [claim | {"verdict": "not reproduced"}])
    table, verdicts = compare.compare_folders(a, b)
    assert [(v["first"], v["second"]) for v in verdicts] == [("reproduced", "not reproduced")]
    assert "reproduced -> not reproduced (because)" in compare.summary(table, verdicts)


def test_command_line(tmp_path, capsys):
    a = write(tmp_path / "a", [row("k=1", 0.5)])
    b = write(tmp_path / "b", [row("k=1", 0.6)])
    out = tmp_path / "cells.csv"
    assert compare.main([str(a), str(b), "--out", str(out)]) == 1
    assert "table1[k=1] auc of wide_deep: 0.5 -> 0.6" in capsys.readouterr().out
    assert pd.read_csv(out)["state"].tolist() == ["changed"]
    assert compare.main([str(a), str(a)]) == 0
    assert compare.main([str(a), str(tmp_path)]) == 2
    assert "expected a result folder such as results/laptop" in capsys.readouterr().err


def test_a_folder_without_results_is_named(tmp_path):
    with pytest.raises(UserError, match="measurements.csv in it"):
        compare.measurement_files(tmp_path / "none")


def test_files_are_read_as_they_were_written(tmp_path):
    folder = write(tmp_path / "a", [row("k=1", 0.1 + 0.2)])
    assert read_measurements(compare.measurement_files(folder))["value"][0] == 0.1 + 0.2


@pytest.mark.parametrize("file", ["dpauc/measurements.csv", "claims.csv"])
@pytest.mark.parametrize("cut", [1, 10, 40])
def test_a_file_that_is_cut_off_is_refused_in_a_sentence(tmp_path, capsys, file, cut):
    verdict = {"id": "a", "item": "i", "cell": "k=1", "origin": "o", "metric": "auc"}
    verdicts = [verdict | {"verdict": "reproduced", "why": "it passes the test of the claim"}]
    for name in ("a", "b"):
        write(tmp_path / name, [row("k=1", 0.5), row("k=2", 0.25)], verdicts)
    assert compare.main([str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    path = tmp_path / "b" / file
    path.write_bytes(path.read_bytes()[:-cut])
    capsys.readouterr()
    assert compare.main([str(tmp_path / "a"), str(tmp_path / "b")]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith(f"{path}: cut off or damaged (")
    assert "delete it" in said
