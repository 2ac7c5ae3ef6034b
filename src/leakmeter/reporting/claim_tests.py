"""The rules by which a claim compares a published value with ours, or two of ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, stats


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
