"""CENSUS: UCI Adult, income above 50,000 dollars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leakmeter.datasets.resolve import Resolution
from leakmeter.datasets.standins import census as generator
from leakmeter.datasets.values import number_columns, parsing
from leakmeter.membership.sets.table import Spec, Table, make_table
from leakmeter.runtime import UserError

if TYPE_CHECKING:
    import pandas as pd

SPEC = Spec(
    name="census",
    title="CENSUS",
    n_classes=2,
    rows=48_842,
    features=None,
    preprocessing=(
        "categories one-hot (missing is one of them), numbers scaled by the training records; "
        "fnlwgt left out"
    ),
)
COLUMNS = [
    *("age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation"),
    *("relationship", "race", "sex", "capital_gain", "capital_loss", "hours_per_week"),
    *("native_country", "income"),
]
# fnlwgt is a survey weight; education_num orders the same levels as education
NUMERIC = ["age", "education_num", "capital_gain", "capital_loss", "hours_per_week"]
CATEGORICAL = [
    *("workclass", "education", "marital_status", "occupation", "relationship", "race", "sex"),
    "native_country",
]
_INCOMES = {"<=50K": 0, ">50K": 1}


def read(source: Resolution) -> Table:
    """``adult.data`` and ``adult.test``."""
    import pandas as pd

    frames = [_part(source, part) for part in ("train", "test")]
    return _table(pd.concat(frames, ignore_index=True), source.name)


def _part(source: Resolution, part: str) -> pd.DataFrame:
    """One file: comma and blank between values, ``?`` for missing, no header.

    The test file starts with a line ``|1x3 Cross validator`` and its labels end in a full stop.
    """
    import pandas as pd

    where = source.where(part)
    with parsing(where, f"lines of {len(COLUMNS)} values"), source.open(part) as handle:
        frame = pd.read_csv(
            handle,
            header=None,
            comment="|",
            skipinitialspace=True,
            keep_default_na=False,
        )
    if frame.shape[1] != len(COLUMNS):
        raise UserError(f"{where}: {frame.shape[1]} columns; expected {len(COLUMNS)}")
    frame.columns = COLUMNS
    frame["income"] = frame["income"].astype(str).str.rstrip(".")
    return _checked(frame, where)


def _checked(frame: pd.DataFrame, where: str) -> pd.DataFrame:
    """The same persons with numbers that are numbers and the label 0 or 1 as ``income``."""
    labels = frame["income"].map(_INCOMES)
    if labels.isna().any():
        row = int(np.argmax(labels.isna()))
        raise UserError(
            f"{where}: record {row} has the income {frame['income'][row]!r}; expected <=50K or >50K"
        )
    return frame.assign(**number_columns(frame, NUMERIC, where), income=labels)


def _table(frame: pd.DataFrame, where: str) -> Table:
    return make_table(
        frame[NUMERIC],
        frame["income"],
        spec=SPEC,
        where=where,
        categories={name: frame[name] for name in CATEGORICAL},
        groups={
            "sex": frame["sex"],
            "race": np.where(frame["race"] == "White", "White", "other"),
        },
    )


def standin(rows: int, seed: int) -> Table:
    """Generated persons, see :mod:`leakmeter.datasets.standins.census`."""
    return _table(_checked(generator.generate(rows, seed=seed), "stand-in"), "stand-in")
