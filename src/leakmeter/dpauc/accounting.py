"""What a DPAUC release costs, by the paper's count, the tight one, and numerically.

One label changes two of the four counts at each threshold, by 1 each. The paper charges all four,
``4 T eps'``; sequential composition over the counts that can change gives ``2 T eps'``, which is
the exact pure-DP cost of Laplace noise on the vector. At delta > 0 the privacy loss of the 2 T
Laplace mechanisms concentrates, and its distribution gives a much smaller epsilon.

All of this is the cost of one client's release, seen by the server. A label lies with exactly one
client, so other clients' releases add nothing (parallel composition), and the cost does not depend
on K: the guarantee holds against the server itself and needs no trusted aggregator. It is central
within a client (the client sees its own labels) and not local per record, as randomised response is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from leakmeter.dpauc.arguments import check_delta, check_integer, check_positive
from leakmeter.dpauc.mechanisms import release_sensitivity
from leakmeter.dpauc.threshold_layouts import thresholds
from leakmeter.runtime import UserError

RULES = ("paper", "tight", "pld")

# Cells of the discretised privacy loss per eps'; 50 gives four correct digits after 400-fold
# composition (the discretisation is pessimistic: it never reports too little).
_CELLS = 50
#: Largest eps' whose loss the accountant's doubles hold; above it the pure bound stands.
_ACCOUNTED = 500.0


@dataclass(frozen=True)
class Budget:
    """The cost of releasing four noisy counts at every threshold of a layout.

    Attributes
    ----------
    nominal, actual, distinct : number of thresholds asked for, used, and of different value.
    epsilon_per_count : eps' of the Laplace noise on each count.
    published : ``4 * nominal * eps'``, the paper's figure.
    paper_formula : ``4 * actual * eps'``.
    spent : ``2 * actual * eps'``, the exact pure-DP cost of what is released. A threshold that
        occurs twice is paid twice.
    spent_if_distinct : ``2 * distinct * eps'``, the cost if duplicates were released once.
    delta : of the approximate guarantee.
    spent_at_delta : epsilon at ``delta`` by the privacy-loss distribution.
    """

    nominal: int
    actual: int
    distinct: int
    epsilon_per_count: float
    published: float
    paper_formula: float
    spent: float
    spent_if_distinct: float
    delta: float
    spent_at_delta: float


def budget(
    n: int,
    *,
    epsilon_total: float | None = None,
    epsilon_per_count: float | None = None,
    layout: str = "authors",
    delta: float = 1e-5,
) -> Budget:
    """Price a release with ``n`` nominal thresholds.

    Parameters
    ----------
    n : nominal number of thresholds.
    epsilon_total : the paper's budget, turned into ``eps' = epsilon_total / (4 n)``; or
    epsilon_per_count : eps' itself. Exactly one of the two.
    layout : see :func:`leakmeter.dpauc.threshold_layouts.thresholds`.
    delta : in (0, 1).
    """
    if (epsilon_total is None) == (epsilon_per_count is None):
        raise UserError("expected exactly one of epsilon_total and epsilon_per_count")
    grid = thresholds(n, layout)
    eps = epsilon_per_count if epsilon_per_count is not None else epsilon_total / (4 * n)
    actual, distinct = grid.size, np.unique(grid).size
    return Budget(
        nominal=n,
        actual=actual,
        distinct=distinct,
        epsilon_per_count=eps,
        published=4 * n * eps,
        paper_formula=4 * actual * eps,
        spent=label_dp_epsilon(actual, eps, rule="tight"),
        spent_if_distinct=label_dp_epsilon(distinct, eps, rule="tight"),
        delta=delta,
        spent_at_delta=label_dp_epsilon(actual, eps, rule="pld", delta=delta),
    )


def label_dp_epsilon(
    n_thresholds: int, epsilon_per_count: float, *, rule: str, delta: float | None = None
) -> float:
    """Total label-DP epsilon of Laplace(1/eps') noise on four counts at T thresholds.

    Parameters
    ----------
    n_thresholds : T, as released.
    epsilon_per_count : eps' > 0.
    rule : ``"paper"`` 4 T eps'; ``"tight"`` 2 T eps'; ``"pld"`` the epsilon at ``delta`` of the
        composed privacy-loss distribution (an upper bound, at most ``"tight"``).
    delta : needed for ``"pld"`` only, in (0, 1).
    """
    check_positive("epsilon_per_count", epsilon_per_count)
    check_integer("n_thresholds", n_thresholds)
    if rule == "paper":
        return 4 * n_thresholds * epsilon_per_count
    tight = release_sensitivity(n_thresholds, norm=1) * epsilon_per_count
    if rule == "tight":
        return tight
    if rule != "pld":
        raise UserError(f"rule is {rule!r}; expected one of {', '.join(RULES)}")
    check_delta(delta)
    if epsilon_per_count > _ACCOUNTED:
        return tight
    return min(tight, _pld_epsilon(2 * n_thresholds, epsilon_per_count, delta))


def epsilon_per_count(
    n_thresholds: int, epsilon_total: float, *, rule: str = "paper", delta: float | None = None
) -> float:
    """The eps' whose release at T thresholds costs ``epsilon_total`` by a rule.

    The inverse of :func:`label_dp_epsilon`; ``"pld"`` is solved to a relative error of 1e-6.
    """
    check_positive("epsilon_total", epsilon_total)
    if rule in ("paper", "tight"):
        return epsilon_total / label_dp_epsilon(n_thresholds, 1.0, rule=rule)

    def excess(log_eps: float) -> float:
        spent = label_dp_epsilon(n_thresholds, math.exp(log_eps), rule=rule, delta=delta)
        return spent - epsilon_total

    # Pure composition is an upper bound on the cost, so its eps' is a lower bound; one mechanism
    # with all the budget bounds it from above, up to what delta buys.
    low = math.log(epsilon_total / (2 * n_thresholds))
    high = math.log(epsilon_total + 1.0)
    while excess(high) < 0:
        high += 1.0
    if excess(low) >= 0:
        return math.exp(low)
    return math.exp(brentq(excess, low, high, xtol=1e-7))


def _pld_epsilon(compositions: int, epsilon_per_count: float, delta: float) -> float:
    from dp_accounting.pld import privacy_loss_distribution

    single = privacy_loss_distribution.from_laplace_mechanism(
        1.0 / epsilon_per_count,
        sensitivity=1.0,
        value_discretization_interval=epsilon_per_count / _CELLS,
    )
    return float(single.self_compose(compositions).get_epsilon_for_delta(delta))
