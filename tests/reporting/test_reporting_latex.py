"""LaTeX builder: escaping, numbers, table structure, compilation."""

import doctest
import math
import re
import subprocess
import time
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakmeter.reporting import latex
from leakmeter.reporting.claims import VERDICTS
from leakmeter.reporting.latex import (
    DASH,
    MARKS,
    PACKAGES,
    Table,
    compile_pdf,
    document,
    escape,
    integer,
    legend,
    log_excerpt,
    mark,
    number,
    printed,
    scientific,
    short,
    with_std,
    worst,
)
from leakmeter.runtime import UserError


def test_doctests():
    result = doctest.testmod(latex)
    assert result.attempted >= 15
    assert result.failed == 0


# --- text ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a_b & 5 % #1 $x$", r"a\_b \& 5 \% \#1 \$x\$"),
        ("{}~^\\", r"\{\}\textasciitilde{}\textasciicircum{}\textbackslash{}"),
        ("1 ≤ ε", r"1 $\leq$ $\epsilon$"),
        ("naïve", r"na\"{i}ve"),
        ("e\N{COMBINING ACUTE ACCENT}", r"\'{e}"),
        ("Łą", "[U+0141][U+0105]"),  # a stroke is no accent; the font has no ogonek
        ("日本", "[U+65E5][U+672C]"),
        ("a\tb\nc", "a b c"),
        ("\x07", "[U+0007]"),
        (3, "3"),
        ("--x---", "-{}-x-{}-{}-"),  # two hyphens, not a dash
        ("?`!`,,``", "?{}`!{}`,{},`{}`"),
        ("a–b", "a--b"),
    ],
)
def test_escape_known(text, expected):
    assert escape(text) == expected


@given(st.text(max_size=30))
def test_escape_leaves_no_active_character(text):
    escaped = escape(text)
    for command in ("textbackslash", "textasciicircum", "textasciitilde", "dots"):
        escaped = escaped.replace(rf"\{command}{{}}", "")
    escaped = re.sub(r"\\[`'^~\"=.uHvcr]\{[A-Za-z]\}", "", escaped)  # accents
    escaped = re.sub(r"\\[&%$#_{}]", "", escaped)  # escaped specials
    escaped = re.sub(r"\$(\\[a-zA-Z]+|[<>|-])\$", "", escaped)  # symbols as mathematics
    # "~" stays only where a no-break space was asked for
    escaped = re.sub(r"([-`',])\{\}(?=[-`',])|([!?])\{\}(?=`)", r"\1\2", escaped)  # kept apart
    assert not set(escaped.replace("~", "")) & set("\\{}$&#%_^\n")


_STARTS = ["[baseline] epoch 2", "*", "*star", "[", "]", "日本", " [x]", "[2pt]", "[-9cm]"]


@pytest.mark.parametrize("text", _STARTS)
def test_no_cell_is_read_as_an_argument_of_the_line_end_before_it(text):
    table = Table("ll", caption="c", label="l")
    table.head(escape(text), "b")
    table.row(escape(text), "1")
    table.row(escape(text), escape(text))
    lines = table.render().splitlines()
    bodies = [line for line in lines if line.endswith(r" \\")]
    assert len(bodies) == 3
    for line in bodies:
        assert not line.lstrip().startswith(("[", "*"))


def test_cells_that_look_like_arguments_are_printed(tmp_path, require_tool):
    """In the text of the PDF, each once in the head and twice in the body, beside a short rule."""
    require_tool("pdflatex")
    require_tool("pdftotext")
    table = Table("ll", caption="c", label="l")
    for text in ("[baseline] a", "*star"):
        table.head(escape(text), "b")
    for text in ("[2pt] b", "*", "*[x]", "日"):
        table.row(escape(text), "1")
        table.rule()
        table.row(escape(text), escape(text))
    (tmp_path / "t.tex").write_text(document([table.render()], "[title] *"))
    assert compile_pdf(tmp_path / "t.tex", tmp_path / "t.pdf") == []
    command = ["pdftotext", "-layout", str(tmp_path / "t.pdf"), "-"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    words = shown.split()
    for text, times in (("[baseline]", 1), ("[2pt]", 3), ("[U+65E5]", 3), ("*[x]", 3)):
        assert words.count(text) == times, shown
    assert sum(word.startswith(("*", "∗")) for word in words) == 1 + 1 + 3 + 3, shown


# --- numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [None, math.nan, np.nan, pd.NA, ""])
def test_missing_numbers_are_dashes(missing):
    assert number(missing, 3) == DASH
    assert integer(missing) == DASH
    assert short(missing) == DASH
    assert scientific(missing, 3) == DASH
    assert with_std(missing, 0.1, 3) == DASH
    assert with_std(0.5, missing, 3) == "0.500"


def test_negative_zero_and_infinities():
    assert number(-0.0001, 3) == "0.000"
    assert number(-0.0006, 3) == "$-$0.001"
    assert number(math.inf, 2) == r"$\infty$"
    assert integer(-math.inf) == r"$-\infty$"
    assert short(-2.5) == "$-$2.5"
    assert with_std(math.inf, 0.1, 2) == r"$\infty$ $\pm$ 0.10"
    assert with_std(0.5, math.inf, 2) == r"0.50 $\pm$ $\infty$"


def test_integers_are_grouped_and_signed():
    assert integer(1234567) == "1{,}234{,}567"
    assert integer(-1234.4) == "$-$1{,}234"
    assert integer(np.int64(999)) == "999"


def test_short_keeps_settings_short():
    assert [short(v) for v in (0.0025, 100.0, 1e-5, 2.5e-7)] == [
        "0.0025",
        "100",
        "$10^{-5}$",
        r"$2.5\times10^{-7}$",
    ]


def test_printed_numbers_keep_their_digits():
    # typographical slips and trailing zeros of a paper must survive
    assert number("0.7665588", 6) == "0.7665588"
    assert number("0.749260", 3) == "0.749260"
    assert with_std("0.7665588", "0.001109", 6) == "0.7665588(11090)"
    assert with_std("0.749398", "0.0004", 6) == "0.749398(400)"
    assert scientific("0.4455", 3) == "0.4455"
    assert printed("8.52e-6") == "0.00000852"
    assert printed(1e-05) == "0.00001"


def test_std_is_limited_to_five_digits_in_parentheses():
    assert with_std(0.465926, 0.111894, 6) == "0.46593(11189)"
    assert with_std(0.465926, 0.099999, 6) == "0.465926(99999)"
    assert with_std(0.465926, 0.9999996, 6) == "0.4659(10000)"
    assert with_std(-69.2, 441.1, 6) == r"$-$69 $\pm$ 441"
    assert with_std(0.2835, 1.1658, 6) == r"0.3 $\pm$ 1.2"


def test_std_of_zero_and_no_decimals():
    assert with_std(0.7494, 0.000001, 4) == "0.7494(0)"
    assert with_std(12.0, 0.2, 0) == "12(0)"


@given(
    value=st.floats(-9, 9, allow_subnormal=False),
    std=st.floats(0, 0.099),
    decimals=st.integers(0, 6),
)
def test_parentheses_can_be_read_back(value, std, decimals):
    text = with_std(value, std, decimals).replace("$-$", "-")
    mean, units = re.fullmatch(r"(-?\d+(?:\.\d+)?)\((\d+)\)", text).groups()
    places = max(-Decimal(mean).as_tuple().exponent, 0)
    assert places == decimals
    half = 0.5 * 10.0**-places * (1 + 1e-9)
    assert abs(float(mean) - value) <= half
    assert abs(int(units) * 10.0**-places - std) <= half


def test_style_is_checked():
    with pytest.raises(ValueError, match="'sd': expected 'parentheses' or 'pm'"):
        with_std(0.5, 0.1, 2, style="sd")


# --- verdicts -----------------------------------------------------------------------------------


def test_every_verdict_has_its_own_mark():
    assert set(MARKS) == set(VERDICTS)
    assert len(set(MARKS.values())) == len(MARKS)


def test_worst_verdict_wins():
    assert worst([]) is None
    assert worst(["reproduced", "consistent", "reproduced"]) == "consistent"
    assert worst(["not run", "reproduced"]) == "reproduced"
    assert worst(list(MARKS)) == "not reproduced"
    with pytest.raises(ValueError, match=r"unknown verdicts \['fine'\]"):
        worst(["fine"])


def test_marks_and_legend():
    assert mark(None) == ""
    assert "textcolor" in mark("not reproduced")
    assert "textcolor" not in mark("reproduced")
    text = legend({"reproduced": 3, "not reproduced": 1, "consistent": 0})
    assert text.index("not reproduced (1)") < text.index("~reproduced (3)")
    assert "consistent" not in text
    assert legend({}) == ""


# --- tables -------------------------------------------------------------------------------------


def sample_table():
    table = Table("l rr", caption="A caption", label="tab:a", wide=False)
    table.rule()  # nothing above it: no rule
    table.head("", ("Group", 2))
    table.head("x", "$a$", "$b$")
    table.row("1", "2", "3")
    table.space()
    table.rule()  # after a gap: no rule
    table.row(("wide", 2), "4")
    table.rule()  # nothing below it: no rule
    table.note("A note.")
    table.note("")
    return table


def test_table_is_rendered_line_by_line():
    assert sample_table().render().splitlines() == [
        r"\begin{table}[!htbp]",
        r"\centering",
        r"\caption{A caption}\label{tab:a}",
        r"\footnotesize\setlength{\tabcolsep}{4pt}",
        r"\begin{tabular}{@{}l@{\hspace{16pt}}rr@{}}",
        r"\toprule",
        r" & \multicolumn{2}{c}{Group} \\",
        r"\cmidrule(lr){2-3}",
        r"x & $a$ & $b$ \\",
        r"\midrule",
        r"1 & 2 & 3 \\",
        r"\addlinespace[2pt]",
        r"\multicolumn{2}{l}{wide} & 4 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\par\smallskip",
        r"\begin{minipage}{\linewidth}\scriptsize\raggedright",
        "A note.",
        r"\end{minipage}",
        r"\end{table}",
    ]


def test_two_groups_get_two_rules():
    table = Table("lllll", caption="c", label="l")
    table.head("", ("A", 2), ("B", 2))
    assert r"\cmidrule(lr){2-3} \cmidrule(lr){4-5}" in table.render()


@pytest.mark.parametrize("cells", [("1",), ("1", "2", "3"), (("1", 3),), ()])
def test_lines_must_fill_the_columns(cells):
    table = Table("ll", caption="c", label="l")
    with pytest.raises(ValueError, match="in a table of 2 columns"):
        table.row(*cells)
    with pytest.raises(ValueError, match="in a table of 2 columns"):
        table.head(*cells)


@pytest.mark.parametrize("columns", ["", " ", "lp", "l|r"])
def test_column_letters_are_checked(columns):
    with pytest.raises(ValueError, match="expected letters l, c, r and spaces"):
        Table(columns, caption="c", label="l")


# --- documents ----------------------------------------------------------------------------------


def test_document_uses_only_the_stated_packages():
    text = document([sample_table().render()], "A & B")
    assert tuple(re.findall(r"\\usepackage(?:\[.*?\])?\{(.*?)\}", text)) == PACKAGES
    assert r"\section*{A \& B}" in text


def test_log_excerpt_shows_the_errors():
    lines = ["noise"] * 50 + ["./a.tex:7: Undefined control sequence.", r"l.7 \oops", "", "rest"]
    assert log_excerpt("\n".join(lines)).splitlines()[0] == "./a.tex:7: Undefined control sequence."
    assert r"l.7 \oops" in log_excerpt("\n".join(lines))
    assert log_excerpt("\n".join(map(str, range(30)))).splitlines() == [
        str(i) for i in range(20, 30)
    ]


def write_sample(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    nasty = " ".join(
        map(
            chr,
            [*range(32, 592), *range(0x370, 0x400), *range(0x1E00, 0x1F00), 0x2018, 0x2260, 0x65E5],
        )
    )
    table = sample_table()
    table.note(escape(nasty))
    table.note(legend(dict.fromkeys(MARKS, 1)))
    tex = folder / "sample.tex"
    tex.write_text(document([table.render()], "Sample: ≤ & é"), encoding="utf-8")
    return tex


def test_compiles_to_the_same_bytes_anywhere_and_any_time(require_tool, tmp_path):
    require_tool("pdflatex")
    results = []
    for name in ("here", "there"):
        out = tmp_path / name / "out" / "a.pdf"
        assert compile_pdf(write_sample(tmp_path / name), out) == []
        results.append(out.read_bytes())
        assert [p.name for p in out.parent.iterdir()] == ["a.pdf"]
        assert [p.name for p in (tmp_path / name).iterdir() if p.is_file()] == ["sample.tex"]
        time.sleep(1.1)  # PDF dates have a resolution of one second
    assert results[0].startswith(b"%PDF")
    assert results[0] == results[1]


def test_compiles_without_latexmk(require_tool, tmp_path, monkeypatch):
    program = Path(require_tool("pdflatex"))
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "pdflatex").symlink_to(program.resolve())
    monkeypatch.setenv("PATH", str(tools))
    out = tmp_path / "a.pdf"
    compile_pdf(write_sample(tmp_path / "x"), out)
    assert out.read_bytes().startswith(b"%PDF")


def test_files_beside_the_document_are_found(require_tool, tmp_path):
    require_tool("pdflatex")
    (tmp_path / "part.tex").write_text("Text of the part.")
    tex = tmp_path / "whole.tex"
    tex.write_text(document([r"\input{part}"], "Whole"))
    compile_pdf(tex, tmp_path / "whole.pdf")
    assert (tmp_path / "whole.pdf").stat().st_size > 1000


def test_wide_tables_are_reported(require_tool, tmp_path):
    require_tool("pdflatex")
    table = Table("l", caption="c", label="l")
    table.row("wide " * 80)
    tex = tmp_path / "wide.tex"
    tex.write_text(document([table.render()], "Wide"))
    warnings = compile_pdf(tex, tmp_path / "wide.pdf")
    assert len(warnings) == 1
    assert "too wide" in warnings[0]


@pytest.mark.parametrize(("lines", "fits"), [(70, True), (100, True), (160, False)])
def test_long_tables_get_a_smaller_font_and_what_is_too_long_is_reported(
    require_tool, tmp_path, lines, fits
):
    require_tool("pdflatex")
    table = latex.Table("lr", caption="Many", label="tab:many")
    table.head("a", "b")
    for i in range(lines):
        if i % 10 == 0:
            table.rule()
        table.row(f"line {i}", "1")
    table.note("Some words below the table that take a line of their own.")
    path = tmp_path / "long.tex"
    path.write_text(latex.document([table.render()], "Long"))
    warnings = latex.compile_pdf(path, tmp_path / "long.pdf")
    assert (warnings == []) is fits, warnings


def test_latex_errors_are_shown_and_leave_no_file(require_tool, tmp_path):
    require_tool("pdflatex")
    tex = tmp_path / "bad.tex"
    tex.write_text(document([r"\undefinedcommand"], "Bad"))
    out = tmp_path / "bad.pdf"
    out.write_text("before")
    with pytest.raises(UserError, match=r"(?s)bad\.tex: LaTeX stopped.*Undefined control sequence"):
        compile_pdf(tex, out)
    assert out.read_text() == "before"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.pdf", "bad.tex"]


def test_endless_documents_are_stopped(require_tool, tmp_path):
    require_tool("pdflatex")
    tex = tmp_path / "endless.tex"
    tex.write_text(document([r"\loop\iftrue\repeat"], "Endless"))
    started = time.monotonic()
    with pytest.raises(UserError, match="did not end within 1 s"):
        compile_pdf(tex, tmp_path / "endless.pdf", timeout=1)
    assert time.monotonic() - started < 20


def test_missing_latex_and_missing_file_are_user_errors(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="pdflatex is not on the PATH"):
        compile_pdf(write_sample(tmp_path / "x"), tmp_path / "a.pdf")
    with pytest.raises(UserError, match="nothing.tex: no such LaTeX file"):
        compile_pdf(tmp_path / "nothing.tex", tmp_path / "a.pdf")
