"""Tables of our own experiments on DPAUC: measurements -> :class:`PlainTable`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from leakmeter.reporting.measurements import parse_cell
from leakmeter.reporting.plain_tables import PlainTable
from leakmeter.runtime import UserError

#: Rule of composition -> name.
COMPOSITION_RULES = {
    "basic": "basic (sum)",
    "advanced": "advanced",
    "optimal": "optimal for pure DP",
    "pld": "PLD of the discrete noise",
    "gaussian": "Gaussian, exact",
}


def table_of(measurements: pd.DataFrame, item: str, metric: str | None = None) -> pd.DataFrame:
    """Rows of one item with their axes as columns (numbers where they are numbers).

    Raises
    ------
    UserError : the measurements have none.
    """
    chosen = measurements[(measurements["paper"] == "beyond") & (measurements["item"] == item)]
    if metric is not None:
        chosen = chosen[chosen["metric"] == metric]
    if chosen.empty:
        raise UserError(f"measurements: no row of item {item!r} (metric {metric or 'any'})")
    kept = ("origin", "metric", "value", "std", "n", "m", "data", "note")
    return pd.DataFrame(
        {name: row[name] for name in kept}
        | {axis: _number(value) for axis, value in parse_cell(row["cell"]).items()}
        for row in chosen.to_dict("records")
    )


def _number(text: str) -> Any:
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() else number


def composition(measurements: pd.DataFrame) -> PlainTable:
    """Total epsilon by number of evaluations and rule."""
    rows = table_of(measurements, "composition", "epsilon")
    (each,) = rows["epsilon_each"].unique()
    at = {(r["evaluations"], r["rule"]): r["value"] for r in rows.to_dict("records")}
    deltas = sorted(set(rows["note"]) - {"delta = 0"})
    return PlainTable(
        title=f"Total epsilon of repeated evaluations, each a label histogram at epsilon {each:g}.",
        head=["evaluations", *COMPOSITION_RULES.values()],
        rows=[
            [str(n), *(f"{at[n, rule]:.4g}" for rule in COMPOSITION_RULES)]
            for n in sorted(rows["evaluations"].unique())
        ],
        notes=[
            f"Basic composition holds at delta = 0, the others at {', '.join(deltas)}. "
            "The Gaussian release is (epsilon, delta)-DP by itself at that epsilon."
        ],
    )


#: Name -> function, in the order of a document.
TABLES: Mapping[str, Callable[[pd.DataFrame], PlainTable]] = {"composition": composition}
