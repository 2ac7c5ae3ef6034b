r"""The tables of the labelings chain, in LaTeX.

Every function takes the measurements and the chain's claims and returns one float. The paper's own
tables were not recovered, so these follow its quantities, not its layout. The mark behind a number
is the worst verdict of the claims on it (none: nothing is claimed).
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from leakmeter.labelings.counting_tables import (
    conjecture,
    cost,
    counterexamples,
    growth,
    misranked_range,
    puzzle,
    w,
)
from leakmeter.labelings.inference_tables import (
    attacks,
    certainty,
    contest,
    posterior,
    posterior_sets,
    pruning,
    rounding,
)

#: Name -> function, in the order of a document.
TABLES: dict[str, Callable[[pd.DataFrame, pd.DataFrame], str]] = {
    "puzzle": puzzle,
    "w": w,
    "growth": growth,
    "conjecture": conjecture,
    "counterexamples": counterexamples,
    "range": misranked_range,
    "cost": cost,
    "certainty": certainty,
    "rounding": rounding,
    "posterior": posterior,
    "posterior_sets": posterior_sets,
    "attacks": attacks,
    "contest": contest,
    "pruning": pruning,
}
