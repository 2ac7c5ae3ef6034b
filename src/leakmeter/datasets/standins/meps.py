"""Stand-in for MEPS: the columns of the 2006 extract, 17.2 % high expenditure, a linear rule.

Columns and the share of high users follow the genuine extract of 2006; the other shares are
plausible, not fitted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leakmeter.datasets.standins.persons import labels_from
from leakmeter.runtime import generator

if TYPE_CHECKING:
    import pandas as pd

POSITIVE = 0.172
#: Expenditure that separates high from low use in the extract.
_LIMIT = 1122
#: 0/1 columns and how often they are one.
_FLAGS = {
    **{"GENDER": 0.48, "ASIAN": 0.06, "BLACK": 0.18, "NORTHEAST": 0.15, "MIDWEST": 0.20},
    **{"SOUTH": 0.38, "USC": 0.75, "COLLEGE": 0.25, "HIGHSCH": 0.50, "MARRIED": 0.45},
    **{"WIDIVSEP": 0.15, "HINCOME": 0.35, "MINCOME": 0.30, "LINCOME": 0.15, "NPOOR": 0.05},
    **{"POOR": 0.04, "FAIR": 0.10, "GOOD": 0.28, "VGOOD": 0.32, "MNHPOOR": 0.07},
    **{"ANYLIMIT": 0.22, "unemployed": 0.25, "EDUCHEALTH": 0.14, "PUBADMIN": 0.04},
    **{"insured": 0.80, "MANAGEDCARE": 0.45},
}


def generate(rows: int, *, seed: int) -> pd.DataFrame:
    """One row a person with the columns of the 2006 extract."""
    import pandas as pd

    rng = generator(seed, "standin_meps", rows=rows)
    age = rng.integers(18, 86, rows).astype(float)
    flags = {name: (rng.random(rows) < share).astype(float) for name, share in _FLAGS.items()}
    effects = [age, flags["ANYLIMIT"], flags["insured"], flags["FAIR"] + flags["POOR"]]
    high = labels_from(effects, POSITIVE, 1.0, rng)
    spent = np.where(
        high == 1, _LIMIT + 1 + rng.lognormal(7, 1, rows), rng.uniform(0, _LIMIT, rows)
    )
    spent[(high == 0) & (rng.random(rows) < 0.4)] = 0
    frame = {"EXP": np.round(spent, 1), "AGE": age, "FAMSIZE": rng.integers(1, 8, rows) * 1.0}
    return pd.DataFrame(frame | flags)
