"""The figures of the labelings chain: the paper's two drawings, w over n, and what attacks gain.

Every function returns a figure for :func:`leakmeter.reporting.figures.save`; nothing is computed
here that does not stand in the measurement files.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from leakmeter.labelings.table_numbers import SETS
from leakmeter.reporting.figures import PALETTE, WHEEL, canvas, figure, nothing_to_draw, style
from leakmeter.reporting.measurements import axes_table
from leakmeter.runtime import UserError

_COLOURS = dict(zip(SETS, ("blue", "red", "green", "purple"), strict=True))
_MARKERS = dict(zip(SETS, (("s", 5.6), ("o", 4.2), ("^", 3.6), ("D", 2.4)), strict=True))
#: Attack -> (name, colour, line).
_ATTACKS = {
    "weighing": ("weighing", "red", "-"),
    "swaps": ("exchanges of neighbours", "green", "-"),
    "pairs": ("pairs of queries", "blue", "-"),
    "posterior": ("posterior (correct labels)", "black", "none"),
}
_PRUNING = {"pruning by pairs": ("pairs", "-"), "pruning by rankings": ("random rankings", "--")}
_METHODS = {
    "recurrence": ("paper's recurrence", "red", "o"),
    "full_polynomial": ("full polynomials", "orange", "s"),
    "ours": ("truncated pass", "blue", "^"),
}


table_of = partial(axes_table, "labelings")


def _single(measurements: pd.DataFrame, item: str, metric: str) -> Mapping[str, Any]:
    """The row of a metric that an item has once, in the cell without axes."""
    rows = table_of(measurements[measurements["cell"] == ""], item, metric)
    if len(rows) != 1:
        raise UserError(f"measurements: {len(rows)} rows of {item!r} {metric!r}, expected 1")
    return rows.iloc[0].to_dict()


# --- drawings of labelings ----------------------------------------------------------------------

_CELL = 7.0  # millimetres


def _labeling(ax: Axes, labels: Sequence[int], y: float, moved: Sequence[int] = ()) -> None:
    """A row of boxes with 0 or 1; ones are filled, those in ``moved`` in another colour."""
    for index, label in enumerate(labels, start=1):
        face = "white"
        if label:
            face = "#FBE9CF" if index in moved else "#D5E8F4"
        x = index * _CELL
        ax.add_patch(_box(x - 0.44 * _CELL, y - 0.44 * _CELL, 0.88 * _CELL, facecolor=face))
        ax.text(x, y, str(label), ha="center", va="center", size=8)


def _box(x: float, y: float, side: float, **options: Any):
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), side, side, edgecolor="#404040", linewidth=0.6, **options)


def _indices(ax: Axes, n: int, y: float) -> None:
    for index in range(1, n + 1):
        ax.text(index * _CELL, y, str(index), ha="center", va="center", size=6, color="#606060")


def _arc(ax: Axes, start: int, end: int, y: float, colour: str) -> None:
    """An arc above the boxes from a one to a zero it is misranked with."""
    height = 2.3 + 1.35 * (end - start)
    xs = np.linspace(0, np.pi, 40)
    x0, x1 = start * _CELL, end * _CELL
    ax.plot(
        x0 + (x1 - x0) * (1 - np.cos(xs)) / 2,
        y + height * np.sin(xs),
        color=colour,
        lw=0.9,
        solid_capstyle="round",
    )


def figure1(*, measurements: pd.DataFrame, **_: Any) -> Figure:
    """Figure 1: a labeling, the same after one left-swap, and the misranked pairs of both."""
    drawing = table_of(measurements, "figure1", "label")
    index = int(_single(measurements, "figure1", "swap_index")["value"])
    n = int(drawing["index"].max())
    left, width, height = 18.0, 18.0 + (n + 0.7) * _CELL, 38.0
    with style():
        made, ax = canvas(width, height)
        ax.set_xlim(-left, width - left)
        for stage, y in (("y", 24.5), ("z", 4.5)):
            rows = drawing[drawing["stage"] == stage].sort_values("index")
            swapped = index if stage == "y" else index - 1
            _labeling(ax, rows["value"].astype(int).tolist(), y, moved=[swapped])
            pairs = [
                (int(row["index"]), int(zero))
                for row in rows.to_dict("records")
                for zero in str(row["note"] or "").split()
            ]
            for start, end in pairs:
                colour = PALETTE["red"] if start == swapped else PALETTE["blue"]
                _arc(ax, start, end, y + 0.44 * _CELL, colour)
            ax.text(0.2 * _CELL, y, f"${stage}$", ha="right", va="center", size=9)
            ax.text(-left + 1, y, f"{len(pairs)} pairs", va="center", size=6.5, color="#606060")
        _indices(ax, n, 18.2)
        _swap_arrow(ax, index, 21.0)
    return made


def _swap_arrow(ax: Axes, index: int, y: float) -> None:
    """A bent arrow below a box and its left neighbour."""
    ax.add_patch(
        FancyArrowPatch(
            (index * _CELL, y),
            ((index - 1) * _CELL, y),
            connectionstyle="arc3,rad=-0.55",
            arrowstyle="-|>,head_length=2.4,head_width=1.2",
            linewidth=0.8,
            color=PALETTE["red"],
            shrinkA=0,
            shrinkB=0,
        )
    )


def figure2(*, measurements: pd.DataFrame, **_: Any) -> Figure:
    """Figure 2: the ordering without misranked pairs, and each one swapped to its place."""
    drawing = table_of(measurements, "figure2", "label")
    swaps = [int(s) for s in str(_single(measurements, "figure2", "swaps")["note"]).split(";")]
    n = int(drawing["index"].max())
    stages = list(dict.fromkeys(drawing["stage"]))
    stages = ["r", *sorted(s for s in stages if s != "r")]
    step, left = 14.0, 13.0
    width, height = left + (n + 1) * _CELL + 18, 13.0 + step * (len(stages) - 1)
    with style():
        made, ax = canvas(width, height)
        ax.set_xlim(-left, width - left)
        rows = {
            s: drawing[drawing["stage"] == s].sort_values("index")["value"].astype(int).tolist()
            for s in stages
        }
        for number, stage in enumerate(stages):
            y = height - 4 - step * number
            moved, origin = _moved_one(rows, stages, number)
            _labeling(ax, rows[stage], y, moved=[moved] if moved else [])
            if moved:
                which = int(stage[1:])
                text = f"$s_{which}={swaps[which - 1]}$"
                _move_arrow(ax, origin, moved, y + 0.44 * _CELL, step)
            else:
                text = "$r$"
            ax.text(0.2 * _CELL, y, text, ha="right", va="center", size=8)
            wrong = _misranked(drawing, stage)
            ax.text((n + 0.8) * _CELL, y, f"$d={wrong}$", ha="left", va="center", size=7.5)
        bottom = height - 4 - step * (len(stages) - 1)
        _indices(ax, n, bottom - 0.75 * _CELL)
        still = [i for i, s in enumerate(swaps, start=1) if not s]
        if still:
            text = "$" + "=".join(f"s_{i}" for i in still) + "=0$"
            ax.text((n + 0.8) * _CELL, bottom - 0.75 * _CELL, text, va="center", size=6.5)
    return made


def _misranked(drawing: pd.DataFrame, stage: str) -> int:
    notes = drawing.loc[drawing["stage"] == stage, "note"]
    return sum(len(str(note or "").split()) for note in notes)


def _moved_one(
    rows: Mapping[str, Sequence[int]], stages: Sequence[str], number: int
) -> tuple[int, int]:
    """Where a stage's one arrived and where it came from (one-based); zeros at the first stage."""
    if number == 0:
        return 0, 0
    before, after = np.array(rows[stages[number - 1]]), np.array(rows[stages[number]])
    return int(np.flatnonzero(after > before)[0]) + 1, int(np.flatnonzero(before > after)[0]) + 1


def _move_arrow(ax: Axes, start: int, end: int, y: float, step: float) -> None:
    ax.add_patch(
        FancyArrowPatch(
            (start * _CELL, y + step - 0.88 * _CELL),
            (end * _CELL, y),
            arrowstyle="-|>,head_length=2.4,head_width=1.2",
            linewidth=0.8,
            color=PALETTE["orange"],
            shrinkA=0.5,
            shrinkB=0.5,
        )
    )


# --- counts over n ------------------------------------------------------------------------------


def w(*, measurements: pd.DataFrame, **_: Any) -> Figure:
    """w(n, c) of the paper's example on a logarithmic scale, absent where it is zero."""
    rows = table_of(measurements, "w", "w").merge(
        table_of(measurements, "w", "multiple")[["n", "n0", "n1", "value"]],
        on=["n", "n0", "n1"],
        suffixes=("", "_multiple"),
    )
    # the largest multiple of q among the class sizes is what makes w large
    rows = rows.sort_values("value_multiple").groupby("n", as_index=False).last()
    threshold = _single(measurements, "w", "threshold")["value"]
    auc = _single(measurements, "w", "auc_percent")["note"]
    last = table_of(measurements, "w", "magnitude")["n"].max()
    with style():
        made = figure("two", 72)
        ax = made.subplots()
        multiples = sorted(set(rows["value_multiple"].astype(int)))
        shades = _shades(len(multiples))
        for multiple, colour in zip(multiples, shades, strict=True):
            part = rows[rows["value_multiple"] == multiple]
            ax.plot(part["n"], part["value"], "o", color=colour, ms=3.4, label=f"{multiple}")
        ax.set_yscale("log")
        ax.axvspan(rows["n"].min() - 2, last + 0.5, color="#F0F0F0", lw=0)
        ax.axvline(threshold, color="black", lw=0.7, ls=(0, (3, 2)))
        low, high = ax.get_ylim()
        high *= 10
        ax.set_ylim(low, high)
        ax.text(
            threshold + 0.8,
            high / 3,
            rf"$\min\{{n_0+n_1: n_0n_1=2q\}}={int(threshold)}$",
            size=6.5,
            va="top",
        )
        ax.text(
            (rows["n"].min() + last) / 2 - 0.7,
            high / 3,
            f"described in the paper\n(to $n={int(last)}$)",
            size=6.5,
            va="top",
            ha="center",
        )
        ax.set(xlabel="records $n$", ylabel=f"labelings $w(n, {auc})$")
        ax.set_xlim(rows["n"].min() - 2, rows["n"].max() + 2)
        ax.grid(axis="y")
        ax.legend(
            title="$\\max\\, n_0 n_1/q$",
            loc="center left",
            bbox_to_anchor=(1.0, 0.5),
            ncols=1 + len(multiples) // 14,
            handletextpad=0.2,
        )
    return made


def _shades(number: int) -> list[tuple[float, ...]]:
    """Colours from dark to light, told apart in grey as well."""
    from matplotlib import colormaps

    return [tuple(colormaps["viridis"](x)) for x in np.linspace(0, 0.88, max(number, 1))]


def growth(*, measurements: pd.DataFrame, **_: Any) -> Figure:
    """log2 w and bits per record along n = 4q, 8q, ..."""
    bits = table_of(measurements, "growth", "bits_per_record")
    logs = table_of(measurements, "growth", "log2_w")
    with style():
        made = figure("two", 62)
        left, right = made.subplots(1, 2)
        for auc, colour in zip(_by_size(bits["auc"]), itertools.cycle(WHEEL), strict=False):
            for ax, rows in ((left, logs), (right, bits)):
                part = rows[rows["auc"] == auc].sort_values("n")
                ax.plot(
                    part["n"],
                    part["value"],
                    "o-",
                    ms=2.8,
                    color=PALETTE[colour],
                    label=f"$c={auc}$",
                )
        left.set(xlabel="records $n=4qt$", ylabel=r"$\log_2 w(n, c)$")
        right.set(xlabel="records $n=4qt$", ylabel=r"$\log_2 w(n, c)\,/\,n$  (bits per record)")
        right.axhline(1, color="black", lw=0.6, ls=(0, (3, 2)))
        right.text(right.get_xlim()[1], 0.985, "all labelings", ha="right", va="top", size=6.5)
        right.set_ylim(0, 1.05)
        left.set_ylim(bottom=0)
        for ax in (left, right):
            ax.set_xlim(left=0)
            ax.grid()
        right.legend(loc="lower right")
    return made


def _by_size(values: pd.Series) -> list[str]:
    def size(text: str) -> float:
        p, _, q = str(text).partition("/")
        return float(p) / float(q or 1)

    return sorted(set(values.astype(str)), key=size)


def cost(*, measurements: pd.DataFrame, **_: Any) -> Figure:
    """Operations of three ways to count, and the recurrence's additions per table entry."""
    with style():
        made = figure("two", 66)
        left, right = made.subplots(1, 2)
        for metric, (name, colour, marker) in _METHODS.items():
            rows = table_of(measurements, "cost", metric).sort_values("n")
            left.plot(rows["n"], rows["value"], marker=marker, color=PALETTE[colour], label=name)
        entries = table_of(measurements, "cost", "table_entries").sort_values("n")
        left.plot(
            entries["n"],
            entries["value"],
            ls=(0, (3, 2)),
            color="black",
            lw=0.8,
            label=r"table entries, the stated $O(n_0 n_1 d)$",
        )
        left.set(
            xscale="log",
            yscale="log",
            xlabel="records $n$",
            ylabel="operations for $v(n/2, n/2, n^2/8)$",
        )
        _plain_log_ticks(left, table_of(measurements, "cost", "ours")["n"])
        left.legend(loc="upper left")
        per_entry = table_of(measurements, "cost", "per_entry").sort_values("n")
        n0 = per_entry["n"] - per_entry["n"] // 2
        right.plot(n0, per_entry["value"], "o-", color=PALETTE["red"], label="counted")
        right.axhline(1, color="black", lw=0.8, ls=(0, (3, 2)), label="stated: constant")
        right.set(xlabel="zeros $n_0$", ylabel="additions per table entry")
        right.set_xlim(left=0)
        right.set_ylim(bottom=0)
        right.legend(loc="upper left")
        for ax in (left, right):
            ax.grid()
    return made


def _plain_log_ticks(ax: Axes, values: Sequence[int]) -> None:
    """Powers of ten, twos and fives within the data as plain numbers on a logarithmic x-axis."""
    low, high = min(values), max(values)
    marks = [
        m * 10**e
        for e in range(int(math.log10(low)), int(math.log10(high)) + 1)
        for m in (1, 2, 5)
        if low <= m * 10**e <= high
    ]
    ax.set_xticks(marks, [f"{m:g}" for m in marks])
    ax.xaxis.set_minor_locator(NullLocator())


def cost_times(times: pd.DataFrame) -> Figure:
    """CPU seconds of the three ways to count; a figure of this machine and this run.

    Parameters
    ----------
    times : columns ``n, method, seconds``.
    """
    names = {"full-polynomial": "full_polynomial"}
    with style():
        made = figure("one", 66)
        ax = made.subplots()
        for metric, (name, colour, marker) in _METHODS.items():
            rows = times[times["method"].replace(names) == metric].sort_values("n")
            ax.plot(rows["n"], rows["seconds"], marker=marker, color=PALETTE[colour], label=name)
        ax.set(
            xscale="log",
            yscale="log",
            xlabel="records $n$",
            ylabel="CPU seconds for $v(n/2, n/2, n^2/8)$",
        )
        _plain_log_ticks(ax, times["n"])
        ax.grid()
        ax.legend(loc="upper left")
    return made


# --- what an AUC tells ---------------------------------------------------------------------------


def rounding(*, measurements: pd.DataFrame, **_: Any) -> Figure:
    """Bits left to learn by the decimals shown, class sizes known and unknown."""
    rows = table_of(measurements, "rounding", "bits")
    names = [name for name in SETS if name in set(rows["origin"])]
    decimals = sorted(d for d in set(rows["decimals"]) if isinstance(d, int))
    places = {"none": 0, **{d: d for d in decimals}, "exact": len(decimals) + 1}
    with style():
        made = figure("two", 66)
        axes = made.subplots(1, len(names), squeeze=False)[0]
        for ax, name in zip(axes, names, strict=True):
            for known, line, face in (("unknown", (0, (3, 1.5)), "white"), ("known", "-", None)):
                part = rows[(rows["origin"] == name) & (rows["ones"] == known)]
                part = part.assign(place=part["decimals"].map(places)).sort_values("place")
                ax.plot(
                    part["place"],
                    part["value"],
                    "o",
                    ls=line,
                    ms=3.2,
                    color=PALETTE[_COLOURS[name]],
                    markerfacecolor=face,
                    label=f"class sizes {known}",
                )
            ax.set_title(f"{SETS[name]}, $n={int(part['m'].iloc[0])}$")
            ax.set_xticks(list(places.values()), ["no\nAUC", *map(str, decimals), "\nexact"])
            ax.set_ylim(bottom=0)
            ax.set_xlabel("decimals shown")
            ax.grid(axis="y")
        axes[0].set_ylabel("labelings left, $\\log_2$")
        axes[0].legend(loc="upper right")
    return made


def posterior(*, posterior: pd.DataFrame, measurements: pd.DataFrame, **_: Any) -> Figure:
    """P(label = 1) by rank of the guess, given one AUC."""
    n = int(posterior["n"].iloc[0])
    accuracy = table_of(measurements, "posterior", "expected_accuracy")
    with style():
        made = figure("one", 70)
        ax = made.subplots()
        for auc, colour in zip(_by_size(posterior["auc"]), itertools.cycle(WHEEL), strict=False):
            part = posterior[posterior["auc"] == auc].sort_values("rank")
            chosen = accuracy[
                (accuracy["origin"] == "exact") & (accuracy["n"] == n) & (accuracy["auc"] == auc)
            ]
            text = f"AUC {auc}: {chosen['value'].iloc[0]:.3f}" if len(chosen) else f"AUC {auc}"
            ax.plot(part["rank"], part["probability"], color=PALETTE[colour], label=text)
        ax.axhline(0.5, color="black", lw=0.6, ls=(0, (3, 2)))
        ax.set(
            xlim=(1, n),
            ylim=(0, 1),
            xlabel=f"rank of the guess among $n={n}$",
            ylabel="$P(y=1\\,|\\,$AUC$)$",
        )
        ax.grid()
        ax.legend(
            title="labels right, expected share",
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            ncols=2,
        )
    return made


# --- attacks ------------------------------------------------------------------------------------


def attacks(*, measurements: pd.DataFrame, attacks: pd.DataFrame, **_: Any) -> Figure:
    """Labels recovered against oracle queries on genuine test sets, exact oracle."""
    names = [name for name in SETS if name in set(attacks["origin"])]
    columns = min(len(names), 2)
    with style():
        made = figure("two" if columns == 2 else "one", 10 + 58 * math.ceil(len(names) / columns))
        axes = made.subplots(math.ceil(len(names) / columns), columns, squeeze=False).ravel()
        for ax in axes[len(names) :]:
            ax.remove()
        for ax, name in zip(axes, names, strict=False):
            _attack_panel(ax, measurements, attacks[attacks["origin"] == name], name)
        handles, labels = axes[0].get_legend_handles_labels()
        made.legend(handles, labels, loc="outside upper center", ncols=3)
    return made


def _attack_panel(ax: Axes, measurements: pd.DataFrame, curves: pd.DataFrame, name: str) -> None:
    """One test set: a line per attack, the posterior's point, and what any attack is bounded by."""

    def value(metric: str, attack: str) -> float:
        rows = table_of(measurements, "attacks", metric)
        exact = rows[(rows["attack"] == attack) & (rows["decimals"] == "exact")]
        return float(_own(exact, name)["value"])

    n = int(curves.loc[curves["attack"].isin(_ATTACKS), "n"].max())
    for attack, (label, colour, line) in _ATTACKS.items():
        part = curves[(curves["attack"] == attack) & (curves["n"] == n)]
        if attack == "posterior":
            ax.plot([1], [value("correct", attack)], "D", color=PALETTE[colour], label=label, ms=4)
        else:
            ax.plot(
                part["queries"],
                part["known"],
                ls=line,
                color=PALETTE[colour],
                label=f"{label} (certain)",
                drawstyle="steps-post",
            )
    majority = value("majority", "pairs")
    ax.axhline(majority, color="#606060", lw=0.8, ls=(0, (1, 1.5)), label="larger class, no query")
    ax.axvline(
        value("fewest_queries", "pairs"),
        color="#606060",
        lw=0.8,
        ls=(0, (4, 2)),
        label="fewest possible queries for certainty",
    )
    ax.set_xscale("log")
    ax.set(xlim=(0.8, 2.2 * n), ylim=(0, 1.06 * n))
    ax.set_xticks([10**k for k in range(1 + int(math.log10(2.2 * n)))])
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    ax.text(0.02, 0.28, f"{SETS[name]}\n$n={n}$", transform=ax.transAxes, va="top", size=7.5)
    ax.set(xlabel="oracle queries", ylabel="labels recovered")
    per_day = float(_own(table_of(measurements, "attacks", "submissions_a_day"), name)["value"])
    days = ax.secondary_xaxis("top", functions=(lambda q: q / per_day, lambda d: d * per_day))
    days.set_xlabel(f"days at {per_day:g} submissions a day")
    days.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    ax.grid()


def _own(rows: pd.DataFrame, name: str) -> Mapping[str, Any]:
    """The one row of a test set."""
    own = rows[rows["origin"] == name]
    if len(own) != 1:
        raise UserError(f"measurements: {len(own)} rows of test set {name}, expected 1")
    return own.iloc[0].to_dict()


def pruning(*, attacks: pd.DataFrame, **_: Any) -> Figure:
    """Labelings left and the expected AUC of improved guesses, query by query, on small sets.

    Of each test set the size with the most labelings is shown.
    """
    curves = attacks[attacks["attack"].isin(_PRUNING)]
    if curves.empty:
        return nothing_to_draw(
            "no test set has as few labelings as labelings.genuine.pruning.max_labelings"
        )
    with style():
        made = figure("two", 70)
        left, right = made.subplots(1, 2)
        largest = curves.loc[curves.groupby("origin")["labelings"].idxmax()]
        shown = dict(zip(largest["origin"], largest["n"].astype(int), strict=True))
        names = [name for name in SETS if name in shown]
        for name in names:
            part = curves[(curves["origin"] == name) & (curves["n"] == shown[name])]
            for attack, (_, line) in _PRUNING.items():
                curve = part[part["attack"] == attack].sort_values("queries")
                # markers shrink from set to set, so that equal curves stay visible
                marker, size = _MARKERS[name]
                look = {"ls": line, "color": PALETTE[_COLOURS[name]], "marker": marker, "ms": size}
                left.plot(curve["queries"], curve["labelings"], **look)
                right.plot(curve["queries"], curve["expected_auc"], **look)
        left.set_yscale("log")
        left.set(xlabel="oracle queries", ylabel="labelings left")
        right.set(xlabel="oracle queries", ylabel="expected AUC of the improved guesses")
        for ax in (left, right):
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
            ax.grid()
        handles = [
            Line2D(
                [],
                [],
                color=PALETTE[_COLOURS[name]],
                marker=_MARKERS[name][0],
                label=f"{SETS[name]}, $n={shown[name]}$",
            )
            for name in names
        ]
        handles += [
            Line2D([], [], color="#404040", ls=line, label=label)
            for label, line in _PRUNING.values()
        ]
        made.legend(handles=handles, loc="outside upper center", ncols=6)
    return made


#: Name -> function of measurements, posterior and attack curves (keywords).
FIGURES: dict[str, Callable[..., Figure]] = {
    "figure1": figure1,
    "figure2": figure2,
    "w": w,
    "growth": growth,
    "cost": cost,
    "rounding": rounding,
    "posterior": posterior,
    "attacks": attacks,
    "pruning": pruning,
}
