"""A private AUC with its error, by any of the mechanisms, at one label-DP guarantee.

``private_auc`` releases, ``simulate_private_auc`` repeats the release for experiments,
``auc_error`` predicts its bias and spread, ``epsilon_for_error`` asks for the budget of an error.
The last three read the true counts: they are for planning and for studies, not for publication.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.stats import norm

from leakmeter.dpauc.accounting import epsilon_per_count
from leakmeter.dpauc.arguments import (
    check_choice,
    check_delta,
    check_integer,
    check_number,
    check_positive,
    seeded,
)
from leakmeter.dpauc.binning import equal_mass_thresholds
from leakmeter.dpauc.composition import zcdp_sigma
from leakmeter.dpauc.counting import Counts, check_thresholds, count
from leakmeter.dpauc.discrete_noise import LAWS, Noise
from leakmeter.dpauc.histogram_release import (
    NO_ERROR,
    NoiseError,
    auc_from_histograms,
    auc_from_positives,
    auc_from_rank_sum,
    centred_ranks,
    clipped_tie_share,
    histogram_error,
    positives_error,
    rank_sum_error,
    tie_bias_bound,
)
from leakmeter.dpauc.mechanisms import check_repeats, laplace_auc
from leakmeter.dpauc.randomized import flip_probability
from leakmeter.dpauc.records import check_records
from leakmeter.dpauc.roc import auc_from_counts
from leakmeter.dpauc.stoddard import stoddard_aucs, tree_matrices, tree_sensitivity
from leakmeter.dpauc.threshold_layouts import thresholds as layout_thresholds
from leakmeter.runtime import UserError

#: Share of the budget that a rank-sum release gives to W; the rest protects the class size.
RANK_SUM_SHARE = 0.75
#: Releases simulated where an error has no closed form.
_SIMULATED = 400
#: Bins of the trees at most.
MOST_TREE_BINS = 2048
#: Budgets between which :func:`epsilon_for_error` looks.
EPSILON_RANGE = (1e-4, 1e4)
#: Budgets of a release: beyond, noise or its complement is lost to rounding.
_BUDGETS = (1e-9, 1e9)
#: Releases simulated per budget by :func:`epsilon_for_error`, fewer with many bins.
_SEARCHED = 4000
#: Share of releases without an AUC above which a budget does not count as meeting an error.
_UNDEFINED = 0.01
#: Numbers drawn at once by a simulation: more repeats are drawn one batch after another.
_DRAWN_AT_ONCE = 2**24


@dataclass(frozen=True)
class Method:
    """A mechanism.

    Attributes
    ----------
    title : what it is.
    protects : ``"record"`` if a replaced record (score and label) is covered by the same epsilon,
        ``"label"`` if only a changed label is and the scores may become known.
    bin_totals : ``"private"`` if the server sees records per bin under noise only, ``"public"`` if
        it sees them exactly, ``"none"`` if nothing per bin is sent.
    server_learns : what the server receives.
    noises : laws of noise it takes, the default first.
    closed_form : whether bias and spread have one.
    """

    title: str
    protects: str
    bin_totals: str
    server_learns: str
    noises: tuple[str, ...]
    closed_form: bool


_COUNTS = "four noisy counts per threshold from every client"
METHODS: Mapping[str, Method] = {
    "paper": Method(
        "the paper's, charged 4 T eps' (it spends half of epsilon)",
        "record",
        "private",
        _COUNTS,
        ("laplace",),
        False,
    ),
    "paper_tight": Method(
        "the paper's, charged its exact cost 2 T eps'",
        "record",
        "private",
        _COUNTS,
        ("laplace",),
        False,
    ),
    "paper_pld": Method(
        "the paper's, charged by its privacy-loss distribution at delta",
        "record",
        "private",
        _COUNTS,
        ("laplace",),
        False,
    ),
    "stoddard": Method(
        "Stoddard et al.: noisy trees of counts, consistent and monotone",
        "record",
        "private",
        "noisy counts of a binary tree over the bins, for each class, from every client",
        ("discrete", "laplace"),
        False,
    ),
    "histogram": Method(
        "label histogram with private bin totals",
        "record",
        "private",
        "noisy positives and noisy negatives per bin from every client",
        ("discrete", "laplace", "gaussian"),
        True,
    ),
    "positives": Method(
        "label histogram with public bin totals",
        "label",
        "public",
        "the exact number of records per bin, and noisy positives per bin, from every client",
        ("discrete", "laplace", "gaussian"),
        True,
    ),
    "rank_sum": Method(
        "rank sum and number of positives, with public ranks",
        "label",
        "public",
        "the exact scores' order (clients learn it as well), and two noisy numbers per client",
        ("discrete", "laplace", "gaussian"),
        True,
    ),
    "randomized_response": Method(
        "randomised response on every label",
        "label",
        "public",
        "the exact number of records per bin, and flipped labels counted per bin",
        ("flips",),
        True,
    ),
}


@dataclass(frozen=True)
class PrivateAuc:
    """A released AUC. Every field may be published: all are computed from the release alone.

    Attributes
    ----------
    auc : the estimate, not clipped; NaN if the noisy class sizes are not positive.
    bias, std : of the noise, estimated from the release; NaN where there is no closed form or a
        noisy class size is not positive.
    reliable : whether bias and std may be used: the noise of the class sizes is below 0.05 of them.
    tie_bound : largest error from pairs tied within a bin, estimated from the noisy counts, so the
        true one may be larger (0: no ties are made; NaN: unknown). With ``rank_sum`` it is the
        worst case of the bins' totals.
    epsilon, delta : of the guarantee; delta is 0 for pure DP.
    protects, server_learns : see :class:`Method`.
    method, noise, clients, bins : of the release.
    """

    auc: float
    bias: float
    std: float
    reliable: bool
    tie_bound: float
    epsilon: float
    delta: float
    method: str
    noise: str
    clients: int
    bins: int
    protects: str = field(repr=False)
    server_learns: str = field(repr=False)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Normal confidence interval for the AUC of the same bins without noise.

        NaN where there is no closed form or it is not reliable. It leaves out the ties.

        Raises
        ------
        UserError : a level outside (0, 1).
        """
        check_number("level", level, 0, 1, ends=False)
        if not self.reliable:
            return math.nan, math.nan
        half = norm.ppf((1 + level) / 2) * self.std
        return self.auc - self.bias - half, self.auc - self.bias + half


# --- public functions ---------------------------------------------------------------------------


def private_auc(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    epsilon: float,
    method: str = "histogram",
    clients: ArrayLike | int = 1,
    thresholds: ArrayLike | int = 100,
    noise: str | None = None,
    delta: float | None = None,
    seed: int | None = None,
) -> PrivateAuc:
    """Release the AUC of scored records once.

    Parameters
    ----------
    scores, labels : (M,) records. A class may be empty, and scores may lie outside [0, 1]: refusing
        either would tell. Without a class the AUC is noise, or NaN.
    epsilon : of the guarantee.
    method : one of :data:`METHODS`.
    clients : owner of each record, (M,) integers from 0, or K, the number of clients.
    thresholds : descending thresholds, or about how many bins to make: equal parts of [0, 1] where
        bin totals are private (nothing may depend on the scores, and those outside fall into the
        outer bins), bins of equal mass where they are public. ``rank_sum`` makes no bins and ignores
        a number.
    noise : ``"discrete"``, ``"laplace"`` or ``"gaussian"``; by default the method's first.
    delta : in (0, 1), needed by Gaussian noise (zCDP accounting) and by ``paper_pld``.
    seed : for repeatable experiments; without it the operating system's randomness is used, as a
        published release needs.

    Raises
    ------
    UserError : records that are none (NaN, labels other than 0 and 1, unequal lengths, infinite
        scores where thresholds are made from them), an unknown method, a noise the method does not
        take, a missing delta, a value out of range.
    """
    spec = _spec(method)
    scores, positive = check_records(scores, labels, both_classes=False)
    grid = release_thresholds(scores, thresholds, method)
    k = _number_of_clients(clients, scores.size)
    counts = count(scores, positive, grid, both_classes=False)
    plan = _plan(counts, epsilon, method, k, noise, delta)
    rng = None if seed is None else seeded(seed)
    auc, error, tie = plan.release(rng)
    if method == "rank_sum" and not np.ndim(thresholds):
        tie = 0.0  # every score is a bin: ties are those of the scores
    return PrivateAuc(
        auc=auc,
        bias=error.bias,
        std=error.std,
        reliable=spec.closed_form and error.reliable,
        tie_bound=tie,
        epsilon=epsilon,
        delta=delta if plan.approximate else 0.0,
        method=method,
        noise=plan.law,
        clients=k,
        bins=counts.n_thresholds + 1,
        protects=spec.protects,
        server_learns=spec.server_learns,
    )


def simulate_private_auc(
    counts: Counts,
    *,
    epsilon: float,
    repeats: int,
    seed: int,
    method: str = "histogram",
    clients: int = 1,
    noise: str | None = None,
    delta: float | None = None,
) -> np.ndarray:
    """(R,) AUCs of independent releases from pooled counts; parameters as :func:`private_auc`."""
    check_repeats(repeats)
    check_integer("seed", seed, 0)
    return _plan(counts, epsilon, method, clients, noise, delta).simulate(repeats, seed)


def auc_error(
    counts: Counts,
    *,
    epsilon: float,
    method: str = "histogram",
    clients: int = 1,
    noise: str | None = None,
    delta: float | None = None,
    seed: int = 0,
) -> NoiseError:
    """Bias and spread of a release, against the AUC of the same bins without noise.

    In closed form where the method has one (see :attr:`NoiseError.reliable`), else from simulated
    releases (``seed``), those without an AUC left out. Reads the true counts: not private.
    """
    check_integer("seed", seed, 0)
    return _plan(counts, epsilon, method, clients, noise, delta).error(seed)


def epsilon_for_error(
    counts: Counts,
    *,
    error: float,
    method: str = "histogram",
    clients: int = 1,
    noise: str | None = None,
    delta: float | None = None,
    exact: float | None = None,
) -> float:
    """The epsilon at which the root-mean-square error of a release is ``error``; above it is smaller.

    The error is the closed form's where that is reliable, else that of simulated releases with an
    AUC, of which all but 1 % must have one.

    Parameters
    ----------
    counts : of the true labels (planning; not private).
    error : e.g. 0.001.
    exact : AUC without bins; if given, the error is against it and includes the bins' ties. Else it
        is against the same release without noise.

    Returns
    -------
    The epsilon; the smallest tried (:data:`EPSILON_RANGE`) where any above it has a smaller error.

    Raises
    ------
    NoBudget : no epsilon of :data:`EPSILON_RANGE` has that error; the message says why.
    UserError : a setting that :func:`private_auc` refuses.
    """
    check_positive("error", error)
    if exact is not None:
        check_number("exact", exact, 0, 1)
    closed = _spec(method).closed_form
    noiseless = auc_from_counts(counts) if method.startswith("paper") else binned_auc(counts)
    target = noiseless if exact is None else exact
    few = counts.n_thresholds <= 1000 or method == "rank_sum"  # which draws two numbers
    repeats = _SEARCHED if few else _SIMULATED

    def error_at(epsilon: float) -> float:
        plan = _plan(counts, epsilon, method, clients, noise, delta)
        if closed and (found := plan.error(0)).reliable:
            return math.hypot(found.bias + noiseless - target, found.std)
        aucs = plan.simulate(repeats, 0)
        aucs = aucs[~np.isnan(aucs)]
        if len(aucs) < (1 - _UNDEFINED) * repeats:
            return math.inf
        return float(np.sqrt(np.mean((aucs - target) ** 2)))

    def excess(log_epsilon: float) -> float:
        # the sign decides; a jump between simulation and closed form is bisected like a root
        rmse = error_at(math.exp(log_epsilon))
        return math.log(min(max(rmse / error, 1e-20), 1e20))

    low, high = EPSILON_RANGE
    if not (best := error_at(high)) < error:
        raise NoBudget(error, method, _why_not(best, error, abs(noiseless - target), method))
    # from above, since small budgets may err less than larger ones: an AUC of noise alone is 1/2
    while high > low:
        lower = max(low, high / 2)
        if error_at(lower) >= error:
            tolerance = 1e-6 if closed else 1e-3
            return math.exp(brentq(excess, math.log(lower), math.log(high), xtol=tolerance))
        high = lower
    return low


class NoBudget(UserError):
    """No epsilon has the error that was asked for.

    Attributes
    ----------
    reason : in a few words.
    """

    def __init__(self, error: float, method: str, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"no epsilon up to {EPSILON_RANGE[1]:g} has an error of {error:g} with method {method}: "
            f"{reason}"
        )


def _why_not(best: float, error: float, tie: float, method: str) -> str:
    if math.isinf(best):
        return "too many of its releases have no AUC even there"
    if tie >= error and method != "rank_sum":
        return f"pairs tied within bins alone make {tie:.2g}, so use more thresholds"
    return f"it is {best:.2g} even there"


def binned_auc(counts: Counts) -> float:
    """AUC of the bins without noise (end points included; pairs within a bin count half)."""
    return float(auc_from_histograms(*_bins(counts)))


# --- plans --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plan:
    """One mechanism with its noise fixed, ready to release, simulate and predict."""

    law: str
    approximate: bool
    simulate: Callable[[int, int], np.ndarray]
    error: Callable[[int], NoiseError]
    release: Callable[[np.random.Generator | None], tuple[float, NoiseError, float]]


def _plan(
    counts: Counts,
    epsilon: float,
    method: str,
    clients: int,
    noise: str | None,
    delta: float | None,
) -> _Plan:
    spec = _spec(method)
    check_budget(epsilon)
    check_integer("clients", clients)
    law = spec.noises[0] if noise is None else noise
    if law not in spec.noises:
        raise UserError(
            f"noise is {law!r}; method {method} takes {', '.join(spec.noises)} (of {', '.join(LAWS)})"
        )
    approximate = law == "gaussian" or method == "paper_pld"
    if approximate:
        check_delta(delta)
    make = {
        "paper": _paper,
        "paper_tight": _paper,
        "paper_pld": _paper,
        "stoddard": _stoddard,
        "histogram": _histogram,
        "positives": _positives,
        "rank_sum": _rank_sum,
        "randomized_response": _randomized_response,
    }[method]
    return make(counts.pooled(), epsilon, method, clients, law, delta, approximate)


def check_budget(epsilon: float) -> None:
    """Refuse a budget that the mechanisms cannot compute with.

    Raises
    ------
    UserError : not a number from 1e-9 to 1e9.
    """
    check_number("epsilon", epsilon, *_BUDGETS)


def _unit_noise(
    law: str, epsilon: float, delta: float | None, clients: int, *, l1: float, l2: float
) -> Noise:
    """Noise per count of a vector of these sensitivities."""
    if law == "gaussian":
        return Noise(law, zcdp_sigma(epsilon, delta, l2), clients)
    return Noise(law, epsilon / l1, clients)


def _paper(counts, epsilon, method, clients, law, delta, approximate) -> _Plan:
    rule = {"paper": "paper", "paper_tight": "tight", "paper_pld": "pld"}[method]
    each = _per_count(counts.n_thresholds, epsilon, rule, delta)

    def simulate(repeats: int, seed: int) -> np.ndarray:
        return laplace_auc(
            counts, clients=clients, epsilon_per_count=each, repeats=repeats, seed=seed
        )

    def release(rng: np.random.Generator | None) -> tuple[float, NoiseError, float]:
        seed = secrets.randbits(128) if rng is None else int(rng.integers(2**63))
        return float(simulate(1, seed)[0]), _UNKNOWN, math.nan

    return _Plan(
        law, approximate, simulate, _error_by(simulate, lambda: auc_from_counts(counts)), release
    )


@cache
def _per_count(n_thresholds: int, epsilon: float, rule: str, delta: float | None) -> float:
    return epsilon_per_count(n_thresholds, epsilon, rule=rule, delta=delta)


def _stoddard(counts, epsilon, method, clients, law, delta, approximate) -> _Plan:
    p, n = _bins(counts)
    if p.size > MOST_TREE_BINS:
        raise UserError(
            f"method stoddard got {p.size} bins; expected at most {MOST_TREE_BINS}: its least squares "
            "hold a matrix of bins times nodes"
        )
    nodes, _ = tree_matrices(p.size)
    unit = _unit_noise(law, epsilon, delta, clients, l1=tree_sensitivity(p.size), l2=1.0)
    shape = (2, nodes.shape[0])

    def simulate(repeats: int, seed: int) -> np.ndarray:
        return _in_batches(
            lambda rng, some: stoddard_aucs(p, n, unit.summed(rng, (some, *shape))),
            repeats,
            seed,
            math.prod(shape),
        )

    def release(rng: np.random.Generator | None) -> tuple[float, NoiseError, float]:
        drawn = unit.released(rng, shape).sum(axis=0)
        return float(stoddard_aucs(p, n, drawn[None])[0]), _UNKNOWN, math.nan

    return _Plan(
        law,
        approximate,
        simulate,
        _error_by(simulate, lambda: float(auc_from_histograms(p, n))),
        release,
    )


def _histogram(counts, epsilon, method, clients, law, delta, approximate) -> _Plan:
    p, n = _bins(counts)
    unit = _unit_noise(law, epsilon, delta, clients, l1=2.0, l2=math.sqrt(2.0))
    exact = np.stack([p, n])

    def simulate(repeats: int, seed: int) -> np.ndarray:
        def some(rng: np.random.Generator, batch: int) -> np.ndarray:
            noisy = exact + unit.summed(rng, (batch, 2, p.size))
            return auc_from_histograms(noisy[:, 0], noisy[:, 1])

        return _in_batches(some, repeats, seed, exact.size)

    def release(rng: np.random.Generator | None) -> tuple[float, NoiseError, float]:
        noisy = exact + unit.released(rng, exact.shape).sum(axis=0)
        return (
            float(auc_from_histograms(*noisy)),
            histogram_error(*noisy, unit.variance),
            tie_bias_bound(*noisy),
        )

    return _Plan(
        law, approximate, simulate, lambda _: histogram_error(p, n, unit.variance), release
    )


def _positives(counts, epsilon, method, clients, law, delta, approximate) -> _Plan:
    p, n = _bins(counts)
    t = p + n
    unit = _unit_noise(law, epsilon, delta, clients, l1=1.0, l2=1.0)

    def simulate(repeats: int, seed: int) -> np.ndarray:
        return _in_batches(
            lambda rng, some: auc_from_positives(p + unit.summed(rng, (some, p.size)), t),
            repeats,
            seed,
            p.size,
        )

    def release(rng: np.random.Generator | None) -> tuple[float, NoiseError, float]:
        noisy = p + unit.released(rng, p.shape).sum(axis=0)
        return (
            float(auc_from_positives(noisy, t)),
            positives_error(noisy, t, unit.variance),
            tie_bias_bound(noisy, t - noisy, -unit.variance),
        )

    return _Plan(
        law, approximate, simulate, lambda _: positives_error(p, t, unit.variance), release
    )


def _rank_sum(counts, epsilon, method, clients, law, delta, approximate) -> _Plan:
    p, n = _bins(counts)
    t = p + n
    records = float(t.sum())
    # V = 2 M W is an integer; one label moves it by at most M - 1 and P by 1.
    v = float(p @ np.rint(2 * records * centred_ranks(t)))
    size = float(p.sum())
    noise_v, noise_p = rank_sum_noise(records, epsilon, law, delta, clients)
    scale = 2 * records

    def error_at(rank_sum: float, positives: float) -> NoiseError:
        return rank_sum_error(
            rank_sum,
            positives,
            records,
            variance_rank_sum=noise_v.variance / scale**2,
            variance_positives=noise_p.variance,
        )

    def simulate(repeats: int, seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        noisy_v = v + noise_v.summed(rng, (repeats,))
        return auc_from_rank_sum(noisy_v / scale, size + noise_p.summed(rng, (repeats,)), records)

    def release(rng: np.random.Generator | None) -> tuple[float, NoiseError, float]:
        noisy_v = v + noise_v.released(rng, ()).sum()
        noisy_p = size + noise_p.released(rng, ()).sum()
        auc = float(auc_from_rank_sum(noisy_v / scale, noisy_p, records))
        # p n is at most t^2 / 4 in a bin; the release tells no more
        tied = clipped_tie_share(float(t @ t) / 4, noisy_p, records - noisy_p)
        return auc, error_at(noisy_v / scale, noisy_p), tied

    return _Plan(law, approximate, simulate, lambda _: error_at(v / scale, size), release)


def rank_sum_noise(
    records: float, epsilon: float, law: str, delta: float | None, clients: int
) -> tuple[Noise, Noise]:
    """Noise on V = 2 M W and on P that together cost epsilon (delta).

    V moves by at most M - 1 and P by 1, so epsilons ``share * epsilon`` and the rest add up; for
    Gaussian noise the two shares are of rho.
    """
    step = max(records - 1, 1.0)
    if law == "gaussian":
        sigma = zcdp_sigma(epsilon, delta, 1.0)
        return (
            Noise(law, step * sigma / math.sqrt(RANK_SUM_SHARE), clients),
            Noise(law, sigma / math.sqrt(1 - RANK_SUM_SHARE), clients),
        )
    return (
        Noise(law, RANK_SUM_SHARE * epsilon / step, clients),
        Noise(law, (1 - RANK_SUM_SHARE) * epsilon, clients),
    )


def _randomized_response(counts, epsilon, method, clients, law, delta, approximate) -> _Plan:
    p, n = _bins(counts)
    t = p + n
    rate = flip_probability(epsilon)
    trials, chance = np.stack([p, n]).astype(np.int64), np.array([[1 - rate], [rate]])
    kept = math.tanh(epsilon / 2)  # 1 - 2 rate, without cancellation
    variance = t * rate * (1 - rate) / kept**2

    def unbiased(flipped: np.ndarray) -> np.ndarray:
        return (flipped - rate * t) / kept

    def draw(rng: np.random.Generator, repeats: int) -> np.ndarray:
        flipped = rng.binomial(trials, chance, size=(repeats, *trials.shape)).sum(axis=1)
        return unbiased(flipped)

    def simulate(repeats: int, seed: int) -> np.ndarray:
        return _in_batches(
            lambda rng, some: auc_from_positives(draw(rng, some), t), repeats, seed, trials.size
        )

    def release(rng: np.random.Generator | None) -> tuple[float, NoiseError, float]:
        noisy = draw(rng or seeded(None), 1)[0]
        return (
            float(auc_from_positives(noisy, t)),
            positives_error(noisy, t, variance),
            tie_bias_bound(noisy, t - noisy, -variance),
        )

    return _Plan(law, approximate, simulate, lambda _: positives_error(p, t, variance), release)


def _in_batches(
    draw: Callable[[np.random.Generator, int], np.ndarray], repeats: int, seed: int, each: int
) -> np.ndarray:
    """(R,) results of ``draw``, which makes ``each`` numbers per repeat, in bounded memory."""
    rng = np.random.default_rng(seed)
    batch = max(1, _DRAWN_AT_ONCE // each)
    starts = range(0, repeats, batch)
    return np.concatenate([draw(rng, min(batch, repeats - start)) for start in starts])


_UNKNOWN = NoiseError(bias=math.nan, std=math.nan)


def _error_by(
    simulate: Callable[[int, int], np.ndarray], exact: Callable[[], float]
) -> Callable[[int], NoiseError]:
    """Bias and spread of simulated releases, of those that have an AUC."""

    def error(seed: int) -> NoiseError:
        aucs = simulate(_SIMULATED, seed)
        defined = aucs[~np.isnan(aucs)]
        undefined = 1 - defined.size / _SIMULATED
        if defined.size < 2:
            return replace(NO_ERROR, simulated=_SIMULATED, undefined=undefined)
        return NoiseError(
            bias=float(defined.mean() - exact()),
            std=float(defined.std(ddof=1)),
            simulated=_SIMULATED,
            undefined=undefined,
        )

    return error


def _bins(counts: Counts) -> tuple[np.ndarray, np.ndarray]:
    p, n = counts.bins()
    return p.astype(float), n.astype(float)


def _spec(method: str) -> Method:
    check_choice("method", method, METHODS)
    return METHODS[method]


def _number_of_clients(clients: ArrayLike | int, records: int) -> int:
    if np.ndim(clients) == 0:
        check_integer("clients", clients)
        return int(clients)
    owners = np.asarray(clients)
    if owners.shape != (records,):
        raise UserError(
            f"clients has shape {owners.shape}; expected ({records},), one owner per record, or their "
            "number"
        )
    if not np.issubdtype(owners.dtype, np.integer) or owners.min() < 0:
        raise UserError("clients must be a number of clients, or an integer from 0 for each record")
    return int(owners.max()) + 1


def release_thresholds(scores: np.ndarray, thresholds: ArrayLike | int, method: str) -> np.ndarray:
    """Thresholds of a release of :func:`private_auc`; the layouts where only their number is given.

    Where bin totals are private they do not depend on the scores, nor does it whether they are
    refused.
    """
    if np.ndim(thresholds):
        return check_thresholds(thresholds)
    check_integer("thresholds", thresholds, 2)
    bins = int(thresholds)
    if METHODS[method].bin_totals == "public":
        if not np.isfinite(scores).all():
            at = int((~np.isfinite(scores)).argmax())
            raise UserError(
                f"scores[{at}] is {scores[at]}; expected finite numbers, of which method {method} "
                "makes thresholds"
            )
        if method == "rank_sum":
            inner = np.unique(scores.astype(np.float64))[:0:-1]
        else:
            inner = equal_mass_thresholds(scores, bins)
        return inner if inner.size else np.array([float(scores[0])])
    if method.startswith("paper"):
        return layout_thresholds(max(bins, 4), "authors")
    return np.linspace(0.0, 1.0, bins + 1)[-2:0:-1].copy()
