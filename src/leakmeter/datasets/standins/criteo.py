"""Stand-in click logs in the format of the Criteo display-advertising set.

A row is 40 tab-separated fields: label (0 or 1), integers I1..I13, categoricals C1..C26 as 8
lower-case hex digits; a missing value is an empty field. Row ``i`` depends on the seed, on ``i``
and on the :class:`Settings` alone, so chunks may be made in any order, by any number of threads.

How a row is made
-----------------
1. Six independent normal factors, three of the "user" and three of the "ad". Each field hangs on
   one of them through a Gaussian copula.
2. A categorical field draws a rank from a truncated power law by its inverse CDF; the printed token
   is a one-to-one 32-bit mix of the rank, different for each field.
3. An integer field is the floor of a log-normal, capped and shifted.
4. Missing values are drawn per group of fields that are missing together.
5. The logit adds an effect per token, products of 2-d vectors of user tokens and ad tokens, and a
   linear and a quadratic effect of each integer (standardised logarithm). Missing values add
   nothing. The label is Bernoulli(``ceiling`` * sigmoid(logit)).

The logit is a function of what the log shows: nothing hidden separates a perfect model from
:func:`bayes_auc`.

What these logs can show
------------------------
The noise level (``scale`` together with ``ceiling``, ``rare``, ``vector_sd`` and ``integer_sd``) is a
calibration: it is chosen so that the AUC of a model trained on such logs lands near the published
one. That proves nothing about the published AUC, nor about any claim that rests on its level. Two
shares of the signal are hard to learn in a few epochs and make the gap to :func:`bayes_auc`: effects
of rare tokens, and of integers, whose heavy tails leave min-max scaling little range. Cardinalities,
missing rates and the label rate follow what is known of the full set; the shapes of the integers
are plausible, not fitted.
"""

from __future__ import annotations

import gzip
import hashlib
import math
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np

from leakmeter.runtime import UserError, atomic_path, derive_seed

N_INTEGERS = 13
N_CATEGORICALS = 26
N_FACTORS = 6  # factors 0, 1, 2 belong to the user, 3, 4, 5 to the ad
CHUNK_ROWS = 32_768  # fixed: the members of a .gz file must not depend on the thread count

_LARGE = 100_000  # a field with more values has a stronger copula and weaker, rarer effects
_CROSSED = 20_000  # fields with fewer values enter the user x ad products
_MAX_ROW_BYTES = 2 + N_INTEGERS * 12 + N_CATEGORICALS * 9 + 1


@dataclass(frozen=True)
class Settings:
    """Everything that shapes the logs, apart from the row seed.

    Attributes
    ----------
    population_seed : seed of the token effects and of the hash that prints tokens. Logs of equal
        ``population_seed`` and different row seeds are fresh rows of the same population.
    scale : factor on the whole logit (before the intercept). Calibrated; see the module's notes.
    ceiling : largest probability of a click; 1 is a plain logistic model. Calibrated.
    rare : factor on the token effects of fields with more than 100,000 values. Calibrated.
    token_sd : standard deviation of a token's effect on the logit.
    vector_sd : standard deviation of each coordinate of a token's 2-d vector (fields with fewer
        than 20,000 values). Calibrated.
    integer_sd : standard deviation of the linear and of the quadratic coefficient of an integer.
        Calibrated.
    label_rate : expected share of positives; the intercept is solved for it.
    cardinalities : distinct values of C1..C26 in the full set.
    populations : number of ranks of each field, as a multiple of its cardinality. More than 1
        where the full set shows only part of its population.
    exponents : power-law exponents of C1..C26 (all above 1).
    missing : pairs of (fields, rate); the fields of one group are missing together.
    integer_log_mean, integer_log_sd : parameters of the log-normals of I1..I13.
    integer_cap : largest value of I1..I13 before the shift.
    integer_shift : what is added to I1..I13 after capping.
    copula, copula_large, copula_integer : correlation of a field's normal with its factor, for
        categoricals up to and above 100,000 values and for integers.
    calibration_rows : rows used to solve for the intercept.
    """

    population_seed: int = 1
    scale: float = 1.3
    ceiling: float = 0.92
    rare: float = 0.5
    token_sd: float = 0.25
    vector_sd: float = 0.125
    integer_sd: float = 0.075
    label_rate: float = 0.2559
    cardinalities: tuple[int, ...] = (
        *(1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194),
        *(27, 14992, 5461306, 10, 5652, 2173, 4, 7046547, 18, 15, 286181, 105, 142572),
    )
    populations: tuple[float, ...] = (
        *(1, 1, 60, 1.8, 1, 1, 1, 1, 1, 1, 1, 60, 1),
        *(1, 1, 14, 1, 1, 1, 1, 52, 1, 1, 1, 1, 1),
    )
    exponents: tuple[float, ...] = (
        *(1.10, 1.10, 1.062, 1.101, 1.10, 1.10, 1.10, 1.10, 1.10, 1.15, 1.10, 1.072, 1.10),
        *(1.10, 1.10, 1.087, 1.10, 1.10, 1.10, 1.10, 1.082, 1.10, 1.10, 1.12, 1.10, 1.15),
    )
    missing: tuple[tuple[tuple[str, ...], float], ...] = (
        (("I1", "I10"), 0.454),
        (("I3", "I4", "I13"), 0.215),
        (("I12",), 0.765),
        (("I6",), 0.224),
        (("I5",), 0.026),
        (("I7", "I9", "I11"), 0.043),
        (("I8",), 0.0005),
        (("C19", "C20", "C25", "C26"), 0.44),
        (("C22",), 0.76),
        (("C3", "C4", "C12", "C16", "C21", "C24"), 0.034),
        (("C6",), 0.12),
    )
    integer_log_mean: tuple[float, ...] = (
        *(0.7, 1.8, 1.8, 1.4, 7.9, 3.5, 1.2),
        *(2.0, 3.7, 0.3, 0.7, -0.3, 1.5),
    )
    integer_log_sd: tuple[float, ...] = (
        *(1.3, 2.2, 1.5, 1.1, 2.6, 1.7, 1.8),
        *(1.2, 1.5, 0.7, 1.1, 1.2, 1.1),
    )
    integer_cap: tuple[int, ...] = (
        *(5775, 257678, 65535, 969, 23159456, 431037, 56311),
        *(6047, 29019, 11, 231, 4008, 7393),
    )
    integer_shift: tuple[int, ...] = (0, -3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    copula: float = 0.35
    copula_large: float = 0.55
    copula_integer: float = 0.6
    calibration_rows: int = 500_000

    def __post_init__(self) -> None:
        for names, length in (
            (("cardinalities", "populations", "exponents"), N_CATEGORICALS),
            (("integer_log_mean", "integer_log_sd", "integer_cap", "integer_shift"), N_INTEGERS),
        ):
            for name in names:
                if (got := len(getattr(self, name))) != length:
                    raise UserError(f"stand-in setting {name}: {got} values, expected {length}")
        positive = ("scale", "token_sd", "vector_sd", "integer_sd", "calibration_rows")
        checks = [(name, getattr(self, name) >= 0, "0 or more") for name in positive]
        checks += [
            ("label_rate", 0 < self.label_rate < self.ceiling, "between 0 and ceiling"),
            ("ceiling", 0 < self.ceiling <= 1, "above 0, at most 1"),
            ("exponents", min(self.exponents) > 1, "above 1"),
            ("integer_cap", 0 < max(self.integer_cap) < 2**31 - 2**16, "positive 32-bit integers"),
            ("integer_shift", max(map(abs, self.integer_shift)) < 2**16, "at most 16 bits"),
            ("calibration_rows", self.calibration_rows >= 1, "1 or more"),
        ]
        for name in ("copula", "copula_large", "copula_integer"):
            checks.append((name, abs(getattr(self, name)) <= 1, "a correlation"))
        for name, holds, expected in checks:
            if not holds:
                raise UserError(
                    f"stand-in setting {name}: got {getattr(self, name)}, expected {expected}"
                )
        _missing_groups(self)

    @property
    def ranks(self) -> tuple[int, ...]:
        """Number of ranks of each categorical field's power law."""
        return tuple(
            max(1, round(c * p)) for c, p in zip(self.cardinalities, self.populations, strict=True)
        )


def _missing_groups(settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """Group number of each of the 39 fields (-1: never missing) and the groups' rates."""
    names = [f"I{i + 1}" for i in range(N_INTEGERS)] + [f"C{i + 1}" for i in range(N_CATEGORICALS)]
    group = np.full(len(names), -1, np.int64)
    rates = np.zeros(len(settings.missing))
    for number, (fields, rate) in enumerate(settings.missing):
        if not 0 <= rate <= 1:
            raise UserError(f"stand-in setting missing: rate {rate}, expected between 0 and 1")
        rates[number] = rate
        for field in fields:
            if field not in names or group[names.index(field)] >= 0:
                raise UserError(
                    f"stand-in setting missing: {field!r} is unknown or named twice, expected "
                    "each of I1..I13 and C1..C26 at most once"
                )
            group[names.index(field)] = number
    return group, rates


DEFAULT = Settings()


@dataclass(frozen=True)
class Summary:
    """What :func:`generate` wrote.

    Attributes
    ----------
    path : the file.
    rows, positives : number of rows and of rows with label 1.
    text_bytes, text_sha256 : size and SHA-256 of the (uncompressed) text.
    seed : the row seed.
    intercept : the solved intercept of the logit.
    settings : the settings as a dictionary.
    """

    path: str
    rows: int
    positives: int
    text_bytes: int
    text_sha256: str
    seed: int
    intercept: float
    settings: dict[str, Any]


class Rows(NamedTuple):
    """Rows as arrays; values at missing places are 0.

    ``label`` (n,) uint8, ``probability`` (n,) float64 of a click, ``integers`` (n, 13) int32,
    ``tokens`` (n, 26) uint32, ``integer_missing`` (n, 13) and ``token_missing`` (n, 26) bool.
    """

    label: np.ndarray
    probability: np.ndarray
    integers: np.ndarray
    tokens: np.ndarray
    integer_missing: np.ndarray
    token_missing: np.ndarray


# --- public functions ---------------------------------------------------------------------------


def generate(
    path: str | os.PathLike,
    *,
    rows: int,
    seed: int,
    settings: Settings = DEFAULT,
    threads: int = 2,
) -> Summary:
    """Write a stand-in log of any size; memory does not grow with it.

    Parameters
    ----------
    path : the file to write, atomically. A name that ends in ``.gz`` is compressed (one gzip
        member per chunk of rows, no time stamp).
    rows : number of rows, at least 1.
    seed : row seed. The bytes written depend on ``rows``, ``seed`` and ``settings`` alone.
    settings : the population and its noise level.
    threads : worker threads.

    Raises
    ------
    UserError
        If ``rows`` or ``threads`` is below 1.
    """
    _at_least_one(rows=rows, threads=threads)
    packed = Path(path).name.endswith(".gz")
    intercept(settings)  # solved once, before the workers ask for it

    def work(start: int) -> tuple[bytes, bytes, int]:
        part = sample(start, min(start + CHUNK_ROWS, rows), seed=seed, settings=settings)
        text = format_rows(part)
        body = gzip.compress(text, compresslevel=1, mtime=0) if packed else text
        return text, body, int(part.label.sum())

    digest, size, positives = hashlib.sha256(), 0, 0
    with atomic_path(path) as temporary, open(temporary, "wb") as handle:
        for text, body, clicks in _ordered(work, range(0, rows, CHUNK_ROWS), threads):
            handle.write(body)
            digest.update(text)
            size += len(text)
            positives += clicks
    return Summary(
        path=str(path),
        rows=rows,
        positives=positives,
        text_bytes=size,
        text_sha256=digest.hexdigest(),
        seed=seed,
        intercept=intercept(settings),
        settings=asdict(settings),
    )


def sample(start: int, stop: int, *, seed: int, settings: Settings = DEFAULT) -> Rows:
    """Rows ``start`` to ``stop - 1`` of the log of this seed, as arrays."""
    part, logit = _draw(start, stop, seed, settings)
    probability = settings.ceiling / (1 + np.exp(-(logit + intercept(settings))))
    label = (part.probability < probability).astype(np.uint8)
    return part._replace(label=label, probability=probability)


def format_rows(part: Rows) -> bytes:
    """The raw text of some rows: tab-separated fields, ``\\n`` line ends."""
    buffer = np.empty(len(part.label) * _MAX_ROW_BYTES, np.uint8)
    size = _format(
        part.label, part.integers, part.integer_missing, part.tokens, part.token_missing, buffer
    )
    return buffer[:size].tobytes()


def bayes_auc(*, rows: int = 100_000, seed: int, settings: Settings = DEFAULT) -> float:
    """AUC of the true click probabilities, the best any model can expect on these logs.

    Estimated on ``rows`` sampled rows. The labels' noise is averaged out: with probabilities
    ``p``, the value is the sum of ``p_i (1 - p_j)`` over pairs ranked correctly (ties count half)
    divided by its sum over all pairs, so only the choice of rows is random.
    """
    _at_least_one(rows=rows)
    p = np.sort(
        np.concatenate(
            [
                sample(a, min(a + CHUNK_ROWS, rows), seed=seed, settings=settings).probability
                for a in range(0, rows, CHUNK_ROWS)
            ]
        )
    )
    values, first, counts = np.unique(p, return_index=True, return_counts=True)
    below = np.concatenate([[0.0], np.cumsum(1 - p)])
    tied = below[first + counts] - below[first]
    return float(np.sum(counts * values * (below[first] + tied / 2)) / (p.sum() * (1 - p).sum()))


@lru_cache(maxsize=16)
def intercept(settings: Settings) -> float:
    """Intercept at which the mean click probability is ``settings.label_rate``.

    Solved by bisection on ``calibration_rows`` rows that no row seed shares.
    """
    seed = derive_seed(settings.population_seed, "criteo-standin-calibration")
    logits = np.concatenate(
        [
            _draw(a, min(a + CHUNK_ROWS, settings.calibration_rows), seed, settings)[1]
            for a in range(0, settings.calibration_rows, CHUNK_ROWS)
        ]
    )
    low, high = -100.0 - logits.max(), 100.0 - logits.min()
    for _ in range(80):
        middle = (low + high) / 2
        with np.errstate(over="ignore"):
            rate = settings.ceiling * np.mean(1 / (1 + np.exp(-(logits + middle))))
        low, high = (middle, high) if rate < settings.label_rate else (low, middle)
    return (low + high) / 2


def _at_least_one(**arguments: int) -> None:
    for name, value in arguments.items():
        if value < 1:
            raise UserError(f"{name} of the stand-in log: got {value}, expected 1 or more")


def _ordered(work: Callable, items: Iterable, threads: int) -> Iterator:
    """Results of ``work`` in the order of ``items``, with a bounded number in flight."""
    with ThreadPoolExecutor(threads) as pool:
        pending: deque = deque()
        for item in items:
            pending.append(pool.submit(work, item))
            if len(pending) > 2 * threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


# --- from settings to arrays --------------------------------------------------------------------


class _Tables(NamedTuple):
    """Settings as the arrays the kernel reads; see :func:`_tables`."""

    power: np.ndarray  # (26, 2): (ranks + 1)^(1 - a) - 1 and 1 / (1 - a) of the inverse CDF
    ranks: np.ndarray  # (26,)
    field_copula: np.ndarray  # (39,) integers first
    token_sd: np.ndarray  # (26,) standard deviation of a token's effect
    vector_sd: np.ndarray  # (26,) 0 where the field is not crossed
    field_key: np.ndarray  # (26,) uint64 key of the effects and of the printed tokens
    log_mean: np.ndarray
    log_sd: np.ndarray
    cap: np.ndarray
    shift: np.ndarray
    linear: np.ndarray  # (13,) coefficients of the integers
    quadratic: np.ndarray
    group: np.ndarray  # (39,) missing group of each field, -1 for none
    rates: np.ndarray  # (groups,)
    scale: float


@lru_cache(maxsize=16)
def _tables(settings: Settings) -> _Tables:
    seed = settings.population_seed
    cardinality = np.array(settings.cardinalities)
    ranks = np.array(settings.ranks, np.int64)
    exponent = np.array(settings.exponents, float)
    large = cardinality > _LARGE
    rng = np.random.default_rng(derive_seed(seed, "criteo-standin-integers"))
    group, rates = _missing_groups(settings)
    keys = [derive_seed(seed, "criteo-standin-field", field=j) for j in range(N_CATEGORICALS)]
    return _Tables(
        power=np.stack([(ranks + 1.0) ** (1 - exponent) - 1, 1 / (1 - exponent)], axis=1),
        ranks=ranks,
        field_copula=np.concatenate(
            [
                np.full(N_INTEGERS, settings.copula_integer),
                np.where(large, settings.copula_large, settings.copula),
            ]
        ),
        token_sd=settings.token_sd * np.where(large, settings.rare, 1.0),
        vector_sd=np.where(cardinality < _CROSSED, settings.vector_sd, 0.0),
        field_key=np.array(keys, np.uint64),
        log_mean=np.array(settings.integer_log_mean, float),
        log_sd=np.array(settings.integer_log_sd, float),
        cap=np.array(settings.integer_cap, float),
        shift=np.array(settings.integer_shift, np.int64),
        linear=settings.integer_sd * rng.standard_normal(N_INTEGERS),
        quadratic=settings.integer_sd * rng.standard_normal(N_INTEGERS),
        group=group,
        rates=rates,
        scale=float(settings.scale),
    )


def _draw(start: int, stop: int, seed: int, settings: Settings) -> tuple[Rows, np.ndarray]:
    """Rows and their logits without intercept; ``probability`` holds the labels' uniforms."""
    n = stop - start
    part = Rows(
        label=np.zeros(n, np.uint8),
        probability=np.empty(n),
        integers=np.zeros((n, N_INTEGERS), np.int32),
        tokens=np.zeros((n, N_CATEGORICALS), np.uint32),
        integer_missing=np.zeros((n, N_INTEGERS), np.bool_),
        token_missing=np.zeros((n, N_CATEGORICALS), np.bool_),
    )
    logit = np.empty(n)
    key = np.uint64(derive_seed(seed, "criteo-standin-rows"))
    _kernel(
        key, start, _tables(settings), part.integers, part.integer_missing, part.tokens,
        part.token_missing, logit, part.probability,
    )  # fmt: skip
    return part, logit


# --- compiled kernels ---------------------------------------------------------------------------

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_jit = numba.njit(nogil=True, cache=True)


@numba.njit(inline="always")
def _mix(x):
    """The finaliser of SplitMix64: a bijection of 64-bit words."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@numba.njit(inline="always")
def _uniform(state):
    """Uniform in (0, 1) from one 64-bit word: 53 bits, both ends excluded."""
    return (np.float64(state >> np.uint64(11)) + 0.5) * 2.0**-53


@numba.njit(inline="always")
def _token(key, rank):
    """The printed token: a bijection of 32-bit words (MurmurHash3's finaliser), keyed by field."""
    x = (np.uint64(rank) + key) & np.uint64(0xFFFFFFFF)
    x = ((x ^ (x >> np.uint64(16))) * np.uint64(0x85EBCA6B)) & np.uint64(0xFFFFFFFF)
    x = ((x ^ (x >> np.uint64(13))) * np.uint64(0xC2B2AE35)) & np.uint64(0xFFFFFFFF)
    return np.uint32(x ^ (x >> np.uint64(16)))


@numba.njit(inline="always")
def _effect(word):
    """A nearly normal value of mean 0 and variance 1: the sum of four 16-bit uniforms."""
    low = np.uint64(0xFFFF)
    total = (word & low) + ((word >> np.uint64(16)) & low)
    total += ((word >> np.uint64(32)) & low) + (word >> np.uint64(48))
    # a uniform on 0..65535 has mean 32767.5 and variance (65536^2 - 1) / 12
    return (np.float64(total) - 131070.0) * (math.sqrt(3.0) / 65536.0)


@_jit
def _fill_uniforms(state, out):
    for i in range(out.shape[0]):
        state += _GOLDEN
        out[i] = _uniform(_mix(state))
    return state


@_jit
def _fill_normals(state, out):
    """Box-Muller; the length of ``out`` must be even."""
    for i in range(0, out.shape[0], 2):
        state += _GOLDEN
        radius = math.sqrt(-2.0 * math.log(_uniform(_mix(state))))
        state += _GOLDEN
        angle = 2.0 * math.pi * _uniform(_mix(state))
        out[i] = radius * math.cos(angle)
        out[i + 1] = radius * math.sin(angle)
    return state


@_jit
def _kernel(key, start, t, integers, integer_missing, tokens, token_missing, logit, uniform):
    """Fill the arrays of rows ``start, start + 1, ...``; one SplitMix64 stream per row."""
    n_fields = N_INTEGERS + N_CATEGORICALS
    factors = np.empty(N_FACTORS)
    normals = np.empty(n_fields + n_fields % 2)
    flags = np.empty(t.rates.shape[0] + 1)
    missing = np.empty(n_fields, np.bool_)
    for i in range(logit.shape[0]):
        state = _mix(key + _mix(np.uint64(start + i)))
        state = _fill_normals(state, factors)
        state = _fill_normals(state, normals)
        _fill_uniforms(state, flags)
        uniform[i] = flags[t.rates.shape[0]]
        for j in range(n_fields):
            rho = t.field_copula[j]
            column = j if j < N_INTEGERS else j - N_INTEGERS
            normals[j] = rho * factors[column % N_FACTORS] + math.sqrt(1 - rho * rho) * normals[j]
            missing[j] = t.group[j] >= 0 and flags[t.group[j]] < t.rates[t.group[j]]
        total = _integer_part(t, normals, missing, integers[i], integer_missing[i])
        total += _token_part(t, normals, missing, tokens[i], token_missing[i])
        logit[i] = t.scale * total


@_jit
def _integer_part(t, normals, missing, values, value_missing):
    total = 0.0
    for j in range(N_INTEGERS):
        value_missing[j] = missing[j]
        if missing[j]:
            continue
        value = min(math.floor(math.exp(t.log_mean[j] + t.log_sd[j] * normals[j])), t.cap[j])
        values[j] = np.int32(value) + t.shift[j]
        z = (math.log(value + 0.5) - t.log_mean[j]) / t.log_sd[j]
        z = max(-3.0, min(3.0, z))
        total += t.linear[j] * z + t.quadratic[j] * (z * z - 1.0)
    return total


@_jit
def _token_part(t, normals, missing, values, value_missing):
    total = 0.0
    user0 = user1 = ad0 = ad1 = 0.0
    for j in range(N_CATEGORICALS):
        value_missing[j] = missing[N_INTEGERS + j]
        if value_missing[j]:
            continue
        u = 0.5 * math.erfc(-normals[N_INTEGERS + j] / math.sqrt(2.0))
        rank = np.int64((1.0 + u * t.power[j, 0]) ** t.power[j, 1])
        rank = max(1, min(rank, t.ranks[j]))
        values[j] = _token(t.field_key[j], rank)
        word = _mix(t.field_key[j] + _mix(np.uint64(rank)))
        total += t.token_sd[j] * _effect(word)
        if t.vector_sd[j] > 0:
            first = t.vector_sd[j] * _effect(_mix(word + _GOLDEN))
            second = t.vector_sd[j] * _effect(_mix(word + np.uint64(2) * _GOLDEN))
            if j % N_FACTORS < N_FACTORS // 2:
                user0 += first
                user1 += second
            else:
                ad0 += first
                ad1 += second
    return total + user0 * ad0 + user1 * ad1


@_jit
def _put_integer(value, out, at):
    """Write a decimal integer at ``out[at]``; return the place after it."""
    if value < 0:
        out[at] = 45  # "-"
        at += 1
        value = -value
    digits = 1
    rest = value // 10
    while rest > 0:
        digits += 1
        rest //= 10
    for k in range(at + digits - 1, at - 1, -1):
        out[k] = 48 + value % 10
        value //= 10
    return at + digits


@_jit
def _format(label, integers, integer_missing, tokens, token_missing, out):
    at = 0
    for i in range(label.shape[0]):
        out[at] = 48 + label[i]
        at += 1
        for j in range(N_INTEGERS):
            out[at] = 9  # tab
            at += 1
            if not integer_missing[i, j]:
                at = _put_integer(np.int64(integers[i, j]), out, at)
        for j in range(N_CATEGORICALS):
            out[at] = 9
            at += 1
            if not token_missing[i, j]:
                for k in range(8):
                    nibble = (tokens[i, j] >> np.uint32(28 - 4 * k)) & np.uint32(15)
                    out[at + k] = (48 if nibble < 10 else 87) + nibble
                at += 8
        out[at] = 10  # newline
        at += 1
    return at
