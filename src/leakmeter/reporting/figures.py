"""One look for all figures, and files that are the same bytes each time they are drawn.

Figures are made inside :func:`style` with :func:`figure` (no pyplot, so no global state and no
window system) and written by :func:`save`. Text that is not the project's own (names in a user's
file) goes through :func:`literal`.
"""

from __future__ import annotations

import contextlib
import functools
import io
import logging
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import get_font

from leakmeter.runtime import atomic_path

#: Okabe and Ito's colours, told apart with every common colour blindness (2008, jfly.uni-koeln.de).
PALETTE = {
    "black": "#000000",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "green": "#009E73",
    "yellow": "#F0E442",
    "blue": "#0072B2",
    "red": "#D55E00",
    "purple": "#CC79A7",
    "grey": "#7F7F7F",
}
#: Colours of lines that have no colour of their own, in order.
WHEEL = ("blue", "red", "green", "orange", "purple", "sky", "black")
#: Widths of a figure in millimetres: one column and both columns of a two-column page.
WIDTHS = {"one": 84.0, "two": 178.0}
#: Pixels per inch of the PNG.
DPI = 200

_STYLE: dict[str, Any] = {
    # DejaVu comes with matplotlib: the same glyphs on every machine
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "mathtext.fontset": "dejavusans",
    "font.size": 7.5,
    "axes.titlesize": 7.5,
    "axes.labelsize": 7.5,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "legend.fontsize": 6.5,
    "figure.titlesize": 8.5,
    # TrueType outlines, which publishers accept, instead of Type 3
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.hashsalt": "leakmeter",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.prop_cycle": matplotlib.cycler(color=[PALETTE[c] for c in WHEEL]),
    "axes.axisbelow": True,
    "grid.color": "#D9D9D9",
    "grid.linewidth": 0.4,
    "lines.linewidth": 1.1,
    "lines.markersize": 4,
    "patch.linewidth": 0.7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.size": 1.5,
    "ytick.minor.size": 1.5,
    "legend.frameon": False,
    "legend.title_fontsize": 7.5,
    "legend.handlelength": 1.6,
    "legend.borderaxespad": 0.3,
    "savefig.facecolor": "white",
}


def inches(millimetres: float) -> float:
    """Millimetres as inches, the unit matplotlib sizes figures in."""
    return millimetres / 25.4


@contextlib.contextmanager
def style() -> Iterator[None]:
    """Draw in the house style whatever the user's matplotlibrc says; restores it on leaving."""
    with matplotlib.rc_context():
        # a user's matplotlibrc may not change a result
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def figure(width: str | float, height: float, **options: Any) -> Figure:
    """An empty figure of exact size with constrained layout and the Agg canvas.

    Parameters
    ----------
    width : ``"one"`` or ``"two"`` columns (:data:`WIDTHS`), or millimetres.
    height : millimetres.
    **options : passed to :class:`matplotlib.figure.Figure`, e.g. ``layout="none"``.
    """
    if isinstance(width, str):
        if width not in WIDTHS:
            raise ValueError(f"width {width!r}: expected one of {list(WIDTHS)} or millimetres")
        width = WIDTHS[width]
    made = Figure(figsize=(inches(width), inches(height)), **{"layout": "constrained", **options})
    FigureCanvasAgg(made)
    return made


def nothing_to_draw(reason: str, width: str | float = "two", height: float = 30) -> Figure:
    """A figure that says why it is empty, so that one setting does not cost all other figures."""
    with style():
        made = figure(width, height)
        made.text(0.5, 0.5, f"Nothing to draw: {literal(reason)}", ha="center", va="center")
    return made


def canvas(width: str | float, height: float) -> tuple[Figure, Axes]:
    """A figure for a drawing: one pair of invisible axes whose units are millimetres."""
    made = figure(width, height, layout="none")
    ax = made.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, WIDTHS[width] if isinstance(width, str) else width), ylim=(0, height))
    ax.axis("off")
    return made, ax


def literal(text: object, longest: int | None = None) -> str:
    """Text of a user's as matplotlib draws it letter by letter: no mathematics, on one line.

    Letters that the font does not have become their code points in brackets, as in the tables.

    Parameters
    ----------
    text : anything; its ``str`` is drawn.
    longest : letters to keep, at least 3; the middle of a longer text becomes an ellipsis, because
        names differ at either end.

    >>> print(literal("a_$ b_$ 日"), literal("epoch 10 of run 1", 9))
    a_\\$ b_\\$ [U+65E5] epoc…un 1
    """
    drawn = [_drawn(letter) for letter in unicodedata.normalize("NFC", str(text))]
    if longest is not None and sum(map(len, drawn)) > longest:
        start, end, room = [], [], longest - 1
        for i in range(len(drawn)):
            # in turn from the start and from the end
            part = drawn[i // 2] if i % 2 == 0 else drawn[-1 - i // 2]
            room -= len(part)
            if room < 0:
                break
            (end if i % 2 else start).append(part)
        drawn = [*start, "…", *reversed(end)]
    return "".join(drawn).replace("$", r"\$")


def _drawn(letter: str) -> str:
    if letter.isspace():
        return " "
    return letter if ord(letter) in _letters() else f"[U+{ord(letter):04X}]"


@functools.cache
def _letters() -> frozenset[int]:
    """Code points of the letters that the font of :func:`style` has."""
    return frozenset(
        get_font(matplotlib.get_data_path() + "/fonts/ttf/DejaVuSans.ttf").get_charmap()
    )


def rendered(fig: Figure) -> tuple[bytes, bytes]:
    """A figure as PDF and as PNG, without dates or versions inside.

    The same figure drawn with the same matplotlib gives the same bytes.
    """
    nothing = dict.fromkeys(("CreationDate", "ModDate", "Creator", "Producer"))
    pdf, png = io.BytesIO(), io.BytesIO()
    with style(), _quiet_fonts():
        fig.savefig(pdf, format="pdf", metadata=nothing)
        fig.savefig(png, format="png", dpi=DPI, metadata={"Software": None})
    return pdf.getvalue(), png.getvalue()


def save(fig: Figure, pdf_path: str | Path, png_path: str | Path) -> None:
    """Write a figure as PDF and PNG, each atomically; neither before both are :func:`rendered`."""
    for path, content in zip((pdf_path, png_path), rendered(fig), strict=True):
        with atomic_path(path) as temporary:
            temporary.write_bytes(content)


@contextlib.contextmanager
def _quiet_fonts() -> Iterator[None]:
    """Keep fontTools out of the log of a rule (it reports every table and font date)."""
    logger = logging.getLogger("fontTools")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
