"""Published beside replicated: joins `config/claims.yaml` with measurements and gives verdicts.

A claim is a family of published cells that are compared by one rule with one family-wise level
(Holm); claims that name a common ``family`` share that level. Verdicts:

==================  ==============================================================================
reproduced          the test passes on `exact`, `real` or `authors` data
consistent          it passes on `related` or `standin` data, where only effects are compared
calibrated          a stand-in was made to show this level, so that it proves nothing
uninformative       a constant or chance baseline meets the claim as well, or it is true by
                    construction
not reproduced      the test fails
erratum             the published number contradicts the paper's own settings or shipped code
not published       there is no number to compare with
not run             needs another scale or data, for a reason listed in advance
==================  ==============================================================================

A claim with ``exploratory`` (the reason: it was framed after results had been seen) says so in its
statement and in what its verdict rests on.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from leakmeter.reporting.claim_tests import (
    LEVEL_TESTS,
    POWER,
    TESTS,
    WORD_TESTS,
    Measured,
    Outcome,
    Published,
    compare_pair,
    detectable_mean,
    holm,
)
from leakmeter.reporting.latex import worst
from leakmeter.reporting.measurements import KEY, parse_cell
from leakmeter.reporting.measurements import cell as cell_key
from leakmeter.runtime import UserError, generator

VERDICTS = (
    "reproduced",
    "consistent",
    "calibrated",
    "uninformative",
    "not reproduced",
    "erratum",
    "not published",
    "not run",
)
#: Column of claims.csv -> meaning.
COLUMNS = {
    "id": "claim family in config/claims.yaml",
    "paper": "chain",
    "item": "table, figure or statement",
    "place": "where it stands in the paper",
    "statement": "what is claimed",
    "cell": "axis=value pairs naming the cell",
    "origin": "where our scores, tallies or records came from",
    "metric": "what is compared",
    "published": "published value, as printed",
    "published_std": "published spread",
    "published_n": "repeats behind the published value",
    "replicated": "our value",
    "std": "our spread",
    "n": "our repeats",
    "data": "label of our data",
    "scale": "scale of our run",
    "test": "rule of comparison",
    "difference": "ours minus published, in the quantity the test compares",
    "p": "p-value of the single test; empty for exact comparisons",
    "p_adjusted": "Holm-adjusted within the family",
    "verdict": "verdict",
    "why": "what the verdict rests on",
    "erratum": "entry of resources/errata.yaml",
}
_OWN_DATA = ("exact", "real", "authors")


# --- the engine ---------------------------------------------------------------------------------


@dataclass
class Engine:
    """Evaluates claims against measurements.

    Parameters
    ----------
    measurements : rows as `read_measurements` gives them.
    draws : single repeats by key, as `read_draws` gives them.
    published_dir : folder of the published CSV files.
    config : the validated configuration (grids of a run, family-wise level, root seed).
    """

    measurements: pd.DataFrame
    draws: Mapping[tuple[str, ...], np.ndarray]
    published_dir: Path
    config: Mapping[str, Any]
    missing: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._rows = {
            _canonical(tuple(record[c] for c in KEY)): record
            for record in self.measurements.to_dict("records")
        }
        self._draws = {_canonical(key): values for key, values in self.draws.items()}
        self.level = float(self.config["claims"]["level"])
        self.seed = int(self.config["seed"])

    def evaluate(self, claims: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
        """All claims as a table with the columns of :data:`COLUMNS`.

        Raises
        ------
        UserError
            cells that no measurement covers and no reason excuses, all of them listed.
        """
        found = [(claim, self._tested(claim)) for claim in claims]
        self._adjust(found)
        rows = [row for claim, part in found for row in self._finished(claim, part)]
        if self.missing:
            listed = "\n".join(f"  {name}" for name in self.missing)
            raise UserError(
                f"{len(self.missing)} claimed cells were not measured and no reason excuses them:\n{listed}"
            )
        return pd.DataFrame(rows, columns=list(COLUMNS))

    def _tested(self, claim: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The rows of a claim with their single tests."""
        if "pairs" in claim:
            return self._pairs(claim)
        if "published" in claim:
            return [self._cell(claim, row) for row in self._published_rows(claim["published"])]
        return [self._statement(claim)]

    def _adjust(self, found: Sequence[tuple[Mapping[str, Any], list[dict[str, Any]]]]) -> None:
        """Holm over each family of claims (by itself a claim is one), and which rows pass."""
        families: dict[str, list[tuple[Mapping[str, Any], dict[str, Any]]]] = {}
        for claim, rows in found:
            families.setdefault(claim.get("family", claim["id"]), []).extend(
                (claim, row) for row in rows if row.get("p") is not None
            )
        for tested in families.values():
            for (claim, row), adjusted in zip(
                tested, holm([row["p"] for _, row in tested]), strict=True
            ):
                row["p_adjusted"] = float(adjusted)
                wanted = row.get("_significant", False)
                row["_passed"] = adjusted < self.level if wanted else adjusted >= self.level
                if "family" in claim:
                    row["why"] += f" ({adjusted:.2g} by Holm over {len(tested)} tests)"
                if claim.get("test") == "above" and not row["_passed"]:
                    self._state_power(claim, row, self.level / len(tested))

    @staticmethod
    def _state_power(claim: Mapping[str, Any], row: dict[str, Any], level: float) -> None:
        """What a test that failed could have seen; not run if not even the largest effect."""
        if row["std"] < 1e-12:
            if 0.5 ** row["n"] >= level:
                row["_verdict"] = "not run"
                row["why"] += "; too few for this test to pass"
            return
        least = detectable_mean(row["std"], row["n"], level)
        if least > claim["largest"]:
            row["_verdict"] = "not run"
            row["why"] += (
                f"; too few: a mean of {claim['largest']}, the largest there is, would be found "
                f"with a probability below {POWER:.0%}"
            )
        else:
            row["why"] += (
                f"; a mean of {least:.2g} would be found with a probability of {POWER:.0%}"
            )

    def _finished(self, claim: Mapping[str, Any], rows: list[dict[str, Any]]):
        finished = [self._finish(claim, row) for row in rows]
        if claim.get("one_number"):
            finished = _one_number(finished)
        return _summarised(finished) if claim.get("summarise") else finished

    # one published cell

    def _cell(self, claim: Mapping[str, Any], source: Mapping[str, Any]) -> dict[str, Any]:
        spec = claim["published"]
        axes = {axis: source[column] for axis, column in spec["cell"].items()} | dict(
            claim.get("fixed", {})
        )
        key = cell_key(**{axis: _number(value) for axis, value in axes.items()})
        measured = claim["measured"]
        metric = measured.get("metric") or claim["metrics"][source["metric"]]
        text = str(source[spec.get("value", "value")])
        published = Published(
            value=math.nan if claim["test"] in WORD_TESTS else float(text),
            text=text,
            std=_float(source.get(spec.get("std", "std"))),
            n=spec.get("n")
            if isinstance(spec.get("n"), int)
            else _int(source.get(spec.get("n", ""))),
            ddof=int(spec.get("ddof", 0)),
        )
        row = self._base(claim) | {
            "cell": key,
            "origin": measured["origin"],
            "metric": metric,
            "published": text,
            "published_std": published.std,
            "published_n": published.n,
            "test": claim["test"],
        }
        reason = self._excuse(claim, axes)
        if reason:
            return row | {"_verdict": "not run", "why": reason}
        item = claim["measured"].get("item", claim["item"])
        address = (claim["paper"], item, key, row["origin"], metric)
        record = self._rows.get(_canonical(address))
        if record is None:
            self.missing.append(f"{claim['id']}: {item}[{key}] {metric} of {row['origin']}")
            return row | {"_verdict": "not run", "why": "missing"}
        if pd.isna(record["value"]):
            row |= {"n": record["n"], "data": record["data"], "scale": record["scale"]}
            return row | {"_verdict": "not run", "why": record["note"] or "undefined in this run"}
        found = self._find(*address, measured.get("draws"))
        row |= _describe(found)
        if claim["test"] == "text":
            row["replicated"] = found.note
        reason = self._requirement(claim, found)
        if reason:
            return row | {"_verdict": "not run", "why": reason}
        if claim["test"] in LEVEL_TESTS and found.data not in _OWN_DATA:
            if claim.get("calibrated") and found.data == "standin":
                why = "the stand-in's noise level was chosen to land near this value"
                return row | {
                    "_verdict": "calibrated",
                    "why": why,
                    "difference": found.value - published.value,
                }
            why = f"a level can only be compared on the paper's own data; this is {found.data}"
            return row | {
                "_verdict": "not run",
                "why": why,
                "difference": found.value - published.value,
            }
        if claim["test"] == "above" and found.n < 2:
            return row | {"_verdict": "not run", "why": "one value has no spread to test"}
        outcome = self._test(claim, published, found, row, source)
        why = outcome.why
        if claim.get("explain"):
            why += f"; {found.note}"
        return row | {
            "_significant": claim["test"] == "above",
            "difference": outcome.difference,
            "p": outcome.p,
            "why": why,
            "_passed": outcome.passed,
            "_chance": self._chance(claim, published, row, source),
        }

    def _test(self, claim, published, found, row, source) -> Outcome:
        extra: dict[str, Any] = {
            "seed": int(
                generator(self.seed, "claims", claim=claim["id"], cell=row["cell"]).integers(2**62)
            )
        }
        if claim["test"] == "bias":
            base = claim["baseline"]
            axes = {axis: source[column] for axis, column in base["cell"].items()} | dict(
                base.get("fixed", {})
            )
            key = cell_key(**{axis: _number(value) for axis, value in axes.items()})
            measured_base = self._find(
                claim["paper"], base["item"], key, row["origin"], base.get("metric", row["metric"])
            )
            if measured_base is None:
                self.missing.append(
                    f"{claim['id']}: baseline {base['item']}[{key}] of {row['origin']}"
                )
                return Outcome(math.nan, "no baseline", passed=False)
            extra |= {
                "measured_base": measured_base,
                "published_base": self._published_base(claim, base, source),
            }
        return TESTS[claim["test"]](published, found, **extra)

    def _published_base(self, claim, base, source) -> float:
        spec = base["published"]
        frame = self._read(spec["file"])
        for column, value in spec.get("where", {}).items():
            frame = frame[frame[column].map(_number) == _number(value)]
        for column, own in spec["match"].items():
            frame = frame[frame[column].map(_number) == _number(source[own])]
        values = frame[spec["value"]].astype(float).unique()
        if len(values) != 1:
            raise UserError(
                f"claims.yaml, {claim['id']}: baseline in {spec['file']} matches {len(values)} values, expected 1"
            )
        return float(values[0])

    def _chance(self, claim, published, row, source) -> bool:
        """Whether the claim's chance baseline passes the same test on its own."""
        if "chance" not in claim:
            return False
        base = self._find(
            claim["paper"], row["item"], row["cell"], row["origin"], claim["chance"]["metric"]
        )
        if base is None:
            self.missing.append(
                f"{claim['id']}: chance baseline {claim['chance']['metric']} at {row['cell']}"
            )
            return False
        if claim["test"] == "above" and base.n < 2:
            return False
        outcome = self._test(claim, published, base, row, source)
        if outcome.passed is not None:
            return outcome.passed
        # not adjusted: it is easier to find that a baseline does as well than that it does not
        return (outcome.p < self.level) == (claim["test"] == "above")

    # statements about how cells compare

    def _pairs(self, claim: Mapping[str, Any]) -> list[dict[str, Any]]:
        spec, measured = claim["pairs"], claim["measured"]
        axis, high, low = spec["axis"], str(spec["high"]), str(spec["low"])
        reason = self._pairs_excuse(claim)
        if reason:
            row = self._base(claim) | {
                "origin": measured["origin"],
                "metric": measured["metric"],
                "test": spec["direction"],
            }
            return [row | {"_verdict": "not run", "why": reason}]
        rows = []
        item = measured.get("item", claim["item"])
        for paper, row_item, key, origin, metric in self._rows:
            axes = parse_cell(key)
            if (paper, row_item, origin, metric) != (
                claim["paper"],
                item,
                measured["origin"],
                measured["metric"],
            ):
                continue
            if axes.get(axis) != high or any(
                axes.get(k) not in map(str, v) for k, v in claim.get("only", {}).items()
            ):
                continue
            other = self._find(paper, row_item, cell_key(**(axes | {axis: low})), origin, metric)
            found = self._find(paper, row_item, key, origin, metric)
            row = self._base(claim) | {
                "cell": key,
                "origin": origin,
                "metric": f"{spec['statistic']} of {metric}",
                "test": f"{spec['direction']} than at {axis}={low}"
                if spec["direction"] != "same"
                else f"same as at {axis}={low}",
            }
            row |= _describe(found)
            if other is None:
                self.missing.append(
                    f"{claim['id']}: {item}[{cell_key(**(axes | {axis: low}))}] of {origin}"
                )
                continue
            reason = self._requirement(claim, found)
            if reason:
                rows.append(row | {"_verdict": "not run", "why": reason})
                continue
            outcome = compare_pair(
                found, other, statistic=spec["statistic"], direction=spec["direction"]
            )
            rows.append(
                row
                | {
                    "difference": outcome.difference,
                    "p": outcome.p,
                    "why": outcome.why,
                    "_significant": spec["direction"] != "same",
                }
            )
        if not rows:
            self.missing.append(
                f"{claim['id']}: no cell of {item} with {axis}={high} of {measured['origin']}"
            )
        return rows

    def _pairs_excuse(self, claim: Mapping[str, Any]) -> str | None:
        """Why the configured grid or a listed reason leaves out every pair of a claim, if it does."""
        spec = claim["pairs"]
        for value in (spec["high"], spec["low"]):
            if reason := self._excuse(claim, {spec["axis"]: value}):
                return reason
        for axis, values in claim.get("only", {}).items():
            reasons = [self._excuse(claim, {axis: value}) for value in values]
            if all(reasons):
                return reasons[0]
        return None

    def _statement(self, claim: Mapping[str, Any]) -> dict[str, Any]:
        verdict = claim.get("verdict")
        if verdict not in ("not published", "not run"):
            raise UserError(
                f"claims.yaml, {claim['id']}: a claim without published cells or pairs states the verdict 'not published' or 'not run', got {verdict!r}"
            )
        return self._base(claim) | {"_verdict": verdict, "why": claim["reason"]}

    # shared

    def _base(self, claim: Mapping[str, Any]) -> dict[str, Any]:
        return dict.fromkeys(COLUMNS) | {
            "id": claim["id"],
            "paper": claim["paper"],
            "item": claim["item"],
            "place": claim["place"],
            "statement": claim["statement"],
            "scale": self.config["scale"],
            "erratum": claim.get("erratum"),
        }

    def _finish(self, claim: Mapping[str, Any], row: dict[str, Any]) -> dict[str, Any]:
        verdict = row.pop("_verdict", None)
        passed, chance = row.pop("_passed", None), row.pop("_chance", False)
        row.pop("_significant", None)
        if verdict is None:
            if passed and chance:
                verdict = "uninformative"
                row["why"] += f"; the baseline {claim['chance']['metric']} meets the claim as well"
            elif passed and "by_construction" in claim:
                verdict = "uninformative"
                row["why"] += f"; true by construction: {claim['by_construction']}"
            elif passed:
                verdict = "reproduced" if row["data"] in _OWN_DATA else "consistent"
            else:
                erratum = self._exception(claim, row) or row["erratum"]
                row["erratum"] = erratum
                verdict = "erratum" if erratum else "not reproduced"
                if claim.get("investigation") and verdict == "not reproduced":
                    row["why"] += f"; see {claim['investigation']}"
        if verdict in ("reproduced", "consistent", "uninformative", "calibrated", "not run"):
            row["erratum"] = None
        if claim.get("exploratory"):
            row["statement"] += " (exploratory)"
            row["why"] += f"; exploratory: {claim['exploratory']}"
        return row | {"verdict": verdict}

    def _exception(self, claim, row) -> str | None:
        axes = parse_cell(row["cell"] or "")
        for entry in claim.get("exceptions", []):
            if all(axes.get(k) == str(_number(v)) for k, v in entry["cell"].items()):
                return entry["erratum"]
        return None

    def _excuse(self, claim, axes) -> str | None:
        if "common" in claim:
            first, second = ([*_configured(self.config, path)] for path in claim["common"])
            if not set(first) & set(second):
                return f"no entry of {claim['common'][0]} is among {claim['common'][1]}"
        for axis, path in claim.get("grid", {}).items():
            if axis not in axes:
                continue
            configured = _configured(self.config, path)
            if isinstance(configured, int):
                configured = range(configured)
            if _number(axes[axis]) not in [_number(v) for v in configured]:
                return f"{axis}={_number(axes[axis])} is not in this configuration ({path})"
        for entry in claim.get("not_run", []):
            if all(
                _number(axes.get(k)) in [_number(v) for v in values]
                for k, values in entry["where"].items()
            ):
                return entry["reason"]
        return None

    def _requirement(self, claim, found: Measured) -> str | None:
        needs = claim.get("requires", {})
        if "m" in needs and found.m != needs["m"]:
            return f"needs m = {needs['m']:,} (here {f'{found.m:,}' if found.m else 'none'})"
        if "data" in needs and found.data not in needs["data"]:
            return f"needs {' or '.join(needs['data'])} data; this is {found.data}"
        return None

    def _find(self, paper, item, key, origin, metric, draws_metric=None) -> Measured | None:
        record = self._rows.get(_canonical((paper, item, key, origin, metric)))
        if record is None or pd.isna(record["value"]):
            return None
        draws = self._draws.get(_canonical((paper, item, key, origin, draws_metric or metric)))
        return Measured(
            value=float(record["value"]),
            std=_float(record["std"]),
            n=int(record["n"]),
            source_std=float(record["source_std"]),
            data=record["data"],
            scale=record["scale"],
            m=_int(record["m"]),
            draws=draws,
            note=str(record["note"] or ""),
        )

    def _published_rows(self, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
        frame = self._read(spec["file"])
        for column, value in spec.get("where", {}).items():
            allowed = [_number(v) for v in (value if isinstance(value, list) else [value])]
            frame = frame[frame[column].map(_number).isin(allowed)]
        if frame.empty:
            raise UserError(
                f"{self.published_dir / spec['file']}: no row matches {dict(spec.get('where', {}))}"
            )
        return frame.to_dict("records")

    def _read(self, name: str) -> pd.DataFrame:
        path = self.published_dir / name
        try:
            # as text: the printed digits are part of the published value
            return pd.read_csv(path, dtype="str", keep_default_na=False)
        except FileNotFoundError as error:
            raise UserError(f"{path}: no such file of published numbers") from error


def _configured(config: Mapping[str, Any], path: str) -> Any:
    for key in path.split("."):
        config = config[key]
    return config


def _summarised(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that did not pass, and one row for each passing verdict that counts its cells.

    For claims that check many cells of which each alone says nothing new, such as printed digits
    against released files: the count of verdicts stays a count of findings.
    """
    blank = dict.fromkeys(("published", "published_std", "published_n", "replicated", "std"))
    merged, others = [], [r for r in rows if r["verdict"] not in ("reproduced", "consistent")]
    for verdict in ("reproduced", "consistent"):
        passed = [row for row in rows if row["verdict"] == verdict]
        if passed:
            about = {
                "cell": cell_key(cells=f"{len(passed)} of {len(rows)}"),
                "difference": None,
                "why": f"{len(passed)} cells: {passed[0]['why']}",
            }
            merged.append(passed[0] | blank | about)
    return [*merged, *others]


def _one_number(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for all metrics of a cell, the one with the worst verdict under the first one's name.

    For claims whose metrics are one number in several forms (a count, its share of this, its share
    of that): all forms are tested, and count once.
    """
    cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        cells.setdefault((row["cell"], row["origin"]), []).append(row)
    merged = []
    for forms in cells.values():
        verdict = worst([row["verdict"] for row in forms])
        chosen = next(row for row in forms if row["verdict"] == verdict)
        names = ", ".join(row["metric"] for row in forms)
        why = f"{chosen['metric']}: {chosen['why']} ({names}: one number)"
        merged.append(
            forms[0] | {"verdict": verdict, "why": why, "erratum": chosen["erratum"]}
            if len(forms) > 1
            else chosen
        )
    return merged


def _canonical(key: tuple[str, ...]) -> tuple[str, ...]:
    """A key whose cell lists its axes by name, so that their order in a file does not matter."""
    paper, item, cell, origin, metric = key
    return (paper, item, cell_key(**dict(sorted(parse_cell(cell).items()))), origin, metric)


def _describe(found: Measured) -> dict[str, Any]:
    return {
        "replicated": found.value,
        "std": found.std,
        "n": found.n,
        "data": found.data,
        "scale": found.scale,
    }


def _number(value: Any) -> Any:
    """Numbers as int or float, everything else as text, so that '8.0', 8 and 8.0 name one cell."""
    if value is None or isinstance(value, bool):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return int(number) if number.is_integer() else number


def _float(value: Any) -> float | None:
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return None
    return float(value)


def _int(value: Any) -> int | None:
    return None if value is None or value == "" or pd.isna(value) else int(value)


# --- files --------------------------------------------------------------------------------------


def read_claims(path: str | Path, papers: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Claims of ``claims.yaml`` for some papers (None: all), checked for the keys every claim has."""
    content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    seen = set()
    for claim in content["claims"]:
        lacking = [key for key in ("id", "paper", "item", "place", "statement") if key not in claim]
        if lacking:
            raise UserError(f"{path}: claim {claim.get('id', claim)} lacks {', '.join(lacking)}")
        if claim["id"] in seen:
            raise UserError(f"{path}: two claims have the id {claim['id']}")
        seen.add(claim["id"])
        if "published" in claim and claim.get("test") not in TESTS:
            raise UserError(
                f"{path}: claim {claim['id']} has test {claim.get('test')!r}, expected one of {', '.join(TESTS)}"
            )
    return [c for c in content["claims"] if papers is None or c["paper"] in papers]


def expand_origins(claims: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One claim per origin where ``measured.origin`` is a list; the origin is added to the id."""
    expanded = []
    for claim in claims:
        origins = claim.get("measured", {}).get("origin")
        if isinstance(origins, list):
            for origin in origins:
                expanded.append(
                    {
                        **claim,
                        "id": f"{claim['id']}_{origin}",
                        "measured": {**claim["measured"], "origin": origin},
                    }
                )
        else:
            expanded.append(dict(claim))
    return expanded


def cells_of(row: Mapping[str, str]) -> int:
    """How many cells a row of claims.csv stands for (rows that passed may be summarised)."""
    name, _, rest = row["cell"].partition("=")
    return int(rest.split(" of ")[0]) if name == "cells" and " of " in rest else 1


def verdict_counts(table: pd.DataFrame) -> pd.DataFrame:
    """Number of cells by paper and verdict, verdicts in their fixed order.

    A row that stands for several cells counts as that many (:func:`cells_of`), as it does on the
    page, in the PDF and in the README.
    """
    index = sorted(table["paper"].unique())
    cells = [cells_of({"cell": text}) for text in table["cell"].astype(object).fillna("")]
    counts = table.assign(cells=cells).groupby(["paper", "verdict"])["cells"].sum()
    return pd.DataFrame(
        [
            [int(counts.get(pair, 0)) for pair in itertools.product([paper], VERDICTS)]
            for paper in index
        ],
        index=pd.Index(index, name="paper"),
        columns=list(VERDICTS),
    )
