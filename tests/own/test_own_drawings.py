"""Figures, tables and files of reports."""

import errno
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from leakmeter.own.audited import AuditOptions, audit_report, tally_report
from leakmeter.own.constrained import LabelingOptions, labelings_report
from leakmeter.own.drawings import draw
from leakmeter.own.files import write_folder
from leakmeter.own.plain import plain_table
from leakmeter.own.reports import KINDS, Report, finite, read_report
from leakmeter.own.risks import shapr_report
from leakmeter.own.scored import DpaucOptions, dpauc_report
from leakmeter.reporting.figures import rendered, save
from leakmeter.reporting.latex import compile_pdf, document
from leakmeter.runtime import UserError

FILES = ["figure.pdf", "figure.png", "summary.json", "table.csv", "table.tex"]


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder, random = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    label, member = random.integers(0, 2, 200), random.integers(0, 2, 200)
    p = random.beta(2 + label + member, 2)
    frames = {
        "scores": {"score": p, "label": label},
        "x": {"a": p, "b": random.normal(size=200), "label": label, "member": member},
        "p": {"0": 1 - p, "1": p},
        "guesses": {"guess": random.permutation(12) / 12},
    }
    for name, columns in frames.items():
        pd.DataFrame(columns).to_csv(folder / f"{name}.csv", index=False)
    (folder / "t.csv").write_text("name,fn,tp,fp,tn\na_b,10,90,20,80\nweak & 5%,50,50,50,50\n")
    return {
        "dpauc": dpauc_report(folder / "scores.csv", DpaucOptions(repeats=20, error=0.05)),
        "audit": audit_report(tallies=folder / "t.csv", options=AuditOptions(sides=1)),
        "shapr": shapr_report(folder / "x.csv", folder / "p.csv"),
        "labelings": labelings_report(folder / "guesses.csv", "0.77"),
        "shapr alone": shapr_report(folder / "x.csv"),
        "counts alone": labelings_report(
            folder / "guesses.csv", "0.77", LabelingOptions(posterior=False)
        ),
    }


def test_every_kind_is_here(reports):
    assert {report.kind for report in reports.values()} == set(KINDS)


def test_figures_from_a_report_and_from_its_files_are_the_same_bytes(reports, tmp_path):
    """The command draws the report, the workflow what it read back."""
    for name, report in reports.items():
        paths = [tmp_path / name / part for part in ("s.json", "t.csv", "r.csv")]
        report.write(*paths)
        again = read_report(*paths[:2], paths[2] if paths[2].exists() else None)
        for drawn, stem in ((report, "first"), (again, "second")):
            save(draw(drawn), tmp_path / f"{stem}.pdf", tmp_path / f"{stem}.png")
        for suffix in ("pdf", "png"):
            first, second = (tmp_path / f"{stem}.{suffix}" for stem in ("first", "second"))
            assert first.read_bytes() == second.read_bytes(), name
        assert plain_table(report) == plain_table(again)


def test_tables_compile(reports, tmp_path, require_tool):
    require_tool("pdflatex")
    tables = [plain_table(report).latex(f"tab:{i}") for i, report in enumerate(reports.values())]
    (tmp_path / "t.tex").write_text(document(tables, "Tables"))
    compile_pdf(tmp_path / "t.tex", tmp_path / "t.pdf")
    assert (tmp_path / "t.pdf").stat().st_size > 10_000


def test_cells_of_tables(reports):
    audit = plain_table(reports["audit"])
    assert [row[0] for row in audit.rows] == ["a_b", "weak & 5%"]
    assert {row[audit.head.index("high")] for row in audit.rows} == {"∞"}
    shapr = plain_table(reports["shapr"])
    assert shapr.rows[0][shapr.head.index("F1")] == "–"
    dpauc = plain_table(reports["dpauc"])
    assert any(row[dpauc.head.index("bias")].startswith("−") for row in dpauc.rows)
    assert list(dpauc.notes[1:]) == list(reports["dpauc"].sentences)


def test_a_long_table_says_that_it_is_cut(reports):
    report = tally_report({"fn": 1, "tp": 9, "fp": 2, "tn": 8})
    many = Report("audit", {}, (), pd.concat([report.table] * 50, ignore_index=True))
    table = plain_table(many)
    assert len(table.rows) == 40
    assert table.notes[0] == "The first 40 of 50 rows; table.csv has all of them."
    axes = draw(many).axes[0]
    assert len(axes.get_yticklabels()) == 30
    title = "The first 30 of 50 attacks; table.csv has all of them."
    assert axes.get_title(loc="left") == title
    assert not draw(report).axes[0].get_title(loc="left")


def test_simulated_releases_are_counted_in_the_table(reports):
    report = reports["dpauc"]
    table = plain_table(report)
    shown = [row[-2:] for row in table.rows]
    assert table.head[-2:] == ["undefined", "repeats"]
    expected = [
        [str(row.undefined), str(row.repeats)] if row.repeats else ["–", "–"]
        for row in report.table.itertuples()
    ]
    assert shown == expected
    assert ["–", "–"] in shown
    assert any(repeats == "20" for _, repeats in shown)
    assert table.notes[0].startswith("Repeats: simulated releases")
    closed = replace(report, table=report.table[report.table["repeats"] == 0])
    assert list(plain_table(closed).notes) == list(report.sentences)


def drawn_errors(axes):
    return [y for line in axes.lines if line.get_marker() == "o" for y in line.get_ydata()]


def test_errors_of_zero_are_marked_at_the_end_of_a_logarithmic_axis(reports):
    table = reports["dpauc"].table.copy()
    table.loc[table["method"] == "positives", "rmse"] = 0.0
    errors = draw(replace(reports["dpauc"], table=table)).axes[1]
    assert not [y for y in drawn_errors(errors) if y == 0]
    (marks,) = [line for line in errors.lines if line.get_marker() == "v"]
    assert list(marks.get_xdata()) == sorted(set(table["epsilon"]))
    low, high = errors.get_ylim()
    assert 0 < low < min(table.loc[table["rmse"] > 0, "rmse"]) < high
    rendered(draw(replace(reports["dpauc"], table=table.assign(rmse=0.0))))


def test_the_target_is_named(reports):
    errors = draw(reports["dpauc"]).axes[1]
    (named,) = [text for text in errors.texts if text.get_text() == "target"]
    assert named.xy[1] == 0.05


def test_records_are_counted_in_whole_numbers(reports):
    for name in ("shapr", "shapr alone"):
        one = replace(
            reports[name],
            records=reports[name]
            .records.iloc[:3]
            .assign(member=[1, 1, 0], shapr=[0.1, 0.2, np.nan]),
        )
        axes = draw(one).axes[0]
        assert all(tick == int(tick) for tick in axes.get_yticks())


def test_a_folder_of_files(reports, tmp_path):
    write_folder(reports["audit"], tmp_path / "new" / "folder")
    assert sorted(p.name for p in (tmp_path / "new/folder").iterdir()) == FILES
    write_folder(reports["shapr"], tmp_path / "s")
    assert sorted(p.name for p in (tmp_path / "s").iterdir()) == sorted([*FILES, "records.csv"])


AWKWARD = [
    "a_$ b_$",
    "$^$",
    r"run $\alpha_{$ bad",
    "50%_A $x$ #1",
    "[baseline] epoch 2",
    "*a",
    "日",
]


@pytest.fixture
def awkward(tmp_path):
    path = tmp_path / "a_$ b_$.csv"
    path.write_text("name,fn,tp,fp,tn\n" + "".join(f"{name},120,380,131,369\n" for name in AWKWARD))
    return audit_report(tallies=path)


def test_names_are_drawn_as_they_are_given(awkward):
    labels = draw(awkward).axes[0].get_yticklabels()
    shown = [label._preprocess_math(label.get_text().split("\n")[0]) for label in labels]
    assert shown == [(name, False) for name in AWKWARD[:-1]] + [("[U+65E5]", False)]


def test_names_that_look_like_commands_go_through_all_files(awkward, tmp_path, require_tool):
    write_folder(awkward, tmp_path / "out")
    require_tool("pdflatex")
    tex = (tmp_path / "out/table.tex").read_text()
    (tmp_path / "t.tex").write_text(document([tex], "Tables"))
    compile_pdf(tmp_path / "t.tex", tmp_path / "t.pdf")


def test_a_long_name_leaves_room_for_the_intervals(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"name,fn,tp,fp,tn\n{'W' * 200},120,380,131,369\n")
    fig = draw(audit_report(tallies=path))
    rendered(fig)
    assert fig.axes[0].get_position().width > 0.3


@pytest.mark.parametrize("broken", ["draw", "plain_table", "rendered"])
def test_nothing_is_written_before_everything_is_made(reports, tmp_path, monkeypatch, broken):
    def fail(*_):
        raise RuntimeError("cannot be made")

    monkeypatch.setattr(f"leakmeter.own.files.{broken}", fail)
    with pytest.raises(RuntimeError, match="cannot be made"):
        write_folder(reports["shapr"], tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_a_disk_that_fills_up_leaves_what_was_there(reports, tmp_path, monkeypatch):
    write_folder(reports["audit"], tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    write = Path.write_bytes

    def full(path, content):
        if path.name.endswith("figure.png"):
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(UserError, match="No space left"):
        write_folder(reports["shapr"], tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_records_of_an_earlier_report_do_not_stay(reports, tmp_path):
    write_folder(reports["shapr"], tmp_path)
    write_folder(reports["audit"], tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == FILES


def test_records_that_no_report_wrote_stay(reports, tmp_path):
    (tmp_path / "records.csv").write_text("mine")
    write_folder(reports["audit"], tmp_path)
    assert (tmp_path / "records.csv").read_text() == "mine"


def test_a_folder_that_cannot_be_made(reports, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written to"):
        write_folder(reports["audit"], tmp_path / "file" / "below")


def test_json_is_plain(reports):
    for report in reports.values():
        value = json.loads(report.as_json(), parse_constant=pytest.fail)
        assert value["kind"] == report.kind
        assert len(value["table"]) == len(report.table)
        assert ("records" in value) == (report.records is not None)
    assert json.loads(reports["audit"].as_json())["table"][0]["high"] == "inf"


def test_finite():
    given = {"a": math.nan, 1: np.float64(0.5), "c": [np.int64(2), pd.NA, -math.inf], "d": "x"}
    assert finite(given) == {"a": None, "1": 0.5, "c": [2, None, "-inf"], "d": "x"}
