"""Stand-in for CREDIT: the columns of UCI's default data, 22.12 % defaults, a linear rule.

Columns, codes and the share of defaults follow the real set; bills and payments are heavy-tailed
and correlated over the months through one factor a client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leakmeter.datasets.standins.persons import labels_from
from leakmeter.runtime import generator

if TYPE_CHECKING:
    import pandas as pd

POSITIVE = 0.2212


def generate(rows: int, *, seed: int) -> pd.DataFrame:
    """One row a client with the columns of the UCI file."""
    import pandas as pd

    rng = generator(seed, "standin_credit", rows=rows)
    trouble = rng.standard_normal(rows)
    limit = 10_000 * rng.integers(1, 60, rows)
    frame = {
        "ID": np.arange(1, rows + 1),
        "LIMIT_BAL": limit,
        "SEX": rng.choice([1, 2], rows, p=[0.4, 0.6]),
        "EDUCATION": rng.choice(7, rows, p=[0.001, 0.353, 0.468, 0.164, 0.004, 0.009, 0.001]),
        "MARRIAGE": rng.choice(4, rows, p=[0.002, 0.455, 0.532, 0.011]),
        "AGE": np.clip(21 + rng.gamma(2.2, 6.5, rows), 21, 79).astype(int),
    }
    for month in (0, 2, 3, 4, 5, 6):
        status = np.rint(1.2 * (0.7 * trouble + 0.7 * rng.standard_normal(rows)) - 0.2)
        frame[f"PAY_{month}"] = np.clip(status, -2, 8).astype(int)
    use = rng.beta(0.8, 1.4, rows)
    for month in range(1, 7):
        noise = rng.normal(1, 0.15, rows)
        frame[f"BILL_AMT{month}"] = np.rint(limit * use * noise).astype(int)
    for month in range(1, 7):
        paid = rng.lognormal(-2.5, 1.0, rows) * frame[f"BILL_AMT{month}"]
        frame[f"PAY_AMT{month}"] = np.rint(np.maximum(paid, 0)).astype(int)
    effects = [trouble + frame["PAY_0"], -np.log(limit), use]
    frame["class"] = labels_from(effects, POSITIVE, 1.0, rng)
    return pd.DataFrame(frame)
