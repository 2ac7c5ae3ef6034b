"""The LaTeX document: every number is a macro or comes from a file."""

import re

import pytest
from report_run import PROVENANCE, claims

from leakmeter.reporting import replication
from leakmeter.reporting.latex import Table, compile_pdf, document


@pytest.fixture
def tex(small_run):
    out = small_run.folder / "replication.tex"
    replication.write_replication(
        out,
        small_run.folder / "claims.tex",
        claims=small_run.claims,
        provenance=small_run.provenance,
        tables=small_run.tables,
        figures=small_run.pdfs,
        captions=small_run.captions,
    )
    return out


def test_no_number_is_typed_by_hand(root):
    templates = sorted((root / "src/leakmeter/reporting/templates").glob("*.tex"))
    assert templates
    for path in templates:
        text = re.sub(r"\\setlength\{[^}]*\}\{[^}]*\}", "", path.read_text())  # layout, no result
        assert not re.search(r"\d", text), path
        words = r"\b(one|two|three|four|five|six|seven|eight|nine|ten|dozen|half|twice)\b"
        assert not re.search(words, re.sub(r"two-sample", "", text)), path


def test_every_macro_of_the_template_is_defined_and_used():
    named = replication.macros(claims(), PROVENANCE["config"])
    used = set(re.findall(r"\\(leak\w+)", replication.TEMPLATE.read_text()))
    assert used == set(named)
    assert named["leakCells"] == "73"  # a summarised row counts its 58 cells
    assert named["leakCellsNotReproduced"] == "1"
    assert named["leakLevel"] == "0.01"


def test_the_document_holds_tables_figures_and_claims(tex, small_run):
    text = tex.read_text()
    for path in small_run.tables:
        assert replication.fitted(path.read_text()) in text
    assert r"\includegraphics{dpauc/figures/figure1.pdf}" in text
    assert "How it works, with a $<$ b." in text
    claims_text = (small_run.folder / "claims.tex").read_text()
    assert replication.fitted(claims_text) in text
    assert "the labeling" in claims_text
    assert str(small_run.root) not in text


def test_a_table_wider_than_the_page_is_scaled_down(tmp_path, require_tool):
    require_tool("pdflatex")
    table = Table("l" * 20, caption="Wide.", label="tab:wide")
    table.row(*["a long word"] * 20)

    def warnings(fragment):
        tex = tmp_path / "wide.tex"
        tex.write_text(document([replication.PREFACE, fragment], "Wide"))
        return compile_pdf(tex, tmp_path / "wide.pdf")

    assert warnings(table.render())
    assert warnings(replication.fitted(table.render())) == []


def test_many_claims_are_spread_over_pages():
    rows = [row | {"id": f"{row['id']}_{i}"} for i in range(20) for row in claims()]
    text = replication.claims_tables(rows)
    assert text.count("continued") >= 2
    labels = re.findall(r"\\label\{(.*?)\}", text)
    assert len(set(labels)) == len(labels)


def test_it_compiles_to_the_same_bytes_in_another_folder(tex, small_run, require_tool, tmp_path):
    import shutil

    require_tool("pdflatex")
    assert compile_pdf(tex, tmp_path / "a.pdf") == []
    copy = shutil.copytree(small_run.folder, tmp_path / "elsewhere")
    compile_pdf(copy / "replication.tex", tmp_path / "b.pdf")
    assert (tmp_path / "a.pdf").read_bytes() == (tmp_path / "b.pdf").read_bytes()
