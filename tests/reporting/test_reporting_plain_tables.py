"""Tables of our own experiments: one content, LaTeX and page."""

import pytest

from leakmeter.reporting.page import write_page
from leakmeter.reporting.plain_tables import PlainTable, read_plain_table
from leakmeter.runtime import UserError

TABLE = PlainTable(
    title="Errors with 5 % of a < b.",
    head=["method", "K", "std"],
    rows=[["mine", "1", "0.5"], ["mine", "10", "–"], ["theirs", "10", "−0.25 ± 0.1"]],
    notes=["A note."],
)


def test_columns_of_numbers_are_aligned_right():
    assert TABLE.numeric == [False, True, True]
    assert "lrr" in TABLE.latex("tab:x")


def test_a_repeated_leading_text_is_shown_once_and_numbers_are_kept():
    assert TABLE.shown() == [
        ["mine", "1", "0.5"],
        ["", "10", "–"],
        ["theirs", "10", "−0.25 ± 0.1"],
    ]


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="1 cells in a table of 2 columns"):
        PlainTable(title="t", head=["a", "b"], rows=[["1"]])


def test_written_and_read_back(tmp_path):
    tex = tmp_path / "beyond" / "tables" / "errors.tex"
    tex.parent.mkdir(parents=True)
    TABLE.write(tex, tex.with_suffix(".json"))
    assert read_plain_table(tex.with_suffix(".json")) == TABLE
    text = tex.read_text()
    assert r"\label{tab:beyond-errors}" in text
    assert r"5 \%" in text


def test_another_file_is_named(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("{}")
    with pytest.raises(UserError, match=r"x\.json: expected a table with title"):
        read_plain_table(path)


def test_the_page_has_a_section_of_its_own_for_them(small_run, small_page, tmp_path):
    assert 'id="beyond"' not in small_page.read_text()
    tex = tmp_path / "beyond" / "tables" / "errors.tex"
    tex.parent.mkdir(parents=True)
    TABLE.write(tex, tex.with_suffix(".json"))
    figure = tmp_path / "beyond" / "figures" / "errors.png"
    figure.parent.mkdir()
    figure.write_bytes(next(iter(small_run.figures)).read_bytes())
    names = ("claims", "errata", "measurements", "provenance", "tables", "captions", "results")
    write_page(
        tmp_path / "index.html",
        **{name: getattr(small_run, name) for name in names},
        figures=[*small_run.figures, figure],
        own_tables=[tex.with_suffix(".json")],
    )
    html = (tmp_path / "index.html").read_text()
    section = html.partition('<section id="beyond">')[2].partition("</section>")[0]
    assert "ours and not the papers" in section
    assert "Errors with 5 % of a &lt; b." in section
    assert '<td class="num">−0.25 ± 0.1</td>' in section
    assert 'id="figure-beyond-errors"' in section
    assert html.count('id="figure-beyond-errors"') == 1


def test_the_users_files_have_a_section_of_theirs(small_run, tmp_path):
    tex = tmp_path / "own" / "tables" / "dpauc.tex"
    tex.parent.mkdir(parents=True)
    TABLE.write(tex, tex.with_suffix(".json"))
    names = ("claims", "errata", "measurements", "provenance", "figures", "tables", "captions")
    write_page(
        tmp_path / "index.html",
        **{name: getattr(small_run, name) for name in (*names, "results")},
        own_tables=[tex.with_suffix(".json")],
    )
    html = (tmp_path / "index.html").read_text()
    assert 'id="beyond"' not in html
    assert '<a href="#own">Your data</a>' in html
    section = html.partition('<section id="own">')[2].partition("</section>")[0]
    assert "Your data" in section
    assert "nothing here is a paper’s" in section
    assert "Errors with 5 % of a &lt; b." in section
