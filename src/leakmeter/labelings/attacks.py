"""Attacks that read labels off an AUC oracle, and what each query gains.

Two kinds. Attacks that construct their rankings recover every label with certainty, whatever the
guesses: :func:`pair_attack` (two queries per label), :func:`swap_attack` (one per label) and
:func:`weighing_attack` (many labels per query). Attacks that reason about the set of labelings
that agree with the answers: :func:`posterior_attack` (one query, from counts) and, for sets small
enough to hold in memory, :func:`prune_by_pairs` and :func:`prune_by_rankings`.

The paper's final version announces an attack by pairs of queries; its text was not at hand. The
pair attacks here are derived from the definition of the AUC.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache

import numpy as np

from leakmeter.labelings.aucs import AucInterval
from leakmeter.labelings.counting import count_for_auc
from leakmeter.labelings.enumeration import enumerate_blocks
from leakmeter.labelings.guesses import misranked, ranking_order
from leakmeter.labelings.oracles import Oracle, RoundingTooCoarse
from leakmeter.labelings.posteriors import label_posterior
from leakmeter.runtime import UserError

UNKNOWN = -1


@dataclass
class AttackResult:
    """Outcome of one attack.

    Attributes
    ----------
    attack : its name.
    labels : (n,) int8 in record order, ``-1`` where the attack makes no statement.
    certain : whether the stated labels are deduced (as opposed to more probable than not).
    curve : one dict per step with ``queries`` and ``known`` (labels stated by then), and for
        attacks on a set of labelings also ``labelings`` (how many are left),
        ``expected_accuracy`` and ``expected_auc`` of the guesses improved by them.
    """

    attack: str
    labels: np.ndarray
    certain: bool = True
    curve: list[dict[str, float]] = field(default_factory=list)

    @property
    def queries(self) -> int:
        """Queries made."""
        return int(self.curve[-1]["queries"])


# --- attacks that construct their rankings -------------------------------------------------------


def pair_attack(oracle: Oracle, *, stop_early: bool = True) -> AttackResult:
    """Rank one record above all others, then below all others; the difference is its label.

    With the other records in a fixed order, the first AUC minus the second is ``1/n1`` for a one
    and ``-1/n0`` for a zero.

    Parameters
    ----------
    oracle : the oracle; a rounded one serves while ``1/max(n0, n1)`` exceeds one unit in its last
        decimal.
    stop_early : leave out the remaining records once all of one class are found. The class sizes
        come from the first difference, so this needs an exact oracle.
    """
    n = oracle.n
    result = AttackResult("pairs", np.full(n, UNKNOWN, np.int8))
    first_queries = oracle.queries
    ones: int | None = None
    for i in range(n):
        others = np.delete(np.arange(n), i)
        difference = oracle.query_order([*others, i]) - oracle.query_order([i, *others])
        if abs(difference) <= 2 * oracle.half_width:
            raise RoundingTooCoarse(
                f"oracle: the two answers for record {i} differ by {float(difference):g}, within "
                f"their rounding; expected answers with more decimals"
            )
        result.labels[i] = difference > 0
        if ones is None and not oracle.half_width:
            ones = int(1 / difference) if difference > 0 else n - int(-1 / difference)
        found = np.bincount(result.labels[: i + 1], minlength=2)
        if stop_early and ones is not None:
            if found[1] == ones:
                result.labels[i + 1 :] = 0
            elif found[0] == n - ones:
                result.labels[i + 1 :] = 1
        known = int(np.count_nonzero(result.labels != UNKNOWN))
        result.curve.append({"queries": oracle.queries - first_queries, "known": known})
        if known == n:
            break
    return result


def swap_attack(oracle: Oracle) -> AttackResult:
    """Exchange two neighbours of a fixed ranking at a time.

    Exchanging the records at ranks ``i`` and ``i + 1`` changes the misranked pairs by the label of
    the second minus that of the first, so ``n - 1`` exchanges after one base query give all
    differences, and one difference that is not zero fixes all labels.

    Parameters
    ----------
    oracle : the oracle; a rounded one serves while ``1/(n0 n1)`` exceeds two units in its last
        decimal whatever the class sizes.
    """
    n = oracle.n
    if 2 * oracle.half_width * n * n >= 2:
        raise RoundingTooCoarse(
            f"oracle: answers within {float(oracle.half_width):g} cannot show one misranked pair "
            f"among {n} records; expected answers with more decimals"
        )
    first_queries = oracle.queries
    order = np.arange(n)
    base = oracle.query_order(order)
    # Relative to the first label, until a change of sign tells what that is.
    relative = np.zeros(n, np.int8)
    result = AttackResult("swaps", np.full(n, UNKNOWN, np.int8), curve=[{"queries": 1, "known": 0}])
    for i in range(n - 1):
        swapped = order.copy()
        swapped[[i, i + 1]] = swapped[[i + 1, i]]
        change = base - oracle.query_order(swapped)
        step = 0 if abs(change) <= 2 * oracle.half_width else (1 if change > 0 else -1)
        relative[i + 1] = relative[i] + step
        seen = relative[: i + 2]
        if seen.min() < seen.max():
            result.labels[: i + 2] = seen - seen.min()
        known = int(np.count_nonzero(result.labels != UNKNOWN))
        result.curve.append({"queries": oracle.queries - first_queries, "known": known})
    return result


@cache
def distinct_sum_weights(size: int) -> tuple[int, ...]:
    """``size`` positive integers, descending, whose ``2^size`` subset sums all differ.

    The Conway-Guy sequence, whose largest element is smaller than that of the powers of two
    (Conway and Guy 1968; all its subset sums differ: Bohman 1996).
    """
    u = [0, 1]
    while len(u) <= size:
        k = len(u) - 1
        u.append(2 * u[k] - u[k - math.floor(0.5 + math.sqrt(2 * k))])
    return tuple(u[size] - u[size - i] for i in range(size, 0, -1))


@cache
def _subset_by_sum(size: int) -> dict[int, int]:
    """For each subset sum of the weights, the subset as a bit mask (bit j: weight j)."""
    sums = {0: 0}
    for j, weight in enumerate(distinct_sum_weights(size)):
        sums |= {total + weight: mask | 1 << j for total, mask in sums.items()}
    return sums


def weighing_attack(oracle: Oracle, n1: int | None = None) -> AttackResult:
    """Read several labels per query by weighing unknown records against known ones.

    Known zeros stand at the bottom, known ones at the top, unknown records between them in a fixed
    order. Moving the lowest unknown record down past ``w`` known zeros adds ``w`` misranked pairs
    if it is a one and none if it is a zero. Several records are moved at once, by weights whose
    subset sums all differ, so the change tells which of them are ones; likewise upwards among the
    known ones. With ``k`` known records of a class a query yields about ``log2 k + 2`` labels, so
    ``n`` labels take about ``n / log2 n`` queries. The first known record, and the class sizes,
    come from a pair of queries.

    Parameters
    ----------
    oracle : the oracle. If it rounds, the weights are scaled to exceed the rounding, and pairs of
        queries supply known records until the smallest scaled weight fits.
    n1 : number of ones, if known. A rounded oracle requires it.
    """
    if oracle.half_width and n1 is None:
        raise UserError(
            "n1=None: an oracle that rounds does not tell it, expected the number of ones"
        )
    state = _Weighing(oracle, n1)
    while len(state.unknown) and not state.settle_rest():
        if state.room() < state.scale:
            state.weigh_by_pair()
        else:
            state.weigh_block()
    return AttackResult("weighing", state.labels, curve=state.curve)


class _Weighing:
    """Known zeros, unknown records, known ones, and the misranked pairs among the unknown.

    Invariant: ``inside`` is the number of misranked pairs among ``unknown`` in their order, up to
    twice the rounding of the oracle in pairs; it is exact for an oracle whose rounding is below
    half a pair.
    """

    def __init__(self, oracle: Oracle, n1: int | None) -> None:
        self.oracle, self.n1 = oracle, n1
        self.first_queries = oracle.queries
        self.labels = np.full(oracle.n, UNKNOWN, np.int8)
        self.zeros: list[int] = []
        self.ones: list[int] = []
        self.unknown = list(range(oracle.n))
        self.inside: Fraction | None = None
        self.scale = 1
        self.curve: list[dict[str, float]] = []

    @property
    def pairs(self) -> int:
        return (self.oracle.n - self.n1) * self.n1

    def room(self) -> int:
        """The largest weight that fits: known records of the larger known class."""
        return max(len(self.zeros), len(self.ones)) if self.inside is not None else 0

    def misranked(self, auc: Fraction) -> Fraction:
        """Misranked pairs behind an answer, exact where rounding is below half a pair."""
        value = (1 - auc) * self.pairs
        return Fraction(round(value)) if self.oracle.half_width * self.pairs * 2 < 1 else value

    def know(self, records: Iterable[int], labels: Iterable[int]) -> None:
        for record, label in zip(records, labels, strict=True):
            self.labels[record] = label
            (self.ones if label else self.zeros).append(record)
        queries = self.oracle.queries - self.first_queries
        known = int(np.count_nonzero(self.labels != UNKNOWN))
        if self.curve and self.curve[-1]["queries"] == queries:
            self.curve[-1]["known"] = known
        else:
            self.curve.append({"queries": queries, "known": known})

    def settle_rest(self) -> bool:
        """State the rest if one class is complete."""
        if self.n1 is None:
            return False
        for label, left in (
            (0, self.n1 - len(self.ones)),
            (1, self.oracle.n - self.n1 - len(self.zeros)),
        ):
            if left == 0:
                self.know(self.unknown, [label] * len(self.unknown))
                self.unknown = []
                return True
        return False

    def weigh_by_pair(self) -> None:
        """One label from two queries; the first also counts the misranked pairs of the rest."""
        record, *rest = self.unknown
        middle = [*self.zeros, *rest, *self.ones]
        above = self.oracle.query_order([*middle, record])
        difference = above - self.oracle.query_order([record, *middle])
        if abs(difference) <= 2 * self.oracle.half_width:
            raise RoundingTooCoarse(
                f"oracle: the two answers for record {record} differ by {float(difference):g}, "
                f"within their rounding; expected answers with more decimals"
            )
        label = int(difference > 0)
        if self.n1 is None:
            self.n1 = int(1 / difference) if label else self.oracle.n - int(-1 / difference)
        self.unknown = rest
        # A zero above all others is misranked with every one.
        self.inside = self.misranked(above) - (0 if label else self.n1)
        error = self.oracle.half_width * self.pairs
        self.scale = 1 if 2 * error < 1 else math.floor(4 * error) + 1
        self.know([record], [label])

    def weigh_block(self) -> None:
        """Several labels from one query."""
        down = len(self.zeros) >= len(self.ones)
        known = self.zeros if down else self.ones
        size = 1
        while size < len(self.unknown) and distinct_sum_weights(size + 1)[0] * self.scale <= len(
            known
        ):
            size += 1
        weights = [self.scale * w for w in distinct_sum_weights(size)]
        block = self.unknown[:size] if down else self.unknown[-size:]
        answer = self.oracle.query_order(self.ranking(block, weights, down))
        change = (self.misranked(answer) - self.inside) / self.scale
        mask = _subset_by_sum(size)[round(change)]
        moved = [mask >> j & 1 for j in range(size)]
        # Upwards the heaviest weight belongs to the highest record, and zeros are what is weighed.
        labels = moved if down else [1 - bit for bit in reversed(moved)]
        self.unknown = self.unknown[size:] if down else self.unknown[:-size]
        self.know(block, labels)
        self.leave(labels, down)

    def ranking(self, block: list[int], weights: list[int], down: bool) -> list[int]:
        """The ranking that moves each record of the block past ``weight`` known records."""
        if down:
            # Walk up the known zeros; a record with `weight` of them above goes in there.
            mixed, at = [], 0
            for record, weight in zip(block, weights, strict=True):
                mixed += [*self.zeros[at : len(self.zeros) - weight], record]
                at = len(self.zeros) - weight
            return [*mixed, *self.zeros[at:], *self.unknown[len(block) :], *self.ones]
        mixed, at = [], 0
        for record, weight in zip(block, reversed(weights), strict=True):
            mixed += [*self.ones[at:weight], record]
            at = weight
        rest = self.unknown[: len(self.unknown) - len(block)]
        return [*self.zeros, *rest, *mixed, *self.ones[at:]]

    def leave(self, labels: list[int], down: bool) -> None:
        """Take the pairs of a labelled block out of the count of the unknown records."""
        found = np.array(labels)
        within = int(np.sum(np.cumsum(found) * (1 - found)))
        if down:
            across = int(found.sum()) * (self.oracle.n - self.n1 - len(self.zeros))
        else:
            across = int((1 - found).sum()) * (self.n1 - len(self.ones))
        self.inside -= within + across


# --- attacks on the set of labelings -------------------------------------------------------------


def posterior_attack(oracle: Oracle, guesses: np.ndarray, n1: int | None = None) -> AttackResult:
    """One query: state for each record the label that more of the labelings have.

    A record with as many ones as zeros is stated as a one.
    """
    order = ranking_order(guesses)
    answer = _as_value(oracle.query(guesses), oracle.half_width)
    result = label_posterior(oracle.n, answer, n1)
    labels = np.empty(oracle.n, np.int8)
    labels[order] = [2 * count >= result.total for count in result.counts()]
    step = {
        "queries": 1,
        "known": oracle.n,
        "labelings": result.total,
        "expected_accuracy": float(result.expected_accuracy()),
        "expected_auc": float(result.expected_auc(result.best_ranking())),
    }
    return AttackResult("posterior", labels, certain=False, curve=[step])


def _as_value(answer: Fraction, half_width: Fraction) -> Fraction | AucInterval:
    if not half_width:
        return answer
    return AucInterval(max(answer - half_width, Fraction(0)), min(answer + half_width, Fraction(1)))


def compatible_set(
    guesses: np.ndarray,
    auc: Fraction | AucInterval,
    n1: int | None = None,
    *,
    max_labelings: int = 5_000_000,
) -> np.ndarray:
    """All labelings that agree with an AUC as one array, after counting them.

    Returns
    -------
    (w, n) uint8 in the order of ``guesses``.

    Raises
    ------
    UserError
        If there are more than ``max_labelings`` of them, or none.
    """
    n = len(guesses)
    size = count_for_auc(n, auc, n1)
    if not 0 < size <= max_labelings:
        raise UserError(f"{size} labelings of {n} records agree: expected 1 to {max_labelings}")
    return np.concatenate(list(enumerate_blocks(guesses, auc, n1)))


def keep_consistent(
    labelings: np.ndarray, order: np.ndarray, value: Fraction | AucInterval
) -> np.ndarray:
    """The labelings that have the AUC ``value`` under the ranking ``order``."""
    wrong, ones = misranked(labelings, order)
    pairs = (labelings.shape[1] - ones) * ones
    right = pairs - wrong
    if isinstance(value, AucInterval):
        keep = right * value.low.denominator >= value.low.numerator * pairs
        keep &= right * value.high.denominator <= value.high.numerator * pairs
    else:
        keep = right * value.denominator == value.numerator * pairs
    return labelings[keep]


def expected_auc(labelings: np.ndarray, guesses: np.ndarray) -> float:
    """Mean AUC of guesses (ties count one half) over equally likely labelings."""
    from scipy.stats import rankdata

    ones = labelings.sum(axis=1, dtype=np.int64)
    sums = labelings.astype(np.float64) @ rankdata(guesses)
    return float(np.mean((sums - ones * (ones + 1) / 2) / (ones * (labelings.shape[1] - ones))))


def _set_step(labelings: np.ndarray, queries: int) -> dict[str, float]:
    """One point of the curve of an attack on a set of labelings."""
    share = labelings.mean(axis=0)
    return {
        "queries": queries,
        "known": int(np.count_nonzero((share == 0) | (share == 1))),
        "labelings": len(labelings),
        "expected_accuracy": float(np.maximum(share, 1 - share).mean()),
        "expected_auc": expected_auc(labelings, share),
    }


def _common_labels(labelings: np.ndarray) -> np.ndarray:
    first = labelings[0].astype(np.int8)
    return np.where((labelings == labelings[0]).all(axis=0), first, np.int8(UNKNOWN))


def prune_by_pairs(
    oracle: Oracle, guesses: np.ndarray, *, max_labelings: int = 5_000_000
) -> AttackResult:
    """One query of the guesses, then pairs of queries that shrink the set to a single labeling.

    Each pair (see :func:`pair_attack`) is spent on the record whose label splits the remaining
    labelings most evenly, and both answers prune the set.
    """
    first_queries = oracle.queries
    value = _as_value(oracle.query(guesses), oracle.half_width)
    labelings = compatible_set(guesses, value, max_labelings=max_labelings)
    curve = [_set_step(labelings, 1)]
    untried = np.ones(oracle.n, bool)
    while len(labelings) > 1 and untried.any():
        imbalance = np.abs(labelings.mean(axis=0) - 0.5)
        i = int(np.argmin(np.where(untried, imbalance, 2.0)))
        untried[i] = False
        others = np.delete(np.arange(oracle.n), i)
        for order in ([*others, i], [i, *others]):
            answer = _as_value(oracle.query_order(order), oracle.half_width)
            labelings = keep_consistent(labelings, np.array(order), answer)
        curve.append(_set_step(labelings, oracle.queries - first_queries))
    return AttackResult("pruning by pairs", _common_labels(labelings), curve=curve)


def prune_by_rankings(
    oracle: Oracle,
    guesses: np.ndarray,
    rng: np.random.Generator,
    *,
    max_queries: int = 50,
    max_labelings: int = 5_000_000,
) -> AttackResult:
    """One query of the guesses, then independent random rankings until one labeling is left."""
    value = _as_value(oracle.query(guesses), oracle.half_width)
    labelings = compatible_set(guesses, value, max_labelings=max_labelings)
    curve = [_set_step(labelings, 1)]
    while len(labelings) > 1 and len(curve) < max_queries:
        order = rng.permutation(oracle.n)
        answer = _as_value(oracle.query_order(order), oracle.half_width)
        labelings = keep_consistent(labelings, order, answer)
        curve.append(_set_step(labelings, len(curve) + 1))
    return AttackResult("pruning by rankings", _common_labels(labelings), curve=curve)


# --- tables --------------------------------------------------------------------------------------


def fewest_queries(n: int, n1: int) -> int:
    """No attack that is always right needs fewer queries than this in the worst case.

    Each exact answer takes one of at most ``n0 n1 + 1`` values, and ``C(n, n1)`` labelings have to
    be told apart.
    """
    return math.ceil(math.log(math.comb(n, n1)) / math.log(n1 * (n - n1) + 1))


def run_attacks(
    guesses: np.ndarray, labels: np.ndarray, *, decimals: int | None = None
) -> list[AttackResult]:
    """The attacks that work at any size, each on a fresh oracle.

    With ``decimals`` the number of ones is taken as known, and attacks that the rounding defeats
    are left out.
    """
    ones = int(np.count_nonzero(labels)) if decimals is not None else None
    attacks = [
        lambda oracle: posterior_attack(oracle, guesses, ones),
        pair_attack,
        swap_attack,
        lambda oracle: weighing_attack(oracle, ones),
    ]
    results = []
    for attack in attacks:
        with contextlib.suppress(RoundingTooCoarse):
            results.append(attack(Oracle(labels, decimals=decimals)))
    return results


def attack_rows(
    results: Iterable[AttackResult], labels: np.ndarray, *, per_day: int
) -> list[dict[str, object]]:
    """One tidy row per attack.

    Parameters
    ----------
    results : of attacks on oracles with these ``labels``.
    labels : (n,) true labels.
    per_day : submissions a day the contest allows.

    Returns
    -------
    rows with keys ``attack, n, n1, queries, days, known`` (labels stated), ``correct`` (of those),
    ``certain``, ``labels_per_query`` (correct ones), ``majority`` (correct by stating the larger
    class without a query) and ``fewest_queries`` (lower bound for attacks that are certain).
    """
    truth = np.asarray(labels)
    n, ones = len(truth), int(np.count_nonzero(truth))
    return [
        {
            "attack": result.attack,
            "n": n,
            "n1": ones,
            "queries": result.queries,
            "days": -(-result.queries // per_day),
            "known": int(np.count_nonzero(result.labels != UNKNOWN)),
            "correct": _correct(result, truth),
            "certain": result.certain,
            "labels_per_query": _correct(result, truth) / result.queries,
            "majority": max(ones, n - ones),
            "fewest_queries": fewest_queries(n, ones),
        }
        for result in results
    ]


def _correct(result: AttackResult, truth: np.ndarray) -> int:
    return int(np.count_nonzero(result.labels == truth))


def curve_rows(results: Iterable[AttackResult]) -> list[dict[str, object]]:
    """The curves of all attacks as tidy rows with the key ``attack``."""
    return [{"attack": result.attack, **step} for result in results for step in result.curve]
