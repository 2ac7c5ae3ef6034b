"""One look for all figures, and files that are the same bytes each time they are drawn.

Figures are made inside :func:`style` with :func:`figure` (no pyplot, so no global state and no
window system) and written by :func:`save`.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

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
        made.text(0.5, 0.5, f"Nothing to draw: {reason}", ha="center", va="center")
    return made


def canvas(width: str | float, height: float) -> tuple[Figure, Axes]:
    """A figure for a drawing: one pair of invisible axes whose units are millimetres."""
    made = figure(width, height, layout="none")
    ax = made.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, WIDTHS[width] if isinstance(width, str) else width), ylim=(0, height))
    ax.axis("off")
    return made, ax


def save(fig: Figure, pdf_path: str | Path, png_path: str | Path) -> None:
    """Write a figure as PDF and PNG, each atomically and without dates or versions inside.

    The same figure drawn with the same matplotlib gives the same bytes.
    """
    nothing = dict.fromkeys(("CreationDate", "ModDate", "Creator", "Producer"))
    with style(), _quiet_fonts():
        with atomic_path(pdf_path) as temporary:
            fig.savefig(temporary, format="pdf", metadata=nothing)
        with atomic_path(png_path) as temporary:
            fig.savefig(temporary, format="png", dpi=DPI, metadata={"Software": None})


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
