"""Noise on counts: discrete Laplace (two-sided geometric), Laplace and Gaussian.

A floating-point Laplace variable added to an integer count leaves its low-order bits behind, from
which the count can be read (Mironov, CCS 2012). The discrete Laplace law
``P(x) = (1 - q) / (1 + q) q^|x|`` with ``q = exp(-eps)`` lives on the integers, is eps-DP for a
count of sensitivity 1 (Ghosh, Roughgarden and Sundararajan, 2009), and has the smaller variance
``2 q / (1 - q)^2`` against ``2 / eps^2``.

:func:`discrete_laplace` draws it from uniform 64-bit integers by comparisons only. The binary
digits of a geometric variable are independent, digit i being 1 with probability
``1 / (1 + exp(eps 2^i))``, so one comparison with a fixed integer per digit is enough.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal

import numpy as np

from leakmeter.dpauc.arguments import check_choice, check_integer, check_number, check_positive

LAWS = ("discrete", "laplace", "gaussian")
_WORD = 2**64
#: Smallest epsilon of discrete noise: its variables fit 62 binary digits.
LEAST_EPSILON = 1e-17
# Digits of the decimal numbers in which chances are computed, far more than the 20 of 2^64.
_EXACT = Context(prec=60)


def digit_thresholds(epsilon: float) -> np.ndarray:
    """(n,) uint64: digit i of a geometric variable is 1 iff a uniform 64-bit integer is below entry i.

    Chances are computed to 60 decimal digits and rounded down to multiples of 2^-64; digits whose
    chance is smaller are left out. The law drawn is thus within (n + 2) 2^-64 of the geometric one
    in total variation, and n is at most 62.

    Raises
    ------
    UserError : epsilon below :data:`LEAST_EPSILON` or not finite.
    """
    check_positive("epsilon", epsilon)
    check_number("epsilon", epsilon, LEAST_EPSILON, math.inf)
    thresholds, power = [], float(epsilon)
    while power < 44.4:  # exp(-44.4) < 2^-64
        odds = _EXACT.exp(Decimal(power))  # a double is an exact decimal number
        chance = _EXACT.divide(Decimal(_WORD), _EXACT.add(odds, Decimal(1)))
        thresholds.append(int(chance.to_integral_value(ROUND_FLOOR)))
        power *= 2  # exact
    return np.array(thresholds, dtype=np.uint64)


def discrete_laplace(
    epsilon: float, shape: tuple[int, ...], rng: np.random.Generator | None = None
) -> np.ndarray:
    """Discrete Laplace variables with q = exp(-epsilon).

    Parameters
    ----------
    epsilon : privacy of one count of sensitivity 1.
    rng : generator for simulations; None takes the operating system's randomness, which a release
        that is really published needs.

    Returns
    -------
    int64 array of the shape.
    """
    thresholds = digit_thresholds(epsilon)
    both = np.zeros((2, *shape), dtype=np.int64)
    for digit, threshold in enumerate(thresholds):
        both += (_uniform(both.shape, rng) < threshold).astype(np.int64) << digit
    return both[0] - both[1]


def _uniform(shape: tuple[int, ...], rng: np.random.Generator | None) -> np.ndarray:
    if rng is not None:
        return rng.integers(0, _WORD, size=shape, dtype=np.uint64, endpoint=False)
    raw = secrets.token_bytes(8 * math.prod(shape))
    return np.frombuffer(raw, dtype=np.uint64).reshape(shape)


def discrete_laplace_variance(epsilon: float) -> float:
    """``2 q / (1 - q)^2`` with q = exp(-epsilon)."""
    return 0.5 / math.sinh(epsilon / 2) ** 2 if epsilon < 700 else 0.0


def polya_shares(
    epsilon: float, clients: int, shape: tuple[int, ...], rng: np.random.Generator
) -> np.ndarray:
    """Shares (K, ...) whose sum over the K clients is one discrete Laplace variable.

    A share is the difference of two Polya(1 / K) variables (negative binomial of real order). With
    a sum that hides the addends (secure aggregation) the server sees the noise of a trusted
    curator instead of K times its variance; a single share protects nothing by itself.
    """
    check_positive("epsilon", epsilon)
    check_integer("clients", clients)
    q = math.exp(-epsilon)
    both = rng.negative_binomial(1.0 / clients, 1.0 - q, size=(2, clients, *shape))
    return both[0] - both[1]


@dataclass(frozen=True)
class Noise:
    """Noise that each of K clients adds to a count of its own, as the server sees it: summed.

    Attributes
    ----------
    law : ``"discrete"``, ``"laplace"`` or ``"gaussian"``.
    parameter : epsilon of one unit of sensitivity (discrete, laplace), or the standard deviation.
    clients : K; 1 is a trusted curator, or a sum that hides its addends.
    """

    law: str
    parameter: float
    clients: int = 1

    def __post_init__(self) -> None:
        check_choice("noise", self.law, LAWS)
        check_positive("noise parameter", self.parameter)
        check_integer("clients", self.clients)

    @property
    def variance(self) -> float:
        """Of the sum over the clients."""
        one = {
            "discrete": lambda: discrete_laplace_variance(self.parameter),
            "laplace": lambda: 2.0 / self.parameter**2,
            "gaussian": lambda: self.parameter**2,
        }[self.law]()
        return self.clients * one

    def summed(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Draws of the sum over the clients in one step each, float64; for simulations.

        A sum of K geometric variables is negative binomial, of K exponential ones gamma.
        """
        if self.law == "gaussian":
            return math.sqrt(self.clients) * self.parameter * rng.standard_normal(shape)
        if self.law == "laplace":
            both = rng.standard_gamma(self.clients, size=(2, *shape)) / self.parameter
        else:
            success = -math.expm1(-self.parameter)
            both = rng.negative_binomial(self.clients, success, size=(2, *shape)).astype(float)
        return both[0] - both[1]

    def released(self, rng: np.random.Generator | None, shape: tuple[int, ...]) -> np.ndarray:
        """One draw per client and count, (K, ...), for a release.

        Discrete noise is drawn by integer comparisons; the others are floating-point numbers, whose
        low-order bits void the guarantee against a reader of them.
        """
        shape = (self.clients, *shape)
        if self.law == "discrete":
            return discrete_laplace(self.parameter, shape, rng)
        rng = rng or np.random.default_rng(secrets.randbits(128))
        if self.law == "laplace":
            return rng.laplace(scale=1.0 / self.parameter, size=shape)
        return self.parameter * rng.standard_normal(shape)
