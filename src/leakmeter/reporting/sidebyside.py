"""Published and replicated values of an item as two tables of the same shape, from claims.csv."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from leakmeter.reporting.measurements import parse_cell
from leakmeter.reporting.present import (
    MEANING,
    SEVERITY,
    as_float,
    brief,
    like_printed,
    shorten_place,
    spread_like,
)

#: No more columns than a printed page holds.
_MOST_COLUMNS = 8
#: A grid with fewer of its cells filled is shown as a list.
_LEAST_FILLED = 0.6
_METRIC = "metric"


@dataclass(frozen=True)
class Shown:
    """One cell of a table as text."""

    text: str
    spread: str = ""
    verdict: str = ""
    mark: str = ""
    why: str = ""


@dataclass
class Side:
    """The cells of one origin: row label -> column label -> cell."""

    origin: str
    data: list[str]
    cells: dict[tuple[str, ...], dict[str, Shown]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)


@dataclass
class Comparison:
    """Published beside replicated for one item: all tables have the same rows and columns."""

    paper: str
    item: str
    place: str
    fixed: dict[str, str]
    row_axes: list[str]
    column_axis: str
    rows: list[tuple[str, ...]]
    columns: list[str]
    published: dict[tuple[str, ...], dict[str, Shown]]
    replicated: list[Side]


def comparisons(claims: Sequence[Mapping[str, str]]) -> list[Comparison]:
    """Every item of claims.csv that has published values, in the order of the file.

    Cells that carry the same axes and the same metrics stand in one table. Several claims on one
    cell (its mean, its spread) are one entry that carries the gravest of their verdicts.
    """
    groups: dict[tuple[Any, ...], list[Mapping[str, str]]] = {}
    metrics = _metrics_of_origins(claims)
    for row in claims:
        if row["published"] == "":
            continue
        axes = tuple(sorted(parse_cell(row["cell"])))
        key = (row["paper"], row["item"], axes, metrics[_origin_key(row)])
        groups.setdefault(key, []).append(row)
    return [_comparison(rows) for rows in groups.values()]


def _origin_key(row: Mapping[str, str]) -> tuple[Any, ...]:
    return (row["paper"], row["item"], tuple(sorted(parse_cell(row["cell"]))), row["origin"])


def _metrics_of_origins(claims: Sequence[Mapping[str, str]]) -> dict[tuple[Any, ...], tuple]:
    found: dict[tuple[Any, ...], dict[str, None]] = {}
    for row in claims:
        if row["published"] != "":
            found.setdefault(_origin_key(row), {})[row["metric"]] = None
    return {key: tuple(names) for key, names in found.items()}


def _comparison(rows: Sequence[Mapping[str, str]]) -> Comparison:
    entries = [(parse_cell(row["cell"]) | {_METRIC: row["metric"]}, row) for row in rows]
    values: dict[str, dict[str, None]] = {}
    for axes, _ in entries:
        for name, value in axes.items():
            values.setdefault(name, {})[value] = None
    fixed = {name: next(iter(found)) for name, found in values.items() if len(found) == 1}
    varying = [name for name in values if name not in fixed]
    column = _column_axis(varying, values, entries)
    row_axes = [name for name in varying if name != column]
    sides: dict[str, list[tuple[dict[str, str], Mapping[str, str]]]] = {}
    for axes, row in entries:
        sides.setdefault(row["origin"], []).append((axes, row))
    first = rows[0]
    made = Comparison(
        paper=first["paper"],
        item=first["item"],
        place=shorten_place(first["place"]),
        fixed=fixed,
        row_axes=row_axes,
        column_axis=column,
        rows=list(dict.fromkeys(tuple(axes[n] for n in row_axes) for axes, _ in entries)),
        columns=list(values[column]) if column else [""],
        published={},
        replicated=[],
    )
    for origin, part in sides.items():
        side = Side(origin, list(dict.fromkeys(row["data"] for _, row in part if row["data"])))
        _fill(made, side, part)
        made.replicated.append(side)
    return made


def _column_axis(varying, values, entries) -> str:
    """The axis that runs across: metrics if there are several, else the last that is short enough."""
    cells = len({tuple(sorted(axes.items())) for axes, _ in entries})
    for name in [n for n in varying if n == _METRIC] + [
        n for n in reversed(varying) if n != _METRIC
    ]:
        if len(varying) < 2 or len(values[name]) > _MOST_COLUMNS:
            continue
        others = [n for n in varying if n != name]
        lines = len({tuple(axes[n] for n in others) for axes, _ in entries})
        if cells >= _LEAST_FILLED * lines * len(values[name]):
            return name
    return ""


def _fill(made: Comparison, side: Side, part) -> None:
    cells: dict[tuple[tuple[str, ...], str], list[Mapping[str, str]]] = {}
    for axes, row in part:
        place = (tuple(axes[n] for n in made.row_axes), axes.get(made.column_axis, ""))
        cells.setdefault(place, []).append(row)
    for (line, column), rows in cells.items():
        made.published.setdefault(line, {}).setdefault(column, _published(rows))
        shown = _replicated(rows)
        side.cells.setdefault(line, {})[column] = shown
        side.counts[shown.verdict] = side.counts.get(shown.verdict, 0) + 1


def _published(rows: Sequence[Mapping[str, str]]) -> Shown:
    text = shorten(rows[0]["published"])
    spread = next((row["published_std"] for row in rows if row["published_std"]), "")
    return Shown(text, "" if is_spread(rows[0]["metric"]) else plain(spread))


def is_spread(metric: str) -> bool:
    """Whether a metric is a spread already, so that the published spread is not its own."""
    return metric.endswith("_std")


def _replicated(rows: Sequence[Mapping[str, str]]) -> Shown:
    verdict = next(name for name in SEVERITY if any(row["verdict"] == name for row in rows))
    gravest = [row for row in rows if row["verdict"] == verdict]
    row = next((row for row in rows if row["replicated"]), rows[0])
    text, spread = "", ""
    if row["replicated"]:
        printed = shorten(row["published"])
        text = like_printed(row["replicated"], printed)
        spread = spread_like(row["std"], printed) if as_float(row["std"]) else ""
    why = "; ".join(dict.fromkeys(row["why"] for row in gravest if row["why"]))
    return Shown(text, spread, verdict, MEANING[verdict][0], why)


def shorten(text: str) -> str:
    """A published number as shown: full double precision of released files cut to eight digits."""
    mantissa = text.lower().partition("e")[0].lstrip("-0.").replace(".", "")
    return brief(text, 8) if as_float(text) is not None and len(mantissa) > 10 else text


def plain(text: str) -> str:
    """A spread without exponent when that is short: 4e-05 as 0.00004."""
    number = as_float(text)
    if number is None:
        return text
    if "e" in text.lower() and 1e-7 < abs(number) < 1:
        digits = f"{number:.9f}".rstrip("0")
        return digits if float(digits) == number else text
    return brief(text, 5)
