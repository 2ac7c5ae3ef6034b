"""Stand-in for CENSUS: UCI Adult's columns with its commonest categories and a linear rule.

Columns, the share of high incomes (23.9 %) and rough shares of the categories follow the real set;
relations between columns, other than to the income, are not modelled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leakmeter.datasets.standins.persons import categories, labels_from
from leakmeter.runtime import generator

if TYPE_CHECKING:
    import pandas as pd

POSITIVE = 0.239
_EDUCATION = {
    "HS-grad": 9,
    "Some-college": 10,
    "Bachelors": 13,
    "Masters": 14,
    "Assoc-voc": 11,
    "11th": 7,
    "Doctorate": 16,
}
_SHARES = {
    "workclass": {"Private": 0.70, "Self-emp-not-inc": 0.08, "Local-gov": 0.06, "?": 0.06},
    "marital_status": {"Married-civ-spouse": 0.46, "Never-married": 0.33, "Divorced": 0.14},
    "occupation": {
        **{"Prof-specialty": 0.13, "Craft-repair": 0.13, "Exec-managerial": 0.12},
        **{"Adm-clerical": 0.12, "Sales": 0.11, "Other-service": 0.10, "?": 0.06},
    },
    "relationship": {"Husband": 0.40, "Not-in-family": 0.26, "Own-child": 0.16, "Wife": 0.05},
    "race": {"White": 0.855, "Black": 0.096, "Asian-Pac-Islander": 0.031, "Other": 0.018},
    "sex": {"Male": 0.669, "Female": 0.331},
    "native_country": {"United-States": 0.90, "Mexico": 0.02, "?": 0.02, "Philippines": 0.01},
}


def generate(rows: int, *, seed: int) -> pd.DataFrame:
    """One row a person with the columns of ``adult.data``."""
    import pandas as pd

    rng = generator(seed, "standin_census", rows=rows)
    drawn = {name: categories(rows, shares, rng) for name, shares in _SHARES.items()}
    education = categories(rows, dict(zip(_EDUCATION, (32, 22, 16, 5, 4, 4, 1), strict=True)), rng)
    years = np.array([_EDUCATION[name] for name in education])
    age = np.clip(rng.gamma(6.5, 6.0, rows), 17, 90).astype(int)
    hours = np.clip(rng.normal(40, 12, rows), 1, 99).astype(int)
    gains = np.where(rng.random(rows) < 0.08, rng.lognormal(8.5, 1.0, rows), 0).astype(int)
    losses = np.where(rng.random(rows) < 0.05, rng.normal(1870, 370, rows).clip(100), 0).astype(int)
    married = drawn["marital_status"] == "Married-civ-spouse"
    label = labels_from(
        [years, np.minimum(age, 50), hours, 1.0 * married, gains > 5000], POSITIVE, 0.8, rng
    )
    return pd.DataFrame(
        {
            "age": age,
            "workclass": drawn["workclass"],
            "fnlwgt": rng.integers(20_000, 500_000, rows),
            "education": education,
            "education_num": years,
            "marital_status": drawn["marital_status"],
            "occupation": drawn["occupation"],
            "relationship": drawn["relationship"],
            "race": drawn["race"],
            "sex": drawn["sex"],
            "capital_gain": gains,
            "capital_loss": losses,
            "hours_per_week": hours,
            "native_country": drawn["native_country"],
            "income": np.where(label == 1, ">50K", "<=50K"),
        }
    )
