"""What the page, the PDF and the README share: claims by family, printed digits, commands."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from leakmeter.damage import ADVICE, damage_of
from leakmeter.reporting.claims import VERDICTS, cells_of
from leakmeter.runtime import UserError

#: Verdict -> (mark, meaning). Marks tell verdicts apart without colour.
MEANING: dict[str, tuple[str, str]] = {
    "reproduced": ("=", "the test passes on exact, real or authors data"),
    "consistent": (
        "≈",
        "it passes on related or stand-in data, where only effects are compared, never levels",
    ),
    "calibrated": ("○", "a stand-in was made to show this level, so it proves nothing"),
    "uninformative": (
        "?",
        "a constant or chance baseline meets the claim as well, or it is true by construction",
    ),
    "not reproduced": ("≠", "the test fails"),
    "erratum": ("!", "the published number contradicts the paper's own settings or shipped code"),
    "not published": ("∅", "there is no number to compare with"),
    "not run": ("×", "needs another scale or other data, for a reason stated in advance"),
}
#: From the verdict a reader must see first to the one that says least.
SEVERITY = (
    "not reproduced",
    "erratum",
    "uninformative",
    "calibrated",
    "consistent",
    "reproduced",
    "not run",
    "not published",
)
#: Label of the data -> meaning.
DATA_MEANING = {
    "exact": "mathematics, no data",
    "real": "the paper's own data set, or a stated subset of it",
    "authors": "numbers or counts released by the authors, or reconstructed from what they released",
    "related": "a genuine set of the same kind that is not the paper's",
    "standin": "generated",
}


@dataclass(frozen=True)
class Paper:
    """How a paper is named; ``id`` is its chain."""

    id: str
    short: str
    title: str
    authors: str
    venue: str
    url: str


#: No papers: shown last, each in a section of its own. Our own experiments, and the user's files.
OWN = Paper("beyond", "Beyond the papers", "", "", "", "")
YOURS = Paper("own", "Your data", "", "", "", "")
EXTRA = {paper.id: paper for paper in (OWN, YOURS)}


def read_papers() -> dict[str, Paper]:
    """Papers by chain, in the order in which they are shown."""
    content = yaml.safe_load(Path(__file__).with_name("papers.yaml").read_text(encoding="utf-8"))
    return {name: Paper(id=name, **entry) for name, entry in content.items()}


def ordered_papers(names: Iterable[str]) -> list[Paper]:
    """The papers of some chains in their fixed order; a chain nobody described keeps its own name."""
    known, wanted = read_papers(), set(names)
    unknown = sorted(wanted - set(known) - set(EXTRA))
    return [
        *(paper for name, paper in known.items() if name in wanted),
        *(Paper(name, name, name, "", "", "") for name in unknown),
        *(paper for name, paper in EXTRA.items() if name in wanted),
    ]


def read_rows(path: str | Path, required: Sequence[str] = ()) -> list[dict[str, str]]:
    """Rows of a CSV file, every field as the text that stands in it.

    Raises
    ------
    UserError
        no such file, a file that is cut off or damaged, or a column of ``required`` is missing.
    """
    if reason := Path(path).is_file() and damage_of(path):
        raise UserError(f"{path}: cut off or damaged ({reason}); {ADVICE}")
    try:
        with open(path, encoding="utf-8", newline="") as handle:
            reader = csv.DictReader(handle)
            rows = list(reader)
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    lacking = [name for name in required if name not in (reader.fieldnames or [])]
    if lacking:
        raise UserError(f"{path}: lacks the columns {', '.join(lacking)}")
    return rows


# --- numbers ------------------------------------------------------------------------------------


def as_float(text: str | None) -> float | None:
    """The number in a CSV field; None when it is empty, NaN or no number."""
    try:
        number = float(text or "nan")
    except ValueError:
        return None
    return None if math.isnan(number) else number


def like_printed(value: str, printed: str) -> str:
    """Our value with the digits of the published one: decimals, or significant digits of a power.

    Text that is no number comes back unchanged; beside an inequality three digits are shown.

    >>> like_printed("0.7493759987", "0.74938"), like_printed("6.96829e-06", "8.52e-6")
    ('0.74938', '6.97e-06')
    """
    number = as_float(value)
    if number is not None and printed.startswith((">", "<")):
        return brief(value, 3)
    if number is None or as_float(printed) is None:
        return value
    if math.isinf(number):
        return "∞" if number > 0 else "−∞"
    mantissa, power, _ = printed.lower().partition("e")
    decimals = min(len(mantissa.partition(".")[2]), 10)
    if power:
        return f"{number:.{decimals}e}"
    return f"{number:.{decimals}f}"


def brief(value: str, digits: int = 6) -> str:
    """A number with few significant digits, other text unchanged.

    >>> brief("0.000231999"), brief("458407.0"), brief("1<2")
    ('0.000231999', '458407', '1<2')
    """
    number = as_float(value)
    if number is None:
        return value
    if number.is_integer() and abs(number) < 1e15:
        return str(int(number))
    return f"{number:.{digits}g}"


def spread_like(std: str, printed: str) -> str:
    """A spread with the decimals of the value it belongs to, or two digits when those show none."""
    number = as_float(std)
    if number is None:
        return ""
    decimals = len(printed.lower().partition("e")[0].partition(".")[2])
    text = f"{number:.{decimals}f}"
    return text if number == 0 or ("e" not in printed.lower() and float(text)) else f"{number:.2g}"


def shorten_place(place: str) -> str:
    """A place without the remark in parentheses after it.

    >>> shorten_place("Table 2 (epoch not stated)")
    'Table 2'
    """
    return place.partition(" (")[0]


#: p-values below it are computed as 0 or lose all digits.
SMALLEST_P = 1e-300


def p_text(p: float | None) -> str:
    """A p-value in two digits; one too small for a float is a bound.

    >>> p_text(0.0412), p_text(0.0), p_text(None)
    ('0.041', '< 1e-300', '')
    """
    if p is None:
        return ""
    return f"{p:.2g}" if p >= SMALLEST_P else f"< {SMALLEST_P:g}"


# --- claims by family ---------------------------------------------------------------------------


@dataclass
class Family:
    """The cells of one claim: they share a statement, a rule of comparison and an error level."""

    id: str
    paper: str
    item: str
    place: str
    statement: str
    origins: list[str] = field(default_factory=list)
    data: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    cells: int = 0
    smallest_p: float | None = None
    whys: list[str] = field(default_factory=list)
    errata: list[str] = field(default_factory=list)

    @property
    def smallest_p_text(self) -> str:
        return p_text(self.smallest_p)

    @property
    def verdict(self) -> str:
        """The gravest verdict among the cells."""
        return next(name for name in SEVERITY if self.counts.get(name))


def families(rows: Sequence[Mapping[str, str]]) -> list[Family]:
    """Claims grouped by family, papers in their order, families in that of the file."""
    found: dict[str, Family] = {}
    for row in rows:
        family = found.setdefault(
            row["id"],
            Family(**{key: row[key] for key in ("id", "paper", "item", "place", "statement")}),
        )
        count = cells_of(row)
        family.cells += count
        family.counts[row["verdict"]] = family.counts.get(row["verdict"], 0) + count
        for values, key in (
            (family.origins, "origin"),
            (family.data, "data"),
            (family.tests, "test"),
            (family.errata, "erratum"),
        ):
            if row[key] and row[key] not in values:
                values.append(row[key])
        p = as_float(row["p_adjusted"])
        if p is not None and (family.smallest_p is None or p < family.smallest_p):
            family.smallest_p = p
    for family in found.values():
        whys = Counter(
            row["why"]
            for row in rows
            if row["id"] == family.id and row["verdict"] == family.verdict and row["why"]
        )
        family.whys = [why for why, _ in whys.most_common(2)]
    order = [paper.id for paper in ordered_papers({f.paper for f in found.values()})]
    return sorted(found.values(), key=lambda f: order.index(f.paper))


def count_verdicts(rows: Sequence[Mapping[str, str]]) -> dict[str, int]:
    """Cells by verdict, every verdict named."""
    counts = dict.fromkeys(VERDICTS, 0)
    for row in rows:
        counts[row["verdict"]] += cells_of(row)
    return counts


# --- commands -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """A run and the options that configure it.

    Attributes
    ----------
    scale : name of the folder in ``results``.
    configured : ``--configfile ... --config ...`` of the run, as
        :func:`leakmeter.workflow.config_options` says it; empty for the default.
    """

    scale: str
    configured: str = ""

    def command(self, target: str, *options: str) -> str:
        """The command line that makes a target of this run.

        >>> Run("smoke", "--configfile config/smoke.yaml").command("dpauc", "--force")
        'snakemake dpauc --cores 2 --force --configfile config/smoke.yaml'
        """
        parts = ("snakemake", target, "--cores 2", *options, self.configured)
        return " ".join(part for part in parts if part)


def item_target(scale: str, paper: str, item: str, made: Iterable[str | Path]) -> str:
    """The file that shows an item: its table, its figure, or else the chain's measurements.

    ``made`` lists the tables and figures of the run, ``.../<chain>/tables/<item>.tex`` and so on.
    """
    places = {Path(path).with_suffix("").parts[-3:] for path in made}
    for kind, suffix in (("tables", "tex"), ("figures", "pdf")):
        if (paper, kind, item) in places:
            return f"results/{scale}/{paper}/{kind}/{item}.{suffix}"
    return f"results/{scale}/{paper}/measurements.csv"


def as_json_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> dict[str, Any]:
    """Rows with every text stored once: ``{"columns": [...], "strings": [...], "rows": [[i, ...]]}``."""
    index: dict[str, int] = {}
    coded = [[index.setdefault(str(row[c]), len(index)) for c in columns] for row in rows]
    return {"columns": list(columns), "strings": list(index), "rows": coded}
