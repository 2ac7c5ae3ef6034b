"""The DPAUC paper's Figures 1-3, the ROC figure and an overview of bias and spread.

Every function returns a figure for :func:`leakmeter.reporting.figures.save`; nothing is computed
here but differences and standard errors of numbers that stand in measurement files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from leakmeter.reporting.figures import PALETTE, WIDTHS, canvas, figure, style
from leakmeter.reporting.measurements import parse_cell
from leakmeter.runtime import UserError

#: Origin -> name in the figures, in the order of panels.
ORIGINS = {"authors": "authors' counts", "wide_deep": "Wide & Deep"}

_CLIENT, _SERVER, _NOISE = "#E5F0F8", "#EFEFEF", "#FBE9CF"


def _name(origin: str) -> str:
    return ORIGINS.get(origin, origin)


def _require(frame: pd.DataFrame, columns: Sequence[str], what: str) -> None:
    missing = [c for c in columns if c not in frame.columns]
    if missing:
        raise UserError(f"{what}: lacks columns {missing}; it has {list(frame.columns)}")
    if frame.empty:
        raise UserError(f"{what}: no rows; expected at least one curve")


# --- workflow diagrams --------------------------------------------------------------------------


def _box(ax: Axes, x: float, y: float, w: float, h: float, text: str = "", **options: Any) -> None:
    """A rounded box with its lower left corner at (x, y), in the millimetres of the canvas."""
    options = {"facecolor": "white", "edgecolor": "#404040", "size": 6.5, **options}
    size = options.pop("size")
    shape = f"round,pad=0,rounding_size={min(1.5, h / 4)}"
    ax.add_patch(FancyBboxPatch((x, y), w, h, boxstyle=shape, linewidth=0.6, **options))
    _text(ax, x + w / 2, y + h / 2, text, size=size)


def _text(ax: Axes, x: float, y: float, text: str, **options: Any) -> None:
    """Centred text."""
    options = {"ha": "center", "va": "center", "size": 6.5, "linespacing": 1.35, **options}
    ax.text(x, y, text, **options)


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], **options: Any) -> None:
    ax.add_patch(
        FancyArrowPatch(
            start,
            end,
            **{
                "arrowstyle": "-|>,head_length=2.6,head_width=1.3",
                "linewidth": 0.7,
                "color": "#404040",
                "shrinkA": 0,
                "shrinkB": 0,
                "joinstyle": "miter",
                **options,
            },
        )
    )


def _workflow(
    heads: Sequence[str],
    chips: Sequence[str],
    noisy: int,
    sent: str,
    server: Sequence[tuple[str, str]],
) -> Figure:
    """Clients on the left, each with its chain of chips; the server's steps on the right.

    Parameters
    ----------
    heads, chips : what the clients do in each step, and what stands in the boxes.
    noisy : index of the step that protects the labels (coloured).
    sent : what goes over the wire.
    server : heading and box of each step of the server, from top to bottom.
    """
    width, height = WIDTHS["two"], 82.0
    with style():
        made, ax = canvas("two", height)
        left, lane, gap = 1.0, 112.0, 24.0
        title = {"weight": "bold", "size": 7.5, "ha": "left", "va": "baseline"}
        _text(ax, left, height - 4.4, "Clients: labels and scores stay here", **title)
        _box(ax, left, 1, lane, height - 8.5, facecolor=_CLIENT, edgecolor="none")
        rows = _clients(ax, left, lane, height, heads, chips, noisy)
        x = left + lane + gap
        _text(ax, x, height - 4.4, "Untrusted server", **title)
        _box(ax, x, 1, width - x - 1, height - 8.5, facecolor=_SERVER, edgecolor="none")
        centre = _server(ax, x + 2.5, width - x - 6, height, server)
        for y in rows:
            _arrow(ax, (left + lane - 2.5, y), (x + 2.5, centre))
        _text(ax, left + lane + gap / 2, height - 13.5, sent)
        _arrow(ax, (x, 6.5), (left + lane, 6.5), linestyle=(0, (3, 2)))
        _text(ax, left + lane + gap / 2, 8.7, r"thresholds $\Theta$")
    return made


def _clients(
    ax: Axes,
    left: float,
    lane: float,
    height: float,
    heads: Sequence[str],
    chips: Sequence[str],
    noisy: int,
) -> list[float]:
    """Draw three clients and an ellipsis; return the heights their chains leave at."""
    name, space = 15.0, 4.0
    wide = (lane - name - 5 - space * (len(chips) - 1)) / len(chips)
    starts = [left + name + 2.5 + i * (wide + space) for i in range(len(chips))]
    for i, (x, head) in enumerate(zip(starts, heads, strict=True)):
        _text(ax, x + wide / 2, height - 13.5, f"{i + 1}. {head}")
    tall, rows = 13.0, [height - 32.0, height - 48.5, 4.5]
    for label, y in zip((r"$C_1$", r"$C_2$", r"$C_K$"), rows, strict=True):
        middle = y + tall / 2
        _text(ax, left + name / 2 + 0.5, middle, f"client {label}", size=7.5)
        for i, (x, chip) in enumerate(zip(starts, chips, strict=True)):
            _box(ax, x, y, wide, tall, chip, facecolor=_NOISE if i == noisy else "white")
            if i:
                _arrow(ax, (x - space, middle), (x, middle))
    dots = (rows[1] + rows[2] + tall) / 2
    for x in [left + name / 2 + 0.5, *(s + wide / 2 for s in starts)]:
        _text(ax, x, dots, r"$\vdots$", size=9)
    return [y + tall / 2 for y in rows]


def _server(
    ax: Axes, x: float, wide: float, height: float, steps: Sequence[tuple[str, str]]
) -> float:
    """Draw the server's steps from top to bottom; return the height of the first one's middle."""
    top, bottom, space = height - 11.0, 3.0, 3.2
    tall = (top - bottom - space * (len(steps) - 1)) / len(steps)
    for i, (head, body) in enumerate(steps):
        y = top - tall - i * (tall + space)
        _box(ax, x, y, wide, tall)
        _text(ax, x + wide / 2, y + tall - 3.2, head)
        # what a fraction needs in height, words get in space
        _text(ax, x + wide / 2, y + (tall - 3.2) / 2, body, size=8 if "frac" in body else 6.5)
        if i:
            _arrow(ax, (x + wide / 2, y + tall + space), (x + wide / 2, y + tall))
    return top - tall / 2


def figure1() -> Figure:
    """Figure 1: how DPAUC_Lap computes an AUC (the clients add Laplace noise to their counts)."""
    return _workflow(
        heads=("score own records", r"count at each $\theta\in\Theta$", "add noise"),
        chips=(
            "scores $s_i$\nlabels $y_i$",
            "TP, FP, TN, FN\n" + r"of $s_i\geq\theta$",
            r"$+\,\mathrm{Lap}(0,\,1/\varepsilon')$" + "\non each count",
        ),
        noisy=2,
        sent="noisy\ncounts",
        server=(
            ("4. sum over clients", r"TP, FP, TN, FN at each $\theta$"),
            ("5. rates", "TPR = TP / (TP + FN)\nFPR = FP / (FP + TN)"),
            ("6. ROC curve", "points in order of FPR"),
            ("7. area by trapezoids", "AUC"),
        ),
    )


def figure2() -> Figure:
    """Figure 2: how DPAUC_RR computes an AUC (the clients flip labels, the server debiases)."""
    return _workflow(
        heads=("score own records", "randomise labels", r"count at each $\theta\in\Theta$"),
        chips=(
            "scores $s_i$\nlabels $y_i$",
            r"$\tilde y_i\neq y_i$ with" + "\nprobability\n" + r"$1/(1+e^{\varepsilon})$",
            "TP, FP, TN, FN\n" + r"of $s_i\geq\theta$ and $\tilde y_i$",
        ),
        noisy=1,
        sent="counts of\nflipped labels",
        server=(
            ("4. sum over clients", r"TP, FP, TN, FN at each $\theta$"),
            ("5. area under ROC curve", r"$\mathrm{AUC}^{\mathrm{noisy}}$"),
            ("6. estimate the base rate", r"$\hat\pi$, and from it $\alpha$ and $\beta$"),
            (
                "7. debias",
                r"$\frac{\mathrm{AUC}^{\mathrm{noisy}}-(\alpha+\beta)/2}{1-\alpha-\beta}$",
            ),
        ),
    )


# --- panels by origin and epoch -----------------------------------------------------------------


def _panels(frame: pd.DataFrame) -> list[tuple[str, Any]]:
    """The (origin, epoch) pairs of a table, the authors' first."""
    order = [*ORIGINS, *sorted(set(frame["origin"]) - set(ORIGINS))]
    pairs = {(o, e) for o, e in zip(frame["origin"], frame["epoch"], strict=True)}
    return sorted(pairs, key=lambda pair: (order.index(pair[0]), pair[1]))


def _grid(panels: Sequence[Any], height: float) -> tuple[Figure, list[Axes]]:
    """A row of panels (at most four) as wide as its number; unused places stay empty."""
    columns = min(len(panels), 4)
    rows = math.ceil(len(panels) / columns)
    width: str | float = {1: "one", 2: 130.0}.get(columns, "two")
    made = figure(width, height * rows)
    axes = made.subplots(rows, columns, squeeze=False).ravel()
    for ax in axes[len(panels) :]:
        ax.remove()
    return made, list(axes[: len(panels)])


def figure3(histogram: pd.DataFrame) -> Figure:
    """Figure 3: densities of the scores of positives and negatives, one panel per source and epoch.

    Parameters
    ----------
    histogram : columns ``origin, epoch, label, left, right, density``: one row per bin; bins of a
        panel may have different widths.

    The score axis ends at 1, or earlier where hardly any score lies beyond (0.1 % of a class).
    """
    _require(histogram, ("origin", "epoch", "label", "left", "right", "density"), "score histogram")
    panels = _panels(histogram)
    with style():
        made, axes = _grid(panels, 48)
        for ax, (origin, epoch) in zip(axes, panels, strict=True):
            part = histogram[(histogram["origin"] == origin) & (histogram["epoch"] == epoch)]
            for label, name, colour in ((0, "negatives", "blue"), (1, "positives", "red")):
                bins = part[part["label"] == label].sort_values("left")
                if len(bins):
                    _density(ax, bins, name, PALETTE[colour])
            end = _score_limit(part)
            ax.set_title(f"{_name(origin)}, epoch {epoch}")
            ax.set(xlim=(0, end), xlabel="score $s$")
            ax.set_xticks([0, end / 2, end], ["0", f"{end / 2:g}", f"{end:g}"])
            ax.set_ylim(bottom=0)
            if ax.get_subplotspec().is_first_col():
                ax.set_ylabel("density")
        axes[0].legend(loc="upper right")
    return made


def _score_limit(part: pd.DataFrame) -> float:
    """The smallest round score below which nearly all of both classes lies."""
    mass = part["density"] * (part["right"] - part["left"])
    for end in (0.1, 0.2, 0.5):
        beyond = mass.where(part["left"] >= end * (1 - 1e-9), 0).groupby(part["label"]).sum()
        if (beyond < 1e-3).all():
            return end
    return 1.0


def _density(ax: Axes, bins: pd.DataFrame, name: str, colour: str) -> None:
    edges = np.append(bins["left"].to_numpy(float), float(bins["right"].iloc[-1]))
    ax.stairs(bins["density"], edges, fill=True, color=colour, alpha=0.18)
    ax.stairs(bins["density"], edges, color=colour, linewidth=1.0, label=name)


def _curve_label(curve: str) -> str:
    if curve == "exact":
        return "without noise"
    symbols = {"epsilon": r"$\varepsilon$", "K": "$K$", "thresholds": r"$|\Theta|$"}
    axes = parse_cell(curve) if "=" in curve else {}
    text = ", ".join(f"{symbols.get(a, a)} = {v}" for a, v in axes.items())
    return text or curve


def roc(curves: pd.DataFrame) -> Figure:
    """ROC curves with and without noise: a row per source and epoch, a column per noisy release.

    Parameters
    ----------
    curves : columns ``origin, epoch, curve, fpr, tpr``, the points of a curve in the order they
        are joined in; ``curve`` is ``exact`` or axes such as ``K=10;epsilon=8``.
    """
    _require(curves, ("origin", "epoch", "curve", "fpr", "tpr"), "ROC curves")
    panels = _panels(curves)
    names = [c for c in dict.fromkeys(curves["curve"]) if c != "exact"] or ["exact"]
    with style():
        width: str | float = {1: "one", 2: 115.0}.get(len(names), "two")
        made = figure(width, 14 + 166 / max(len(names), 3) * len(panels))
        axes = made.subplots(len(panels), len(names), squeeze=False, sharex=True, sharey=True)
        for line, (origin, epoch) in zip(axes, panels, strict=True):
            part = curves[(curves["origin"] == origin) & (curves["epoch"] == epoch)]
            for ax, name in zip(line, names, strict=True):
                _roc_panel(ax, part, name)
            line[0].set_ylabel(f"{_name(origin)}, epoch {epoch}\nTPR")
        for ax, name in zip(axes[0], names, strict=True):
            ax.set_title(_curve_label(name))
        for ax in axes[-1]:
            ax.set_xlabel("FPR")
        axes[0, 0].legend(loc="lower right")
    return made


def _roc_panel(ax: Axes, part: pd.DataFrame, name: str) -> None:
    """One noisy curve over the one without noise."""
    noisy, exact = part[part["curve"] == name], part[part["curve"] == "exact"]
    if name != "exact" and len(noisy):
        ax.plot(noisy["fpr"], noisy["tpr"], color=PALETTE["red"], lw=0.9, label="with noise")
    if len(exact):
        dashes = {"ls": (0, (3, 1.5)), "color": "black", "lw": 0.8}
        ax.plot(exact["fpr"], exact["tpr"], label="without noise", **dashes)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    ax.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    ax.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])


# --- overview -----------------------------------------------------------------------------------

_SOURCES = {
    "published": {"marker": "o", "markerfacecolor": "white", "linestyle": "none"},
    "authors": {"marker": "s", "linestyle": "-"},
    "wide_deep": {"marker": "^", "linestyle": (0, (2, 1.2))},
}
_SHIFT = {"published": 1.0, "authors": 0.93, "wide_deep": 1.075}


def overview(
    measurements: pd.DataFrame,
    table4: pd.DataFrame,
    table5: pd.DataFrame,
    *,
    epoch: int = 0,
    published_repeats: int | None = None,
) -> Figure:
    """Bias and spread of DPAUC_Lap against epsilon, by clients (left) and thresholds (right).

    Bias is the mean minus the noise-free AUC of the same source at the same thresholds (item
    ``noise_free``, authors' layout). The published means are those of the authors' model, so they
    are compared with the noise-free value of the authors' counts; without these, no published bias
    is shown.

    Parameters
    ----------
    measurements : rows of items ``table4``, ``table5`` and ``noise_free``.
    table4, table5 : the published CSVs of these tables.
    epoch : the epoch shown; IID cells of Table 4 only.
    published_repeats : repeats behind the published means, for their error bars; None: no bars.
    """
    rows = _sweep(measurements, table4, table5, epoch, published_repeats)
    if rows.empty:
        raise UserError(f"overview figure: no Table 4 or Table 5 cell of epoch {epoch}")
    with style():
        made = figure("two", 112)
        axes = made.subplots(2, 2, sharex=True, sharey="row")
        sweeps = (
            ("table4", _fixed_setting(table4, "n_thresholds", r"$|\Theta|$", "Clients $K$")),
            ("table5", _fixed_setting(table5, "K", "$K$", r"Thresholds $|\Theta|$")),
        )
        for column, (item, title) in enumerate(sweeps):
            _sweep_column(axes[:, column], rows[rows["item"] == item], title)
        _sweep_axes(axes, rows)
        handles = [
            Line2D(
                [], [], color="#404040", label="published" if o == "published" else _name(o), **mark
            )
            for o, mark in _SOURCES.items()
            if (rows["origin"] == o).any()
        ]
        made.legend(handles=handles, loc="outside upper center", ncols=3)
    return made


def _fixed_setting(published: pd.DataFrame, column: str, symbol: str, name: str) -> str:
    """Title of a column of panels: what varies, and what the published table holds fixed."""
    values = set() if published.empty else set(pd.to_numeric(published[column]).dropna())
    return f"{name} (at {symbol} = {int(values.pop())})" if len(values) == 1 else name


def _sweep(
    measurements: pd.DataFrame,
    table4: pd.DataFrame,
    table5: pd.DataFrame,
    epoch: int,
    published_repeats: int | None,
) -> pd.DataFrame:
    """Long table ``item, setting, epsilon, origin, std, bias, error`` of one epoch's cells."""
    cells = _measured_cells(measurements)
    cells += _published_cells("table4", table4, published_repeats)
    cells += _published_cells("table5", table5, published_repeats)
    cells = [c for c in cells if c.get("epoch") == epoch and not pd.isna(c["value"])]
    reference = {
        (c["origin"], c["thresholds"]): c["value"]
        for c in cells
        if c["item"] == "noise_free" and c.get("layout", "authors") == "authors"
    }
    # Table 4's cells do not name the number of thresholds they share
    fixed = set() if table4.empty else set(pd.to_numeric(table4["n_thresholds"]).dropna())
    rows = []
    for c in cells:
        if c["item"] == "noise_free" or c.get("partition", "IID") != "IID":
            continue
        thresholds = c.get("thresholds", next(iter(fixed), None))
        source = "authors" if c["origin"] == "published" else c["origin"]
        kept = {k: c[k] for k in ("item", "epsilon", "origin", "std")}
        kept["setting"] = int(c["K"] if c["item"] == "table4" else c["thresholds"])
        kept["bias"] = c["value"] - reference.get((source, thresholds), math.nan)
        kept["error"] = c["std"] / math.sqrt(c["n"]) if c["n"] else math.nan
        rows.append(kept)
    columns = ["item", "setting", "epsilon", "origin", "std", "bias", "error"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.astype(dict.fromkeys(("epsilon", "std", "bias", "error"), float))


def _measured_cells(measurements: pd.DataFrame) -> list[dict[str, Any]]:
    rows = measurements[
        measurements["paper"].eq("dpauc")
        & measurements["metric"].eq("auc")
        & measurements["origin"].isin(list(ORIGINS))
        & measurements["item"].isin(["table4", "table5", "noise_free"])
    ]
    kept = ("item", "origin", "value", "std", "n")
    return [
        {**{k: row[k] for k in kept}, **_numbers(parse_cell(row["cell"]))}
        for row in rows.to_dict("records")
    ]


def _published_cells(
    item: str, published: pd.DataFrame, repeats: int | None
) -> list[dict[str, Any]]:
    if published.empty:
        return []
    names = {"n_thresholds": "thresholds", "epsilon_total": "epsilon"}
    rows = published[published["metric"] == "auc"].rename(columns=names).to_dict("records")
    kept = ("epoch", "partition", "K", "thresholds", "epsilon", "value", "std")
    return [
        {"item": item, "origin": "published", "n": repeats, **_numbers({k: r[k] for k in kept})}
        for r in rows
    ]


def _numbers(axes: Mapping[str, Any]) -> dict[str, Any]:
    """Axis values as numbers where they are numbers."""
    result: dict[str, Any] = {}
    for name, value in axes.items():
        try:
            result[name] = float(value)
        except ValueError:
            result[name] = value if value != "" else math.nan
    return result


def _sweep_column(axes: Sequence[Axes], part: pd.DataFrame, title: str) -> None:
    """The two panels of one sweep: a colour per setting, a marker per source."""
    settings = sorted(set(part["setting"]))
    wheel = [PALETTE[c] for c in ("blue", "orange", "green", "red", "purple", "sky")]
    colours = {s: wheel[i % len(wheel)] for i, s in enumerate(settings)}
    for (setting, origin), line in part.groupby(["setting", "origin"]):
        _sweep_line(axes, line.sort_values("epsilon"), origin, colours[setting])
    # above the panels: inside, it would hide points of one data set or another
    axes[0].legend(
        handles=[Line2D([], [], color=colours[s], lw=2, label=f"{s}") for s in settings],
        title=title,
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=6,
    )


def _sweep_line(axes: Sequence[Axes], line: pd.DataFrame, origin: str, colour: str) -> None:
    """One source at one setting: bias with two standard errors above, spread below."""
    look = {"color": colour, "linewidth": 0.9, **_SOURCES[origin]}
    x = line["epsilon"].to_numpy(float) * _SHIFT[origin]
    errors = 2 * line["error"].to_numpy(float)
    if np.isfinite(line["bias"]).any():
        bars = np.nan_to_num(errors) * 1e3
        axes[0].errorbar(x, 1e3 * line["bias"], yerr=bars, elinewidth=0.7, **look)
    axes[1].plot(x, line["std"], **look)


def _sweep_axes(axes: np.ndarray, rows: pd.DataFrame) -> None:
    ticks = sorted(set(rows["epsilon"]))
    reach = 2e3 * rows["error"].fillna(0)
    low, high = (1e3 * rows["bias"] - reach).min(), (1e3 * rows["bias"] + reach).max()
    # fmin and fmax ignore the NaN of a figure without any bias
    limits = np.fmin(-0.4, 1.6 * low), np.fmax(0.4, 1.6 * high)
    for ax in axes.ravel():
        ax.set_xscale("log")
        ax.set_xticks(ticks, [f"{t:g}" for t in ticks])
        ax.set_xticks([], minor=True)
        ax.grid(axis="y")
    for ax in axes[0]:
        ax.axhline(0, color="black", lw=0.6)
        ax.set_yscale("symlog", linthresh=1, linscale=1)
        steps = (0.5, 1, 3, 10, 30) if max(-limits[0], limits[1]) < 100 else (1, 10, 100, 1000)
        marks = [0.0, *(sign * m for sign in (-1, 1) for m in steps)]
        marks = sorted(m for m in marks if limits[0] <= m <= limits[1])
        ax.set_ylim(limits)
        ax.set_yticks(marks, [f"{m:g}".replace("-", "\N{MINUS SIGN}") for m in marks])
    for ax in axes[1]:
        ax.set_yscale("log")
        ax.set_xlabel(r"total budget $\varepsilon$")
    axes[0, 0].set_ylabel("bias of the mean AUC, $10^{-3}$\n" + r"($\pm$ 2 standard errors)")
    axes[1, 0].set_ylabel("standard deviation of the AUC")


# --- all figures --------------------------------------------------------------------------------


def draw(
    name: str,
    *,
    measurements: pd.DataFrame,
    densities: pd.DataFrame,
    curves: pd.DataFrame,
    table4: pd.DataFrame,
    table5: pd.DataFrame,
) -> Figure:
    """The figure of a name (one of :data:`FIGURES`) from all that figures are drawn from."""
    if name == "figure1":
        return figure1()
    if name == "figure2":
        return figure2()
    if name == "figure3":
        return figure3(densities)
    if name == "roc":
        return roc(curves)
    if name == "bias_spread":
        repeats = _released_repeats(measurements)
        return overview(measurements, table4, table5, published_repeats=repeats)
    raise UserError(f"figure {name!r}: expected one of {', '.join(FIGURES)}")


def _released_repeats(measurements: pd.DataFrame) -> int | None:
    """Repeats behind the published means, as measured on the authors' released files."""
    found = measurements[
        (measurements["item"] == "released")
        & (measurements["cell"] == "mechanism=Laplace")
        & (measurements["metric"] == "repeats")
    ]
    return int(found["value"].iloc[0]) if len(found) else None


FIGURES = ("figure1", "figure2", "figure3", "roc", "bias_spread")
