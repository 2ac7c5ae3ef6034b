"""The numbers of the SHAPr chain as its tables write them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from leakmeter.membership.experiments.names import ORIGIN, PAPER
from leakmeter.reporting.latex import (
    DASH,
    escape,
    integer,
    legend,
    number,
    scientific,
    with_std,
)
from leakmeter.reporting.numbers import Key, Numbers, Row, axes_of, empty

#: Superscript of a set's name by the label of its data.
_LABELS = {"real": "", "related": r"$^{r}$", "standin": r"$^{s}$"}
_LABEL_NOTES = {
    "related": r"$^{r}$ a genuine set of another year.",
    "standin": r"$^{s}$ a generated stand-in (levels on it prove nothing).",
}
ATTACKS = {"ment": r"$I_{\mathrm{ment}}$", "lira": r"$I_{\mathrm{lira}}$"}
GROUPS = {"genuine": "genuine sets", "all": "all sets"}


class ShaprNumbers(Numbers):
    """The chain's numbers, with the sets of the run and what the paper states.

    Parameters
    ----------
    measurements, claims : as the gather and the claims rules write them.
    meta : what was used of each set, in order.
    published : ``quantity -> value`` of the statements file.
    """

    paper, origin = PAPER, ORIGIN
    #: What the spreads of a table are over.
    spread = "over targets (a single set) or sets (a mean over sets)"

    def __init__(
        self,
        measurements: pd.DataFrame,
        claims: pd.DataFrame,
        meta: Sequence[Mapping[str, Any]],
        published: Mapping[str, str],
    ) -> None:
        super().__init__(measurements, claims)
        self.meta, self.published = list(meta), published

    @property
    def sets(self) -> list[str]:
        """Names of the sets of this run."""
        return [facts["name"] for facts in self.meta]

    def title(self, name: str) -> str:
        """The paper's name of a set with the mark of its data."""
        if name in GROUPS:
            return GROUPS[name]
        facts = next(facts for facts in self.meta if facts["name"] == name)
        return escape(facts["title"]) + _LABELS[facts["label"]]

    def about(self, key: Key) -> list[Row]:
        """The claims on a number; a comparison of two cells is marked at the first."""
        *cell, metric = key
        return super().about(key) + super().about((*cell, f"value of {metric}"))

    def p_adjusted(self, item: str, axes: Mapping[str, Any], metric: str) -> str:
        """Holm-adjusted p-value of the claim on a number; a dash where nothing is claimed."""
        found = self.about((item, axes_of(axes), self.origin, metric))
        values = [claim["p_adjusted"] for claim in found if not empty(claim["p_adjusted"])]
        return small({"value": max(values)}) if values else DASH

    def notes(self) -> list[str]:
        """What is in parentheses, what the marks of sets and of verdicts mean, scale and seed."""
        notes = []
        if any(not empty(row["std"]) for row in self.seen()):
            notes.append(
                f"In parentheses the standard deviation in units of the last digit, {self.spread}."
            )
        labels = {facts["label"] for facts in self.meta}
        notes += [_LABEL_NOTES[label] for label in sorted(labels & set(_LABEL_NOTES))]
        if self.seen():
            notes.append(f"Scale {self.run()}.")
        return [*notes, legend(self.marks)]


def share(row: Mapping[str, Any]) -> str:
    """A rate or a correlation to three decimals, with its spread if it has one."""
    return with_std(row["value"], row["std"], 3)


def plain(row: Mapping[str, Any]) -> str:
    """A rate to three decimals without its spread."""
    return number(row["value"], 3)


def whole(row: Mapping[str, Any]) -> str:
    """A count."""
    return integer(row["value"])


def small(row: Mapping[str, Any]) -> str:
    """Two significant digits."""
    return scientific(row["value"], 2)


def statement_values(rows: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """``quantity -> value`` of the statements that name no set."""
    return {row["quantity"]: row["value"] for row in rows if not row["set"]}
