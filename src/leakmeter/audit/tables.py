r"""The tables of the audit chain, in LaTeX.

Every function takes the measurements and the chain's claims and returns one float. The paper's own
Table 1 is a list of notation, so these follow its quantities, not its layout. The mark behind a
number is the worst verdict of the claims on it (none: nothing is claimed).
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from leakmeter.audit.game_tables import accuracy, attacks, chance, games, heuristic
from leakmeter.audit.interval_tables import (
    accounting,
    coverage,
    example,
    perfect,
    references,
    released,
    widths,
)

#: Name -> function (measurements, claims) -> LaTeX.
TABLES: dict[str, Callable[[pd.DataFrame, pd.DataFrame], str]] = {
    "perfect": perfect,
    "example": example,
    "released": released,
    "references": references,
    "coverage": coverage,
    "widths": widths,
    "accounting": accounting,
    "games": games,
    "attacks": attacks,
    "accuracy": accuracy,
    "heuristic": heuristic,
    "chance": chance,
}
