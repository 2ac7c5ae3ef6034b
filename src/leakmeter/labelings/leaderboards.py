"""What a leaderboard's AUC, rounded or exact, leaves open about the labels."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from leakmeter.labelings.aucs import rounded_auc
from leakmeter.labelings.counting import count_for_auc
from leakmeter.runtime import UserError


def print_rounded(auc: Fraction, decimals: int) -> str:
    """The AUC as a leaderboard prints it, rounded half to even."""
    scaled = round(auc * 10**decimals)
    whole, digits = divmod(scaled, 10**decimals)
    return f"{whole}.{digits:0{decimals}d}" if decimals else str(whole)


def rounding_rows(
    n: int, n1: int, auc: Fraction, decimals: Iterable[int]
) -> list[dict[str, object]]:
    """Labelings that agree with an AUC printed to a number of decimals.

    Parameters
    ----------
    n, n1 : records and ones among them.
    auc : the exact AUC behind the printed ones; some labeling with ``n1`` ones must have it.
    decimals : numbers of decimals to print.

    Returns
    -------
    rows with keys ``n, decimals`` (``None``: exact), ``printed, n1_known, labelings`` (exact
    integer), ``bits`` (its ``log2``: what is left to learn) and ``bits_prior`` (the same without
    any AUC).
    """
    if not count_for_auc(n, auc, n1):
        raise UserError(f"auc={auc}: no labeling of {n} records with {n1} ones has this AUC")
    rows: list[dict[str, object]] = []
    for places in [*decimals, None]:
        value = auc if places is None else rounded_auc(print_rounded(auc, places))
        for known in (True, False):
            labelings = count_for_auc(n, value, n1 if known else None)
            prior = math.comb(n, n1) if known else 2**n - 2
            rows.append(
                {
                    "n": n,
                    "decimals": places,
                    "printed": str(auc) if places is None else print_rounded(auc, places),
                    "n1_known": known,
                    "labelings": labelings,
                    "bits": math.log2(labelings),
                    "bits_prior": math.log2(prior),
                }
            )
    return rows
