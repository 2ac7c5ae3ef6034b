"""Tables of our own experiments on DPAUC: measurements -> :class:`PlainTable`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import pandas as pd

from leakmeter.dpauc.histogram_release import RELIABLE
from leakmeter.dpauc.private_release import METHODS
from leakmeter.reporting.measurements import axes_table
from leakmeter.reporting.plain_tables import PlainTable

#: Rule of composition -> name.
COMPOSITION_RULES = {
    "basic": "basic (sum)",
    "advanced": "advanced",
    "optimal": "optimal for pure DP",
    "pld": "PLD of the discrete noise",
    "gaussian": "Gaussian, exact",
}
#: The same for releases that share a budget.
EVALUATION_RULES = {
    "basic": "basic",
    "advanced": "advanced",
    "optimal": "optimal",
    "pld": "PLD",
    "zcdp": "Gaussian, zCDP",
    "gaussian": "Gaussian, exact",
}
#: Origin of scores -> name.
SOURCES = {"authors": "authors' scores", "wide_deep": "our scores"}


table_of = partial(axes_table, "beyond")


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


def methods(measurements: pd.DataFrame) -> PlainTable:
    """What every mechanism sends and what its guarantee covers (no measurement)."""
    return PlainTable(
        title="Mechanisms for a private AUC, at the same epsilon.",
        head=["method", "mechanism", "covers", "bin totals", "the server learns"],
        rows=[
            [name, spec.title, _COVERS[spec.protects], spec.bin_totals, spec.server_learns]
            for name, spec in METHODS.items()
        ],
        notes=[
            "A guarantee that covers the record holds for a replaced score and label; one that covers "
            "the label holds for a changed label while the scores may become known, which the paper's "
            "threat model excludes.",
        ],
    )


def mechanisms(measurements: pd.DataFrame) -> PlainTable:
    """Bias and spread at the paper's thresholds and epsilon 1, by number of clients."""
    rows = table_of(measurements, "mechanisms", "error")
    rows = rows[(rows["epsilon"] == 1) & (rows["thresholds"] == 100)]
    clients = sorted(rows["K"].unique())
    lines = []
    for key, part in _groups(rows, ["method", "noise"]):
        at = {r["K"]: r for r in part.to_dict("records")}
        lines.append([*key, *(_spread(at[k]) for k in clients)])
    return PlainTable(
        title="Error of one release against the exact AUC at epsilon 1, mean ± standard deviation.",
        head=["scores", "method", "noise", *(f"K = {k}" for k in clients)],
        rows=lines,
        notes=[
            f"100 nominal thresholds of the authors' layout, {_repeats(rows)} releases each. "
            f"paper_pld and Gaussian noise hold at {_deltas(rows)}, the rest at delta = 0. "
            "K clients add noise each; K = 1 is a trusted curator, or a sum that hides its addends.",
            _UNDEFINED,
        ],
    )


def _over(axis: str, fixed: str, value: float, title: str) -> Callable[..., PlainTable]:
    def made(measurements: pd.DataFrame) -> PlainTable:
        rows = table_of(measurements, "mechanisms", "rmse")
        rows = rows[rows[fixed] == value]
        values = sorted(rows[axis].unique())
        lines = []
        for key, part in _groups(rows, ["K", "method", "noise"]):
            at = dict(zip(part[axis], part["value"], strict=True))
            lines.append([*key, *(_number_or_dash(at[v]) for v in values)])
        head = ["scores", "K", "method", "noise", *(f"{axis} {v:g}" for v in values)]
        return PlainTable(title=title, head=head, rows=lines, notes=[_UNDEFINED])

    return made


utility = _over(
    "epsilon",
    "thresholds",
    100,
    "Root-mean-square error of a release by epsilon, at 100 nominal thresholds.",
)
thresholds = _over(
    "thresholds",
    "epsilon",
    1,
    "Root-mean-square error of a release by nominal number of thresholds, at epsilon 1.",
)


def theory(measurements: pd.DataFrame) -> PlainTable:
    """Closed forms beside simulation."""
    rows = table_of(measurements, "theory")
    lines = []
    for key, part in _groups(rows, ["method", "noise", "K"]):
        at = {r["metric"]: r for r in part.to_dict("records")}
        seen = at["simulated"]
        lines.append(
            [
                *key,
                f"{at['class_noise']['value']:.2g}",
                f"{at['bias']['value']:.2g}",
                _number_or_dash(seen["value"], "{:.2g}"),
                _number_or_dash(at["p_bias"]["value"], "{:.2g}"),
                f"{at['std']['value']:.4g}",
                _number_or_dash(seen["std"]),
                _number_or_dash(at["p_std"]["value"], "{:.2g}"),
            ]
        )
    head = ["scores", "method", "noise", "K", "class noise", "bias", "simulated", "p"]
    tests = 2 * len(_reliable(rows))
    return PlainTable(
        title="Bias and standard deviation in closed form beside simulation, epsilon 1.",
        head=[*head, "std", "simulated", "p"],
        rows=lines,
        notes=[
            f"Against the AUC of the same bins; {_repeats(rows[rows['metric'] == 'simulated'])} "
            f"simulated releases each; {tests} tests where class noise is below {RELIABLE:g}, so the smallest p is expected near "
            f"{1 / max(tests, 1):.2g}. Class noise: standard deviation of the noise in a class's size "
            "over that size. The forms are of second order in it, are used "
            f"below {RELIABLE:g} and are expected to fail above.",
            _UNDEFINED,
        ],
    )


def bins(measurements: pd.DataFrame) -> PlainTable:
    """The best number of bins of every layout."""
    rows = table_of(measurements, "bins")
    lines = []
    for key, part in _groups(rows, ["K", "layout"]):
        wide = part.pivot(index="bins", columns="metric", values="value")
        if wide["rmse"].isna().all():
            lines.append([*key, "–", "–", "–", "–"])
            continue
        best = wide.loc[wide["rmse"].idxmin()]
        lines.append(
            [
                *key,
                f"{best['actual']:.0f}",
                f"{best['tie_bias']:.2g}",
                f"{best['std']:.3g}",
                f"{best['rmse']:.3g}",
            ]
        )
    return PlainTable(
        title="Best number of bins of a label histogram at epsilon 1, by layout, in closed form.",
        head=["scores", "K", "layout", "bins", "bias of ties", "std of noise", "error"],
        rows=lines,
        notes=[
            "private: thresholds by private medians at a tenth of epsilon, chosen by one party that "
            "holds all scores. noisy_totals: at a tenth of epsilon from noisy totals of every client. "
            "equal_mass: from the scores, free under label DP, but quantiles of the scores become "
            "known. least_tied: the partition of least tie losses, by dynamic programming; it reads the "
            "labels, so it is a yardstick. The number is the best of those tried. "
            "–: the noise of the class sizes is above a twentieth of them.",
        ],
    )


def evaluations(measurements: pd.DataFrame) -> PlainTable:
    """Spread of every evaluation under one budget."""
    rows = table_of(measurements, "evaluations", "std")
    lines = []
    for key, part in _groups(rows, ["K", "evaluations"]):
        at = dict(zip(part["rule"], part["value"], strict=True))
        lines.append([*key, *(_number_or_dash(at[r], "{:.3g}") for r in EVALUATION_RULES)])
    return PlainTable(
        title="Standard deviation of each of several evaluations that share one budget, epsilon 1.",
        head=["scores", "K", "evaluations", *EVALUATION_RULES.values()],
        rows=lines,
        notes=[
            "Label histogram with private bin totals, in closed form. All but the basic rule hold at "
            "the configured delta. –: the noise of the class sizes is above a twentieth of them.",
        ],
    )


def planning(measurements: pd.DataFrame) -> PlainTable:
    """The epsilon that an error needs."""
    rows = table_of(measurements, "planning", "epsilon")
    settings = sorted({(k, -e) for k, e in zip(rows["K"], rows["error"], strict=True)})
    lines = []
    for key, part in _groups(rows, ["method", "noise"]):
        at = {(r["K"], -r["error"]): r["value"] for r in part.to_dict("records")}
        lines.append([*key, *(_number_or_dash(at[s], "{:.3g}") for s in settings)])
    return PlainTable(
        title="What epsilon an error of the AUC needs (root mean square, ties of the bins included).",
        head=["scores", "method", "noise", *(f"K = {k}, error {-e:g}" for k, e in settings)],
        rows=lines,
        notes=["–: no epsilon up to 10000, because ties or the noise of small classes exceed it."],
    )


# --- parts --------------------------------------------------------------------------------------

_COVERS = {"record": "score and label", "label": "label"}
_UNDEFINED = "–: in some release the noise left a class without a positive size, so no AUC."


def _groups(rows: pd.DataFrame, axes: list[str]) -> Iterator[tuple[list[str], pd.DataFrame]]:
    """Source and axes as text, and the rows there: sources and methods in their fixed order."""
    order = {"method": list(METHODS), "noise": ["discrete", "laplace", "flips", "gaussian"]}
    found = []
    for key, part in rows.groupby(["origin", *axes], sort=False):
        (data,) = part["data"].unique()
        ranks = [order[a].index(v) if a in order else v for a, v in zip(axes, key[1:], strict=True)]
        texts = [f"{SOURCES.get(key[0], key[0])} ({data})", *map(str, key[1:])]
        found.append(([list(SOURCES).index(key[0]), *ranks], texts, part))
    for _, texts, part in sorted(found, key=lambda entry: entry[0]):
        yield texts, part


def _reliable(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[(rows["metric"] == "class_noise") & (rows["value"] < RELIABLE)]


def _spread(row: Mapping[str, Any]) -> str:
    if pd.isna(row["value"]):
        return "–"
    return f"{row['value']:+.5f} ± {row['std']:.5f}".replace("-", "−")


def _number_or_dash(value: float, form: str = "{:.4g}") -> str:
    return "–" if pd.isna(value) else form.format(value)


def _deltas(rows: pd.DataFrame) -> str:
    return ", ".join(sorted(set(rows["note"]) - {"delta = 0"}))


def _repeats(rows: pd.DataFrame) -> str:
    return ", ".join(str(n) for n in sorted(rows["n"].unique()))


#: Name -> function, in the order of a document.
TABLES: Mapping[str, Callable[[pd.DataFrame], PlainTable]] = {
    "methods": methods,
    "mechanisms": mechanisms,
    "utility": utility,
    "thresholds": thresholds,
    "theory": theory,
    "bins": bins,
    "planning": planning,
    "composition": composition,
    "evaluations": evaluations,
}
