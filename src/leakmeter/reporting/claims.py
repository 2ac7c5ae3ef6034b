"""Published beside replicated: joins `config/claims.yaml` with measurements and gives verdicts.

A claim is a family of published cells that are compared by one rule with one family-wise level
(Holm); claims that name a common ``family`` share that level. Verdicts:

==================  ==============================================================================
reproduced          the test passes on `exact`, `real` or `authors` data
consistent          it passes on `related` or `standin` data, where only effects are compared
calibrated          a stand-in was made to show this level, so that it proves nothing
uninformative       a constant or chance baseline meets the claim as well
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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from scipy import optimize, stats

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


@dataclass(frozen=True)
class Published:
    """One published value: number, text as printed, spread and repeats (None where not printed).

    ``ddof`` is the one the authors' standard deviation was taken with (NumPy's default is 0).
    """

    value: float
    text: str
    std: float | None = None
    n: int | None = None
    ddof: int = 0

    @property
    def mean_variance(self) -> float:
        """Estimated variance of the published mean, whatever divisor its spread was taken with."""
        return self.std**2 / (self.n - 1 + self.ddof)

    @property
    def half_unit(self) -> float:
        """Half a unit of the last printed digit: the rounding error of the printed value."""
        mantissa, _, exponent = self.text.lower().partition("e")
        decimals = len(mantissa.partition(".")[2])
        return 0.5 * 10.0 ** (int(exponent or 0) - decimals)

    @property
    def rounding_variance(self) -> float:
        """Variance of a uniform rounding error."""
        return self.half_unit**2 / 3


@dataclass(frozen=True)
class Measured:
    """One measured value with everything a test may use."""

    value: float
    std: float | None
    n: int
    source_std: float
    data: str
    scale: str
    m: int | None
    draws: np.ndarray | None = None
    note: str = ""


@dataclass(frozen=True)
class Outcome:
    """Result of one comparison: a p-value (statistical tests) or a plain yes/no (exact ones)."""

    difference: float
    why: str
    p: float | None = None
    passed: bool | None = None


#: Power at which the smallest effect that a test detects is stated.
POWER = 0.8


# --- tests --------------------------------------------------------------------------------------


def _student(difference: float, variances: Sequence[tuple[float, float | None]]) -> Outcome:
    """Two-sided Welch test of a difference whose variance is a sum of parts with their df.

    Parts with df None are taken as known; the degrees of freedom follow Welch and Satterthwaite.
    """
    total = sum(v for v, _ in variances)
    if total == 0:
        return Outcome(difference, "no spread on either side", passed=difference == 0)
    weight = sum(v**2 / df for v, df in variances if df)
    df = total**2 / weight if weight > 0 else math.inf
    error = math.sqrt(total)
    p = 2 * stats.t.sf(abs(difference) / error, df)
    return Outcome(
        difference, f"{abs(difference) / error:.2f} standard errors of {error:.2g}", p=float(p)
    )


def compare_mean(published: Published, measured: Measured, **_: Any) -> Outcome:
    """Two-sample test of means with both spreads and the repeats really used."""
    if published.std is None or not published.n or published.n < 2:
        raise ValueError("test mean needs a published std and n >= 2; use single for one value")
    ours = _spread(measured)
    return _student(
        measured.value - published.value,
        [
            (published.mean_variance, published.n - 1),
            (ours**2 / measured.n, measured.n - 1),
            (measured.source_std**2 + published.rounding_variance, None),
        ],
    )


def compare_single(published: Published, measured: Measured, **_: Any) -> Outcome:
    """One unreplicated published value as a further draw of ours: variance s^2 (1 + 1/n)."""
    ours = _spread(measured)
    return _student(
        measured.value - published.value,
        [
            (ours**2 * (1 + 1 / measured.n), max(measured.n - 1, 1)),
            (measured.source_std**2 + published.rounding_variance, None),
        ],
    )


def compare_given(published: Published, measured: Measured, **_: Any) -> Outcome:
    """A published value without sampling error of its own, beside ours with a known uncertainty."""
    within = measured.std**2 / measured.n if measured.std and measured.n > 1 else 0.0
    return _student(
        measured.value - published.value,
        [
            (within, measured.n - 1 if within else None),
            (measured.source_std**2 + published.rounding_variance, None),
        ],
    )


def compare_equal(published: Published, measured: Measured, **_: Any) -> Outcome:
    """Exact comparison: ours rounds to what is printed."""
    difference = measured.value - published.value
    passed = equal_as_printed(published, measured.value)
    return Outcome(
        difference, "equal as printed" if passed else "differs in the printed digits", passed=passed
    )


def equal_as_printed(published: Published, value: float) -> bool:
    """Whether a value rounds to the printed digits (an exact half may round either way)."""
    return abs(value - published.value) <= published.half_unit * (1 + 1e-9)


def compare_text(published: Published, measured: Measured, **_: Any) -> Outcome:
    """What is printed is text (a labeling, a list of pairs); ours stands in the note of the row."""
    passed = published.text == measured.note
    return Outcome(math.nan, "equal as printed" if passed else "differs", passed=passed)


def compare_spread(published: Published, measured: Measured, *, seed: int, **_: Any) -> Outcome:
    """Published spread against a simulated reference.

    The reference law of a sample standard deviation of ``published.n`` repeats is bootstrapped
    from our draws (resampled themselves, so that their own error enters); log std is close to
    normal, which gives p-values beyond the number of bootstrap samples.
    """
    if (
        published.std is None
        or not published.n
        or measured.draws is None
        or len(measured.draws) < 10
    ):
        raise ValueError("test spread needs a published std, its n and at least 10 draws of ours")
    if published.std <= 0 or not np.ptp(measured.draws) > 0:
        return Outcome(0.0, "no spread to compare", passed=published.std == np.std(measured.draws))
    rng = np.random.default_rng(seed)
    n, samples = len(measured.draws), 1000
    reference = measured.draws[rng.integers(0, n, (samples, n), dtype=np.int32)]
    picked = np.take_along_axis(reference, rng.integers(0, n, (samples, published.n)), axis=1)
    logs = np.log(np.maximum(picked.std(axis=1, ddof=published.ddof), 1e-300))
    # the printed spread has few digits, its rounding error enters on the log scale
    printed = f"{published.std:g}"
    rounding = Published(published.std, printed).half_unit / published.std
    error = math.sqrt(logs.var(ddof=1) + rounding**2 / 3)
    z = (math.log(published.std) - logs.mean()) / error
    ratio = math.exp(logs.mean()) / published.std
    why = f"our spread is {ratio:.3f} of the published; chance alone gives a factor {math.exp(error):.3f}"
    return Outcome(measured.std - published.std, why, p=float(2 * stats.norm.sf(abs(z))))


def compare_bias(
    published: Published,
    measured: Measured,
    *,
    published_base: float,
    measured_base: Measured,
    **_: Any,
) -> Outcome:
    """Distance from the noise-free value, each from that of its own source."""
    difference = (measured.value - measured_base.value) - (published.value - published_base)
    ours = _spread(measured)
    parts: list[tuple[float, float | None]] = [
        (ours**2 / measured.n, measured.n - 1),
        (published.rounding_variance, None),
    ]
    if published.std is not None and published.n:
        parts.append((published.mean_variance, published.n - 1))
    return _student(difference, parts)


def compare_above(published: Published, measured: Measured, **_: Any) -> Outcome:
    """Whether a mean (of paired differences, say) is above 0: one-sided t-test.

    Without any spread it is the sign test: n equal differences above 0 have probability 2^-n.
    """
    spread, n, value = _spread(measured), measured.n, measured.value
    if spread < 1e-12:
        p = 0.5**n if value > 0 else 1.0
        return Outcome(value, f"difference {value:.3g} in each of {n}, sign test, p = {p:.2g}", p=p)
    error = spread / math.sqrt(n)
    p = float(stats.t(n - 1).sf(value / error))
    return Outcome(
        value, f"mean {value:+.3g}, standard error {error:.2g}, n = {n}, one-sided p = {p:.2g}", p=p
    )


def detectable_mean(std: float, n: int, level: float) -> float:
    """The smallest mean that :func:`compare_above` finds at a level with probability :data:`POWER`."""
    critical = stats.t(n - 1).isf(level)
    # power at non-centrality x, P(Z + x > critical * chi), over a grid of the law of chi
    chi = np.sqrt(stats.chi2(n - 1).ppf((np.arange(1000) + 0.5) / 1000) / (n - 1))
    shift = optimize.brentq(
        lambda x: stats.norm.cdf(x - critical * chi).mean() - POWER, 0, 10 + 10 * critical
    )
    return float(shift * std / math.sqrt(n))


TESTS: dict[str, Callable[..., Outcome]] = {
    "above": compare_above,
    "mean": compare_mean,
    "single": compare_single,
    "given": compare_given,
    "equal": compare_equal,
    "text": compare_text,
    "spread": compare_spread,
    "bias": compare_bias,
}
#: Tests of a level say nothing on data that is not the paper's; the others compare effects.
LEVEL_TESTS = ("mean", "single", "given", "equal", "text")
#: Tests without a published number: what is printed says only which way it goes.
WORD_TESTS = ("text", "above")


def _spread(measured: Measured) -> float:
    if measured.std is None or measured.n < 2:
        raise ValueError("the test needs a spread of ours: at least two repeats")
    return measured.std


def compare_pair(high: Measured, low: Measured, *, statistic: str, direction: str) -> Outcome:
    """Whether a statistic (``value`` or ``std``) of one cell is greater, less or the same in another."""
    if statistic == "value":
        difference = high.value - low.value
        variances = [(_spread(c) ** 2 / c.n, c.n - 1) for c in (high, low)]
        total = sum(v for v, _ in variances)
        df = total**2 / sum(v**2 / d for v, d in variances) if total else math.inf
        z, law = (
            (difference / math.sqrt(total) if total else math.inf * np.sign(difference)),
            stats.t(df),
        )
    elif statistic == "std":
        ratio = _spread(high) / _spread(low) if _spread(low) else math.inf
        difference = _spread(high) - _spread(low)
        # Var(log s) of a normal sample is about 1 / (2 (n - 1))
        error = math.sqrt(0.5 / (high.n - 1) + 0.5 / (low.n - 1))
        z, law = (
            (math.log(ratio) / error if 0 < ratio < math.inf else math.inf * (ratio - 1)),
            stats.norm(),
        )
    else:
        raise ValueError(f"statistic {statistic!r}: expected value or std")
    p = {"greater": law.sf(z), "less": law.cdf(z), "same": 2 * law.sf(abs(z))}[direction]
    why = f"difference {difference:+.3g}, {z:.1f} standard errors, n = {high.n} and {low.n}, p = {p:.2g}"
    return Outcome(float(difference), why, p=float(p))


def holm(p_values: Sequence[float]) -> np.ndarray:
    """Holm-adjusted p-values: family-wise error control without independence.

    >>> holm([0.01, 0.04]).tolist()
    [0.02, 0.04]
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p))))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


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
        for axis, path in claim.get("grid", {}).items():
            if axis not in axes:
                continue
            configured = self.config
            for key in path.split("."):
                configured = configured[key]
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
            return (
                f"needs {needs['m']:,} evaluated records (the noise acts on counts); this source has {found.m:,}"
                if found.m
                else "needs evaluated records"
            )
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


def _summarised(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that did not pass, and one row that counts those that did.

    For claims that check many cells of which each alone says nothing new, such as printed digits
    against released files: the count of verdicts stays a count of findings.
    """
    passed = [row for row in rows if row["verdict"] in ("reproduced", "consistent")]
    if not passed:
        return rows
    blank = dict.fromkeys(("published", "published_std", "published_n", "replicated", "std"))
    merged = (
        passed[0]
        | blank
        | {
            "cell": cell_key(cells=f"{len(passed)} of {len(rows)}"),
            "difference": None,
            "why": f"{len(passed)} cells: {passed[0]['why']}",
        }
    )
    return [merged, *(row for row in rows if row not in passed)]


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


def verdict_counts(table: pd.DataFrame) -> pd.DataFrame:
    """Number of cells by paper and verdict, verdicts in their fixed order."""
    index = sorted(table["paper"].unique())
    counts = table.groupby(["paper", "verdict"]).size()
    return pd.DataFrame(
        [
            [int(counts.get(pair, 0)) for pair in itertools.product([paper], VERDICTS)]
            for paper in index
        ],
        index=pd.Index(index, name="paper"),
        columns=list(VERDICTS),
    )
