"""House style of figures: exact sizes, embedded fonts, the same bytes each time."""

import doctest
import subprocess
import sys
import time
import warnings

import matplotlib
import matplotlib.image
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.font_manager import get_font

from leakmeter.reporting import figures
from leakmeter.reporting.figures import (
    DPI,
    PALETTE,
    WIDTHS,
    figure,
    inches,
    literal,
    rendered,
    save,
    style,
)

# draws text, mathematics, markers, a legend and a transparent fill: all that a figure here contains
SCRIPT = r"""
import sys
from pathlib import Path
from leakmeter.reporting.figures import figure, save, style

with style():
    made = figure("one", 50)
    ax = made.subplots()
    ax.plot([0, 1], [0, 1], marker="o", label=r"$\varepsilon$ = 1")
    ax.fill_between([0, 1], [0, 1], alpha=0.2)
    ax.set_xlabel("FPR, |Θ|")
    ax.legend()
save(made, Path(sys.argv[1], "a.pdf"), Path(sys.argv[1], "a.png"))
assert "matplotlib.pyplot" not in sys.modules
"""


def run_script(folder, hash_seed):
    folder.mkdir()
    subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder)],
        check=True,
        env={"PYTHONHASHSEED": hash_seed, "PATH": "/usr/bin:/bin", "HOME": str(folder)},
    )
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.suffix in (".pdf", ".png")}


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    first = run_script(folder / "1", "1")
    time.sleep(1.1)  # PDF dates have a resolution of one second
    return first, run_script(folder / "2", "2")


def test_same_bytes_at_another_time_in_another_process(two_runs):
    first, second = two_runs
    assert sorted(first) == ["a.pdf", "a.png"]
    assert first == second


def test_fonts_are_embedded_truetype(two_runs):
    pdf = two_runs[0]["a.pdf"]
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf


def test_no_dates_and_no_versions(two_runs):
    first, _ = two_runs
    for word in (b"CreationDate", b"ModDate", b"Producer", b"Creator"):
        assert word not in first["a.pdf"]
    assert b"Software" not in first["a.png"]


@pytest.mark.parametrize("width", [*WIDTHS, 40.0])
def test_figures_have_the_size_asked_for(tmp_path, width):
    with style():
        made = figure(width, 30)
        made.subplots().set_title("a title that is far too long to fit " * 3)
    save(made, tmp_path / "a.pdf", tmp_path / "a.png")
    rows, columns, _ = matplotlib.image.imread(tmp_path / "a.png").shape
    expected = inches(WIDTHS.get(width, width)) * DPI
    assert abs(columns - expected) <= 1
    assert abs(rows - inches(30) * DPI) <= 1


def test_unknown_width_is_refused():
    with pytest.raises(ValueError, match="'three': expected one of"):
        figure("three", 30)


def test_an_inch_is_25_4_millimetres():
    assert inches(25.4) == 1.0


def test_style_ignores_and_restores_the_users_settings():
    with matplotlib.rc_context({"lines.linestyle": ":", "font.size": 31, "savefig.bbox": "tight"}):
        with style():
            assert matplotlib.rcParams["lines.linestyle"] == "-"
            assert matplotlib.rcParams["font.size"] < 10
            assert matplotlib.rcParams["pdf.fonttype"] == 42
            assert matplotlib.rcParams["savefig.bbox"] is None
        assert matplotlib.rcParams["lines.linestyle"] == ":"
        assert matplotlib.rcParams["font.size"] == 31


def test_settings_of_the_caller_do_not_change_what_is_saved(tmp_path):
    with style():
        made = figure("one", 30)
        made.subplots().plot([0, 1])
    save(made, tmp_path / "a.pdf", tmp_path / "a.png")
    with matplotlib.rc_context({"pdf.fonttype": 3, "savefig.bbox": "tight", "savefig.dpi": 17}):
        save(made, tmp_path / "b.pdf", tmp_path / "b.png")
    for kind in ("pdf", "png"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()


def test_failed_drawing_leaves_the_old_files(tmp_path):
    with style():
        made = figure("one", 30)
        made.subplots().set_xlabel(r"$\unknowncommand$")
    (tmp_path / "a.pdf").write_text("before")
    with pytest.raises(ValueError, match="unknowncommand"):
        save(made, tmp_path / "a.pdf", tmp_path / "a.png")
    assert [p.name for p in tmp_path.iterdir()] == ["a.pdf"]
    assert (tmp_path / "a.pdf").read_text() == "before"


def test_nothing_is_written_before_both_forms_are_drawn(tmp_path, monkeypatch):
    with style():
        made = figure("one", 30)
    draw_as = made.savefig

    def broken(target, *, format, **options):
        if format == "png":
            raise RuntimeError("no PNG")
        draw_as(target, format=format, **options)

    monkeypatch.setattr(made, "savefig", broken)
    with pytest.raises(RuntimeError, match="no PNG"):
        save(made, tmp_path / "a.pdf", tmp_path / "a.png")
    assert not list(tmp_path.iterdir())


# --- text of users ------------------------------------------------------------------------------


def test_doctests_of_figures():
    assert doctest.testmod(figures).failed == 0


def drawn_letters(text):
    """What matplotlib draws for a text, and whether it reads it as mathematics."""
    artist = matplotlib.text.Text(0, 0, text)
    return artist._preprocess_math(text)


@pytest.mark.parametrize(
    "text",
    ["a_$ b_$", "$^$", r"run $\alpha_{$ bad", "50%_A $x$ #1", r"\$", r"$\$$", "$", r"c:\x$y$"],
)
def test_dollars_are_letters(text):
    assert drawn_letters(literal(text)) == (text, False)


@given(st.text(alphabet="ab $\\{}_^%#&é<", max_size=30))
def test_text_of_a_user_is_drawn_letter_by_letter(text):
    assert drawn_letters(literal(text)) == (text, False)
    assert drawn_letters(f"{literal(text)} {literal(text)}") == (f"{text} {text}", False)


@given(st.text(max_size=30), st.integers(3, 40))
def test_text_of_a_user_is_one_line_of_letters_that_the_font_has(text, longest):
    drawn, mathematics = drawn_letters(literal(text, longest))
    assert not mathematics
    assert len(drawn) <= longest
    font = get_font(matplotlib.get_data_path() + "/fonts/ttf/DejaVuSans.ttf")
    assert all(font.get_char_index(ord(letter)) for letter in drawn)
    assert "\n" not in drawn


def test_a_long_text_keeps_both_ends():
    drawn = literal("x" * 50 + "epoch 17", 21)
    assert drawn == "x" * 10 + "…" + "xx" + "epoch 17"
    assert literal("twelve chars", 12) == "twelve chars"


def test_any_letters_are_drawn_without_a_warning():
    with style():
        made = figure("one", 30)
        made.text(0.5, 0.5, literal("日本 \N{WAVING HAND SIGN} \a $^$"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rendered(made)


def luminance(colour):
    """Relative luminance of sRGB (WCAG 2)."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_colours_differ_without_hue():
    # the pairs that stand for two classes or two curves must differ in grey print as well
    for a, b in (("blue", "orange"), ("red", "black"), ("blue", "sky")):
        bright, dark = sorted((luminance(PALETTE[a]), luminance(PALETTE[b])), reverse=True)
        assert (bright + 0.05) / (dark + 0.05) > 1.5
    assert len(set(PALETTE.values())) == len(PALETTE)
